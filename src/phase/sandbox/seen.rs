//! What is seen of a job from without, whatever its programs say of themselves: to tell whether something of it lasts that
//! lies in none of its folders.

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use super::{Tier, census};

/// Where a job may write without anybody keeping it, where it has a file system of its own.
const IN_MEMORY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Files in memory that are looked at.
const MOST_FILES: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The shell and what else is running.
    pub processes: usize,
    /// The shell's descriptors, limits, umask, and signals that it ignores or blocks; and the files in memory.
    pub rest: String,
}

impl Seen {
    /// Whether the shell's standard input is this file.
    pub fn reads(&self, file: &Path) -> bool {
        self.rest.starts_with(&descriptor("0".as_ref(), file))
    }

    /// Of the job with this shell.
    pub fn of(shell: Pid, tier: Tier) -> io::Result<Seen> {
        let dir = format!("/proc/{}", shell.as_raw_pid());
        let mut descriptors = Vec::new();
        for item in fs::read_dir(format!("{dir}/fd"))? {
            let item = item?;
            descriptors.push(descriptor(&item.file_name(), &fs::read_link(item.path())?));
        }
        descriptors.sort();
        let mut rest = descriptors.concat();
        let status = fs::read_to_string(format!("{dir}/status"))?;
        let lasting = |line: &&str| ["Umask:", "SigBlk:", "SigIgn:"].iter().any(|name| line.starts_with(name));
        status.lines().filter(lasting).for_each(|line| rest.extend([line, "\n"]));
        rest += &fs::read_to_string(format!("{dir}/limits"))?;
        if tier == Tier::Namespaces {
            in_memory(&mut rest)?;
        }
        Ok(Seen { processes: census::running(), rest })
    }
}

fn descriptor(number: &OsStr, file: &Path) -> String {
    format!("{number:?} {file:?}\n")
}

fn in_memory(rest: &mut String) -> io::Result<()> {
    let mut count = 0;
    for folder in IN_MEMORY {
        for item in WalkDir::new(folder).min_depth(1).same_file_system(true).sort_by_file_name() {
            let item = item?;
            count += 1;
            if count > MOST_FILES {
                return Err(io::Error::other("too many files in memory"));
            }
            let meta = item.metadata()?;
            let _ = writeln!(rest, "{:?} {} {}.{}", item.path(), meta.ino(), meta.ctime(), meta.ctime_nsec());
        }
    }
    Ok(())
}
