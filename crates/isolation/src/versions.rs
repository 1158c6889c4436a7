//! The order of each record's versions, as far as a history tells it.
//!
//! A version *follows* another if its writer had read the other before it wrote, or if a
//! list shows them side by side. (If a writer had read a version that came later than its
//! own, information would flow in a circle, which the levels here all forbid; so the
//! inference is sound below them, and above them the circle is found.)
//!
//! # Absences
//! Absence carries no number: a record may not have been made yet, or have been
//! deleted. A reader saw the first kind if no delete had begun when it had read. It saw
//! the second kind if the record had been made, visibly for all transactions, before it
//! began: that holds at strict levels only. Otherwise nothing is concluded. For the same
//! reason a delete is only given its place, after everything, in records that were made
//! once and deleted once.

use crate::{
    Map,
    history::{Action, Key, Transaction, UNBORN, Version},
    observations::{Observations, Read, Seen, Write, is_dead},
};

/// Evidence that one version follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The writer had seen the version it replaced.
    Built,
    /// A list shows the two versions side by side.
    Listed,
    /// No other order is possible.
    Only,
}

/// A version that follows another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follower {
    pub(crate) version: Version,
    pub(crate) how: How,
}

/// Explanations of a read that found no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// The record had not been made yet.
    Unborn,
    /// The record had been deleted, or the level is not strict.
    DeadIfStrict(Version),
    /// Both explanations are possible.
    Unknown,
}

/// Creations and deletions of a record.
#[derive(Default)]
pub(crate) struct Life {
    pub(crate) creators: Vec<usize>,
    /// Each deleting transaction, and the version that is the absence since.
    pub(crate) deletes: Vec<(usize, Version)>,
    blind: bool,
    /// Whether a transaction of unknown outcome may have written the record.
    uncertain: bool,
    /// Whether a transaction of unknown outcome may have deleted the record.
    perhaps_deleted: bool,
}

impl Life {
    fn may_be_deleted(&self) -> bool {
        !self.deletes.is_empty() || self.perhaps_deleted
    }

    /// Returns the delete, if the record was made and deleted only once.
    pub(crate) fn only_delete(&self) -> Option<(usize, Version)> {
        match (&*self.deletes, &*self.creators) {
            (&[delete], [] | [_]) if !self.blind && !self.uncertain => Some(delete),
            _ => None,
        }
    }

    /// Returns the transaction that made the record, if it was made only once.
    pub(crate) fn only_creator(&self) -> Option<usize> {
        match &*self.creators {
            &[creator] if !self.blind && !self.uncertain => Some(creator),
            _ => None,
        }
    }
}

/// The order of all versions: see the module text.
pub(crate) struct Versions {
    pub(crate) followers: Map<(Key, Version), Vec<Follower>>,
    pub(crate) lives: Map<Key, Life>,
}

impl Versions {
    /// Infers the order of versions.
    pub(crate) fn of(history: &[Transaction], observations: &Observations) -> Versions {
        let mut versions = Versions {
            followers: Map::default(),
            lives: lives(history, observations),
        };
        let mut has_predecessor: Map<(Key, Version), bool> = Map::default();
        for (&(key, _), list) in &observations.lists {
            let once = !versions.lives.get(&key).is_some_and(Life::may_be_deleted);
            let mut before = once.then_some(UNBORN);
            for &element in list {
                if let Some(before) = before {
                    versions.follow(key, before, element, How::Listed);
                    has_predecessor.insert((key, element), true);
                }
                before = Some(element);
            }
        }
        for write in &observations.writes {
            let onto = match write.onto {
                Some(Seen::Version(version)) => Some(version),
                Some(Seen::Absent) => {
                    match versions.absence(history, write.key, write.transaction, write.operation) {
                        Absence::Unborn => Some(UNBORN),
                        _ => None,
                    }
                }
                Some(Seen::Present) | None => None,
            };
            if let Some(onto) = onto {
                versions.follow(write.key, onto, write.version, How::Built);
            }
            let known = has_predecessor
                .entry((write.key, write.version))
                .or_default();
            *known |= onto.is_some();
        }
        versions.place_first_and_last(observations, &has_predecessor);
        versions
    }

    /// Places versions that follow nothing known after the absence before the record,
    /// unless that absence may have returned; and places the one delete after everything.
    fn place_first_and_last(
        &mut self,
        observations: &Observations,
        has_predecessor: &Map<(Key, Version), bool>,
    ) {
        for Write { key, version, .. } in &observations.writes {
            let life = self.lives.get(key);
            let delete = life.and_then(Life::only_delete);
            let deleted = life.is_some_and(Life::may_be_deleted);
            if !deleted && !has_predecessor[&(*key, *version)] {
                self.follow(*key, UNBORN, *version, How::Only);
            }
            if let Some((_, dead)) = delete
                && *version != dead
                && !self.followers.contains_key(&(*key, *version))
            {
                self.follow(*key, *version, dead, How::Only);
            }
        }
    }

    /// Notes that `version` follows `before`. The writer's own observation takes
    /// precedence over other evidence.
    fn follow(&mut self, key: Key, before: Version, version: Version, how: How) {
        let followers = self.followers.entry((key, before)).or_default();
        match followers.iter_mut().find(|it| it.version == version) {
            Some(known) if how == How::Built => known.how = how,
            Some(_) => {}
            None => followers.push(Follower { version, how }),
        }
    }

    /// Returns the versions that follow a version.
    pub(crate) fn followers(&self, key: Key, version: Version) -> &[Follower] {
        self.followers
            .get(&(key, version))
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the explanation of a read that found no record.
    pub(crate) fn absence_read(&self, history: &[Transaction], read: &Read) -> Absence {
        self.absence(history, read.key, read.transaction, read.operation)
    }

    fn absence(
        &self,
        history: &[Transaction],
        key: Key,
        transaction: usize,
        operation: usize,
    ) -> Absence {
        let Some(life) = self.lives.get(&key) else {
            return Absence::Unborn;
        };
        if life.perhaps_deleted {
            return Absence::Unknown;
        }
        let read = history[transaction].operations[operation].ended;
        let begun = |deleter: usize| history[deleter].begun <= read;
        if !life.deletes.iter().any(|&(deleter, _)| begun(deleter)) {
            return Absence::Unborn;
        }
        match (life.only_creator(), life.only_delete()) {
            (Some(creator), Some((_, dead)))
                if history[creator].precedes(&history[transaction]) =>
            {
                Absence::DeadIfStrict(dead)
            }
            _ => Absence::Unknown,
        }
    }
}

fn lives(history: &[Transaction], observations: &Observations) -> Map<Key, Life> {
    let mut lives: Map<Key, Life> = Map::default();
    for write in &observations.writes {
        let life = lives.entry(write.key).or_default();
        let again = matches!(write.onto, Some(Seen::Version(before)) if is_dead(before));
        if is_dead(write.version) {
            life.deletes.push((write.transaction, write.version));
        } else if again || write.onto == Some(Seen::Absent) {
            life.creators.push(write.transaction);
        } else {
            // A blind write makes the record if it is not there. The writer's having seen
            // it proves nothing: below snapshots it may have been deleted since.
            let action = &history[write.transaction].operations[write.operation].action;
            life.blind |= write.onto.is_none() || matches!(action, Action::Write { .. });
        }
    }
    for (&key, &deleted) in &observations.maybe {
        let life = lives.entry(key).or_default();
        life.uncertain = true;
        life.perhaps_deleted |= deleted;
    }
    lives
}
