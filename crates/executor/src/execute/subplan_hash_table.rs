//! The rows of a query that count for an outer row, found by hash: they answer `EXISTS` and
//! comparisons with `ANY` where the conditions are equalities.
//!
//! A comparison with `ANY` is true if it is for a row that counts, NULL if it is for none but
//! unknown for one, and false otherwise. Rows for which it is true are found by all keys. Rows for
//! which it may be unknown have a NULL among their keys, and are few as a rule; or the asking row
//! has a NULL, and the rows that count are looked at until one is found, which is the first where
//! there is one key.

use index::hash::ChainedTable;
use interleave::Gradual;
use types::{
    Charge, Result, Scratch, SqlError, SqlState, Type, Value,
    compare::{equals, hash_values},
};

use super::{
    ExecutionContext, Input,
    tuple_hash_table::{grow, refused},
};
use batch::{NO_ROW, Rows};
use planner::{
    plan::{HashedKeys, HashedSubplan},
    program::{Evaluator, Program},
};

const SEED: u64 = 0;

/// The rows of a query, by their keys.
pub(super) struct SubplanHashTable<'p> {
    subplan: &'p HashedSubplan,
    /// Each row, then its filters' keys, then its tests' keys.
    rows: Rows,
    /// Number of values in a row of the query.
    width: usize,
    types: Vec<Type>,
    /// Rows by all keys.
    alike: Numbers,
    /// Rows by the filters' keys: all of them, if there are tests as well.
    counting: Numbers,
    /// Rows with a NULL among the tests' keys, by the filters' keys.
    unknown: Numbers,
    charge: Charge,
}

/// Numbers of rows by hashes.
type Numbers = Gradual<ChainedTable<u64, u32>>;

impl<'p> SubplanHashTable<'p> {
    /// Reads a query.
    ///
    /// # Errors
    /// Errors of the query; 53200 for more memory than there is, 54000 for more rows than have
    /// numbers.
    pub(super) async fn read(
        subplan: &'p HashedSubplan,
        query: &mut Input<'_>,
        context: &ExecutionContext<'_>,
    ) -> Result<Self> {
        let HashedKeys { types: tests, .. } = &subplan.tests;
        let types: Vec<Type> = subplan.filters.types.iter().chain(tests).copied().collect();
        let width = query.batch.width();
        let mut table = Self {
            subplan,
            rows: Rows::new(width + types.len()),
            width,
            types,
            alike: Numbers::default(),
            counting: Numbers::default(),
            unknown: Numbers::default(),
            charge: Charge::default(),
        };
        let mut scratch = Scratch::new();
        while query.more(context).await? {
            let rows = query.batch.len();
            for numbers in table.numbers() {
                let all = numbers.len() + rows;
                grow(numbers, all, context).await?;
            }
            scratch.reset();
            let mut evaluator = context.evaluator(&scratch);
            let mut keys = Vec::with_capacity(table.types.len());
            for row in query.batch.iter() {
                keys.clear();
                for program in subplan.filters.query.iter().chain(&subplan.tests.query) {
                    keys.push(program.run(&mut evaluator, row)?);
                }
                table.add(row, &keys)?;
                context.pause(1).await;
            }
            query.taken = query.batch.len();
            table.rows.settle(context.memory())?;
            let bytes = table.numbers().into_iter().map(|numbers| numbers.bytes());
            let bytes = bytes.sum();
            table.charge.set(context.memory(), bytes)?;
        }
        Ok(table)
    }

    fn numbers(&mut self) -> [&mut Numbers; 3] {
        [&mut self.alike, &mut self.counting, &mut self.unknown]
    }

    fn add(&mut self, row: &[Value<'_>], keys: &[Value<'_>]) -> Result<()> {
        let (filters, tests) = keys.split_at(self.subplan.filters.types.len());
        if filters.iter().any(Value::is_null) {
            return Ok(());
        }
        let all = hash_values(&self.types, keys, SEED);
        // A row that is there already adds nothing if only its keys are looked at.
        if self.subplan.residual.is_none()
            && self.subplan.others.is_empty()
            && self
                .alike
                .walk(all)
                .flatten()
                .any(|number| self.has_keys(number, keys))
        {
            return Ok(());
        }
        let number = u32::try_from(self.rows.len()).ok();
        let number = number.filter(|number| *number < NO_ROW).ok_or_else(|| {
            SqlError::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                "too many rows for a hash table",
            )
        })?;
        self.rows.push(row.iter().chain(keys).copied());
        self.alike.insert(all, number).map_err(refused)?;
        if !tests.is_empty() {
            let hash = self.hash_of_filters(filters);
            self.counting.insert(hash, number).map_err(refused)?;
            if tests.iter().any(Value::is_null) {
                self.unknown.insert(hash, number).map_err(refused)?;
            }
        }
        Ok(())
    }

    fn hash_of_filters(&self, filters: &[Value<'_>]) -> u64 {
        hash_values(&self.types[..filters.len()], filters, SEED)
    }

    /// Returns whether the first keys of a row are these. NULLs are equal to each other here.
    fn has_keys(&self, number: u32, keys: &[Value<'_>]) -> bool {
        let own = &self.rows.row(number as usize)[self.width..];
        let mut all = self.types.iter().zip(own).zip(keys);
        all.all(|((ty, own), key)| equals(*ty, *own, *key))
    }

    /// Returns the answer for a row.
    ///
    /// # Errors
    /// Errors of the conditions.
    pub(super) async fn answer<'a>(
        &'a self,
        row: &[Value<'a>],
        context: &'a ExecutionContext<'_>,
        scratch: &'a Scratch,
    ) -> Result<Value<'a>> {
        let mut asking = Asking {
            evaluator: context.evaluator(scratch),
            row,
            both: Vec::with_capacity(row.len() + self.width),
        };
        let mut keys = Vec::with_capacity(self.types.len());
        let (filters, tests) = (&self.subplan.filters.input, &self.subplan.tests.input);
        for program in filters.iter().chain(tests) {
            keys.push(program.run(&mut asking.evaluator, row)?);
        }
        let (filters, tests) = keys.split_at(filters.len());
        if filters.iter().any(Value::is_null) {
            return Ok(Value::Bool(false));
        }
        let mut unknown = false;
        let is_known = !tests.iter().any(Value::is_null);
        if is_known {
            let hash = hash_values(&self.types, &keys, SEED);
            for number in self.alike.walk(hash) {
                context.pause(1).await;
                let Some(number) = number else {
                    continue;
                };
                if !self.has_keys(number, &keys) || !self.counts(number, &mut asking)? {
                    continue;
                }
                match self.others(number, &mut asking)? {
                    Some(true) => return Ok(Value::Bool(true)),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
        }
        if !unknown && !tests.is_empty() {
            // No other row makes the comparison true.
            let numbers = match is_known {
                true => &self.unknown,
                false => &self.counting,
            };
            for number in numbers.walk(self.hash_of_filters(filters)) {
                context.pause(1).await;
                let Some(number) = number else {
                    continue;
                };
                if self.has_keys(number, filters)
                    && self.may_be_alike(number, filters.len(), tests)
                    && self.counts(number, &mut asking)?
                    && self.others(number, &mut asking)? != Some(false)
                {
                    unknown = true;
                    break;
                }
            }
        }
        Ok(match unknown {
            true => Value::Null,
            false => Value::Bool(false),
        })
    }

    /// Returns whether no test says that a row differs from the asking one.
    fn may_be_alike(&self, number: u32, filters: usize, tests: &[Value<'_>]) -> bool {
        let own = &self.rows.row(number as usize)[self.width + filters..];
        let mut all = self.types[filters..].iter().zip(own).zip(tests);
        all.all(|((ty, own), test)| own.is_null() || test.is_null() || equals(*ty, *own, *test))
    }

    fn counts<'a>(&'a self, number: u32, asking: &mut Asking<'a, '_>) -> Result<bool> {
        match &self.subplan.residual {
            None => Ok(true),
            Some(residual) => {
                let found = asking.run(residual, &self.rows.row(number as usize)[..self.width])?;
                Ok(found == Some(true))
            }
        }
    }

    /// Returns the result of the tests that are no equalities.
    fn others<'a>(&'a self, number: u32, asking: &mut Asking<'a, '_>) -> Result<Option<bool>> {
        let mut all = Some(true);
        for test in &self.subplan.others {
            match asking.run(test, &self.rows.row(number as usize)[..self.width])? {
                Some(true) => {}
                Some(false) => return Ok(Some(false)),
                None => all = None,
            }
        }
        Ok(all)
    }
}

/// A row that asks, and the evaluator in which its conditions run.
struct Asking<'a, 'r> {
    evaluator: Evaluator<'a>,
    row: &'r [Value<'a>],
    /// The asking row, and one of the query's.
    both: Vec<Value<'a>>,
}

impl<'a> Asking<'a, '_> {
    fn run(&mut self, condition: &'a Program, found: &[Value<'a>]) -> Result<Option<bool>> {
        self.both.clear();
        self.both.extend_from_slice(self.row);
        self.both.extend_from_slice(found);
        Ok(match condition.run(&mut self.evaluator, &self.both)? {
            Value::Bool(value) => Some(value),
            _ => None,
        })
    }
}
