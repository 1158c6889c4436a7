//! Rows that are the same in every database, written out as text: access methods, collations,
//! languages and the like.

use types::{Result, Settings, Value};

use super::{Emitter, Source};
use catalog::{ObjectId, system};

/// Text of the rows. A line without a blank before it names a relation; below it are rows, with `|`
/// between values and nothing for NULL.
const ROWS: &str = include_str!("data/fixed.txt");

/// Adds the rows of the relation called `name`; none, if the text has none for it.
pub(super) fn rows(
    name: &str,
    id: ObjectId,
    source: &Source<'_>,
    out: &mut Emitter<'_>,
) -> Result<()> {
    let Some(relation) = system::relation(id) else {
        return Ok(());
    };
    let settings = Settings::default();
    let context = types::Context {
        settings: &settings,
        names: source.catalog,
        now: 0,
    };
    let lines = ROWS.lines().skip_while(|line| *line != name).skip(1);
    for line in lines.take_while(|line| line.starts_with(' ')) {
        let words = line.trim_start().split('|').zip(&relation.columns);
        let values = words.map(|(word, (_, ty, _))| match word {
            "" => Ok(Value::Null),
            word => types::text::read(word, *ty, &context, source.scratch),
        });
        out.row(&values.collect::<Result<Vec<_>>>()?);
    }
    Ok(())
}
