//! Plans of `WITH`: relations that several places of a statement read.

use std::collections::BTreeSet;

use types::{Result, SqlError, SqlState};

use super::{
    CommonTable, CommonTableBody, Plan,
    effects::writes,
    lower::{Lowering, Node, arranged},
};
use crate::program::Layout;
use logical::{
    expression::ColumnId,
    relation::{self, Relation, SharedId},
};

impl Lowering {
    pub(super) fn shared(
        &mut self,
        number: SharedId,
        columns: &[(ColumnId, ColumnId)],
    ) -> Result<Node> {
        let missing = || SqlError::new(SqlState::INTERNAL_ERROR, "a WITH query is not there");
        let (number, order) = self.shared.get(&number).ok_or_else(missing)?;
        let mut positions = Vec::with_capacity(columns.len());
        for (_, source) in columns {
            positions.push(
                order
                    .iter()
                    .position(|id| id == source)
                    .ok_or_else(missing)?,
            );
        }
        let layout = Layout::new(columns.iter().map(|(id, _)| *id));
        Ok(Node {
            plan: Plan::CteScan {
                number: *number,
                columns: positions,
            },
            layout,
        })
    }

    pub(super) fn with_shared(
        &mut self,
        definitions: Vec<relation::Shared>,
        body: Relation,
        needed: &BTreeSet<ColumnId>,
    ) -> Result<Node> {
        let mut lowered = Vec::with_capacity(definitions.len());
        for shared in definitions {
            let number = self.shared.len();
            let width = shared.columns.len();
            let writes = writes(&shared.body);
            let in_order = |lowering: &mut Self, relation: Relation, columns: &[ColumnId]| {
                let node = lowering.lower(relation, &columns.iter().copied().collect())?;
                let positions = columns
                    .iter()
                    .map(|id| node.at(*id))
                    .collect::<Result<Vec<_>>>()?;
                Ok::<_, SqlError>(arranged(node, &positions))
            };
            let body = match shared.body {
                relation::SharedBody::Query(relation) => {
                    let plan = in_order(self, *relation, &shared.columns)?;
                    CommonTableBody::Query(Box::new(plan))
                }
                relation::SharedBody::Recursive {
                    initial,
                    initial_columns,
                    step,
                    step_columns,
                    distinct,
                } => {
                    let initial = in_order(self, *initial, &initial_columns)?;
                    // In the step, the columns of the relation that it reads are named by its own
                    // binding.
                    let own = own_columns(&step, shared.number);
                    self.shared.insert(shared.number, (number, own));
                    self.rereads += 1;
                    let step = in_order(self, *step, &step_columns);
                    self.rereads -= 1;
                    let step = step?;
                    CommonTableBody::Recursive {
                        initial: Box::new(initial),
                        step: Box::new(step),
                        distinct,
                    }
                }
            };
            self.shared.insert(shared.number, (number, shared.columns));
            lowered.push(CommonTable {
                number,
                width,
                writes,
                body,
            });
        }
        let node = self.lower(body, needed)?;
        let plan = Plan::With {
            definitions: lowered,
            body: Box::new(node.plan),
        };
        Ok(Node {
            plan,
            layout: node.layout,
        })
    }
}

/// Returns the columns, in order, of a shared relation as the one place in a step names them.
fn own_columns(step: &Relation, number: SharedId) -> Vec<ColumnId> {
    let mut found = Vec::new();
    find_shared(&mut step.clone(), number, &mut found);
    found
}

fn find_shared(relation: &mut Relation, number: SharedId, found: &mut Vec<ColumnId>) {
    if let Relation::Shared {
        number: other,
        columns,
    } = relation
        && *other == number
    {
        *found = columns.iter().map(|(_, source)| *source).collect();
    }
    relation.for_each_input_mut(&mut |input| find_shared(input, number, found));
}
