//! Chains of calls of one operator, `a || b || c`, which one instruction computes.

use logical::expression::{Expression, Function, Kind};

/// The links of a chain that are computed at once: see [`functions::Chain`].
pub(super) struct Chained<'e> {
    pub(super) chain: functions::Chain,
    pub(super) strict: bool,
    /// Operands from left to right, at least two.
    pub(super) operands: Vec<&'e Expression>,
}

impl<'e> Chained<'e> {
    /// Returns the chain whose last link is a call of a function.
    pub(super) fn of(function: Function, arguments: &'e [Expression]) -> Option<Self> {
        let chain = function.0.chain?;
        let mut operands = Vec::new();
        let mut links = arguments;
        while let [left, right] = links {
            operands.push(right);
            links = match &left.kind {
                Kind::Call {
                    function,
                    arguments,
                } if function.0.chain == Some(chain) => arguments,
                _ => {
                    operands.push(left);
                    break;
                }
            };
        }
        operands.reverse();
        (operands.len() > 1).then_some(Self {
            chain,
            strict: function.0.strict,
            operands,
        })
    }

    /// Returns the chain that a step is.
    pub(super) fn of_step(step: &'e Expression) -> Option<Self> {
        match &step.kind {
            Kind::Call {
                function,
                arguments,
            } => Self::of(*function, arguments),
            _ => None,
        }
    }

    /// Returns whether the chain's links follow those of the step before, and no other part of the
    /// chain reads that step.
    pub(super) fn goes_on(&self, before: &Self) -> bool {
        let mut operands = self.operands.iter();
        let is_previous = |part: &Expression| matches!(part.kind, Kind::Previous);
        self.chain == before.chain
            && operands.next().is_some_and(|first| is_previous(first))
            && !operands.any(|operand| operand.any(&mut |part| is_previous(part)))
    }

    /// Returns the links of this chain and of one that goes on from it.
    pub(super) fn followed_by(mut self, next: Self) -> Self {
        self.operands.extend(&next.operands[1..]);
        self
    }
}
