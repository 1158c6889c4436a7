//! The search for cycles.
//!
//! Whether there is a cycle of some class at all is a question of strongly connected
//! components, linear in the size of the graph. A cycle without two adjacent
//! anti-dependencies is one of a graph with two nodes per transaction, of which the
//! second is reached by anti-dependencies and not left by one. Only within components
//! are cycles searched for: from each edge that the class needs, the shortest way back.
//!
//! Classes are searched for in order of severity, in the graph of dependencies alone
//! first, then with the orders that clients see, where that found nothing.

mod search;

use std::collections::HashSet;

use petgraph::{algo::kosaraju_scc, graph::DiGraph};

use self::search::Search;
use crate::{
    anomaly::{Anomaly, Cycle, Order},
    graph::{Edge, Graph, Kind},
    verdict::{Findings, Step},
};

/// Kinds of edges, as bits.
type Kinds = u16;

const fn bit(kind: Kind) -> Kinds {
    1 << kind as u8
}

const WW: Kinds = bit(Kind::Ww);
const WR: Kinds = WW | bit(Kind::Wr);
const RW: Kinds = bit(Kind::Rw) | bit(Kind::RwPredicate);
const PROCESS: Kinds = bit(Kind::Process);
const REALTIME: Kinds = PROCESS | bit(Kind::Realtime) | bit(Kind::Time) | bit(Kind::WrIfStrict);

/// A walk through the graph that a class of cycles permits.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    kinds: Kinds,
    /// Permits no two anti-dependencies in a row.
    nonadjacent: bool,
}

impl Rule {
    const fn any(kinds: Kinds) -> Rule {
        Rule {
            kinds,
            nonadjacent: false,
        }
    }

    const fn nonadjacent(kinds: Kinds) -> Rule {
        Rule {
            kinds,
            nonadjacent: true,
        }
    }

    /// Returns the layer in which an edge of `kind` ends that leaves from `layer`, if
    /// the rule permits it.
    fn step(self, layer: u32, kind: Kind) -> Option<u32> {
        if self.kinds & bit(kind) == 0 {
            return None;
        }
        match (kind.is_rw() && self.nonadjacent, layer) {
            (true, 0) => Some(1),
            (true, _) => None,
            (false, _) => Some(0),
        }
    }
}

/// Maximum edges examined in one search once it has found something.
const WORK_MAX: u64 = 20_000_000;
/// Maximum cycles that one search finds.
const CYCLES_MAX: usize = 500;

/// Finds cycles of all classes.
pub(crate) fn find(graph: &Graph, findings: &mut Findings<'_>) {
    let mut seen = HashSet::new();
    let mut found = [false; 4];
    for order in [0, PROCESS, REALTIME] {
        for (stage, found) in found.iter_mut().enumerate() {
            if *found {
                continue;
            }
            let (within, starts, back) = match stage {
                0 => (Rule::any(WW | order), WW, [None, Some(WW)]),
                1 => (Rule::any(WR | order), WR & !WW, [None, Some(WR)]),
                2 => (
                    Rule::nonadjacent(WR | RW | order),
                    RW,
                    [Some(WR), Some(WR | RW)],
                ),
                _ => (Rule::any(WR | RW | order), RW, [None, Some(WR | RW)]),
            };
            let components = components(graph, within);
            let Some(components) = components else {
                continue;
            };
            for kinds in back.into_iter().flatten() {
                let rule = Rule {
                    kinds: kinds | order,
                    ..within
                };
                let cycles = cycles(graph, &components, starts, rule);
                for cycle in cycles.found {
                    let mut transactions: Vec<_> = cycle.iter().map(|step| step.from).collect();
                    transactions.sort_unstable();
                    let anomaly = Anomaly::Cycle(class(&cycle), order_of(&cycle));
                    *found = true;
                    if seen.insert((anomaly, transactions)) {
                        findings.cycle(anomaly, cycle, cycles.more);
                    }
                }
            }
        }
    }
}

/// Returns the component of each state, zero for a state that is a component by itself.
/// Returns `None` if all states are.
fn components(graph: &Graph, rule: Rule) -> Option<Vec<u32>> {
    let mut states = DiGraph::<(), (), u32>::with_capacity(graph.nodes * 2, graph.edges.len() * 2);
    for _ in 0..graph.nodes * 2 {
        states.add_node(());
    }
    for edge in &graph.edges {
        for layer in 0..=u32::from(rule.nonadjacent) {
            if let Some(end) = rule.step(layer, edge.kind) {
                let (from, to) = (edge.from * 2 + layer, edge.to * 2 + end);
                states.add_edge(from.into(), to.into(), ());
            }
        }
    }
    let mut component = vec![0; graph.nodes * 2];
    let mut number = 0;
    for members in kosaraju_scc(&states) {
        if members.len() > 1 {
            number += 1;
            for member in members {
                component[member.index()] = number;
            }
        }
    }
    (number > 0).then_some(component)
}

struct Cycles {
    found: Vec<Vec<Step>>,
    /// Whether there may be more.
    more: bool,
}

/// Finds, for each edge of the kinds `starts`, the shortest way back by `rule`.
fn cycles(graph: &Graph, components: &[u32], starts: Kinds, rule: Rule) -> Cycles {
    let mut cycles = Cycles {
        found: Vec::new(),
        more: false,
    };
    let mut search = Search::new(graph, components, rule);
    let first = Rule {
        kinds: starts,
        ..rule
    };
    for edge in &graph.edges {
        let Some(layer) = first.step(0, edge.kind) else {
            continue;
        };
        let (from, to) = (edge.from * 2, edge.to * 2 + layer);
        let component = components[from as usize];
        if component == 0 || components[to as usize] != component {
            continue;
        }
        if !cycles.found.is_empty() && (cycles.found.len() >= CYCLES_MAX || search.work > WORK_MAX)
        {
            cycles.more = true;
            break;
        }
        if let Some(way) = search.way(to, from) {
            cycles.found.push(steps(graph, edge, &way));
        }
    }
    cycles.found.sort_by_key(Vec::len);
    cycles
}

/// Returns the steps of a cycle from transaction to transaction; moments are left out.
fn steps(graph: &Graph, first: &Edge, way: &[Edge]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut from = None;
    for edge in std::iter::once(first).chain(way) {
        let begun = *from.get_or_insert(edge.from);
        if (edge.to as usize) < graph.transactions {
            steps.push(Step {
                from: begun as usize,
                to: edge.to as usize,
                kind: edge.kind,
                reason: *graph.reason_of(edge),
            });
            from = None;
        }
    }
    steps
}

fn class(cycle: &[Step]) -> Cycle {
    let is_rw = |index: usize| cycle[index % cycle.len()].kind.is_rw();
    let anti = (0..cycle.len()).filter(|&index| is_rw(index)).count();
    let adjacent = (0..cycle.len()).any(|index| is_rw(index) && is_rw(index + 1));
    let read = |step: &Step| matches!(step.kind, Kind::Wr | Kind::WrIfStrict);
    match anti {
        0 if cycle.iter().any(read) => Cycle::G1c,
        0 => Cycle::G0,
        1 => Cycle::GSingle,
        _ if !adjacent => Cycle::GNonadjacent,
        _ if cycle.iter().any(|step| step.kind == Kind::RwPredicate) => Cycle::G2,
        _ => Cycle::G2Item,
    }
}

fn order_of(cycle: &[Step]) -> Order {
    let order = |step: &Step| match step.kind {
        Kind::Realtime | Kind::Time | Kind::WrIfStrict => Order::Realtime,
        Kind::Process => Order::Process,
        Kind::Ww | Kind::Wr | Kind::Rw | Kind::RwPredicate => Order::None,
    };
    cycle.iter().map(order).max().unwrap_or(Order::None)
}
