//! The parts of a match that the parentheses of an expression have, by PostgreSQL's rules (Henry
//! Spencer's): each part of a branch, the first one first, takes the longest or the shortest piece
//! that leaves a rest which the other parts match; among alternatives the first that matches the
//! piece counts; among repetitions the last.
//!
//! Without back references each such choice is final, so nothing is tried twice: one run backwards
//! from the end tells which pieces the rest can match.

use types::Result;

use super::{
    automaton::{Inner, Part, Span, StateId},
    scan::{Positions, Scan},
    syntax::Preference,
};

/// A piece of a text: its beginning and its end.
pub type Piece = (usize, usize);

/// Notes the pieces of the groups within a part that matches a piece.
///
/// # Errors
/// 54000 beyond the steps that a scan may take.
pub(super) fn dissect(
    scan: &mut Scan<'_>,
    part: &Part,
    piece: Piece,
    groups: &mut [Option<Piece>],
) -> Result<()> {
    if !part.captures {
        return Ok(());
    }
    if let Some(group) = part.group {
        groups[group] = Some(piece);
    }
    match &part.inner {
        Inner::Plain => Ok(()),
        Inner::Concat(parts) => sequence(scan, part.span, parts, piece, groups),
        Inner::Alternate(parts) => {
            for part in parts {
                if matches(scan, part.span, piece)? {
                    return dissect(scan, part, piece, groups);
                }
            }
            Ok(())
        }
        Inner::Iterate { part: inner, most } => {
            iterations(scan, part.span, inner, *most, piece, groups)
        }
    }
}

/// Returns whether a fragment matches all of a piece.
fn matches(scan: &mut Scan<'_>, span: Span, (begin, end): Piece) -> Result<bool> {
    let mut found = false;
    scan.forward(span, begin, end, false, |at| {
        found = at == end;
        true
    })?;
    Ok(found)
}

/// Returns the end that a part beginning at a position prefers among those that `will_do`.
fn preferred(
    scan: &mut Scan<'_>,
    part: &Part,
    (begin, end): Piece,
    will_do: impl Fn(usize) -> bool,
) -> Result<Option<usize>> {
    let mut found = None;
    scan.forward(part.span, begin, end, false, |at| {
        if will_do(at) {
            found = Some(at);
        }
        found.is_none() || part.preference != Some(Preference::Shortest)
    })?;
    Ok(found)
}

fn sequence(
    scan: &mut Scan<'_>,
    span: Span,
    parts: &[Part],
    (begin, end): Piece,
    groups: &mut [Option<Piece>],
) -> Result<()> {
    // For each part, the positions where it can begin with all parts behind it.
    let mut marks: Vec<(StateId, usize)> =
        parts.iter().map(|part| part.span.first).zip(0..).collect();
    marks.sort_unstable();
    let states: Vec<StateId> = marks.iter().map(|(state, _)| *state).collect();
    scan.charge(((end - begin) * parts.len() / 8) as u64)?;
    let mut begins: Vec<Positions> = parts.iter().map(|_| Positions::default()).collect();
    scan.backward(
        span,
        &states,
        end,
        begin,
        |at| at == end,
        |mark, at| begins[marks[mark].1].insert(at - begin),
    )?;
    let mut at = begin;
    for (position, part) in parts.iter().enumerate() {
        let next = match begins.get(position + 1) {
            None => Some(end),
            Some(rest) => preferred(scan, part, (at, end), |to| rest.has(to - begin))?,
        };
        let Some(next) = next else { return Ok(()) };
        dissect(scan, part, (at, next), groups)?;
        at = next;
    }
    Ok(())
}

fn iterations(
    scan: &mut Scan<'_>,
    span: Span,
    part: &Part,
    most: Option<u32>,
    (begin, end): Piece,
    groups: &mut [Option<Piece>],
) -> Result<()> {
    // An empty piece is one iteration of a part that takes as much as it can, if it can be empty,
    // and otherwise none.
    if begin == end {
        let none = part.preference == Some(Preference::Shortest);
        if none || !matches(scan, part.span, (begin, end))? {
            return Ok(());
        }
        return dissect(scan, part, (begin, end), groups);
    }
    // At the positions `reach[n]` the end is at most n + 1 iterations away; without a bound, any
    // number.
    let mut reach: Vec<Positions> = Vec::new();
    let most = most.map_or(usize::MAX, |most| most as usize);
    if most > end - begin {
        let mut some = Positions::default();
        let mark = |_, at: usize| some.insert(at - begin);
        scan.backward(span, &[span.first], end, begin, |at| at == end, mark)?;
        reach.push(some);
    } else {
        for done in 1..most {
            scan.charge(((end - begin) / 8) as u64)?;
            let mut more = Positions::default();
            let before = reach.last();
            let ends = |at: usize| at == end || before.is_some_and(|before| before.has(at - begin));
            let mark = |_, at: usize| more.insert(at - begin);
            scan.backward(part.span, &[part.span.first], end, begin, ends, mark)?;
            let complete = more.has(0);
            reach.push(more);
            if complete && done > 1 {
                break;
            }
        }
    }
    let (mut at, mut left) = (begin, most);
    while at < end && left > 0 {
        left -= 1;
        let reachable = match left {
            0 => None,
            left => reach.get((left - 1).min(reach.len().saturating_sub(1))),
        };
        let will_do = |to: usize| {
            to > at && (to == end || reachable.is_some_and(|reachable| reachable.has(to - begin)))
        };
        let Some(next) = preferred(scan, part, (at, end), will_do)? else {
            return Ok(());
        };
        if next == end {
            return dissect(scan, part, (at, next), groups);
        }
        at = next;
    }
    Ok(())
}
