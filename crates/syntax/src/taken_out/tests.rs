//! Clauses that are taken out, and the parts of statements that refuse them.

use types::SqlError;

use crate::{
    split,
    statement::{ColumnOptionKind, ConstraintKind, Statement},
};

/// Returns the error that a view is refused with.
fn refused_view(text: &str) -> SqlError {
    let statement = split(text).unwrap()[0].statement().unwrap();
    let Statement::CreateView(view) = &*statement else {
        panic!("{text} creates no view");
    };
    view.supported.clone().unwrap_err()
}

/// WITH CHECK OPTION was an error of grammar behind more words than three before VIEW, and a view that can be updated
/// was told not to be.
#[test]
fn a_check_option_is_refused_for_what_it_is() {
    let unsupported = "WITH CHECK OPTION is not supported";
    for text in [
        "create view v as select a from t with check option",
        "create or replace view v as select a from t where a > 0 with local check option",
    ] {
        assert_eq!(refused_view(text).message(), unsupported, "{text}");
    }
    let not_updatable = "WITH CHECK OPTION is supported only on automatically updatable views";
    for text in [
        "create view v as select 1 as a with check option",
        "create view v as select distinct a from t with cascaded check option",
        "create view v as select a from t, u with check option",
        "create view v as select a from t limit 1 with check option",
        "create view v as select a from t union select a from u with check option",
        "create view v as select a from t group by a with check option",
    ] {
        assert_eq!(refused_view(text).message(), not_updatable, "{text}");
    }
    let temporary = "create or replace temp view v as select a from t with check option";
    refused_view(temporary);
}

/// A list of columns refused the key of the table that was visited last before it, wherever it was written.
#[test]
fn a_list_of_columns_refuses_the_key_before_it() {
    let text = "create table x (a int, foreign key (a) references t, \
        b int references u on delete set null (b) on update set default (b), c int references v on delete set null (c))";
    let statement = split(text).unwrap()[0].statement().unwrap();
    let Statement::CreateTable(create) = &*statement else {
        panic!("{text} creates no table");
    };
    assert!(matches!(
        create.constraints[0].kind,
        ConstraintKind::ForeignKey { .. }
    ));
    assert!(matches!(
        create.columns[1].options[0].kind,
        ColumnOptionKind::Refused(_)
    ));
}
