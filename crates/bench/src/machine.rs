//! What the machine offers: memory and cores, within the limits of the
//! container the process runs in.

use std::fs;

/// Bytes of memory the process may still take: what the system has available,
/// or what the control group leaves, whichever is less. `None` where neither
/// is known (not Linux).
pub fn memory_available_bytes() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let system = memory_available_in(&read("/proc/meminfo")?)?;
    // Inside a container the group's own files are at the root of the mount;
    // "max", or a number beyond the machine, means no limit.
    let left = |max: &str, used: &str| Some(number(max)?.saturating_sub(number(used)?));
    let group = left("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current").or_else(|| {
        left(
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        )
    });
    Some(group.map_or(system, |group| group.min(system)))
}

fn memory_available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Hardware threads the process may use, at least 1.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_read_from_the_systems_table() {
        let table = "MemTotal:       24 kB\nMemFree: 1 kB\nMemAvailable:   23456 kB\n";
        assert_eq!(memory_available_in(table), Some(23456 * 1024));
        assert_eq!(memory_available_in("nothing"), None);
    }
}
