//! The arguments that EXECUTE gives a prepared statement: expressions without columns.

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use super::{Binder, clause::Clause, scalar::place, scope::Scope};
use crate::expression::Expression;
use syntax::expression::Expr;

impl Binder<'_> {
    /// Binds values for parameters of these types; there are as many.
    ///
    /// # Errors
    /// 42804 if a value cannot be assigned to its parameter; 0A000 for subqueries.
    pub fn arguments(&mut self, arguments: &[Expr], types: &[Type]) -> Result<Vec<Expression>> {
        let pairs = arguments.iter().zip(types).enumerate();
        let bound = pairs.map(|(at, (argument, ty))| {
            let mut clause = Clause::plain("EXECUTE parameters");
            let position = self.position(argument);
            let value = self.scalar_for(argument, *ty, false, &Scope::default(), &mut clause)?;
            if !clause.subqueries.is_empty() {
                let error = SqlError::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "cannot use subquery in EXECUTE parameter",
                );
                return Err(place(error, position));
            }
            if value.ty != Type::Unknown
                && value.ty != *ty
                && functions::cast(value.ty, *ty, functions::CastContext::Assignment).is_none()
            {
                let message = format!(
                    "parameter ${} of type {} cannot be coerced to the expected type {}",
                    at + 1,
                    self.type_name(value.ty),
                    self.type_name(*ty)
                );
                let error = SqlError::new(SqlState::DATATYPE_MISMATCH, message)
                    .hint("You will need to rewrite or cast the expression.");
                return Err(place(error, position));
            }
            self.assign(value, *ty, TypeModifier::NONE, "", position)
        });
        bound.collect()
    }
}
