//! Who started a traced tool: the phase itself, or a program of the source?

use std::fs;

use crate::phase::trace::Starter;

/// Programs that only pass a command on.
const PASSERS: &[&str] =
    &["find", "xargs", "env", "nice", "ionice", "timeout", "setsid", "stdbuf", "time", "nohup", "parallel", "chrt"];
const SHELLS: &[&str] = &["bash", "sh", "dash", "ksh", "zsh", "busybox"];

/// Walks from our parent up to `shell`, the phase's bash. Its forks (subshells) have its own command line.
pub fn starter(shell: Option<u32>) -> Starter {
    let mut passed = Vec::new();
    let mut pid = rustix::process::getppid().map_or(0, |p| p.as_raw_nonzero().get() as u32);
    let own = shell.map(command_line);
    for _ in 0..64 {
        if Some(pid) == shell || pid <= 1 {
            break;
        }
        let line = command_line(pid);
        // a fork of the phase's shell: between it and the shell there are only more of them
        if line.is_empty() || own.as_ref() == Some(&line) {
            break;
        }
        match pass(&line) {
            Some(name) => passed.push(name),
            None => return Starter::Source(String::from_utf8_lossy(&line.join(&b' ')).chars().take(200).collect()),
        }
        let Some(parent) = parent(pid) else { break };
        pid = parent;
    }
    Starter::Phase(passed)
}

/// The name of a program that runs the ebuild's own words: one of [`PASSERS`], or a shell with `-c` or no script.
fn pass(line: &[Vec<u8>]) -> Option<String> {
    let name = line.first()?.rsplit(|b| *b == b'/').next()?;
    let name = String::from_utf8_lossy(name).trim_start_matches('-').to_owned();
    if PASSERS.contains(&name.as_str()) {
        return Some(name);
    }
    if SHELLS.contains(&name.as_str()) {
        let mut words = line[1..].iter();
        for word in &mut words {
            match word.as_slice() {
                [b'-' | b'+', options @ ..] if !options.starts_with(b"-") => {
                    if options.contains(&b'c') || options.contains(&b's') {
                        return Some(name);
                    }
                    if options.ends_with(b"o") || options.ends_with(b"O") {
                        return None;
                    }
                }
                [b'-', b'-', ..] => {}
                _ => return None,
            }
        }
        return Some(name);
    }
    None
}

fn command_line(pid: u32) -> Vec<Vec<u8>> {
    let data = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words: Vec<Vec<u8>> = data.split(|b| *b == 0).map(<[u8]>::to_vec).collect();
    words.pop();
    words
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|l| l.strip_prefix("PPid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(line: &[&str]) -> bool {
        pass(&line.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>()).is_some()
    }

    #[test]
    fn tells_the_ebuild_s_words_from_the_source_s_programs() {
        assert!(passes(&["find", ".", "-exec", "sed", "{}", ";"]));
        assert!(passes(&["/usr/bin/xargs", "sed"]));
        assert!(passes(&["bash", "-c", "sed x"]));
        assert!(passes(&["sh", "-ec", "sed x"]));
        assert!(passes(&["bash"]));
        assert!(!passes(&["sh", "./autogen.sh"]));
        assert!(!passes(&["bash", "-e", "configure"]));
        assert!(!passes(&["make", "all"]));
        assert!(!passes(&["python3", "setup.py"]));
    }
}
