//! Conduct of a child, and the losses of a kill.

use io::{Laziness, Planted};

use super::dice::Dice;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conduct {
    /// The child works as it should; a kill loses nothing that the system was given.
    Honest,
    /// The child promises transactions before they are acknowledged: a bug that must be noticed.
    Hasty,
    /// The child works as it should; a kill discards unsynced writes.
    LosesUnsynced,
    /// A kill discards unsynced writes, and neither the child's syncs nor its durable writes do
    /// anything: a bug that must be noticed.
    SkipsSyncs,
    /// A kill discards unsynced writes, and the child's durable writes do nothing: a bug that must
    /// be noticed.
    SkipsDurableWrites,
    /// A kill discards unsynced writes, and the child's syncs of the directory do nothing: a bug
    /// that must be noticed.
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

    /// Returns the name for a child's command line.
    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }

    /// Returns the conduct of this name.
    pub(crate) fn of(name: &str) -> Option<Conduct> {
        Conduct::ALL
            .into_iter()
            .find(|conduct| conduct.name() == name)
    }

    /// Returns the behaviour of the directory that a child works on, unless a kill loses nothing.
    pub(crate) fn laziness(self, dice: &mut Dice) -> Option<Laziness> {
        let planted = match self {
            Conduct::Honest | Conduct::Hasty => return None,
            Conduct::LosesUnsynced => None,
            Conduct::SkipsSyncs => Some(Planted::SkipSync),
            Conduct::SkipsDurableWrites => Some(Planted::SkipDurableWrite),
            Conduct::LosesDirectorySyncs => Some(Planted::LoseDirectorySync),
        };
        // All unsynced writes are lost or, in some of the runs without a planted bug, some reach the
        // disk early.
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
