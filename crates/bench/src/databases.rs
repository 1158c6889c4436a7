//! Databases under measurement: one for each certifier that is compared.
//!
//! The certifier is a property of a database. Those that are compared have a loaded
//! database each; while one is measured, the workers of the others sleep.

use weft::{Database, Options};

use crate::limits::Region;
use crate::measure::Certifier;
use crate::{Error, Result};

/// Makes one thing for each certifier, `open`ed with the options of its database. If
/// there are several in a directory, each has a directory within it.
///
/// # Errors
/// Those of `open`.
pub(crate) fn for_each<T>(
    certifiers: &[Certifier],
    options: &Options,
    mut open: impl FnMut(Options) -> Result<T>,
) -> Result<Vec<(Certifier, T)>> {
    let several = certifiers.len() > 1;
    let opened = certifiers.iter().map(|&certifier| {
        let options = Options {
            certifier: certifier.into(),
            data_dir: options.data_dir.as_ref().map(|directory| match several {
                true => directory.join(certifier.name()),
                false => directory.clone(),
            }),
            ..options.clone()
        };
        Ok((certifier, open(options)?))
    });
    opened.collect()
}

/// The one of `certifier`; of those that are not serializable, the first.
///
/// # Errors
/// [`Error::Run`] if there is none.
pub(crate) fn of<T>(all: &[(Certifier, T)], certifier: Option<Certifier>) -> Result<&T> {
    let found = all
        .iter()
        .find(|(of, _)| certifier.is_none_or(|certifier| certifier == *of));
    found
        .map(|(_, one)| one)
        .ok_or_else(|| Error::run("a certifier is measured that was not planned; report this"))
}

/// The memory a database has claimed, to measure the machine's limit on while its workers
/// sleep.
pub(crate) fn memory(database: &Database) -> Option<Region<'_>> {
    let (start, bytes) = database.arena().claimed();
    // SAFETY: claimed memory stays mapped as long as the arena, which the
    // database borrowed here keeps. It is measured between runs, when the
    // workers sleep and write nothing.
    unsafe { Region::from_raw(start.as_ptr(), bytes) }
}
