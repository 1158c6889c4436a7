//! Orders that clients see: of the transactions of a process, and of time.
//!
//! Time orders every pair of transactions of which the first had ended before the
//! second began: far too many edges. Instead each end has a node, a *moment*, with
//! an edge from its transaction, an edge to the next moment, and edges to the
//! transactions that begin before that.

use crate::{
    Map,
    graph::{Edge, Graph, Kind},
    history::{Outcome, Transaction},
};

/// Adds both orders for the transactions that count.
pub(crate) fn add(graph: &mut Graph, history: &[Transaction], counts: &[bool]) {
    let counted = || (0..history.len()).filter(|&index| counts[index]);
    let mut by_begin: Vec<usize> = counted().collect();
    by_begin.sort_by_key(|&index| history[index].begun);
    processes(graph, history, &by_begin);
    let known = |&index: &usize| history[index].outcome != Outcome::Unknown;
    let mut by_end: Vec<usize> = counted().filter(known).collect();
    by_end.sort_by_key(|&index| history[index].ended);
    realtime(graph, history, &by_begin, &by_end);
}

fn edge(graph: &mut Graph, from: u32, to: u32, kind: Kind) {
    let reason = 0;
    graph.add(Edge {
        from,
        to,
        kind,
        reason,
    });
}

fn processes(graph: &mut Graph, history: &[Transaction], by_begin: &[usize]) {
    let mut last: Map<u64, usize> = Map::default();
    for &index in by_begin {
        if let Some(before) = last.insert(history[index].process, index)
            && history[before].precedes(&history[index])
        {
            edge(graph, before as u32, index as u32, Kind::Process);
        }
    }
}

fn realtime(graph: &mut Graph, history: &[Transaction], by_begin: &[usize], by_end: &[usize]) {
    let mut beginning = by_begin.iter().copied().peekable();
    let mut moment = None;
    for &index in by_end {
        while let Some(begins) =
            beginning.next_if(|&begins| history[begins].begun <= history[index].ended)
        {
            if let Some(moment) = moment {
                edge(graph, moment, begins as u32, Kind::Realtime);
            }
        }
        let next = graph.add_node();
        if let Some(moment) = moment {
            edge(graph, moment, next, Kind::Time);
        }
        edge(graph, index as u32, next, Kind::Realtime);
        moment = Some(next);
    }
    for begins in beginning {
        if let Some(moment) = moment {
            edge(graph, moment, begins as u32, Kind::Realtime);
        }
    }
}
