//! Trying a sed script on contents.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::edit::budget::Budget;
use crate::edit::sed::argv::Flags;
use crate::edit::trial::Trial;

/// What a trial's sed is called with beside the script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    pub extended: bool,
    pub quiet: bool,
    pub null_data: bool,
    pub posix: bool,
}

impl Switches {
    /// Those of a piece of a script, or of a whole call.
    pub fn of(flags: Flags, quiet: bool) -> Switches {
        Switches { extended: flags.extended, quiet, null_data: flags.null_data, posix: flags.posix }
    }
}

/// Runs trials of the real sed.
#[derive(Debug)]
pub struct Bench {
    trial: Trial,
}

/// sed could not read or write something, which is no word about the script.
const UNREAD: &[i32] = &[4];

impl Bench {
    /// `sed` is the real one.
    pub fn new(sed: &Path, locale: &str, budget: Budget) -> io::Result<Bench> {
        Ok(Bench { trial: Trial::new(sed, locale, budget)? })
    }

    /// Whether the time for trials is over.
    pub fn is_over(&self) -> bool {
        self.trial.is_over()
    }

    /// What `script` makes of each content; none where sed refuses it or does not end in time.
    pub fn run(&self, script: &[u8], switches: &Switches, contents: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        let script = self.trial.script(script)?;
        let options = [
            (switches.extended, "-E"),
            (switches.quiet, "-n"),
            (switches.null_data, "-z"),
            (switches.posix, "--posix"),
        ];
        let mut words = vec![OsString::from("-i")];
        words.extend(options.iter().filter(|(on, _)| *on).map(|(_, option)| OsString::from(option)));
        words.extend(["-f".into(), script, "--".into()]);
        self.trial.run(&words, UNREAD, contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_the_real_sed_on_copies() {
        let Some(sed) = crate::phase::job::find_program("sed") else { return };
        let bench = Bench::new(&sed, "C.UTF-8", Budget::of(std::time::Duration::MAX)).unwrap();
        let run = |script: &str| bench.run(script.as_bytes(), &Switches::default(), &[b"a\n", b"b\n"]);
        assert_eq!(run("s/a/c/"), Some(vec![b"c\n".to_vec(), b"b\n".to_vec()]));
        assert_eq!(run("s/a/c"), None);
        assert_eq!(run(":a;ba"), None, "it ends in time");
    }
}
