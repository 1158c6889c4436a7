//! What a child does, and what a kill takes with it.

use io::{Laziness, Planted};

use super::dice::Dice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conduct {
    /// It works as it should; a kill takes nothing that the system was given.
    Honest,
    /// It promises before it is promised: a bug that must be noticed.
    Hasty,
    /// It works as it should; a kill takes what was not synced.
    LosesUnsynced,
    /// The same, and neither its syncs nor its durable writes do anything: a bug that
    /// must be noticed, and so are the following.
    SkipsSyncs,
    /// Its durable writes do nothing.
    SkipsDurableWrites,
    /// Its syncs of the directory do nothing.
    LosesDirectorySyncs,
}

impl Conduct {
    const ALL: [Conduct; 6] = [
        Conduct::Honest,
        Conduct::Hasty,
        Conduct::LosesUnsynced,
        Conduct::SkipsSyncs,
        Conduct::SkipsDurableWrites,
        Conduct::LosesDirectorySyncs,
    ];

    /// For a child's command line.
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// The conduct of this name.
    pub(crate) fn of(name: &str) -> Option<Conduct> {
        Conduct::ALL
            .into_iter()
            .find(|conduct| conduct.name() == name)
    }

    /// The directory that a child works on, unless it is one that a kill does nothing
    /// to.
    pub(crate) fn laziness(self, dice: &mut Dice) -> Option<Laziness> {
        let planted = match self {
            Conduct::Honest | Conduct::Hasty => return None,
            Conduct::LosesUnsynced => None,
            Conduct::SkipsSyncs => Some(Planted::SkipSync),
            Conduct::SkipsDurableWrites => Some(Planted::SkipDurableWrite),
            Conduct::LosesDirectorySyncs => Some(Planted::LoseDirectorySync),
        };
        // Everything is lost, or something; what a planted bug does not do is.
        let early_per_mille = match (planted, dice.below(2)) {
            (None, 0) => dice.below(600) as u32,
            _ => 0,
        };
        Some(Laziness {
            seed: dice.next(),
            early_per_mille,
            planted,
        })
    }
}
