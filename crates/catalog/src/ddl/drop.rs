//! Drops: the objects that go along, the objects that are in the way, and the drop itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use engine::{Error, TableLockMode};
use interleave::Interleaved;
use types::{Result, SqlError, SqlState};

use super::{Ddl, gone};
pub use crate::dependents::Target;
use crate::{
    Catalog, Column, Index, Object, ObjectId, Table, TableKind,
    dependents::{Bond, Named, describe, describe_bond},
    failure::from_engine,
    system,
};
use syntax::phase;

/// The treatment of objects that depend on a dropped one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behavior {
    /// A dependent object prevents the drop.
    #[default]
    Restrict,
    /// A dependent object is dropped too.
    Cascade,
}

impl Behavior {
    /// Returns the treatment that a statement asks for, with CASCADE or without.
    pub fn of(cascade: bool) -> Self {
        match cascade {
            true => Self::Cascade,
            false => Self::Restrict,
        }
    }
}

/// The objects that a drop has taken along, as messages call them: `NOTICE: drop cascades to ...`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Objects in the order in which they were found.
    pub(crate) cascaded: Vec<String>,
}

/// All targets of a drop.
struct Plan {
    all: BTreeSet<Target>,
    /// Targets among them that depend normally, each with the target that it depends on.
    in_the_way: Vec<(Target, Target)>,
}

/// Finds all targets of a drop.
///
/// # Errors
/// 53200 if there is no room for a stack.
async fn plan(catalog: &Catalog, roots: &[Target]) -> Result<Plan> {
    phase::run(|| Ok(found(&Named::new(catalog), roots))).await
}

fn found(named: &Named<'_>, roots: &[Target]) -> Plan {
    let mut plan = Plan {
        all: roots.iter().copied().collect(),
        in_the_way: Vec::new(),
    };
    // The targets that go along anyway come first: they are in the way of no drop.
    let mut next: Vec<_> = roots.to_vec();
    while let Some(target) = next.pop() {
        for (dependent, bond) in named.dependents(target) {
            if bond == Bond::GoesAlong && plan.all.insert(dependent) {
                next.push(dependent);
            }
        }
    }
    // The other dependents follow, each before those that depend on it.
    let of = |on: Target| {
        let dependents = named.dependents(on).into_iter().rev();
        dependents.map(move |(dependent, bond)| (dependent, bond, on))
    };
    let mut next: Vec<_> = plan.all.iter().rev().copied().flat_map(of).collect();
    while let Some((target, bond, on)) = next.pop() {
        if is_part_of_dropped(&plan.all, target) || !plan.all.insert(target) {
            continue;
        }
        if bond == Bond::Normal {
            plan.in_the_way.push((target, on));
        }
        next.extend(of(target));
    }
    plan
}

/// Returns whether a target is a part of a table, or of a column, that goes as a whole.
fn is_part_of_dropped(all: &BTreeSet<Target>, target: Target) -> bool {
    match target {
        Target::Object(_) => false,
        Target::Default(table, position) if all.contains(&Target::Column(table, position)) => true,
        Target::Column(table, _)
        | Target::Default(table, _)
        | Target::Constraint(table, _)
        | Target::Index(table, _)
        | Target::Statistics(table, _) => all.contains(&Target::Object(table)),
    }
}

impl Ddl<'_> {
    /// Drops things, and the objects that go along with them.
    ///
    /// # Errors
    /// 2BP01 if an object depends on them that is to stay, or if they cannot be dropped alone;
    /// 42P01 and similar if one is gone; errors of the engine.
    pub async fn drop(&self, roots: &[Target], behavior: Behavior) -> Result<Dropped> {
        // Objects are locked before their dependents are looked up. The dependents are locked too,
        // and may have changed until then: the search is repeated until it finds no new ones.
        let mut locked = BTreeSet::new();
        let plan = loop {
            let catalog = self.changes.catalog();
            for root in roots {
                check_root(&catalog, *root)?;
            }
            let plan = plan(&catalog, roots).await?;
            if behavior == Behavior::Restrict && !plan.in_the_way.is_empty() {
                return Err(others_depend(&catalog, roots, &plan));
            }
            let owners = plan.all.iter().map(|target| owner_of(*target));
            let new: BTreeSet<_> = owners.filter(|id| !locked.contains(id)).collect();
            if new.is_empty() {
                break plan;
            }
            for id in new {
                self.lock_to_drop(id).await?;
                locked.insert(id);
            }
        };
        let catalog = self.changes.catalog();
        for target in &plan.all {
            if let Target::Object(id) = target {
                self.not_pending("DROP TABLE", *id)?;
            }
        }
        let cascaded = plan.in_the_way.iter();
        let cascaded = cascaded
            .map(|(dependent, _)| describe(&catalog, *dependent))
            .collect();
        self.carry_out(&catalog, &plan).await?;
        Ok(Dropped { cascaded })
    }

    /// Drops the dependents of a target that is about to go by other means, and not the target
    /// itself.
    ///
    /// # Errors
    /// Errors of [`Ddl::drop`].
    pub async fn drop_dependents(&self, root: Target, behavior: Behavior) -> Result<Dropped> {
        self.lock_to_drop(owner_of(root)).await?;
        let catalog = self.changes.catalog();
        let plan = plan(&catalog, &[root]).await?;
        if behavior == Behavior::Restrict && !plan.in_the_way.is_empty() {
            return Err(others_depend(&catalog, &[root], &plan));
        }
        let dependents = plan.in_the_way.iter().map(|(dependent, _)| *dependent);
        let dependents: Vec<Target> = dependents.collect();
        match dependents.is_empty() {
            true => Ok(Dropped::default()),
            false => self.drop(&dependents, Behavior::Cascade).await,
        }
    }

    async fn lock_to_drop(&self, id: ObjectId) -> Result<()> {
        if self.changes.catalog().table(id).is_some() {
            self.lock(id, TableLockMode::AccessExclusive).await?;
        }
        self.changes.hold(self.transaction, id).await.map(drop)
    }

    async fn carry_out(&self, catalog: &Catalog, plan: &Plan) -> Result<()> {
        // Edits of tables that stay: parts that go, and marks of references at both ends.
        let mut edits = BTreeMap::<ObjectId, Vec<Target>>::new();
        for target in &plan.all {
            if !matches!(target, Target::Object(_)) && !is_part_of_dropped(&plan.all, *target) {
                edits.entry(owner_of(*target)).or_default().push(*target);
            }
        }
        for (id, targets) in &edits {
            self.drop_parts(*id, targets).await?;
        }
        let is_dropped = |id: &ObjectId| plan.all.contains(&Target::Object(*id));
        for target in &plan.all {
            let Target::Object(id) = *target else {
                continue;
            };
            if let Some(Object::Table(table)) = catalog.object(id) {
                let referenced = table.foreign_keys.iter().map(|key| key.referenced);
                let referenced: BTreeSet<_> = referenced.filter(|id| !is_dropped(id)).collect();
                for other in referenced {
                    self.forget_reference(other, id).await?;
                }
                if table.kind == TableKind::Ordinary {
                    let dropped = self
                        .transaction
                        .drop_table::<Interleaved>(&table.storage_name);
                    dropped.await.map_err(from_engine)?;
                }
            }
            self.changes.remove(self.transaction, id).await?;
        }
        Ok(())
    }

    /// Drops columns, defaults, constraints, indexes and statistics objects of a table.
    async fn drop_parts(&self, id: ObjectId, targets: &[Target]) -> Result<()> {
        let current = self.changes.catalog();
        let current = current
            .table(id)
            .ok_or_else(|| gone("relation", id))?
            .clone();
        let (mut indexes, mut referenced) = (Vec::new(), BTreeSet::new());
        for target in targets {
            match *target {
                Target::Index(_, index) => indexes.push(index),
                Target::Constraint(_, constraint) => {
                    let unique = current
                        .uniques
                        .iter()
                        .find(|unique| unique.id == constraint);
                    let key = current.primary_key.iter().find(|key| key.id == constraint);
                    indexes.extend(unique.map(|unique| unique.index));
                    indexes.extend(key.and_then(|key| key.index));
                    let key = current.foreign_keys.iter().find(|key| key.id == constraint);
                    referenced.extend(key.map(|key| key.referenced));
                }
                _ => {}
            }
        }
        for index in &indexes {
            let Some(name) = current.index(*index).map(Index::engine_name) else {
                continue;
            };
            match self
                .transaction
                .drop_index_named::<Interleaved>(&name)
                .await
            {
                // The engine may not have an index that is not valid.
                Ok(()) | Err(Error::NoSuchTable) => {}
                Err(error) => return Err(from_engine(error)),
            }
        }
        let edit = |table: &mut Table| {
            targets
                .iter()
                .for_each(|target| remove_part(table, *target));
            let kept = table
                .indexes
                .iter()
                .filter(|index| !indexes.contains(&index.id));
            table.indexes = kept.cloned().collect();
            Ok(())
        };
        let after = self
            .alter_table(id, TableLockMode::AccessExclusive, edit)
            .await?;
        for other in referenced {
            if after.foreign_keys.iter().all(|key| key.referenced != other) {
                self.forget_reference(other, id).await?;
            }
        }
        Ok(())
    }

    /// Notes that a table is no longer referred to by another.
    async fn forget_reference(&self, id: ObjectId, by: ObjectId) -> Result<()> {
        if self.changes.catalog().table(id).is_none() {
            return Ok(());
        }
        let forget = |table: &mut Table| {
            let others = table.referenced_by.iter().filter(|other| **other != by);
            table.referenced_by = others.copied().collect();
            Ok(())
        };
        self.alter_table(id, TableLockMode::AccessExclusive, forget)
            .await
            .map(drop)
    }
}

fn owner_of(target: Target) -> ObjectId {
    match target {
        Target::Object(id)
        | Target::Column(id, _)
        | Target::Default(id, _)
        | Target::Constraint(id, _)
        | Target::Index(id, _)
        | Target::Statistics(id, _) => id,
    }
}

fn remove_part(table: &mut Table, target: Target) {
    match target {
        Target::Object(_) | Target::Index(..) => {}
        Target::Column(_, position) => {
            edit_column(table, position, |column| {
                column.dropped = true;
                column.name = Arc::from("");
                column.not_null = false;
                (column.default, column.generation) = (None, None);
            });
        }
        Target::Default(_, position) => {
            edit_column(table, position, |column| column.default = None)
        }
        Target::Constraint(_, id) => {
            table.primary_key = table.primary_key.take().filter(|key| key.id != id);
            let uniques = table.uniques.iter().filter(|unique| unique.id != id);
            table.uniques = uniques.cloned().collect();
            let checks = table.checks.iter().filter(|check| check.id != id);
            table.checks = checks.cloned().collect();
            let keys = table.foreign_keys.iter().filter(|key| key.id != id);
            table.foreign_keys = keys.cloned().collect();
        }
        Target::Statistics(_, id) => {
            let kept = table.statistics_objects.iter();
            let kept = kept.filter(|object| object.id != id);
            table.statistics_objects = kept.cloned().collect();
        }
    }
}

fn edit_column(table: &mut Table, position: u16, edit: impl FnOnce(&mut Column)) {
    let mut columns = table.columns.to_vec();
    if let Some(column) = columns.get_mut(usize::from(position)) {
        edit(column);
    }
    table.columns = columns.into();
}

/// Checks that a target is there, and can be dropped by itself.
fn check_root(catalog: &Catalog, root: Target) -> Result<()> {
    let id = owner_of(root);
    let object = catalog.object(id).ok_or_else(|| gone("relation", id))?;
    match (root, object) {
        (_, Object::Table(table)) if table.kind == TableKind::System => {
            let message = format!("permission denied: \"{}\" is a system catalog", table.name);
            Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
        }
        (_, object) if system::object(id).is_some() => {
            let what = format!("{} {}", object.kind().noun(), object.name());
            let message =
                format!("cannot drop {what} because it is required by the database system");
            Err(SqlError::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                message,
            ))
        }
        (Target::Object(_), Object::Sequence(sequence)) => match sequence.owned_by {
            Some(owner) if owner.is_identity => {
                let column = describe(catalog, Target::Column(owner.table, owner.column));
                Err(is_required(&describe(catalog, root), &column))
            }
            _ => Ok(()),
        },
        (Target::Index(_, index), Object::Table(table)) => {
            let unique = table.uniques.iter().find(|unique| unique.index == index);
            let key = table
                .primary_key
                .iter()
                .find(|key| key.index == Some(index));
            match unique.map(|unique| unique.id).or(key.map(|key| key.id)) {
                Some(constraint) => {
                    let constraint = describe(catalog, Target::Constraint(id, constraint));
                    Err(is_required(&describe(catalog, root), &constraint))
                }
                None => Ok(()),
            }
        }
        // The rows lie under the primary key.
        (Target::Constraint(_, constraint), Object::Table(table))
            if (table.primary_key.iter())
                .any(|key| key.id == constraint && key.index.is_none()) =>
        {
            Err(SqlError::unsupported(
                "dropping the primary key that a table was created with",
            ))
        }
        (Target::Column(_, position), Object::Table(table))
            if (table.primary_key.iter())
                .any(|key| key.columns.contains(&position) && key.index.is_none()) =>
        {
            Err(SqlError::unsupported(
                "dropping a column of the primary key that a table was created with",
            ))
        }
        _ => Ok(()),
    }
}

fn is_required(what: &str, by: &str) -> SqlError {
    let message = format!("cannot drop {what} because {by} requires it");
    SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .hint(format!("You can drop {by} instead."))
}

fn others_depend(catalog: &Catalog, roots: &[Target], plan: &Plan) -> SqlError {
    let message = match roots {
        [root] => {
            let root = describe(catalog, *root);
            format!("cannot drop {root} because other objects depend on it")
        }
        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
    };
    let lines = plan.in_the_way.iter();
    let lines = lines.map(|(dependent, on)| describe_bond(catalog, *dependent, *on));
    SqlError::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
        .detail(lines.collect::<Vec<_>>().join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too.")
}
