//! Trying a script on contents: the real sed, in place, on copies in a folder of its own, within bounds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// What a trial's sed is called with beside the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    pub extended: bool,
    pub quiet: bool,
    pub null_data: bool,
}

/// Runs trials.
#[derive(Debug)]
pub struct Bench {
    sed: PathBuf,
    dir: tempfile::TempDir,
    locale: String,
}

/// Wall time of one trial.
const TIME: Duration = Duration::from_secs(3);
/// Bytes that one sed is given, more only where a single file is larger.
const BYTES: usize = 32 << 20;
/// Files that one sed is given.
const BATCH: usize = 256;

impl Bench {
    /// `sed` is the real one.
    pub fn new(sed: &Path, locale: &str) -> io::Result<Bench> {
        Ok(Bench { sed: sed.to_owned(), dir: crate::edit::scratch::dir()?, locale: locale.to_owned() })
    }

    /// What `script` makes of each content; none where sed refuses it or does not end in time.
    pub fn run(&self, script: &[u8], switches: &Switches, contents: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        let mut out = Vec::with_capacity(contents.len());
        let mut rest = contents;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take(BATCH).take_while(|c| {
                bytes += c.len();
                bytes <= BYTES
            });
            let (batch, left) = rest.split_at(fits.count().max(1));
            out.extend(self.batch(script, switches, batch)?);
            rest = left;
        }
        Some(out)
    }

    /// What a script makes of one content.
    pub fn whole(&self, script: &[u8], extended: bool, quiet: bool, null_data: bool, input: &[u8]) -> Option<Vec<u8>> {
        self.run(script, &Switches { extended, quiet, null_data }, &[input])?.pop()
    }

    fn batch(&self, script: &[u8], switches: &Switches, contents: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        let file = self.dir.path().join("script");
        fs::write(&file, script).ok()?;
        let copies: Vec<PathBuf> = (0..contents.len()).map(|i| self.dir.path().join(format!("{i}"))).collect();
        for (path, content) in copies.iter().zip(contents) {
            fs::write(path, content).ok()?;
        }
        let mut command = Command::new(&self.sed);
        command.arg("-i");
        for (on, switch) in [(switches.extended, "-E"), (switches.quiet, "-n"), (switches.null_data, "-z")] {
            if on {
                command.arg(switch);
            }
        }
        command.arg("-f").arg(&file).arg("--").args(&copies);
        command.env_clear().env("LC_ALL", &self.locale).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        crate::phase::sandbox::guard(&mut command);
        // a script may write without end: no copy grows beyond this
        let mut child = command.spawn().ok()?;
        let pid = rustix::process::Pid::from_child(&child);
        let bound = rustix::process::Rlimit { current: Some(256 << 20), maximum: Some(256 << 20) };
        let _ = rustix::process::prlimit(Some(pid), rustix::process::Resource::Fsize, bound);
        let (done, watch) = mpsc::channel::<()>();
        let watcher = std::thread::spawn(move || {
            if watch.recv_timeout(TIME).is_err() {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        });
        let status = child.wait();
        let _ = done.send(());
        let _ = watcher.join();
        status.ok().filter(|s| s.success() || s.code() == Some(4))?;
        copies.iter().map(|path| fs::read(path).ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_the_real_sed_on_copies() {
        let Some(sed) = crate::phase::job::find_program("sed") else { return };
        let bench = Bench::new(&sed, "C.UTF-8").unwrap();
        let run = |script: &str| bench.run(script.as_bytes(), &Switches::default(), &[b"a\n", b"b\n"]);
        assert_eq!(run("s/a/c/"), Some(vec![b"c\n".to_vec(), b"b\n".to_vec()]));
        assert_eq!(run("s/a/c"), None);
    }
}
