//! Runs of an automaton over a text, forwards and backwards, all alternatives side by side.
//!
//! A run over n characters takes at most n times the automaton's states in steps. A [`Scan`] counts
//! the steps of all its runs and gives up beyond a bound, which is linear in the length of the
//! text: nothing here takes exponential time, and quadratic time ends with an error.

use std::{cell::OnceCell, rc::Rc};

use types::{Result, SqlError, SqlState};

use super::{
    automaton::{Automaton, Part, Span, State, StateId},
    syntax::Node,
};

/// Steps that every call may take.
const STEPS: u64 = 10_000_000;
/// Further steps for each byte of the text.
const STEPS_PER_BYTE: u64 = 300;

/// A set of states in the order in which they were added.
#[derive(Debug, Default)]
struct Set {
    dense: Vec<StateId>,
    sparse: Vec<u32>,
}

impl Set {
    fn clear(&mut self, states: usize) {
        self.dense.clear();
        if self.sparse.len() < states {
            self.sparse.resize(states, 0);
        }
    }

    #[inline]
    fn insert(&mut self, state: StateId) -> bool {
        let at = self.sparse[state as usize] as usize;
        if self.dense.get(at) == Some(&state) {
            return false;
        }
        self.sparse[state as usize] = self.dense.len() as u32;
        self.dense.push(state);
        true
    }
}

/// A set of positions in a text.
#[derive(Debug, Default)]
pub(super) struct Positions(Vec<u64>);

impl Positions {
    pub(super) fn insert(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(super) fn has(&self, at: usize) -> bool {
        let word = self.0.get(at / 64);
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Returns the first position in the set from `from` on.
    pub(super) fn next(&self, from: usize) -> Option<usize> {
        let mut mask = !0 << (from % 64);
        for (index, word) in self.0.iter().enumerate().skip(from / 64) {
            let word = word & std::mem::replace(&mut mask, !0);
            if word != 0 {
                return Some(index * 64 + word.trailing_zeros() as usize);
            }
        }
        None
    }
}

/// For each state, the states that lead to it.
#[derive(Debug)]
pub(super) struct Predecessors {
    begins: Vec<u32>,
    all: Vec<StateId>,
}

impl Predecessors {
    fn of(automaton: &Automaton) -> Self {
        let successors = |state: &State| match *state {
            State::Jump(next)
            | State::Class(_, next)
            | State::Assertion(_, next)
            | State::Look(_, next) => [Some(next), None],
            State::Split(one, two) => [Some(one), Some(two)],
            State::End => [None, None],
        };
        let edges = || {
            let states = automaton.states.iter().enumerate();
            states.flat_map(|(from, state)| {
                let to = successors(state).into_iter().flatten();
                to.map(move |to| (from as StateId, to))
            })
        };
        let mut begins = vec![0u32; automaton.states.len() + 1];
        for (_, to) in edges() {
            begins[to as usize + 1] += 1;
        }
        for at in 1..begins.len() {
            begins[at] += begins[at - 1];
        }
        let mut fill = begins.clone();
        let mut all = vec![0; begins.last().copied().unwrap_or(0) as usize];
        for (from, to) in edges() {
            all[fill[to as usize] as usize] = from;
            fill[to as usize] += 1;
        }
        Self { begins, all }
    }

    fn get(&self, state: StateId) -> &[StateId] {
        let at = state as usize;
        &self.all[self.begins[at] as usize..self.begins[at + 1] as usize]
    }
}

/// An automaton that is ready to run.
pub(super) struct Machine {
    pub(super) automaton: Automaton,
    /// The whole expression, with its parts.
    pub(super) part: Part,
    predecessors: OnceCell<Predecessors>,
}

impl Machine {
    /// Returns a machine for an expression.
    ///
    /// # Errors
    /// 2201B if the automaton would be too large.
    pub(super) fn new(node: &Node) -> Result<Self> {
        let (automaton, part) = Automaton::new(node)?;
        Ok(Self {
            automaton,
            part,
            predecessors: OnceCell::new(),
        })
    }
}

/// One text that an automaton is run over.
pub(super) struct Scan<'t> {
    machine: Rc<Machine>,
    text: &'t str,
    /// Positions where each lookaround constraint holds.
    looks: Vec<Positions>,
    steps: u64,
    current: Set,
    next: Set,
    stack: Vec<StateId>,
}

impl<'t> Scan<'t> {
    /// Returns a scan over `text`.
    ///
    /// # Errors
    /// 54000 if lookaround constraints alone take too many steps.
    pub(super) fn new(machine: &Rc<Machine>, text: &'t str) -> Result<Self> {
        let mut scan = Self {
            machine: Rc::clone(machine),
            text,
            looks: Vec::new(),
            steps: STEPS + STEPS_PER_BYTE * text.len() as u64,
            current: Set::default(),
            next: Set::default(),
            stack: Vec::new(),
        };
        // Inner constraints come before outer ones.
        for look in &machine.automaton.looks {
            let mut holds = Positions::default();
            if look.ahead {
                scan.backward(
                    look.span,
                    &[look.span.first],
                    text.len(),
                    0,
                    |_| true,
                    |_, at| holds.insert(at),
                )?;
            } else {
                scan.forward(look.span, 0, text.len(), true, |at| {
                    holds.insert(at);
                    true
                })?;
            }
            scan.looks.push(holds);
        }
        Ok(scan)
    }

    /// Returns the machine with its expression.
    pub(super) fn machine(&self) -> Rc<Machine> {
        Rc::clone(&self.machine)
    }

    /// Counts some steps. Fails with 54000 beyond the bound.
    #[inline]
    pub(super) fn charge(&mut self, steps: u64) -> Result<()> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(too_long()),
        }
    }

    fn holds(&self, state: State, at: usize) -> bool {
        match state {
            State::Assertion(assertion, _) => assertion.holds(self.text, at),
            State::Look(number, _) => {
                let found = self.looks[number as usize].has(at);
                found != self.machine.automaton.looks[number as usize].negated
            }
            _ => true,
        }
    }

    /// Calls `visit` with each position up to `limit` where the fragment, begun at `from` (or
    /// there and everywhere behind), can end, ascending, until it returns false.
    ///
    /// # Errors
    /// 54000 beyond the bound of steps.
    pub(super) fn forward(
        &mut self,
        span: Span,
        from: usize,
        limit: usize,
        everywhere: bool,
        mut visit: impl FnMut(usize) -> bool,
    ) -> Result<()> {
        let machine = Rc::clone(&self.machine);
        let automaton = &machine.automaton;
        let states = automaton.states.len();
        let mut current = std::mem::take(&mut self.current);
        let mut next = std::mem::take(&mut self.next);
        current.clear(states);
        let mut at = from;
        let mut characters = self.text[from..limit].chars();
        let result = loop {
            if (everywhere || at == from)
                && let Err(error) = self.enter(span.first, span.last, at, &mut current)
            {
                break Err(error);
            }
            let ends = current
                .dense
                .get(current.sparse[span.last as usize] as usize);
            if ends == Some(&span.last) && !visit(at) {
                break Ok(());
            }
            if current.dense.is_empty() && !everywhere {
                break Ok(());
            }
            let Some(character) = characters.next() else {
                break Ok(());
            };
            at += character.len_utf8();
            next.clear(states);
            let entered = current.dense.iter().try_for_each(|state| {
                match automaton.states[*state as usize] {
                    State::Class(class, to)
                        if *state != span.last
                            && automaton.classes[class as usize].has(character) =>
                    {
                        self.enter(to, span.last, at, &mut next)
                    }
                    _ => Ok(()),
                }
            });
            if let Err(error) = entered.and_then(|()| self.charge(1)) {
                break Err(error);
            }
            std::mem::swap(&mut current, &mut next);
        };
        (self.current, self.next) = (current, next);
        result
    }

    /// Adds a state, and the states reached from it without a character, up to `last`.
    #[inline]
    fn enter(&mut self, state: StateId, last: StateId, at: usize, set: &mut Set) -> Result<()> {
        self.stack.push(state);
        while let Some(state) = self.stack.pop() {
            if !set.insert(state) {
                continue;
            }
            self.charge(1)?;
            if state == last {
                continue;
            }
            match self.machine.automaton.states[state as usize] {
                State::Jump(next) => self.stack.push(next),
                State::Split(one, two) => self.stack.extend([two, one]),
                held @ (State::Assertion(_, next) | State::Look(_, next)) => {
                    if self.holds(held, at) {
                        self.stack.push(next);
                    }
                }
                State::Class(..) | State::End => {}
            }
        }
        Ok(())
    }

    /// Calls `visit` with each position from `to` down to `floor`, and each of the states `marks`
    /// (ascending), from which the fragment's end is reached at a position where `ends` is true.
    ///
    /// # Errors
    /// 54000 beyond the bound of steps.
    pub(super) fn backward(
        &mut self,
        span: Span,
        marks: &[StateId],
        to: usize,
        floor: usize,
        ends: impl Fn(usize) -> bool,
        mut visit: impl FnMut(usize, usize),
    ) -> Result<()> {
        let machine = Rc::clone(&self.machine);
        let automaton = &machine.automaton;
        let predecessors = machine
            .predecessors
            .get_or_init(|| Predecessors::of(automaton));
        let states = automaton.states.len();
        let mut current = std::mem::take(&mut self.current);
        let mut next = std::mem::take(&mut self.next);
        current.clear(states);
        let mut at = to;
        let mut characters = self.text[floor..to].chars();
        let result = loop {
            if ends(at)
                && let Err(error) =
                    self.leave(span.last, span.first, at, predecessors, &mut current)
            {
                break Err(error);
            }
            for state in &current.dense {
                if let Ok(mark) = marks.binary_search(state) {
                    visit(mark, at);
                }
            }
            let Some(character) = characters.next_back() else {
                break Ok(());
            };
            next.clear(states);
            let before = at - character.len_utf8();
            let left = current.dense.iter().try_for_each(|state| {
                if *state == span.first {
                    return Ok(());
                }
                predecessors.get(*state).iter().try_for_each(|from| {
                    match automaton.states[*from as usize] {
                        State::Class(class, _)
                            if automaton.classes[class as usize].has(character) =>
                        {
                            self.leave(*from, span.first, before, predecessors, &mut next)
                        }
                        _ => Ok(()),
                    }
                })
            });
            if let Err(error) = left.and_then(|()| self.charge(1)) {
                break Err(error);
            }
            at = before;
            std::mem::swap(&mut current, &mut next);
        };
        (self.current, self.next) = (current, next);
        result
    }

    /// Adds a state, and the states that lead to it without a character, back to `first`.
    fn leave(
        &mut self,
        state: StateId,
        first: StateId,
        at: usize,
        predecessors: &Predecessors,
        set: &mut Set,
    ) -> Result<()> {
        self.stack.push(state);
        while let Some(state) = self.stack.pop() {
            if !set.insert(state) {
                continue;
            }
            self.charge(1)?;
            if state == first {
                continue;
            }
            for from in predecessors.get(state) {
                let held = self.machine.automaton.states[*from as usize];
                if !matches!(held, State::Class(..)) && self.holds(held, at) {
                    self.stack.push(*from);
                }
            }
        }
        Ok(())
    }
}

#[cold]
fn too_long() -> SqlError {
    SqlError::new(
        SqlState::PROGRAM_LIMIT_EXCEEDED,
        "a match of a regular expression takes too many steps",
    )
    .hint("Simplify the regular expression, or match shorter texts.")
}
