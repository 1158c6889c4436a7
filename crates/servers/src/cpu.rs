//! Processor time of a server: of a process and of all its descendants.
//!
//! PostgreSQL has a process for each connection, and more in the background; Weft has one process.
//! The time of an ended process is part of its parent's, once the parent has waited for it. The
//! system counts time in ticks of a hundredth of a second, so a measurement needs runs of seconds.

use std::{collections::BTreeMap, fs, time::Duration};

/// Ticks of `/proc` in a second; the number is the same on every current Linux.
const TICKS_PER_SECOND: u64 = 100;

/// Entry of a process in `/proc`.
struct Process {
    parent: u32,
    /// Ticks of the process and of its children that have ended.
    ticks: u64,
}

/// Returns the processor time that the process `root` and all its descendants have taken; `None`
/// where the system does not tell.
pub(crate) fn taken(root: u32) -> Option<Duration> {
    let processes = processes()?;
    let mut ticks = processes.get(&root)?.ticks;
    let is_below = |mut id: u32| {
        while let Some(process) = processes.get(&id) {
            if process.parent == root {
                return true;
            }
            id = process.parent;
        }
        false
    };
    let below = processes.keys().filter(|&&id| id != root && is_below(id));
    ticks += below.map(|id| processes[id].ticks).sum::<u64>();
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Returns the process that listens on `port` of this machine: the eldest, where several share the
/// socket. `None` if no process listens, or if this user may not look at it.
pub(crate) fn listening_on(port: u16) -> Option<u32> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|table| listening(&table, port))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let holds = |id: &u32| {
        let Ok(files) = fs::read_dir(format!("/proc/{id}/fd")) else {
            return false;
        };
        let targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
        let mut targets = targets.filter_map(|target| target.into_os_string().into_string().ok());
        targets.any(|target| sockets.contains(&target))
    };
    processes()?.into_keys().find(holds)
}

/// Returns the inodes of the sockets that listen on `port`, read from one of the system's tables.
fn listening(table: &str, port: u16) -> Vec<u64> {
    const LISTENING: &str = "0A";
    let inode = |line: &str| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let (_, local) = columns.get(1)?.rsplit_once(':')?;
        let is_it =
            u16::from_str_radix(local, 16) == Ok(port) && columns.get(3) == Some(&LISTENING);
        is_it.then(|| columns.get(9)?.parse().ok()).flatten()
    };
    table.lines().skip(1).filter_map(inode).collect()
}

/// Returns all processes by their numbers.
fn processes() -> Option<BTreeMap<u32, Process>> {
    let entries = fs::read_dir("/proc").ok()?;
    let found = entries.filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        // A process that has ended in the meantime counts in its parent's time.
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        Some((id, process(&stat)?))
    });
    Some(found.collect())
}

fn process(stat: &str) -> Option<Process> {
    // The name is in brackets and may itself contain any character.
    let (_, rest) = stat.rsplit_once(')')?;
    let columns: Vec<&str> = rest.split_whitespace().collect();
    // Fields 14 to 17 of proc(5); the first element of `columns` is field 3.
    let ticks = columns
        .get(11..15)?
        .iter()
        .map(|ticks| ticks.parse::<u64>().ok());
    Some(Process {
        parent: columns.get(1)?.parse().ok()?,
        ticks: ticks.sum::<Option<u64>>()?,
    })
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_line_of_stat_is_read_behind_its_name() {
        let stat = "12 (odd ) name) S 7 1 1 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 99";
        let process = process(stat).unwrap();
        assert_eq!((process.parent, process.ticks), (7, 100));
        assert!(super::process("12 (cut").is_none());
    }

    #[test]
    fn only_listening_sockets_of_the_port_are_taken() {
        let table = "  sl local rem st\n\
            0: 0100007F:1538 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 4711 1 0\n\
            1: 0100007F:1538 0100007F:9999 01 00000000:00000000 00:00000000 0 0 0 4712 1 0\n\
            2: 0100007F:1539 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 4713 1 0\n";
        assert_eq!(listening(table, 0x1538), [4711]);
    }

    #[test]
    fn this_process_listens_and_takes_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listening_on(port), Some(std::process::id()));
        drop(listener);
        assert_eq!(listening_on(port), None);
        let before = taken(std::process::id()).unwrap();
        let mut number = 1_u64;
        while taken(std::process::id()).unwrap() == before {
            (0..1_000_000).for_each(|_| number = std::hint::black_box(number ^ (number << 1)));
        }
    }
}
