//! Trying a tool on contents: the real one, in place, on copies in a folder of its own, within bounds.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::budget::Budget;
use super::run::{End, Limits, run};

/// Bytes that one process is given, more only where a single file is larger.
const BYTES: usize = 32 << 20;
/// Files that one process is given.
const BATCH: usize = 256;
/// What one trial may use; a script may write without end.
const LIMITS: Limits = Limits { time: Duration::from_secs(3), output: 64 << 20, memory: 1 << 31, file: 256 << 20 };

/// A folder in which a tool edits copies.
#[derive(Debug)]
pub struct Trial {
    tool: PathBuf,
    dir: tempfile::TempDir,
    locale: String,
    budget: Budget,
}

impl Trial {
    /// `tool` is the real one.
    pub fn new(tool: &Path, locale: &str, budget: Budget) -> io::Result<Trial> {
        Ok(Trial { tool: tool.to_owned(), dir: super::scratch::dir()?, locale: locale.to_owned(), budget })
    }

    /// Whether no trial is run any more.
    pub fn is_over(&self) -> bool {
        self.budget.is_over()
    }

    /// What the tool with these words, which ask for edits in place, makes of each content. None where it refuses
    /// them or does not end in time; a status in `fine` is no refusal.
    pub fn run(&self, words: &[OsString], fine: &[i32], contents: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        let mut out = Vec::with_capacity(contents.len());
        let mut rest = contents;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take(BATCH).take_while(|c| {
                bytes += c.len();
                bytes <= BYTES
            });
            let (batch, left) = rest.split_at(fits.count().max(1));
            out.extend(self.batch(words, fine, batch)?);
            rest = left;
        }
        Some(out)
    }

    /// Puts a script where the words can name it.
    pub fn script(&self, text: &[u8]) -> Option<OsString> {
        let file = self.dir.path().join("script");
        fs::write(&file, text).ok()?;
        Some(file.into_os_string())
    }

    fn batch(&self, words: &[OsString], fine: &[i32], contents: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        (!self.is_over()).then_some(())?;
        let names: Vec<String> = (0..contents.len()).map(|i| i.to_string()).collect();
        for (name, content) in names.iter().zip(contents) {
            fs::write(self.dir.path().join(name), content).ok()?;
        }
        let words: Vec<OsString> = words.iter().cloned().chain(names.iter().map(OsString::from)).collect();
        let locale = [("LC_ALL", OsString::from(&self.locale))];
        let limits = Limits { time: LIMITS.time.min(self.budget.left()), ..LIMITS };
        let done = run(&self.tool, self.dir.path(), &words, &locale, limits, |_| {}).ok()?;
        matches!(done.end, End::Exit(status) if status == 0 || fine.contains(&status)).then_some(())?;
        names.iter().map(|name| fs::read(self.dir.path().join(name)).ok()).collect()
    }
}
