//! Which processes a job has, and what they use.

use std::collections::{HashMap, HashSet};
use std::fs;

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, wait};

use super::memory;

/// What the processes below this one use together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub processes: u64,
    /// Bytes that no file on a disk stands for: their own, those that they share, and nameless files in memory.
    pub memory: u64,
    /// Bytes on disks of open files that have no name any more.
    pub nameless: u64,
    /// Ticks of the clock, those of ended children among them.
    pub ticks: u64,
}

/// All processes that this one or its children started.
pub fn descendants() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in all() {
        if let Some(parent) = stat(pid).and_then(|s| s.first().copied()) {
            children.entry(parent as i32).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut known = HashSet::new();
    let mut todo = vec![getpid().as_raw_pid()];
    while let Some(pid) = todo.pop() {
        for child in children.get(&pid).into_iter().flatten().copied().filter(|c| known.insert(*c)) {
            found.push(child);
            todo.push(child);
        }
    }
    found
}

/// How many descendants have not ended.
pub fn running() -> usize {
    descendants().into_iter().filter(|pid| !is_zombie(*pid)).count()
}

/// The processes of a process group.
pub fn group(number: i32) -> Vec<i32> {
    all().into_iter().filter(|pid| stat(*pid).is_some_and(|s| s.get(1) == Some(&i64::from(number)))).collect()
}

/// What all descendants use; where there are more than `most` of them, their number alone, since who makes so many makes more meanwhile.
pub fn usage(most: u64) -> Usage {
    let all = descendants();
    let mut usage = Usage { processes: all.len() as u64, ..Usage::default() };
    if usage.processes > most {
        return usage;
    }
    let (mut seen, mut looks) = (HashSet::new(), MOST_LOOKS);
    // those that we took the status of
    usage.ticks = ticks(getpid().as_raw_pid(), 12..14);
    for pid in all {
        usage.ticks += ticks(pid, 10..14);
        usage.memory += memory::resident(pid);
        for file in memory::nameless(pid, &mut looks).into_iter().filter(|file| seen.insert(file.number)) {
            *if file.in_memory { &mut usage.memory } else { &mut usage.nameless } += file.bytes;
        }
    }
    // the first process of a namespace has file systems and segments of its own
    if getpid() == Pid::INIT {
        usage.memory += memory::of_the_namespace();
    }
    usage
}

/// Open files that are looked at; who has more, has them within other bounds.
const MOST_LOOKS: usize = 20_000;

/// utime, stime, cutime and cstime are the numbers 10 to 13.
fn ticks(pid: i32, which: std::ops::Range<usize>) -> u64 {
    let stat = stat(pid).unwrap_or_default();
    stat.get(which).map_or(0, |times| times.iter().sum::<i64>().max(0) as u64)
}

/// Ends all descendants and takes their statuses, until none is left. As the subreaper, and as the first process of a
/// namespace, we inherit whatever loses its parent, so none gets away.
pub fn end_all() {
    if getpid() == Pid::INIT {
        super::sys::kill_all_others();
    }
    let own = group_of(getpid().as_raw_pid());
    loop {
        match reap_all() {
            Reaped::NoneLeft => return,
            Reaped::Some => {}
            Reaped::StillRunning => std::thread::sleep(std::time::Duration::from_micros(300)),
        }
        let running: Vec<i32> = descendants().into_iter().filter(|pid| !is_zombie(*pid)).collect();
        // a group goes at once, before one of it can make more
        let groups: HashSet<i32> = running.iter().filter_map(|pid| group_of(*pid)).collect();
        for group in groups.into_iter().filter(|group| Some(*group) != own).filter_map(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        for pid in running.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

enum Reaped {
    NoneLeft,
    Some,
    StillRunning,
}

fn reap_all() -> Reaped {
    let mut reaped = Reaped::StillRunning;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => reaped = Reaped::Some,
            Ok(None) => return reaped,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Reaped::NoneLeft,
        }
    }
}

fn group_of(pid: i32) -> Option<i32> {
    stat(pid)?.get(1).map(|group| *group as i32)
}

fn is_zombie(pid: i32) -> bool {
    // a zombie has no memory
    fs::read_to_string(format!("/proc/{pid}/statm")).is_ok_and(|text| text.starts_with("0 "))
}

fn all() -> Vec<i32> {
    let Ok(items) = fs::read_dir("/proc") else { return Vec::new() };
    items.flatten().filter_map(|item| item.file_name().to_str()?.parse().ok()).collect()
}

/// The numbers of `/proc/PID/stat` from the parent's on.
fn stat(pid: i32) -> Option<Vec<i64>> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // the name may hold anything, parentheses too
    let end = text.iter().rposition(|b| *b == b')')?;
    let text = std::str::from_utf8(text.get(end + 2..)?).ok()?;
    Some(text.split(' ').skip(1).map(|n| n.parse().unwrap_or(0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_a_child() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        assert!(descendants().contains(&(child.id() as i32)));
        assert!(usage(u64::MAX).processes >= 1);
        assert_eq!(usage(0).memory, 0);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descendants().contains(&(child.id() as i32)));
    }
}
