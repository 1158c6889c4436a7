//! A nondeterministic automaton for an expression, and its parts, which take parts of a match.
//!
//! Each [`Part`] is a fragment of the one automaton, entered only at its first state and left only
//! at its last, so that it can be run by itself. Parts follow PostgreSQL's reading of a branch: the
//! elements before one that captures, or that prefers another length, are one part.
//!
//! Bounded: [`STATES_MAX`].

use types::Result;

use super::{
    compiled::invalid,
    syntax::{Assertion, Class, Node, Preference},
};

/// Maximum states of an automaton, 16 bytes each.
const STATES_MAX: usize = 300_000;

pub(super) type StateId = u32;

#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// The end of a part; the next state is the first of the part that follows.
    Jump(StateId),
    Split(StateId, StateId),
    Class(u32, StateId),
    Assertion(Assertion, StateId),
    /// A lookaround constraint, by its number.
    Look(u32, StateId),
    /// The end of the automaton.
    End,
}

/// A fragment: its first and its last state.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) first: StateId,
    pub(super) last: StateId,
}

/// A lookaround constraint.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) ahead: bool,
    pub(super) negated: bool,
    pub(super) span: Span,
}

/// A part of the expression, if its part of the match is wanted.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) span: Span,
    pub(super) preference: Option<Preference>,
    /// Number of its parentheses, if it has some.
    pub(super) group: Option<usize>,
    pub(super) inner: Inner,
    /// Whether it, or anything within it, captures.
    pub(super) captures: bool,
}

#[derive(Debug)]
pub(super) enum Inner {
    /// A part that has nothing capturing within it.
    Plain,
    Concat(Vec<Part>),
    Alternate(Vec<Part>),
    /// Any number of times, up to a bound.
    Iterate {
        part: Box<Part>,
        most: Option<u32>,
    },
}

impl Part {
    fn new(span: Span, preference: Option<Preference>, inner: Inner) -> Self {
        let captures = match &inner {
            Inner::Plain => false,
            Inner::Concat(parts) | Inner::Alternate(parts) => {
                parts.iter().any(|part| part.captures)
            }
            Inner::Iterate { part, .. } => part.captures,
        };
        Self {
            span,
            preference,
            group: None,
            inner,
            captures,
        }
    }
}

/// An automaton.
#[derive(Debug, Default)]
pub(super) struct Automaton {
    pub(super) states: Vec<State>,
    pub(super) classes: Vec<Class>,
    /// Lookaround constraints; inner ones come before outer ones.
    pub(super) looks: Vec<Look>,
}

/// An expression's preference of length, and whether it is plain, before it is built.
#[derive(Clone, Copy, Default)]
struct Traits {
    preference: Option<Preference>,
    /// Whether it captures, or has parts that prefer different lengths.
    messy: bool,
}

fn traits(node: &Node) -> Traits {
    match node {
        Node::Empty | Node::Class(_) | Node::Assertion(_) | Node::Look { .. } => Traits::default(),
        Node::Group(_, node) => Traits {
            messy: true,
            ..traits(node)
        },
        Node::Alternate(nodes) => Traits {
            preference: Some(Preference::Longest),
            messy: nodes
                .iter()
                .map(traits)
                .any(|one| one.messy || one.preference == Some(Preference::Shortest)),
        },
        Node::Concat(nodes) => nodes.iter().map(traits).fold(Traits::default(), combined),
        Node::Repeat {
            node,
            preference,
            most,
            ..
        } => {
            if *most == Some(0) {
                return Traits::default();
            }
            let quantifier = Traits {
                preference: *preference,
                messy: false,
            };
            combined(quantifier, traits(node))
        }
    }
}

/// Combines two traits: the first preference of a length decides; two different ones are messy.
fn combined(one: Traits, two: Traits) -> Traits {
    let clash = matches!((one.preference, two.preference), (Some(one), Some(two)) if one != two);
    Traits {
        preference: one.preference.or(two.preference),
        messy: one.messy || two.messy || clash,
    }
}

impl Automaton {
    /// Returns the automaton of an expression, with its parts.
    ///
    /// # Errors
    /// 2201B if it would be too large.
    pub(super) fn new(node: &Node) -> Result<(Self, Part)> {
        let mut automaton = Self::default();
        let part = automaton.part(node)?;
        automaton.states[part.span.last as usize] = State::End;
        Ok((automaton, part))
    }

    fn push(&mut self, state: State) -> Result<StateId> {
        if self.states.len() >= STATES_MAX {
            return Err(invalid("regular expression is too complex"));
        }
        self.states.push(state);
        Ok((self.states.len() - 1) as StateId)
    }

    /// Adds a state that [`join`](Self::join) will give a successor.
    fn open(&mut self) -> Result<StateId> {
        self.push(State::End)
    }

    fn join(&mut self, from: StateId, to: StateId) {
        self.states[from as usize] = State::Jump(to);
    }

    /// Adds a fragment whose inner parts are not wanted.
    fn fragment(&mut self, node: &Node) -> Result<Span> {
        match node {
            Node::Empty => self.empty(),
            Node::Class(class) => {
                self.classes.push(class.clone());
                let number = (self.classes.len() - 1) as u32;
                self.single(|last| State::Class(number, last))
            }
            Node::Assertion(assertion) => self.single(|last| State::Assertion(*assertion, last)),
            Node::Look {
                ahead,
                negated,
                node,
            } => {
                let span = self.fragment(node)?;
                self.looks.push(Look {
                    ahead: *ahead,
                    negated: *negated,
                    span,
                });
                let number = (self.looks.len() - 1) as u32;
                self.single(|last| State::Look(number, last))
            }
            Node::Group(_, node) => self.fragment(node),
            Node::Concat(nodes) => self.concat(nodes),
            Node::Alternate(nodes) => {
                let spans = nodes.iter().map(|node| self.fragment(node));
                let spans = spans.collect::<Result<Vec<_>>>()?;
                self.alternate(&spans)
            }
            Node::Repeat {
                node, least, most, ..
            } => self.repeated(node, *least, *most),
        }
    }

    fn empty(&mut self) -> Result<Span> {
        let first = self.open()?;
        let last = self.open()?;
        self.join(first, last);
        Ok(Span { first, last })
    }

    fn single(&mut self, state: impl FnOnce(StateId) -> State) -> Result<Span> {
        let last = self.open()?;
        let first = self.push(state(last))?;
        Ok(Span { first, last })
    }

    fn concat(&mut self, nodes: &[Node]) -> Result<Span> {
        let mut whole = self.empty()?;
        for node in nodes {
            let next = self.fragment(node)?;
            self.join(whole.last, next.first);
            whole.last = next.last;
        }
        Ok(whole)
    }

    fn alternate(&mut self, spans: &[Span]) -> Result<Span> {
        let last = self.open()?;
        let mut first = None;
        for span in spans.iter().rev() {
            self.join(span.last, last);
            first = Some(match first {
                None => self.push(State::Jump(span.first))?,
                Some(others) => self.push(State::Split(span.first, others))?,
            });
        }
        let first = first.map_or_else(|| self.push(State::Jump(last)), Ok)?;
        Ok(Span { first, last })
    }

    /// Repeats a fragment any number of times.
    fn looped(&mut self, inner: Span) -> Result<Span> {
        let last = self.open()?;
        let first = self.push(State::Split(inner.first, last))?;
        self.join(inner.last, first);
        // The first state must not be entered from within.
        let before = self.push(State::Jump(first))?;
        Ok(Span {
            first: before,
            last,
        })
    }

    fn repeated(&mut self, node: &Node, least: u32, most: Option<u32>) -> Result<Span> {
        let mut whole = self.empty()?;
        for _ in 0..least {
            let next = self.fragment(node)?;
            self.join(whole.last, next.first);
            whole.last = next.last;
        }
        match most {
            None => {
                let inner = self.fragment(node)?;
                let next = self.looped(inner)?;
                self.join(whole.last, next.first);
                whole.last = next.last;
            }
            Some(most) if most > least => {
                let last = self.open()?;
                for _ in least..most {
                    let inner = self.fragment(node)?;
                    self.states[whole.last as usize] = State::Split(inner.first, last);
                    whole.last = inner.last;
                }
                self.join(whole.last, last);
                whole.last = last;
            }
            Some(_) => {}
        }
        Ok(whole)
    }

    /// Adds a fragment with those of its parts that matter.
    fn part(&mut self, node: &Node) -> Result<Part> {
        let Traits { preference, messy } = traits(node);
        if !messy {
            let span = self.fragment(node)?;
            return Ok(plain(span, preference));
        }
        match node {
            Node::Group(number, node) => {
                let mut part = self.part(node)?;
                if part.group.is_some() {
                    part = Part::new(part.span, preference, Inner::Concat(vec![part]));
                }
                (part.group, part.captures) = (Some(*number), true);
                Ok(part)
            }
            Node::Alternate(nodes) => {
                let parts = nodes.iter().map(|node| self.part(node));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                let spans: Vec<Span> = parts.iter().map(|part| part.span).collect();
                let span = self.alternate(&spans)?;
                Ok(Part::new(span, preference, Inner::Alternate(parts)))
            }
            Node::Concat(nodes) => self.branch(nodes, preference),
            Node::Repeat {
                node,
                least,
                most,
                preference: own,
            } => self.repeated_part(node, *least, *most, *own, preference),
            _ => {
                let span = self.fragment(node)?;
                Ok(plain(span, preference))
            }
        }
    }

    /// Adds the parts of a branch: plain elements that prefer one length form one part.
    fn branch(&mut self, nodes: &[Node], preference: Option<Preference>) -> Result<Part> {
        let mut parts = Vec::new();
        let (mut begin, mut so_far) = (0, Traits::default());
        for (position, node) in nodes.iter().enumerate() {
            let next = combined(so_far, traits(node));
            if !next.messy {
                so_far = next;
                continue;
            }
            if position > begin {
                let span = self.concat(&nodes[begin..position])?;
                parts.push(plain(span, so_far.preference));
            }
            parts.push(self.part(node)?);
            (begin, so_far) = (position + 1, Traits::default());
        }
        if begin < nodes.len() {
            let span = self.concat(&nodes[begin..])?;
            parts.push(plain(span, so_far.preference));
        }
        self.sequence(parts, preference)
    }

    fn sequence(&mut self, parts: Vec<Part>, preference: Option<Preference>) -> Result<Part> {
        let mut span = self.empty()?;
        for part in &parts {
            self.join(span.last, part.span.first);
            span.last = part.span.last;
        }
        // The last state of all belongs to no part, so that each part can be left.
        let last = self.open()?;
        self.join(span.last, last);
        span.last = last;
        Ok(Part::new(span, preference, Inner::Concat(parts)))
    }

    /// Builds `x{m,n}` as `x{m-1,n-1}x`, of which the second `x` captures: the last time counts.
    fn repeated_part(
        &mut self,
        node: &Node,
        least: u32,
        most: Option<u32>,
        own: Option<Preference>,
        preference: Option<Preference>,
    ) -> Result<Part> {
        let inner = traits(node);
        if least == 1
            && most == Some(1)
            && (own.is_none() || inner.preference.is_none() || own == inner.preference)
        {
            return self.part(node);
        }
        if least > 0 {
            let before = self.repeated(node, least - 1, most.map(|most| most - 1))?;
            let last = self.part(node)?;
            return self.sequence(vec![plain(before, preference), last], preference);
        }
        let part = self.part(node)?;
        let span = match most {
            None => self.looped(part.span)?,
            Some(most) => {
                let others = self.repeated(node, 0, Some(most.saturating_sub(1)))?;
                let last = self.open()?;
                let first = self.push(State::Split(part.span.first, last))?;
                self.join(part.span.last, others.first);
                self.join(others.last, last);
                Span { first, last }
            }
        };
        let part = Box::new(part);
        Ok(Part::new(span, preference, Inner::Iterate { part, most }))
    }
}

fn plain(span: Span, preference: Option<Preference>) -> Part {
    Part::new(span, preference, Inner::Plain)
}
