//! Room for the bytes of long lines, asked for before it is taken.

use types::{Memory, Result};

/// Makes room for `more` bytes behind those that `bytes` has, of which `memory` is asked for what the room takes beyond
/// the present one. The room is doubled at least, as vectors grow.
///
/// # Errors
/// 53200 if the memory is not available; `bytes` stays as it was.
pub(super) fn make_room(bytes: &mut Vec<u8>, more: usize, memory: &Memory) -> Result<()> {
    let needed = bytes.len() + more;
    let present = bytes.capacity();
    if needed > present {
        let room = needed.max(2 * present);
        memory.ask(room - present)?;
        bytes.reserve_exact(room - bytes.len());
    }
    Ok(())
}
