//! The shortest way from one state to another within a component.

use std::collections::VecDeque;

use super::Rule;
use crate::graph::{Edge, Graph, Kind};

/// Consecutive searches in the same memory.
pub(super) struct Search<'g> {
    graph: &'g Graph,
    components: &'g [u32],
    rule: Rule,
    /// Edges examined so far.
    pub(super) work: u64,
    round: u32,
    /// By state: the round in which it was reached, at which distance, and by which
    /// edge from which state.
    reached: Vec<(u32, u32)>,
    by: Vec<(u32, Edge)>,
    queue: VecDeque<(u32, u32)>,
}

impl<'g> Search<'g> {
    pub(super) fn new(graph: &'g Graph, components: &'g [u32], rule: Rule) -> Search<'g> {
        let nowhere = Edge {
            from: 0,
            to: 0,
            kind: Kind::Time,
            reason: 0,
        };
        Search {
            graph,
            components,
            rule,
            work: 0,
            round: 0,
            reached: vec![(0, 0); graph.nodes * 2],
            by: vec![(0, nowhere); graph.nodes * 2],
            queue: VecDeque::new(),
        }
    }

    /// Returns the edges of a shortest way from `from` to `to`. Moments cost
    /// nothing.
    pub(super) fn way(&mut self, from: u32, to: u32) -> Option<Vec<Edge>> {
        self.round += 1;
        self.queue.clear();
        self.reached[from as usize] = (self.round, 0);
        self.queue.push_back((from, 0));
        while let Some((state, distance)) = self.queue.pop_front() {
            if state == to {
                return Some(self.back(from, to));
            }
            if self.reached[state as usize].1 < distance {
                continue;
            }
            self.leave(state, distance);
        }
        None
    }

    fn leave(&mut self, state: u32, distance: u32) {
        let component = self.components[state as usize];
        let graph = self.graph;
        for edge in graph.leaving(state / 2) {
            self.work += 1;
            let Some(layer) = self.rule.step(state % 2, edge.kind) else {
                continue;
            };
            let end = edge.to * 2 + layer;
            if self.components[end as usize] != component {
                continue;
            }
            let is_free = edge.to as usize >= graph.transactions;
            let further = distance + u32::from(!is_free);
            let (round, known) = self.reached[end as usize];
            if round == self.round && known <= further {
                continue;
            }
            self.reached[end as usize] = (self.round, further);
            self.by[end as usize] = (state, *edge);
            if is_free {
                self.queue.push_front((end, further));
            } else {
                self.queue.push_back((end, further));
            }
        }
    }

    fn back(&self, from: u32, to: u32) -> Vec<Edge> {
        let mut way = Vec::new();
        let mut state = to;
        while state != from {
            let (before, edge) = self.by[state as usize];
            way.push(edge);
            state = before;
        }
        way.reverse();
        way
    }
}
