//! The order of each record's versions, as far as a history tells it.
//!
//! A version *follows* another if its writer had read that one before it wrote, or if
//! a list shows them side by side. (If a writer had read what came later than what it
//! wrote, information would flow in a circle, which the levels here all forbid; so the
//! inference is sound below them, and above them the circle is found.)
//!
//! # Absences
//! Absence carries no number: a record may not have been made yet, or have been
//! deleted. A reader saw the first if no delete had begun when it had read. It saw the
//! second if the record had been made, visibly for everybody, before it began: that
//! holds at strict levels only. Otherwise nothing is concluded. For the same reason a
//! delete is only given its place, after everything, in records that were made once
//! and deleted once.

use crate::{
    Map,
    history::{Action, Key, Transaction, UNBORN, Version},
    observations::{Observations, Read, Seen, Write, is_dead},
};

/// How it is known that one version follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The writer had seen what it replaced.
    Built,
    /// A list shows it.
    Listed,
    /// Nothing can be otherwise.
    Only,
}

/// A version that follows another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Follower {
    pub(crate) version: Version,
    pub(crate) how: How,
}

/// What became of an absent record that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    /// It had not been made yet.
    Unborn,
    /// It had been deleted, or the level is not strict.
    DeadIfStrict(Version),
    /// It can have been either.
    Unknown,
}

/// The makings and deletes of a record.
#[derive(Default)]
pub(crate) struct Life {
    pub(crate) creators: Vec<usize>,
    /// Who, and the version that is the absence since.
    pub(crate) deletes: Vec<(usize, Version)>,
    blind: bool,
    /// A transaction may have written it of which nobody knows whether it committed.
    uncertain: bool,
    /// Such a one may have deleted it.
    perhaps_deleted: bool,
}

impl Life {
    fn may_be_deleted(&self) -> bool {
        !self.deletes.is_empty() || self.perhaps_deleted
    }

    /// The delete, if the record was made and deleted only once.
    pub(crate) fn only_delete(&self) -> Option<(usize, Version)> {
        match (&*self.deletes, &*self.creators) {
            (&[delete], [] | [_]) if !self.blind && !self.uncertain => Some(delete),
            _ => None,
        }
    }

    /// Who made the record, if that happened only once.
    pub(crate) fn only_creator(&self) -> Option<usize> {
        match &*self.creators {
            &[creator] if !self.blind && !self.uncertain => Some(creator),
            _ => None,
        }
    }
}

/// See the module text.
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

    /// What follows nothing known follows the absence before the record, unless that
    /// may have returned; and the one delete follows everything.
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

    /// Notes that `version` follows `before`. Of several reasons the writer's own
    /// observation counts.
    fn follow(&mut self, key: Key, before: Version, version: Version, how: How) {
        let followers = self.followers.entry((key, before)).or_default();
        match followers.iter_mut().find(|it| it.version == version) {
            Some(known) if how == How::Built => known.how = how,
            Some(_) => {}
            None => followers.push(Follower { version, how }),
        }
    }

    /// What follows a version.
    pub(crate) fn followers(&self, key: Key, version: Version) -> &[Follower] {
        self.followers
            .get(&(key, version))
            .map_or(&[], Vec::as_slice)
    }

    /// What a read of an absent record saw.
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
            // A blind write makes the record if it is not there. That the writer had seen
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
