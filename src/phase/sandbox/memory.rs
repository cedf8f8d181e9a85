//! The memory that processes take, also where it is shared, mapped by nobody, or has no name.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// An open file without a name.
pub struct Nameless {
    /// Its device and inode: several processes may have it open.
    pub number: (u64, u64),
    pub bytes: u64,
    pub in_memory: bool,
}

/// Bytes of a process that no file on a disk stands for; of what several share its part.
pub fn resident(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let (own, shared) = (field(&status, "RssAnon:"), field(&status, "RssShmem:"));
    if shared == 0 {
        return own;
    }
    let parts = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    // where it can't be read, or does not tell, all of it counts
    own + if parts.contains("Pss_Shmem:") { field(&parts, "Pss_Shmem:") } else { shared }
}

/// A number of kB, as bytes.
fn field(text: &str, name: &str) -> u64 {
    let number = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
    number.and_then(|number| number.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The files without a name that a process has open; each look at one is taken from `looks`.
pub fn nameless(pid: i32, looks: &mut usize) -> Vec<Nameless> {
    let mut found = Vec::new();
    for item in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
        let Some(left) = looks.checked_sub(1) else { break };
        *looks = left;
        let Ok(meta) = fs::metadata(item.path()) else { continue };
        if !meta.is_file() || meta.nlink() > 0 {
            continue;
        }
        let name = fs::read_link(item.path()).unwrap_or_default();
        found.push(Nameless {
            number: (meta.dev(), meta.ino()),
            bytes: meta.blocks().saturating_mul(512),
            in_memory: name.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"),
        });
    }
    found
}

/// What the file systems in memory of this namespace hold, and segments of System V that nobody has attached.
pub fn of_the_namespace() -> u64 {
    let used = |path: &str| {
        let room = rustix::fs::statvfs(path).ok()?;
        Some(room.f_blocks.saturating_sub(room.f_bfree).saturating_mul(room.f_frsize))
    };
    let files: u64 = ["/tmp", "/var/tmp", "/dev/shm"].into_iter().filter_map(used).sum();
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let unused = segments.lines().skip(1).filter_map(|line| {
        let numbers: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
        // nattch and rss
        (numbers.get(6) == Some(&0)).then(|| numbers.get(14).copied().unwrap_or(0))
    });
    files + unused.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_wherever_it_is() {
        let pid = std::process::id() as i32;
        let own = vec![1u8; 64 << 20];
        assert!(resident(pid) >= own.len() as u64);
        let memory = fs::File::from(rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
        std::io::Write::write_all(&mut &memory, &own).unwrap();
        let disk = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut &disk, &own[..1 << 20]).unwrap();
        disk.sync_all().unwrap();
        let found = nameless(pid, &mut 10_000);
        let is = |file: &Nameless, of: &fs::File| of.metadata().is_ok_and(|m| (m.dev(), m.ino()) == file.number);
        assert!(found.iter().any(|file| is(file, &memory) && file.in_memory && file.bytes >= 64 << 20));
        assert!(found.iter().any(|file| is(file, &disk) && !file.in_memory && file.bytes >= 1 << 20));
    }
}
