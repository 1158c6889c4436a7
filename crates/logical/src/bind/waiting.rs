//! Sleeping and advisory locks within expressions: each call becomes a column of the rows around
//! it, as calls of sequences' functions do.

use types::{Result, Scalar, Type};

use super::{Binder, clause::Clause};
use crate::{
    expression::Expression,
    relation::{AdvisoryFunction, WaitingFunction},
};
use batch::OwnedValue;

impl Binder<'_> {
    /// Binds a call of a function that waits; returns `None`, and the arguments back, if the
    /// function is another one.
    pub(super) fn waiting_call(
        &mut self,
        name: &str,
        arguments: Vec<Expression>,
        position: Option<u32>,
        clause: &mut Clause<'_>,
    ) -> Result<std::result::Result<Expression, Vec<Expression>>> {
        let function = match (name, AdvisoryFunction::named(name)) {
            ("pg_sleep" | "pg_sleep_for" | "pg_sleep_until", _) => WaitingFunction::Sleep,
            (_, Some(function)) => WaitingFunction::Advisory(function),
            _ => return Ok(Err(arguments)),
        };
        let (_, mut arguments, result) = self.resolved(name, arguments, position)?;
        if name == "pg_sleep_for" || name == "pg_sleep_until" {
            let given = arguments.pop().unwrap_or(Expression::null(Type::Unknown));
            arguments.push(self.seconds_from_now(name, given, position)?);
        }
        Ok(Ok(self.waiting(function, arguments, result, clause)))
    }

    /// Returns an expression for the seconds until a time, or until an interval is over.
    fn seconds_from_now(
        &mut self,
        name: &str,
        given: Expression,
        position: Option<u32>,
    ) -> Result<Expression> {
        let now = self.call("clock_timestamp", Vec::new(), position)?;
        let end = match name {
            "pg_sleep_for" => self.operator("+", Some(now.clone()), given, position)?,
            _ => given,
        };
        let left = self.operator("-", Some(end), now, position)?;
        let text = Type::Scalar(Scalar::Text);
        let field = Expression::constant(OwnedValue::new(types::Value::Text("epoch")), text);
        self.call("date_part", vec![field, left], position)
    }
}
