//! Lists that are searched by hash: `x = ANY (array)` and `x <> ALL (array)`, whose forms with constants
//! are `IN` and `NOT IN`.
//!
//! An array that is the same for all rows of an execution is computed for the first row, and its elements
//! are put into a hash table, which the execution keeps. Other arrays, and short ones, are compared
//! element by element.

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
};

use functions::{Comparison, ScalarFunction, Volatility};
use index::hash::{ChainedTable, Refused};
use interleave::Gradual;
use types::{
    Array, Charge, Memory, Result, SqlError, SqlState, Type, Value,
    compare::{equals, hash_values},
};

use super::{Evaluator, Layout, Outer, Program, compile};
use crate::plan::is_hashable;
use batch::{BATCH_ROWS, Rows};
use logical::expression::{Expression, Function, Kind};

/// Least elements of an array that are put into a hash table: with fewer, comparing them takes less time.
const HASHED_MIN: usize = 5;

const SEED: u64 = 0;

/// The lists of an execution. Each list is that of a program of the execution's plan, and is charged to the
/// execution's memory.
pub struct Lists {
    memory: Rc<Memory>,
    known: RefCell<HashMap<u64, List>>,
}

impl Lists {
    /// Makes a place for lists, which are charged to `memory`.
    pub fn new(memory: &Rc<Memory>) -> Self {
        Self {
            memory: memory.clone(),
            known: RefCell::default(),
        }
    }
}

/// An array of a program that is the same for all rows of an execution.
#[derive(Debug, Clone)]
pub(super) struct ListSource {
    /// Number of the array among those of all programs of the process.
    id: u64,
    array: Program,
    /// Type of the values that are looked for.
    ty: Type,
}

impl ListSource {
    /// Returns the source of a list; `None` if the comparison is no equality that can be answered by hash, or if the
    /// array may differ between rows, or is short.
    pub(super) fn of(
        left: &Expression,
        operator: Function,
        array: &Expression,
        all: bool,
        outer: &Outer,
    ) -> Result<Option<Self>> {
        static SOURCES: AtomicU64 = AtomicU64::new(0);
        let wanted = match all {
            true => Comparison::NotEqual,
            false => Comparison::Equal,
        };
        let element = array.ty.element().map(Type::Scalar);
        let is_answered = operator.0.comparison == Some(wanted)
            && element.is_some_and(|element| is_hashable(left.ty, element));
        let is_short = matches!(&array.kind, Kind::Array(items) if items.len() < HASHED_MIN);
        if !is_answered || is_short || array.any(&mut may_differ) {
            return Ok(None);
        }
        Ok(Some(Self {
            id: SOURCES.fetch_add(1, Ordering::Relaxed),
            array: compile(array, &Layout::default(), outer)?,
            ty: left.ty,
        }))
    }

    /// Returns the answer for a value, by the list of the evaluator's execution. The first value that is looked for
    /// makes the list.
    ///
    /// # Errors
    /// Errors of the array and of `function`, which compares; 53200 for more memory than there is.
    pub(super) fn answer<'a>(
        &'a self,
        function: ScalarFunction,
        left: Value<'a>,
        all: bool,
        evaluator: &mut Evaluator<'a>,
        row: &[Value<'a>],
    ) -> Result<Value<'a>> {
        let lists = evaluator.lists;
        if let Some(lists) = lists
            && let Some(list) = lists.known.borrow().get(&self.id)
        {
            return Ok(list.answer(left, all));
        }
        // The program around has values in its registers.
        let registers = std::mem::take(&mut evaluator.registers);
        let array = self.array.run(evaluator, row);
        evaluator.registers = registers;
        let array = array?;
        evaluator.weigh(array);
        match (array, lists) {
            (Value::Array(items), Some(lists)) if items.len() >= HASHED_MIN => {
                let list = List::of(items, self.ty, &lists.memory)?;
                let answer = list.answer(left, all);
                lists.known.borrow_mut().insert(self.id, list);
                Ok(answer)
            }
            _ => quantified(evaluator, function, left, array, all),
        }
    }
}

/// Returns whether a part of an expression may have several values in an execution: a column of the row or of one
/// around it, or a function that is not immutable.
fn may_differ(part: &Expression) -> bool {
    match &part.kind {
        Kind::Column(_) | Kind::Previous => true,
        Kind::Call { function, .. } => function.0.volatility != Volatility::Immutable,
        _ => false,
    }
}

/// The elements of an array, at least one.
struct List {
    /// Different elements that are not NULL.
    elements: Rows,
    /// Numbers of elements by their hashes.
    numbers: Gradual<ChainedTable<u64, u32>>,
    has_null: bool,
    ty: Type,
    charged: Charge,
}

impl List {
    fn of(array: Array<'_>, ty: Type, memory: &Rc<Memory>) -> Result<Self> {
        let mut list = Self {
            elements: Rows::new(1),
            numbers: Gradual::default(),
            has_null: false,
            ty,
            charged: Charge::default(),
        };
        for (at, item) in array.iter().enumerate() {
            list.add(item?)?;
            if at % BATCH_ROWS == 0 {
                list.charge(memory)?;
            }
        }
        list.charge(memory)?;
        Ok(list)
    }

    fn charge(&mut self, memory: &Rc<Memory>) -> Result<()> {
        self.elements.settle(memory)?;
        self.charged.set(memory, self.numbers.bytes())
    }

    fn add(&mut self, item: Value<'_>) -> Result<()> {
        if item.is_null() {
            self.has_null = true;
            return Ok(());
        }
        let hash = hash_values(&[self.ty], &[item], SEED);
        if self.has(hash, item) {
            return Ok(());
        }
        let number = u32::try_from(self.elements.len()).map_err(|_| refused(Refused::TooMany))?;
        self.elements.push([item]);
        self.numbers.insert(hash, number).map_err(refused)
    }

    fn has(&self, hash: u64, value: Value<'_>) -> bool {
        let mut alike = self.numbers.walk(hash).flatten();
        alike.any(|number| equals(self.ty, self.elements.row(number as usize)[0], value))
    }

    /// Returns whether a value equals any of the elements, or differs from all of them.
    fn answer<'a>(&self, value: Value<'_>, all: bool) -> Value<'a> {
        if value.is_null() {
            return Value::Null;
        }
        match self.has(hash_values(&[self.ty], &[value], SEED), value) {
            true => Value::Bool(!all),
            false if self.has_null => Value::Null,
            false => Value::Bool(all),
        }
    }
}

fn refused(refused: Refused) -> SqlError {
    match refused {
        Refused::Memory(_) => SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory"),
        _ => SqlError::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            "too many elements for a hash table",
        ),
    }
}

/// Returns whether a comparison is true for any element of an array, or for all.
pub(super) fn quantified<'a>(
    evaluator: &Evaluator<'a>,
    function: functions::ScalarFunction,
    left: Value<'a>,
    array: Value<'a>,
    all: bool,
) -> Result<Value<'a>> {
    let Value::Array(array) = array else {
        return Ok(Value::Null);
    };
    if array.is_empty() {
        return Ok(Value::Bool(all));
    }
    if left.is_null() {
        return Ok(Value::Null);
    }
    let mut unknown = false;
    for item in array.iter() {
        let item = item?;
        let found = if item.is_null() {
            Value::Null
        } else {
            function(&evaluator.context, &[left, item])?
        };
        match found {
            Value::Bool(found) if found != all => return Ok(Value::Bool(found)),
            Value::Bool(_) => {}
            _ => unknown = true,
        }
    }
    Ok(if unknown {
        Value::Null
    } else {
        Value::Bool(all)
    })
}
