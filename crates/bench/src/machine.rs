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

/// What became of the processors' time since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    /// All of it, in the system's ticks.
    total: u64,
    /// What a hypervisor gave to others although there was work to do.
    stolen: u64,
}

impl ProcessorTime {
    /// `None` where it is not known (not Linux).
    pub fn now() -> Option<Self> {
        processor_time_in(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The share of the time since `earlier` that was stolen.
    pub fn stolen_since(self, earlier: Self) -> f64 {
        let total = self.total.saturating_sub(earlier.total);
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        stolen as f64 / total.max(1) as f64
    }
}

fn processor_time_in(stat: &str) -> Option<ProcessorTime> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .map_while(|t| t.parse().ok())
        .collect();
    // User, nice, system, idle, waiting, interrupts (2), stolen; guests are in user.
    let known = ticks.get(..8)?;
    Some(ProcessorTime {
        total: known.iter().sum(),
        stolen: known[7],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stolen_time_is_read_from_the_systems_table() {
        let time = |text| processor_time_in(text).unwrap();
        let before = time("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        let after = time("cpu  20 0 20 140 0 0 0 20 5 0\n");
        assert_eq!(after.stolen_since(before), 0.1);
        assert_eq!(after.stolen_since(after), 0.0);
        assert_eq!(processor_time_in("cpu  1 2 3\n"), None);
    }

    #[test]
    fn the_available_memory_is_read_from_the_systems_table() {
        let table = "MemTotal:       24 kB\nMemFree: 1 kB\nMemAvailable:   23456 kB\n";
        assert_eq!(memory_available_in(table), Some(23456 * 1024));
        assert_eq!(memory_available_in("nothing"), None);
    }
}
