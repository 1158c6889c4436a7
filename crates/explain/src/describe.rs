//! Descriptions of a plan's operators and their properties.

use functions::Comparison;
use types::Names as Catalog;

use super::{Node, expression::Writer, names::Names};
use catalog::{RowKey, Table};
use logical::relation::{JoinKind, SetKind, WaitingFunction};
use planner::{
    plan::{
        AccessPath, AggregateCall, ApplyKind, Call, CommonTable, CommonTableBody, HashJoin,
        HashedSubplan, KeyRange, MergeKind, Plan, Scan, SortKey, Target, WaitingCall, WaitingCalls,
    },
    program::Program,
};

/// Describes a plan that keeps its expressions.
pub fn describe(plan: &Plan, names: &Names, catalog: &dyn Catalog) -> Node {
    let writer = Writer {
        names,
        catalog,
        qualifies: names.has_several_tables(),
    };
    Describing { writer }.node(plan)
}

struct Describing<'d> {
    writer: Writer<'d>,
}

type Properties = Vec<(&'static str, String)>;

/// Returns the SQL operator of a comparison.
fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

impl Describing<'_> {
    fn node(&self, plan: &Plan) -> Node {
        match plan {
            Plan::Explained(explained) => Node {
                operator: Some((explained.number, explained.estimate)),
                ..self.node(&explained.input)
            },
            Plan::Rows(rows) => match rows.as_slice() {
                [row] => Node {
                    output: Some(self.programs(row)),
                    ..node("Result")
                },
                rows => node(format!("Values ({} rows)", rows.len())),
            },
            Plan::CopySource { .. } => node("Rows of the Client"),
            Plan::System { .. } => node("System Catalog Scan"),
            Plan::Scan(scan) => {
                let (title, properties) = self.scan(scan);
                let columns = scan.columns.iter().map(|at| &*scan.table.columns[*at].name);
                Node {
                    properties,
                    output: Some(columns.collect::<Vec<_>>().join(", ")),
                    ..node(title)
                }
            }
            Plan::Functions { calls, .. } => node(format!("Function Scan on {}", called(calls))),
            Plan::CteScan { number, .. } => node(format!("Scan of WITH Query {number}")),
            Plan::Filter { input, predicate } => Node {
                properties: vec![("Filter", self.program(predicate))],
                ..self.over("Filter", input)
            },
            Plan::Project { input, values } => Node {
                output: Some(self.programs(values)),
                ..self.over("Project", input)
            },
            Plan::ProjectSet { input, calls } => {
                self.over(format!("Project Set of {}", called(calls)), input)
            }
            Plan::Calls(calls) => self.over(title_of(calls), &calls.input),
            Plan::HashJoin(join) => {
                let mut properties =
                    vec![("Hash Cond", self.equal(&join.probe_keys, &join.build_keys))];
                self.push("Join Filter", &join.residual, &mut properties);
                Node {
                    properties,
                    inputs: vec![
                        (None, self.node(&join.probe)),
                        (Some("Hashed:"), self.node(&join.build)),
                    ],
                    ..node(format!("Hash {}", hash_joined(join)))
                }
            }
            Plan::IndexJoin(join) => {
                let (title, mut properties) = self.scan(&join.scan);
                self.push("Join Filter", &join.residual, &mut properties);
                Node {
                    properties,
                    ..self.over(
                        format!("Lookup {}, each by {title}", joined(join.kind)),
                        &join.outer,
                    )
                }
            }
            Plan::NestedLoopJoin(join) => {
                let mut properties = Vec::new();
                self.push("Join Filter", &join.on, &mut properties);
                Node {
                    properties,
                    inputs: vec![
                        (None, self.node(&join.outer)),
                        (None, self.node(&join.inner)),
                    ],
                    ..node(format!("Nested Loop {}", joined(join.kind)))
                }
            }
            Plan::Apply(apply) => {
                let title = match &apply.kind {
                    ApplyKind::Scalar => "Subquery",
                    ApplyKind::Exists => "Subquery, whether it has rows",
                    ApplyKind::Any(_) => "Subquery, whether a row is like",
                    ApplyKind::Array(_) => "Subquery, as an array",
                    ApplyKind::Hashed(subplan) if subplan.is_exists => {
                        "Hashed Subquery, whether it has rows"
                    }
                    ApplyKind::Hashed(_) => "Hashed Subquery, whether a row is like",
                };
                let mut properties = Vec::new();
                if let ApplyKind::Hashed(subplan) = &apply.kind {
                    self.hashed_subplan(subplan, &mut properties);
                }
                if let ApplyKind::Any(tests) = &apply.kind {
                    properties.push(("Test", self.programs(tests)));
                }
                let each = match apply.correlated.is_empty() {
                    true => "Asked once:",
                    false => "Asked for each row:",
                };
                Node {
                    properties,
                    inputs: vec![
                        (None, self.node(&apply.input)),
                        (Some(each), self.node(&apply.query)),
                    ],
                    ..node(title)
                }
            }
            Plan::Aggregate(aggregate) => {
                let mut properties = Vec::new();
                if !aggregate.keys.is_empty() {
                    properties.push(("Group Key", self.programs(&aggregate.keys)));
                }
                if aggregate.sets.len() > 1 {
                    properties.push(("Grouping Sets", aggregate.sets.len().to_string()));
                }
                let calls = aggregate.calls.iter().map(|call| self.aggregate(call));
                let title = match aggregate.keys.is_empty() {
                    true => "Aggregate",
                    false => "Hash Aggregate",
                };
                Node {
                    properties,
                    output: Some(calls.collect::<Vec<_>>().join(", ")),
                    ..self.over(title, &aggregate.input)
                }
            }
            Plan::Window { input, windows, .. } => {
                let calls = windows.iter().map(|window| {
                    format!(
                        "{}({})",
                        window.function.0.name,
                        self.programs(&window.arguments)
                    )
                });
                Node {
                    output: Some(calls.collect::<Vec<_>>().join(", ")),
                    ..self.over("Window", input)
                }
            }
            Plan::Distinct { input, on, .. } => Node {
                // The keys of a union are all of its columns.
                properties: match on.iter().all(|key| key.source().is_some()) {
                    true => vec![("Key", self.programs(on))],
                    false => Vec::new(),
                },
                ..self.over("Unique", input)
            },
            Plan::Sort { input, keys, limit } => {
                let mut properties = vec![("Sort Key", self.sort_keys(keys))];
                self.push("First", limit, &mut properties);
                Node {
                    properties,
                    ..self.over("Sort", input)
                }
            }
            Plan::IncrementalSort(sort) => {
                let presorted = &sort.keys[..sort.presorted];
                let mut properties = vec![
                    ("Sort Key", self.sort_keys(&sort.keys)),
                    ("Presorted Key", self.sort_keys(presorted)),
                ];
                self.push("First", &sort.limit, &mut properties);
                Node {
                    properties,
                    ..self.over("Incremental Sort", &sort.input)
                }
            }
            Plan::Limit {
                input,
                limit,
                offset,
                with_ties,
            } => {
                let mut properties = Vec::new();
                self.push("Rows", limit, &mut properties);
                self.push("Offset", offset, &mut properties);
                if let Some(keys) = with_ties {
                    properties.push(("With Ties In", self.sort_keys(keys)));
                }
                Node {
                    properties,
                    ..self.over("Limit", input)
                }
            }
            Plan::Union { left, right } => self.over_both("Append", left, right),
            Plan::Set {
                kind,
                all,
                left,
                right,
                ..
            } => {
                let kind = match kind {
                    SetKind::Union => "Union",
                    SetKind::Intersect => "Intersect",
                    SetKind::Except => "Except",
                };
                let all = if *all { " All" } else { "" };
                self.over_both(format!("{kind}{all}"), left, right)
            }
            Plan::With { definitions, body } => {
                let mut inputs = vec![(None, self.node(body))];
                definitions
                    .iter()
                    .for_each(|shared| self.definition(shared, &mut inputs));
                Node {
                    inputs,
                    ..node("With")
                }
            }
            Plan::LockRows { input, locks, .. } => {
                let tables = locks.iter().map(|lock| &*lock.table.name);
                let tables = tables.collect::<Vec<_>>().join(", ");
                self.over(format!("Lock Rows of {tables}"), input)
            }
            Plan::Insert(insert) => {
                let title = format!("Insert on {}", insert.new.table.name);
                let properties = match &insert.on_conflict {
                    None => Vec::new(),
                    Some(conflict) => {
                        let what = match conflict.update {
                            Some(_) => "UPDATE",
                            None => "NOTHING",
                        };
                        vec![("Conflict Resolution", what.to_owned())]
                    }
                };
                Node {
                    properties,
                    ..self.over(title, &insert.input)
                }
            }
            Plan::Update(update) => self.over(written("Update", &update.target), &update.input),
            Plan::Delete(delete) => self.over(written("Delete", &delete.target), &delete.input),
            Plan::Merge(merge) => {
                let actions = merge.actions.iter().map(|action| match action.kind {
                    MergeKind::Insert(_) => "insert",
                    MergeKind::Update(_) => "update",
                    MergeKind::Delete => "delete",
                });
                Node {
                    properties: vec![("Actions", actions.collect::<Vec<_>>().join(", "))],
                    ..self.over(written("Merge", &merge.target), &merge.input)
                }
            }
        }
    }

    fn over(&self, title: impl Into<String>, input: &Plan) -> Node {
        Node {
            inputs: vec![(None, self.node(input))],
            ..node(title)
        }
    }

    fn over_both(&self, title: impl Into<String>, left: &Plan, right: &Plan) -> Node {
        Node {
            inputs: vec![(None, self.node(left)), (None, self.node(right))],
            ..node(title)
        }
    }

    fn definition(&self, shared: &CommonTable, inputs: &mut Vec<(Option<&'static str>, Node)>) {
        let part = |of: &Plan, part, title: String| {
            let described = Node {
                inputs: vec![(None, self.node(of))],
                ..node(title)
            };
            (Some(part), described)
        };
        let title = format!("WITH Query {}", shared.number);
        match &shared.body {
            CommonTableBody::Query(query) => inputs.push(part(query, "Defined as:", title)),
            CommonTableBody::Recursive { initial, step, .. } => {
                inputs.push(part(initial, "Begins with:", title.clone()));
                inputs.push(part(step, "Goes on with:", title));
            }
        }
    }

    fn scan(&self, scan: &Scan) -> (String, Properties) {
        let table = &scan.table;
        let mut properties = Vec::new();
        let backward = if scan.descending { " Backward" } else { "" };
        let title = match &scan.access {
            AccessPath::Full => format!("Scan{backward} on {}", table.name),
            AccessPath::Key(range) => {
                let columns = match &table.row_key {
                    RowKey::Columns(columns) => columns.to_vec(),
                    RowKey::Hidden => Vec::new(),
                };
                properties.push(("Key Cond", self.range(range, table, &columns)));
                let what = if range.is_point { "Lookup" } else { "Key Scan" };
                format!("{what}{backward} on {}", table.name)
            }
            AccessPath::Index { index, range } => {
                let index = &table.indexes[*index];
                let columns = index.key_columns().unwrap_or_default();
                // An index may be read whole, for its order.
                let condition = self.range(range, table, &columns);
                if !condition.is_empty() {
                    properties.push(("Index Cond", condition));
                }
                format!(
                    "Index Scan{backward} using {} on {}",
                    index.name, table.name
                )
            }
        };
        let mut conditions: Vec<String> = scan
            .tests
            .iter()
            .map(|test| {
                let column = &table.columns[test.attribute].name;
                let symbol = symbol(test.comparison);
                format!("({column} {symbol} {})", self.program(&test.value))
            })
            .collect();
        conditions.extend(scan.filter.as_ref().map(|filter| self.program(filter)));
        if !conditions.is_empty() {
            properties.push(("Filter", conditions.join(" AND ")));
        }
        if !scan.key_filters.is_empty() {
            let columns = scan.key_filters.iter();
            let columns = columns.map(|(attribute, _)| &table.columns[*attribute].name[..]);
            properties.push(("Runtime Filter", columns.collect::<Vec<_>>().join(", ")));
        }
        (title, properties)
    }

    fn range(&self, range: &KeyRange, table: &Table, columns: &[u16]) -> String {
        let column = |at: usize| match columns.get(at) {
            Some(position) => table.columns[usize::from(*position)].name.to_string(),
            None => format!("key {}", at + 1),
        };
        let equal = range.equal.iter().enumerate();
        let mut parts: Vec<String> = equal
            .map(|(at, value)| format!("({} = {})", column(at), self.program(value)))
            .collect();
        for (bound, symbol) in [(&range.lower, ">"), (&range.upper, "<")] {
            if let Some(bound) = bound {
                let equal = if bound.is_inclusive { "=" } else { "" };
                let columns = range.equal.len()..range.equal.len() + bound.values.len();
                let columns: Vec<String> = columns.map(column).collect();
                let (columns, values) = (columns.join(", "), self.programs(&bound.values));
                parts.push(match bound.values.len() {
                    1 => format!("({columns} {symbol}{equal} {values})"),
                    _ => format!("(ROW({columns}) {symbol}{equal} ROW({values}))"),
                });
            }
        }
        parts.join(" AND ")
    }

    fn aggregate(&self, call: &AggregateCall) -> String {
        let distinct = if call.distinct { "DISTINCT " } else { "" };
        let arguments = match call.arguments.as_slice() {
            [] => "*".to_owned(),
            arguments => self.programs(arguments),
        };
        format!("{}({distinct}{arguments})", call.function.0.name)
    }

    fn sort_keys(&self, keys: &[SortKey]) -> String {
        let keys = keys.iter().map(|key| {
            let direction = if key.descending { " DESC" } else { "" };
            // NULLS FIRST and NULLS LAST are shown only where they differ from the direction's
            // default.
            let nulls = match (key.nulls_first, key.descending) {
                (true, false) => " NULLS FIRST",
                (false, true) => " NULLS LAST",
                _ => "",
            };
            format!("{}{direction}{nulls}", self.program(&key.value))
        });
        keys.collect::<Vec<_>>().join(", ")
    }

    fn push(&self, name: &'static str, program: &Option<Program>, properties: &mut Properties) {
        if let Some(program) = program {
            properties.push((name, self.program(program)));
        }
    }

    /// Returns the equality of the keys `left` and `right`.
    fn equal(&self, left: &[Program], right: &[Program]) -> String {
        let keys = left.iter().zip(right);
        let keys =
            keys.map(|(left, right)| format!("({} = {})", self.program(left), self.program(right)));
        keys.collect::<Vec<_>>().join(" AND ")
    }

    fn hashed_subplan(&self, subplan: &HashedSubplan, properties: &mut Properties) {
        let (filters, tests) = (&subplan.filters, &subplan.tests);
        if !filters.input.is_empty() {
            properties.push(("Hash Cond", self.equal(&filters.input, &filters.query)));
        }
        self.push("Join Filter", &subplan.residual, properties);
        if !tests.input.is_empty() {
            properties.push(("Hash Test", self.equal(&tests.input, &tests.query)));
        }
        if !subplan.others.is_empty() {
            properties.push(("Test", self.programs(&subplan.others)));
        }
    }

    fn program(&self, program: &Program) -> String {
        match program.source() {
            Some(source) => self.writer.show(source),
            None => "?".to_owned(),
        }
    }

    fn programs(&self, programs: &[Program]) -> String {
        let shown = programs.iter().map(|program| self.program(program));
        shown.collect::<Vec<_>>().join(", ")
    }
}

fn node(title: impl Into<String>) -> Node {
    Node {
        title: title.into(),
        properties: Vec::new(),
        output: None,
        operator: None,
        inputs: Vec::new(),
    }
}

/// Returns the title of an operator that calls functions that wait.
fn title_of(calls: &WaitingCalls) -> &'static str {
    let is_sequence = |call: &WaitingCall| matches!(call.function, WaitingFunction::Sequence(_));
    match calls.calls.iter().all(is_sequence) {
        true => "Sequence Values",
        false => "Waiting Calls",
    }
}

fn called(calls: &[Call]) -> String {
    let names = calls.iter().map(|call| call.function.0.name);
    names.collect::<Vec<_>>().join(", ")
}

fn joined(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Join",
        JoinKind::Left => "Left Join",
        JoinKind::Right => "Right Join",
        JoinKind::Full => "Full Join",
        JoinKind::Semi => "Semi Join",
        JoinKind::Anti => "Anti Join",
    }
}

/// Returns the name of a join by hash: PostgreSQL tells that the build side's rows are marked by a `Right`.
fn hash_joined(join: &HashJoin) -> &'static str {
    match (join.is_turned, join.kind) {
        (true, JoinKind::Left) => joined(JoinKind::Right),
        (true, JoinKind::Semi) => "Right Semi Join",
        (true, JoinKind::Anti) => "Right Anti Join",
        (_, kind) => joined(kind),
    }
}

fn written(what: &str, target: &Target) -> String {
    format!("{what} on {}", target.table.name)
}
