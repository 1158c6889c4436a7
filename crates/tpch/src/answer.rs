//! PostgreSQL's answers at a small scale.

use servers::Answer;

/// PostgreSQL's answers at a scale that tests use; `answers/regenerate.sh` writes the file.
const KNOWN: &str = include_str!("../answers/scale-0.01.txt");
/// Scale of these answers.
const KNOWN_SCALE: f64 = 0.01;
/// Begin of the line before an answer in the file, which ends with the number of the query.
const HEADING: &str = "query ";
/// NULL in the file.
const NULL: &str = "\\N";

/// Returns PostgreSQL's answer to a query at a scale; `None` if the scale has no file.
pub(crate) fn known(scale: f64, query: u8) -> Option<Answer> {
    let heading = format!("{HEADING}{query}");
    let mut lines = KNOWN.lines().skip_while(|line| *line != heading);
    lines.next().filter(|_| scale == KNOWN_SCALE)?;
    let lines = lines.take_while(|line| !line.starts_with(HEADING));
    let value = |value| (value != NULL).then_some(value);
    Some(Answer::of_texts(
        lines.map(|line| line.split('|').map(value)),
    ))
}
