//! From syntax to relations: names are looked up, types are found, operators become functions.
//!
//! The binder sees one statement and one state of the catalog. What it makes
//! ([`Relation`]) has no names any more and cannot fail for want of one.
//!
//! | clause | file |
//! | --- | --- |
//! | expressions, names in them, long chains; calls; conversions | `scalar.rs`, `column_name.rs`, `chain.rs`; `call.rs`; `convert.rs` |
//! | FROM, what names mean | `from.rs`, `scope.rs`, `stored.rs` |
//! | SELECT, names of its columns; GROUP BY; ORDER BY and LIMIT | `select.rs`, `output_name.rs`; `group.rs`; `order.rs` |
//! | VALUES, set operations; WITH | `query.rs`, `set_operation.rs`; `common_table.rs`, `common_tables.rs` |
//! | queries within expressions; fields of records; sequences | `subquery.rs`; `field.rs`; `sequence.rs` |
//! | expressions of indexes; what definitions refer to | `index.rs`; `uses.rs` |
//! | INSERT; UPDATE, DELETE, MERGE | `insert.rs`; `change.rs`; `write.rs` |
//! | rewriting a table | `rewrite.rs` |
//! | COPY | `copy.rs` |

mod aggregate;
mod arguments;
mod call;
mod chain;
mod change;
mod clause;
mod column_name;
mod common_table;
mod common_tables;
mod condition;
mod convert;
mod copy;
mod field;
mod from;
mod group;
mod index;
mod insert;
mod literal;
mod order;
mod output_name;
mod parameters;
mod query;
mod rewrite;
mod scalar;
mod scope;
mod select;
mod sequence;
mod set_operation;
mod stored;
mod subquery;
mod uses;
mod waiting;
mod window;
mod write;

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{HashMap, HashSet},
    sync::Arc,
};

use types::{Result, Settings, SqlError, Type, TypeModifier};

use self::{common_tables::CommonTables, field::RecordField, uses::Uses};
pub use self::{
    copy::CopiedColumns, index::IndexEntries, parameters::Parameters, rewrite::NewValue,
    write::WrittenColumn,
};
use crate::{
    expression::ColumnId,
    relation::{Output, Relation, ScanId, SharedId, check},
};
use catalog::{Catalog, Dependency, ObjectId, SearchPath, View};
use syntax::{
    change::Overriding,
    expression::{Expr, ExprKind, NamedWindow},
    position::{Lines, OperatorForm, Span},
    statement::{DefiningQuery, RowStatement, TypeName},
};

/// All that binding depends on besides the statement, its catalog and, for words like `now`, the
/// time. Plans are kept by it: the binder is told of a session nothing that is not in here, or that
/// can change while the session lives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// How literals are read.
    pub settings: Settings,
    /// Where names are looked for.
    pub search_path: SearchPath,
    /// In whose name the statement is carried out.
    pub user: String,
}

/// Context in which a statement is bound, as a session gives it.
pub struct BindContext<'b> {
    /// Catalog in which names are looked up.
    pub catalog: &'b Catalog,
    /// Settings, search path and user of the session.
    pub inputs: &'b Inputs,
    /// It is the same as long as the session lives.
    pub database: &'b str,
    /// When the transaction began, in microseconds since 2000-01-01: what `'now'` means. A plan for
    /// which it matters says so ([`Bound::reads_now`]).
    pub now: i64,
}

/// A statement whose names are known.
#[derive(Debug)]
pub struct Bound {
    /// Root of the statement's relations, whose rows are the result.
    pub relation: Relation,
    /// Columns of the result; none for a statement that changes rows without RETURNING.
    pub outputs: Vec<Output>,
    /// The objects that it refers to, if it is a definition's.
    pub uses: Vec<Dependency>,
    /// The primary keys by which a GROUP BY determines columns that are not among its keys; views
    /// within it not counted.
    pub grouped_by: Vec<ObjectId>,
    /// A literal in it means another value at another time.
    pub reads_now: bool,
    /// How many columns and relations it has, those of views counted: a measure of its size.
    pub parts: usize,
}

/// Binds one statement.
pub struct Binder<'b> {
    catalog: &'b Catalog,
    settings: &'b Settings,
    database: &'b str,
    /// Where names are looked for: by the session's, or that of the view that is being bound.
    search_path: Cow<'b, SearchPath>,
    now: i64,
    /// The lines of the text that positions refer to.
    lines: &'b Lines<'b>,
    parameters: &'b mut Parameters,
    next_column: u32,
    next_scan: u32,
    next_shared: u32,
    /// The types of literals among the next query block's outputs, by position: set for the one that is
    /// bound next, as a side of a set operation, and taken by it.
    wanted: Vec<Type>,
    /// The query that is bound next is the statement itself: statements in its WITH clause may change
    /// rows. Taken by it.
    is_statement: bool,
    /// Visible ones, the innermost last.
    common_tables: CommonTables,
    /// `WINDOW name AS ...` of the query block that is being bound.
    named_windows: Arc<[NamedWindow]>,
    /// The fields of the columns that are records of known fields.
    records: HashMap<ColumnId, Vec<RecordField>>,
    /// The columns of relations whose rows an outer join may replace by NULLs.
    null_extended: HashSet<ColumnId>,
    /// Views within views.
    depth: u32,
    /// The view whose query is being bound.
    view: Option<Arc<View>>,
    /// Expressions and queries that are being bound, one within the other.
    levels: usize,
    /// See `chain.rs`.
    found: Option<chain::Found>,
    /// `OVERRIDING`, of the INSERT that is being bound.
    overriding: Option<Overriding>,
    /// The objects that a definition uses; for binders for definitions alone.
    uses: Option<Uses>,
    /// See [`Bound::grouped_by`].
    grouped_by: Vec<ObjectId>,
    /// See [`Bound::reads_now`].
    reads_now: Cell<bool>,
}

impl<'b> Binder<'b> {
    /// Binds a query or a statement that changes rows.
    ///
    /// # Errors
    /// Those of SQL; 0A000 for other statements.
    pub fn bind(
        bind_context: &BindContext<'b>,
        lines: &'b Lines<'b>,
        statement: &RowStatement,
        parameters: &'b mut Parameters,
    ) -> Result<Bound> {
        Binder::new(bind_context, lines, parameters).statement(statement)
    }

    /// Binds the query of a view that is created.
    ///
    /// # Errors
    /// As for [`Binder::bind`].
    pub fn bind_definition(
        bind_context: &BindContext<'b>,
        lines: &'b Lines<'b>,
        query: &DefiningQuery,
        parameters: &'b mut Parameters,
    ) -> Result<Bound> {
        let mut binder = Binder::new(bind_context, lines, parameters);
        binder.uses = Some(Uses::default());
        binder.statement(query.statement())
    }

    fn rows(&mut self, statement: &RowStatement) -> Result<(Relation, Vec<Output>)> {
        match statement {
            RowStatement::Query(query) => self.whole_query(query),
            RowStatement::Change(change) => self.change(change),
        }
    }

    fn statement(mut self, statement: &RowStatement) -> Result<Bound> {
        let (mut relation, outputs) = self.rows(statement)?;
        relation.check_depth()?;
        check(&mut relation, &outputs)?;
        Ok(self.into_bound(relation, outputs))
    }

    /// Returns a relation that was bound, with what was noticed meanwhile.
    fn into_bound(mut self, relation: Relation, outputs: Vec<Output>) -> Bound {
        Bound {
            relation,
            outputs,
            uses: self.take_uses(),
            grouped_by: self.grouped_by,
            reads_now: self.reads_now.get(),
            parts: (self.next_column + self.next_scan) as usize,
        }
    }

    /// A binder for expressions of definitions; what they refer to is told by
    /// `take_uses`.
    pub fn for_definitions(bind_context: &BindContext<'b>, parameters: &'b mut Parameters) -> Self {
        let mut binder = Binder::new(bind_context, Lines::none(), parameters);
        binder.uses = Some(Uses::default());
        binder
    }

    /// A binder for expressions of a text that are no part of a query.
    pub fn for_text(
        bind_context: &BindContext<'b>,
        lines: &'b Lines<'b>,
        parameters: &'b mut Parameters,
    ) -> Self {
        Binder::new(bind_context, lines, parameters)
    }

    fn new(
        bind_context: &BindContext<'b>,
        lines: &'b Lines<'b>,
        parameters: &'b mut Parameters,
    ) -> Self {
        Binder {
            catalog: bind_context.catalog,
            settings: &bind_context.inputs.settings,
            database: bind_context.database,
            search_path: Cow::Borrowed(&bind_context.inputs.search_path),
            now: bind_context.now,
            lines,
            parameters,
            next_column: 0,
            next_scan: 0,
            next_shared: 0,
            wanted: Vec::new(),
            is_statement: false,
            common_tables: CommonTables::default(),
            named_windows: Arc::default(),
            records: HashMap::new(),
            null_extended: HashSet::new(),
            depth: 0,
            view: None,
            levels: 0,
            found: None,
            overriding: None,
            uses: None,
            grouped_by: Vec::new(),
            reads_now: Cell::new(false),
        }
    }

    fn database(&self) -> &'b str {
        self.database
    }

    /// The schemas in which names are looked for, as stored expressions keep them.
    fn schemas(&self) -> Arc<[ObjectId]> {
        self.catalog.named_schemas(&self.search_path).collect()
    }

    /// Binds something with names that are looked for in these schemas.
    fn under<T>(&mut self, schemas: &[ObjectId], bind: impl FnOnce(&mut Self) -> T) -> T {
        let path = Cow::Owned(self.catalog.path_of(schemas));
        let outer = std::mem::replace(&mut self.search_path, path);
        let bound = bind(self);
        self.search_path = outer;
        bound
    }

    /// Binds a text that the catalog keeps, with names that are looked for in these schemas: places in the text are no
    /// places of the client's.
    fn stored_text<T>(&mut self, schemas: &[ObjectId], bind: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.lines, Lines::none());
        let bound = self.under(schemas, bind);
        self.lines = outer;
        bound
    }

    /// Notes a primary key that the statement itself cannot be without.
    fn note_grouped_by(&mut self, key: ObjectId) {
        if self.depth == 0 && !self.grouped_by.contains(&key) {
            self.grouped_by.push(key);
        }
    }

    fn new_column(&mut self) -> ColumnId {
        self.next_column += 1;
        ColumnId(self.next_column - 1)
    }

    fn new_scan(&mut self) -> ScanId {
        self.next_scan += 1;
        ScanId(self.next_scan - 1)
    }

    fn new_shared(&mut self) -> SharedId {
        self.next_shared += 1;
        SharedId(self.next_shared - 1)
    }

    /// A type as messages name it.
    fn type_name(&self, ty: Type) -> String {
        ty.name(self.catalog).into_owned()
    }

    /// The character where an expression begins.
    fn position(&self, expr: &Expr) -> Option<u32> {
        self.at(expr.span)
    }

    /// The character where a piece of syntax begins.
    fn at(&self, span: Span) -> Option<u32> {
        self.lines.of(span)
    }

    /// The character where an operator stands between its operands; where the text does not tell, the first one's place
    /// has to do.
    fn operator_position(&self, left: &Expr, right: &Expr, form: OperatorForm) -> Option<u32> {
        self.lines
            .between(left.span, right.span, form)
            .or_else(|| self.position(left))
    }

    /// The character where an operator stands before its operand; where the text does not tell, the operand's place has
    /// to do.
    fn prefix_position(&self, operator: &str, operand: &Expr) -> Option<u32> {
        // At most as many as stand in a row (`syntax::depth`).
        let mut operators = vec![operator];
        let mut innermost = operand;
        while let ExprKind::Prefix { operator, operand } = &innermost.kind {
            operators.push(operator);
            innermost = operand;
        }
        self.lines
            .prefix(innermost.span, operators.into_iter().rev())
            .or_else(|| self.position(operand))
    }

    fn error_at(&self, expr: &Expr, error: SqlError) -> SqlError {
        scalar::place(error, self.position(expr))
    }

    /// A type as written, with what is attached to it.
    fn data_type(&mut self, data_type: &TypeName) -> Result<(Type, TypeModifier)> {
        let (ty, modifier) = self.named_type(data_type)?;
        self.note_type(ty);
        Ok((ty, modifier))
    }

    fn named_type(&self, data_type: &TypeName) -> Result<(Type, TypeModifier)> {
        crate::data_type::resolve(data_type, self.catalog, &self.search_path)
    }

    /// Returns the name that PostgreSQL gives the result of a cast.
    fn cast_name(&self, data_type: &TypeName) -> String {
        match self.named_type(data_type) {
            Ok((Type::Scalar(scalar) | Type::Array(scalar), _)) => match scalar {
                types::Scalar::Enum(_) => scalar.name(self.catalog).into_owned(),
                _ => scalar.internal_name().to_owned(),
            },
            _ => "?column?".to_owned(),
        }
    }
}
