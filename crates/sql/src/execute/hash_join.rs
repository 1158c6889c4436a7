//! Joins by hash: one side is read into a table, the other looked up in it, batch by batch.

use types::{Result, Scratch, Value};

use super::{BATCH_ROWS, Input, Operator, ROWS_PER_TURN, Run, Step, partners::Partners};
use crate::{plan::HashJoin, program::Program, relation::JoinKind, rows::Rows};

pub(super) struct HashJoining<'p> {
    join: &'p HashJoin,
    /// Where the keys of the build side are, if they are columns of its rows.
    build_columns: Option<Vec<usize>>,
    probe: Input<'p>,
    build: Input<'p>,
    partners: Partners,
    is_built: bool,
    /// Rows of the build side that had a partner, for a full join.
    matched: Vec<bool>,
    /// Pairs of the probe's batch that were found and not handed over: its row, and the partner's.
    pairs: Vec<(u32, u32)>,
    next: usize,
    /// Rows of the probe's batch that are looked up at once.
    slice: usize,
    /// Rows of the build side without a partner were handed over up to here.
    rest: usize,
    scratch: Scratch,
}

/// Stands for no partner.
const NONE: u32 = u32::MAX;

impl<'p> HashJoining<'p> {
    pub(super) fn new(join: &'p HashJoin, probe: Input<'p>, build: Input<'p>) -> Self {
        let keys = join.build_keys.iter().map(Program::as_column);
        let build_columns: Option<Vec<usize>> = keys.collect();
        let partners = match &build_columns {
            Some(keys) => Partners::with_keys_at(join.build_width, keys.clone(), &join.key_types),
            None => Partners::new(join.build_width, &join.key_types),
        };
        Self {
            join,
            build_columns,
            probe,
            build,
            partners,
            is_built: false,
            matched: Vec::new(),
            pairs: Vec::new(),
            next: 0,
            slice: usize::MAX,
            rest: 0,
            scratch: Scratch::new(),
        }
    }

    async fn advance(&mut self, run: &Run<'_>, out: &mut Rows) -> Result<bool> {
        if !self.is_built {
            self.build(run).await?;
            self.is_built = true;
        }
        loop {
            self.hand_over(out);
            if !out.is_empty() {
                return Ok(true);
            }
            if self.probe.more(run).await? {
                let candidates = self.look_up(run)?;
                run.pause(candidates).await;
                continue;
            }
            if self.join.kind == JoinKind::Full {
                self.without_partner(out);
            }
            return Ok(!out.is_empty());
        }
    }

    async fn build(&mut self, run: &Run<'_>) -> Result<()> {
        while self.build.more(run).await? {
            self.scratch.reset();
            let mut machine = run.machine(&self.scratch);
            let mut keys = Vec::with_capacity(self.join.build_keys.len());
            for at in 0..self.build.batch.len() {
                let row = self.build.batch.row(at);
                keys.clear();
                for program in &self.join.build_keys {
                    keys.push(program.run(&mut machine, row)?);
                }
                // NULL is equal to nothing.
                if keys.iter().any(Value::is_null) && self.join.kind != JoinKind::Full {
                    continue;
                }
                let hash = self.partners.hash(&keys);
                let apart = match self.build_columns {
                    Some(_) => &[],
                    None => &keys[..],
                };
                self.partners
                    .push(row.iter().copied().chain(apart.iter().copied()), hash)?;
            }
            self.build.taken = self.build.batch.len();
        }
        self.partners.settle_all(run).await?;
        if self.join.kind == JoinKind::Full {
            self.matched = vec![false; self.partners.rows.len()];
        }
        Ok(())
    }

    /// Finds the partners of some rows of the probe side; how many candidates there were beyond one
    /// for each. Where rows have many, few are looked up at once.
    fn look_up(&mut self, run: &Run<'_>) -> Result<usize> {
        self.scratch.reset();
        self.pairs.clear();
        self.next = 0;
        let batch = &self.probe.batch;
        let first = self.probe.taken;
        let until = batch.len().min(first.saturating_add(self.slice));
        let mut machine = run.machine(&self.scratch);
        let width = self.join.probe_keys.len();
        let mut keys = Vec::with_capacity((until - first) * width);
        let mut hashes = Vec::with_capacity(until - first);
        let mut rows = Vec::with_capacity(until - first);
        for at in first..until {
            let row = batch.row(at);
            let own = keys.len();
            for program in &self.join.probe_keys {
                keys.push(program.run(&mut machine, row)?);
            }
            if !keys[own..].iter().any(Value::is_null) {
                hashes.push(self.partners.hash(&keys[own..]));
                rows.push(at as u32);
            }
        }
        let mut candidates: Vec<(u32, u32)> = Vec::with_capacity(hashes.len());
        self.partners.find(&hashes, |place, number| {
            candidates.push((rows[place], number))
        });
        // Their rows are about to be compared.
        for (_, number) in &candidates {
            self.partners.rows.prefetch(*number as usize);
        }
        let count = candidates.len();
        // In the order of the rows, and of the partners among them.
        candidates.sort_unstable();
        let mut candidates = candidates.into_iter().peekable();
        let mut both = Vec::with_capacity(self.join.probe_width + self.join.build_width);
        for (place, at) in (first..until).enumerate() {
            let row = batch.row(at);
            let own = &keys[place * width..(place + 1) * width];
            let mut found = false;
            while let Some((_, number)) = candidates.next_if(|(of, _)| *of as usize == at) {
                let kind = self.join.kind;
                if found && matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    continue;
                }
                if !self.partners.has_keys(number, own) {
                    continue;
                }
                if let Some(residual) = &self.join.residual {
                    both.clear();
                    both.extend_from_slice(row);
                    both.extend_from_slice(
                        &self.partners.rows.row(number as usize)[..self.join.build_width],
                    );
                    if !residual.holds(&mut machine, &both)? {
                        continue;
                    }
                }
                found = true;
                if let Some(matched) = self.matched.get_mut(number as usize) {
                    *matched = true;
                }
                if !matches!(kind, JoinKind::Anti | JoinKind::Semi) {
                    self.pairs.push((at as u32, number));
                }
            }
            let alone = match self.join.kind {
                JoinKind::Left | JoinKind::Full | JoinKind::Anti => !found,
                JoinKind::Semi => found,
                JoinKind::Inner | JoinKind::Right => false,
            };
            if alone {
                self.pairs.push((at as u32, NONE));
            }
        }
        self.probe.taken = until;
        self.slice = slice(until - first, count);
        Ok(count.saturating_sub(until - first))
    }

    fn hand_over(&mut self, out: &mut Rows) {
        let filters = matches!(self.join.kind, JoinKind::Semi | JoinKind::Anti);
        let width = if filters { 0 } else { self.join.build_width };
        for &(at, number) in self.pairs[self.next..].iter().take(BATCH_ROWS) {
            let row = self.probe.batch.row(at as usize);
            if number == NONE {
                let nulls = std::iter::repeat_n(Value::Null, width);
                out.push(row.iter().copied().chain(nulls));
            } else {
                out.push_both(row, &self.partners.rows.row(number as usize)[..width]);
            }
        }
        self.next += out.len();
    }

    fn without_partner(&mut self, out: &mut Rows) {
        while self.rest < self.matched.len() && out.len() < BATCH_ROWS {
            if !self.matched[self.rest] {
                let row = &self.partners.rows.row(self.rest)[..self.join.build_width];
                let nulls = std::iter::repeat_n(Value::Null, self.join.probe_width);
                out.push(nulls.chain(row.iter().copied()));
            }
            self.rest += 1;
        }
    }
}

/// How many rows to look up next, of which so many had so many candidates: about a turn's work.
pub(super) fn slice(rows: usize, candidates: usize) -> usize {
    let slice = (rows * ROWS_PER_TURN).checked_div(candidates);
    slice.map_or(usize::MAX, |slice| slice.max(1))
}

impl Operator for HashJoining<'_> {
    fn next<'f>(&'f mut self, run: &'f Run<'_>, out: &'f mut Rows) -> Step<'f> {
        Box::pin(self.advance(run, out))
    }

    fn rewind(&mut self) {
        self.probe.rewind();
        self.build.rewind();
        self.partners.clear();
        self.is_built = false;
        self.matched.clear();
        self.pairs.clear();
        self.next = 0;
        self.rest = 0;
    }
}
