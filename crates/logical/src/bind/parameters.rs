//! The parameters of a statement, and the types that their uses give them.

use types::{Result, SqlError, SqlState, Type, TypeModifier};

use super::{Binder, scalar::place};
use crate::expression::{Expression, Kind};
use syntax::{expression::Literal, query::QueryBody};

/// Parameters from `$1` on. By default there are none, and a statement that names one is refused.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// `None` until a use tells.
    types: Vec<Option<Type>>,
    given: Given,
    /// How often one was used.
    uses: usize,
}

/// Where the values of parameters come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Given {
    /// From nowhere.
    #[default]
    Nowhere,
    /// The client sends them with each execution.
    ByClient,
    /// They are literals that were taken out of the text (see [`syntax::fingerprint`]).
    ByText,
}

impl Parameters {
    /// With types that the client has told; others follow from their use.
    pub fn declared(types: Vec<Option<Type>>) -> Self {
        Self {
            types,
            given: Given::ByClient,
            uses: 0,
        }
    }

    /// Of literals: numbers have their types, strings take them from their use.
    pub fn literals(types: Vec<Option<Type>>) -> Self {
        Self {
            types,
            given: Given::ByText,
            uses: 0,
        }
    }

    /// How often a parameter was used so far.
    pub(super) fn uses(&self) -> usize {
        self.uses
    }

    /// Takes the types of parameters back, by their numbers: what used them is not bound any more.
    pub(super) fn forget(&mut self, numbers: &[u32]) {
        for number in numbers {
            self.types[*number as usize] = None;
        }
    }

    /// The type of each.
    ///
    /// # Errors
    /// 42P18 if nothing has told one.
    pub fn types(&self) -> Result<Vec<Type>> {
        let known = self.types.iter().enumerate().map(|(at, ty)| {
            ty.ok_or_else(|| {
                let message = format!("could not determine data type of parameter ${}", at + 1);
                SqlError::new(SqlState::INDETERMINATE_DATATYPE, message)
            })
        });
        known.collect()
    }
}

/// More are not sent by any client: the protocol counts them in 16 bits.
const PARAMETERS_MAX: usize = 65_535;

impl Binder<'_> {
    /// # Errors
    /// 42P02 for a number that no parameter has, and where there are none.
    pub(super) fn parameter(&mut self, name: &str, position: Option<u32>) -> Result<Expression> {
        let number = name
            .strip_prefix('$')
            .and_then(|digits| digits.parse::<usize>().ok());
        let most = match self.parameters.given {
            Given::Nowhere => 0,
            Given::ByClient | Given::ByText => PARAMETERS_MAX,
        };
        let Some(at) = number.filter(|at| (1..=most).contains(at)) else {
            let message = format!("there is no parameter {name}");
            return Err(place(
                SqlError::new(SqlState::UNDEFINED_PARAMETER, message),
                position,
            ));
        };
        self.parameters.uses += 1;
        let types = &mut self.parameters.types;
        if types.len() < at {
            types.resize(at, None);
        }
        let ty = types[at - 1].unwrap_or(Type::Unknown);
        let number = u32::try_from(at - 1).unwrap_or(u32::MAX);
        Ok(Expression::new(Kind::Parameter(number), ty))
    }

    /// The parameters in a list of values that nothing has given a type yet, by their numbers.
    ///
    /// # Errors
    /// As for [`Binder::parameter`].
    pub(super) fn untyped_parameters(&mut self, list: &QueryBody) -> Result<Vec<u32>> {
        let mut untyped = Vec::new();
        let listed = list.is_list_of_values().then(|| list.untyped_literals());
        for literal in listed.into_iter().flatten() {
            let Literal::Parameter(name) = literal else {
                continue;
            };
            let parameter = self.parameter(name, None)?;
            if let (Kind::Parameter(number), Type::Unknown) = (parameter.kind, parameter.ty) {
                untyped.push(number);
            }
        }
        Ok(untyped)
    }

    /// Gives a parameter the type that its use demands.
    ///
    /// # Errors
    /// 42P08 if another use has given it another.
    pub(super) fn parameter_is(
        &mut self,
        number: u32,
        ty: Type,
        position: Option<u32>,
    ) -> Result<Expression> {
        let slot = &mut self.parameters.types[number as usize];
        match *slot {
            Some(known) if known != ty => {
                let message = format!("inconsistent types deduced for parameter ${}", number + 1);
                let detail = format!(
                    "{} versus {}",
                    known.name(self.catalog),
                    ty.name(self.catalog)
                );
                return Err(place(
                    SqlError::new(SqlState::AMBIGUOUS_PARAMETER, message).detail(detail),
                    position,
                ));
            }
            _ => *slot = Some(ty),
        }
        Ok(Expression {
            kind: Kind::Parameter(number),
            ty,
            modifier: TypeModifier::NONE,
        })
    }

    /// An expression whose value, or that of a part, the plan depends on: it cannot stand for other
    /// literals.
    pub(super) fn needs_literal(&mut self, expression: &Expression) -> Result<()> {
        let mut is_parameter = |part: &Expression| matches!(part.kind, Kind::Parameter(_));
        if self.parameters.given == Given::ByText && expression.any(&mut is_parameter) {
            return Err(SqlError::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "a literal is needed as it was written",
            ));
        }
        Ok(())
    }

    /// The same, for a parameter by its name.
    pub(super) fn needs_literal_parameter(&mut self, name: &str) -> Result<()> {
        let parameter = self.parameter(name, None)?;
        self.needs_literal(&parameter)
    }
}
