//! Memory that this process may use: the machine's, or less if a control group says so.

use std::{fs, path::Path};

/// Bytes assumed where the system does not tell.
const FALLBACK_BYTES: usize = 4 << 30;

/// Returns the bytes of memory this process may use.
pub(super) fn usable_bytes() -> usize {
    let machine = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| machine_bytes(&text))
        .unwrap_or(FALLBACK_BYTES);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    group_limits(&groups)
        .iter()
        .filter_map(|file| limit_bytes(&fs::read_to_string(file).ok()?))
        .fold(machine, usize::min)
}

fn machine_bytes(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Returns a number of bytes; `None` for "max".
fn limit_bytes(text: &str) -> Option<usize> {
    text.trim().parse().ok()
}

/// Returns the files that may hold a limit, given `/proc/self/cgroup`: those of the process's own
/// group and of all above it, in both versions of control groups. Inside a container the paths
/// often do not exist, but the root's file does.
fn group_limits(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (root, file) = if controllers.is_empty() {
            ("/sys/fs/cgroup", "memory.max")
        } else if controllers.split(',').any(|name| name == "memory") {
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
        } else {
            continue;
        };
        for group in Path::new(path).ancestors() {
            let group = group.to_string_lossy();
            files.push(format!("{root}/{}/{file}", group.trim_matches('/')));
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_memory_is_read() {
        let meminfo = "MemTotal:       16384 kB\nMemFree:  12 kB\n";
        assert_eq!(machine_bytes(meminfo), Some(16 << 20));
        assert_eq!(machine_bytes("nonsense"), None);
    }

    #[test]
    fn limits_are_looked_for_in_the_group_and_above_it() {
        assert_eq!(
            group_limits("0::/a/b\n"),
            [
                "/sys/fs/cgroup/a/b/memory.max",
                "/sys/fs/cgroup/a/memory.max",
                "/sys/fs/cgroup//memory.max",
            ]
        );
        assert_eq!(
            group_limits("5:cpu:/x\n4:cpuset,memory:/\n"),
            ["/sys/fs/cgroup/memory//memory.limit_in_bytes"]
        );
    }

    #[test]
    fn max_is_no_limit() {
        assert_eq!(limit_bytes("max\n"), None);
        assert_eq!(limit_bytes("1048576\n"), Some(1 << 20));
    }

    #[test]
    fn this_process_may_use_some_memory() {
        assert!(usable_bytes() > 1 << 20);
    }
}
