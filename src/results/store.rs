//! The files of the result cache: one a report, written in one piece.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::gentoo::metadata::Metadata;
use crate::report::model::EbuildReport;

/// Raised whenever a report of before would be read wrongly.
const FORMAT: u32 = 1;
/// How long what nobody asks for is kept.
const KEPT: Duration = Duration::from_secs(60 * DAY.as_secs());
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A report, and of what it was made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    pub inputs: String,
    /// Names and md5s.
    pub eclasses: Vec<(String, String)>,
    pub settled: String,
    pub metadata: Metadata,
    pub report: EbuildReport,
}

#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    run: String,
}

impl Store {
    pub fn open(dir: &Path, run: &str) -> Option<Store> {
        let dir = dir.join(format!("v{FORMAT}"));
        fs::create_dir_all(&dir).ok()?;
        Some(Store { dir, run: run.to_owned() })
    }

    /// What is kept of the ebuild at `path` of its repository. A file that is damaged is as good as none.
    pub fn read(&self, path: &Path) -> Option<Entry> {
        let file = self.file(path);
        let entry = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
        // used: a day's grain spares most of the writing
        if age(&file).is_some_and(|age| age > DAY) {
            let now = fs::FileTimes::new().set_modified(SystemTime::now());
            let _ = fs::File::options().append(true).open(&file).and_then(|file| file.set_times(now));
        }
        Some(entry)
    }

    /// A full disk costs the entry, not the report.
    pub fn write(&self, path: &Path, entry: &Entry) -> Option<()> {
        let path = self.file(path);
        let dir = path.parent()?;
        fs::create_dir_all(dir).ok()?;
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(dir).ok()?;
        file.write_all(&serde_json::to_vec(entry).ok()?).ok()?;
        file.persist(path).ok()?;
        Some(())
    }

    fn file(&self, path: &Path) -> PathBuf {
        let mut sum = md5::Context::new();
        sum.consume(self.run.as_bytes());
        sum.consume(path.as_os_str().as_encoded_bytes());
        let name = format!("{:x}", sum.finalize());
        self.dir.join(&name[..2]).join(&name[2..])
    }

    pub fn tidy(&self) {
        let stamp = self.dir.join("tidied");
        if age(&stamp).is_some_and(|age| age < DAY) || fs::write(&stamp, b"").is_err() {
            return;
        }
        for item in walkdir::WalkDir::new(&self.dir).min_depth(2).into_iter().flatten() {
            let unfinished = item.file_name().as_encoded_bytes().starts_with(b".new-");
            let most = if unfinished { DAY } else { KEPT };
            if item.file_type().is_file() && age(item.path()).is_some_and(|age| age > most) {
                let _ = fs::remove_file(item.path());
            }
        }
    }
}

fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}
