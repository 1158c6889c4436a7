//! Lines of code of each technique (paper 003, section 5.2, table 5).
//!
//! The lines are counted in the very sources that are measured, which are part of this program:
//! items are cut out by their first lines, and lines that are blank or comments do not count.
//! *Different* lines are those that one has to write or change to come from the sequential lookup
//! to the interleaved one: in each place where the two differ, as many as there are on the longer
//! side. The *total* is the code to be kept for both executions: one body where it serves both,
//! otherwise two.

use serde::Serialize;

use super::Technique;

/// Lines of code of one technique.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// Always `"join"`, as every result names its benchmark.
    pub benchmark: &'static str,
    /// Always `"lines"`.
    pub experiment: &'static str,
    /// Name of the lookup.
    pub lookup: &'static str,
    /// The technique.
    pub mode: Technique,
    /// Lines of the interleaved lookup.
    pub interleaved_lines: usize,
    /// Lines of the interleaved lookup that the sequential one does not have, or has otherwise.
    pub different_lines: usize,
    /// Lines for both executions.
    pub total_lines: usize,
}

/// Sources, and beginnings of the items in them that belong to a lookup.
type Code = &'static [(&'static str, &'static str)];

/// Sources by short names.
mod source {
    pub(super) const AMAC: &str = include_str!("../../../index/src/baseline/binary_search/amac.rs");
    pub(super) const ARRAY: &str = include_str!("../../../index/src/sorted/array.rs");
    pub(super) const GROUP: &str =
        include_str!("../../../index/src/baseline/binary_search/group_prefetching.rs");
    pub(super) const PIPELINE: &str =
        include_str!("../../../index/src/baseline/binary_search/software_pipelined.rs");
    pub(super) const SEARCH: &str = include_str!("../../../index/src/sorted/search.rs");
    pub(super) const SEQUENTIAL: &str =
        include_str!("../../../index/src/baseline/binary_search/sequential.rs");
}

/// Item that all searches share: a finish, which is the whole of the sequential search.
const FINISH: (&str, &str) = (source::SEARCH, "fn finish");

/// Items of the sequential binary search.
const SEQUENTIAL: Code = &[FINISH, (source::SEQUENTIAL, "fn branch_free")];

/// Items of the interleaved binary searches.
const INTERLEAVED: [(Technique, Code); 4] = [
    (
        Technique::GroupPrefetching,
        &[FINISH, (source::GROUP, "fn group_prefetching")],
    ),
    (
        Technique::SoftwarePipelining,
        &[
            FINISH,
            (source::PIPELINE, "struct Lookup"),
            (source::PIPELINE, "fn software_pipelined"),
        ],
    ),
    (
        Technique::Amac,
        &[
            FINISH,
            (source::AMAC, "enum Stage"),
            (source::AMAC, "struct State"),
            (source::AMAC, "fn amac"),
        ],
    ),
    (
        Technique::Coroutines,
        &[
            FINISH,
            (source::SEARCH, "fn lower_bound"),
            (source::ARRAY, "> for SortedArray<T> {"),
        ],
    ),
];

const EXAMPLE: &str = "a search tree";

/// Source of a user's own lookup before it is interleaved.
const BEFORE: &str = include_str!("example/sequential.rs");
const AFTER: &str = include_str!("example/interleaved.rs");

/// Counts the lines of all lookups.
///
/// # Panics
/// Panics when a source does not have an item that it should: an item of this workspace has been
/// renamed, which a test notices.
pub(super) fn count() -> Vec<Lines> {
    let (before, after) = (code(BEFORE), code(AFTER));
    let mut all = vec![Lines {
        benchmark: "join",
        experiment: "lines",
        lookup: EXAMPLE,
        mode: Technique::Coroutines,
        interleaved_lines: after.len(),
        different_lines: different(&before, &after),
        total_lines: after.len(),
    }];
    let sequential = lines_of(SEQUENTIAL);
    all.extend(INTERLEAVED.iter().map(|&(mode, code)| {
        let interleaved = lines_of(code);
        // Items in both are kept once; the coroutines are the sequential lookup as well.
        let own = SEQUENTIAL.iter().filter(|item| !code.contains(item));
        let own: usize = own.map(|(source, item)| cut(source, item).len()).sum();
        let others = if mode == Technique::Coroutines {
            0
        } else {
            own
        };
        Lines {
            benchmark: "join",
            experiment: "lines",
            lookup: "binary search",
            mode,
            interleaved_lines: interleaved.len(),
            different_lines: different(&sequential, &interleaved),
            total_lines: interleaved.len() + others,
        }
    }));
    all
}

fn lines_of(code: Code) -> Vec<&'static str> {
    let items = code.iter();
    items.flat_map(|(source, item)| cut(source, item)).collect()
}

/// Returns the lines of code of an item, from the line that has its beginning to the one that ends
/// it.
fn cut(source: &'static str, item: &str) -> Vec<&'static str> {
    let lines: Vec<&str> = source.lines().collect();
    let from = lines.iter().position(|line| line.contains(item));
    let from = from.unwrap_or_else(|| panic!("the source has no `{item}`"));
    let indent = &lines[from][..lines[from].len() - lines[from].trim_start().len()];
    // rustfmt places the brace that ends an item below its beginning.
    let end = |line: &&str| line.strip_prefix(indent) == Some("}");
    let to = if lines[from].ends_with([';', '}']) {
        0
    } else {
        let to = lines[from..].iter().position(end);
        to.unwrap_or_else(|| panic!("`{item}` has no end"))
    };
    lines[from..=from + to]
        .iter()
        .filter_map(|line| trimmed(line))
        .collect()
}

/// Returns the lines of code of a source.
fn code(source: &'static str) -> Vec<&'static str> {
    source.lines().filter_map(trimmed).collect()
}

/// Returns the code of a line, if it has any. Attributes are directions to the compiler, and are no
/// code.
fn trimmed(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_code = !line.is_empty() && !line.starts_with("//") && !line.starts_with("#[");
    is_code.then_some(line)
}

/// Returns the number of lines to write or change to come from one to the other.
fn different(before: &[&str], after: &[&str]) -> usize {
    // `common[i][j]`: length of the longest common subsequence of the lines from `i` and from `j`
    // on.
    let mut common = vec![vec![0; after.len() + 1]; before.len() + 1];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            common[i][j] = if before[i] == after[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut all) = (0, 0, 0);
    let (mut removed, mut added) = (0_usize, 0);
    loop {
        let is_same = i < before.len() && j < after.len() && before[i] == after[j];
        if is_same || (i == before.len() && j == after.len()) {
            all += removed.max(added);
            (removed, added) = (0, 0);
            if !is_same {
                return all;
            }
            (i, j) = (i + 1, j + 1);
        } else if j == after.len() || (i < before.len() && common[i + 1][j] >= common[i][j + 1]) {
            (i, removed) = (i + 1, removed + 1);
        } else {
            (j, added) = (j + 1, added + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_differ_by_the_longer_side_of_each_place() {
        let text = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        for (before, after, count) in [
            ("a b c", "a b c", 0),
            ("a b c", "a x c", 1),
            ("a b c", "a c", 1),
            ("a c", "a b b c", 2),
            ("a b c d", "x b y y d", 3),
            ("a a a", "z", 3),
        ] {
            assert_eq!(
                different(&text(before), &text(after)),
                count,
                "{before}, {after}"
            );
        }
    }

    #[test]
    fn items_are_cut_out_without_comments() {
        let source = "struct Unit;\nimpl X {\n    // Why.\n    fn one() {\n        two();\n\n    \
                      }\n    fn three() {\n    }\n}\n";
        assert_eq!(cut(source, "fn one"), ["fn one() {", "two();", "}"]);
        assert_eq!(cut(source, "struct Unit"), ["struct Unit;"]);
        assert_eq!(cut(source, "impl X").len(), 7);
    }

    #[test]
    fn a_users_own_lookup_is_interleaved_with_six_lines() {
        let example = count().into_iter().find(|one| one.lookup == EXAMPLE);
        assert!(example.unwrap().different_lines <= 6);
    }

    #[test]
    fn one_body_serves_both_executions() {
        let all = count();
        let of = |mode| {
            all.iter()
                .find(|one| one.lookup != EXAMPLE && one.mode == mode)
        };
        let coroutines = of(Technique::Coroutines).unwrap();
        assert_eq!(coroutines.total_lines, coroutines.interleaved_lines);
        for other in all.iter().filter(|one| one.mode != Technique::Coroutines) {
            assert!(
                coroutines.different_lines < other.different_lines,
                "{all:?}"
            );
            assert!(coroutines.total_lines < other.total_lines, "{all:?}");
        }
    }
}
