//! Resources of the machine: memory and cores, within the limits of the container the process runs
//! in.

use std::fs;

/// Returns the bytes of memory the process may still take: those that the system has available, or
/// those that the control group leaves, whichever are fewer. `None` where neither is known (not
/// Linux).
pub fn memory_available_bytes() -> Option<u64> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let system = kibibytes_in(&read("/proc/meminfo")?, "MemAvailable:")?;
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

/// Returns the bytes of resident memory of the process. `None` where that is not known (not Linux).
pub fn resident_bytes() -> Option<u64> {
    kibibytes_in(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// Returns the most bytes of resident memory since [`forget_resident_peak`].
pub fn resident_peak_bytes() -> Option<u64> {
    kibibytes_in(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Resets the peak of resident memory. If the system refuses, the peak is that since the process
/// began.
pub fn forget_resident_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Returns a line of one of the system's tables of memory, in bytes.
fn kibibytes_in(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns the number of hardware threads the process may use, at least 1.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Description of the machine that results were measured on, as far as the system tells. It
/// contains nothing that tells one machine from another of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Name of the processor.
    pub processor: Option<String>,
    /// Number of hardware threads the process may use.
    pub cores: usize,
    /// Bytes of the largest cache of the first of them.
    pub cache_bytes: Option<u64>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Name and version of the operating system's kernel.
    pub kernel: Option<String>,
    /// Whether memory lies on huge pages without a request (`always`), on request (`madvise`) or
    /// not at all (`never`).
    pub huge_pages: Option<String>,
}

impl Description {
    /// Returns the description of this machine.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let caches = (0..8).filter_map(|number| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{number}/size");
            parse_size::Config::new()
                .with_binary()
                .parse_size(read(&path)?.trim())
                .ok()
        });
        let kernel = |name| Some(read(&format!("/proc/sys/kernel/{name}"))?.trim().to_owned());
        Self {
            processor: read("/proc/cpuinfo").and_then(|table| processor_in(&table)),
            cores: cores(),
            cache_bytes: caches.max(),
            memory_bytes: read("/proc/meminfo").and_then(|table| kibibytes_in(&table, "MemTotal:")),
            kernel: kernel("ostype")
                .zip(kernel("osrelease"))
                .map(|(name, release)| format!("{name} {release}")),
            huge_pages: read("/sys/kernel/mm/transparent_hugepage/enabled")
                .and_then(|choices| chosen_in(&choices)),
        }
    }
}

fn processor_in(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo
        .lines()
        .find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns the word in brackets.
fn chosen_in(choices: &str) -> Option<String> {
    let (_, rest) = choices.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Use of the processors' time since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTime {
    /// All time, in the system's ticks.
    total: u64,
    /// Time that a hypervisor gave to others although there was work to do.
    stolen: u64,
}

impl ProcessorTime {
    /// Returns the time so far; `None` where it is not known (not Linux).
    pub fn now() -> Option<Self> {
        processor_time_in(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Returns the share of the time since `earlier` that was stolen.
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
    // The fields are user, nice, system, idle, waiting, interrupts (2), stolen; guests are in user.
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
        assert_eq!(kibibytes_in(table, "MemAvailable:"), Some(23456 * 1024));
        assert_eq!(kibibytes_in(table, "MemTotal:"), Some(24 * 1024));
        assert_eq!(kibibytes_in("nothing", "MemAvailable:"), None);
    }

    #[test]
    fn the_machine_is_described_from_the_systems_tables() {
        let table = "processor\t: 0\nmodel name\t: Fast: 3 GHz\nmodel name\t: Other\n";
        assert_eq!(processor_in(table).unwrap(), "Fast: 3 GHz");
        assert_eq!(processor_in("processor : 0\n"), None);
        assert_eq!(chosen_in("always [madvise] never\n").unwrap(), "madvise");
        assert_eq!(chosen_in("always"), None);
        assert_eq!(Description::here().cores, cores());
    }
}
