//! The trace: one record a traced process, and the contents that it saw.
//!
//! Records are lines of JSON in `log`; contents lie beside it in `blobs`, named by their md5. The ebuild's own
//! processes could write there, too: what is read is data about that ebuild alone and is checked as such.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::escape::{escape, unescape};
use crate::tree::untrusted;

/// Bytes; contents of larger files are known by their md5 only.
pub const BLOB_LIMIT: u64 = 64 << 20;

/// Bytes of all records together; more is no trace of ours.
const LOG_LIMIT: u64 = 256 << 20;

/// Records that are read; a source in which each of as many files is edited by a call of its own is not known.
const MOST_RECORDS: usize = 100_000;

/// Bytes that are stored as text without loss.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&escape(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        Ok(Bytes(unescape(&String::deserialize(deserializer)?)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    Sed,
    Perl,
    Patch,
}

impl Tool {
    pub const ALL: [Tool; 3] = [Tool::Sed, Tool::Perl, Tool::Patch];

    /// The name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Sed => "sed",
            Tool::Perl => "perl",
            Tool::Patch => "patch",
        }
    }
}

/// What a path led to, links followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Missing,
    /// A regular file: its md5, and its size in bytes.
    File {
        md5: String,
        size: u64,
    },
    Directory,
    /// A device, a FIFO, a socket: never opened.
    Other,
    Unreadable,
}

impl State {
    pub fn md5(&self) -> Option<&str> {
        match self {
            State::File { md5, .. } => Some(md5),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TargetRecord {
    /// The word of argv.
    pub arg: usize,
    /// Absolute; links in its directory are resolved.
    pub path: Bytes,
    pub link: bool,
    pub before: State,
    pub after: State,
}

/// Where a standard stream went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stream {
    /// The phase's own output or input: nobody reads it.
    Nowhere,
    /// A regular file: its path, and its contents (of output: after the call).
    File {
        path: Bytes,
        contents: State,
    },
    Pipe,
    /// /dev/null
    Null,
    Other,
}

/// Who started the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Starter {
    /// The phase's shell, perhaps by way of find, xargs, env and their like, whose names stand here.
    Phase(Vec<String>),
    /// A program or a script of the source.
    Source(String),
}

/// How a traced tool came to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    #[default]
    Itself,
    Signal,
    /// The tracer was ended before the tool was, or with it: what came after the beginning is not known.
    Unseen,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub tool: Tool,
    /// The tracer's process.
    #[serde(default)]
    pub pid: u32,
    #[serde(default)]
    pub ended: Ended,
    /// Nanoseconds of the monotonic clock.
    pub start: u64,
    pub end: u64,
    pub argv: Vec<Bytes>,
    pub cwd: Bytes,
    /// 128 + n where signal n ended it.
    pub exit: i32,
    /// The shell's stack, as [`super::stack`] reads it.
    pub at: Bytes,
    pub phase: String,
    pub starter: Starter,
    /// Script files (`-f`): the word of argv and the md5 of the contents.
    pub scripts: Vec<(usize, String)>,
    pub targets: Vec<TargetRecord>,
    pub stdin: Stream,
    pub stdout: Stream,
    /// LC_ALL, LC_CTYPE and LANG, the first that is set.
    pub locale: Bytes,
    pub posixly_correct: bool,
    /// The patch file that eapply hands over.
    pub patch: Option<Bytes>,
}

/// Bytes from which on contents that lie in the pristine source are not kept a second time.
pub const LENT_FROM: u64 = 64 << 10;

impl Record {
    /// The md5s of the contents that it names.
    pub fn contents(&self) -> impl Iterator<Item = &str> {
        fn of_stream(stream: &Stream) -> Option<&str> {
            match stream {
                Stream::File { contents, .. } => contents.md5(),
                _ => None,
            }
        }
        let targets = self.targets.iter().flat_map(|target| [target.before.md5(), target.after.md5()]);
        let streams = [of_stream(&self.stdin), of_stream(&self.stdout)];
        targets.chain(streams).flatten().chain(self.scripts.iter().map(|(_, md5)| md5.as_str()))
    }
}

/// The folder that a job's trace goes to.
#[derive(Clone, Debug)]
pub struct TraceDir {
    root: PathBuf,
    /// Files elsewhere with the contents of these md5s.
    lent: HashMap<String, PathBuf>,
}

impl TraceDir {
    pub fn create(root: &Path) -> io::Result<TraceDir> {
        fs::create_dir_all(root.join("blobs"))?;
        Ok(TraceDir::open(root))
    }

    pub fn open(root: &Path) -> TraceDir {
        TraceDir { root: root.into(), lent: HashMap::new() }
    }

    /// The same folder with these files, which outlive it and which nobody changes.
    pub fn with_lent(self, lent: HashMap<String, PathBuf>) -> TraceDir {
        TraceDir { lent, ..self }
    }

    /// Has the tracers keep no contents of which a file is lent.
    pub fn tell_lent(&self) -> io::Result<()> {
        let names: String = self.lent.keys().flat_map(|md5| [md5, "\n"]).collect();
        untrusted::write(&self.lent_names(), names.as_bytes())
    }

    fn lent_names(&self) -> PathBuf {
        self.root.join("lent")
    }

    fn is_lent(&self, md5: &str) -> bool {
        let names = untrusted::read_text(&self.lent_names(), LOG_LIMIT);
        names.is_ok_and(|names| names.lines().any(|name| name == md5))
    }

    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Keeps `data` where an ebuild has been at work already.
    pub fn keep_again(&self, data: &[u8]) -> io::Result<()> {
        match untrusted::create(&self.blob_path(&format!("{:x}", md5::compute(data))), data) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    /// Keeps `data` unless it is there or lent already; gives its md5.
    pub fn keep(&self, data: &[u8]) -> io::Result<String> {
        let md5 = format!("{:x}", md5::compute(data));
        let path = self.blob_path(&md5);
        let lent = data.len() as u64 >= LENT_FROM && self.is_lent(&md5);
        if !lent && !path.exists() {
            // a name of its own first: another process may keep the same contents now
            let fresh = self.root.join("blobs").join(format!("{md5}.{}", std::process::id()));
            fs::write(&fresh, data)?;
            fs::rename(&fresh, &path)?;
        }
        Ok(md5)
    }

    /// The file with the contents of this md5, if it is there and leads nowhere else.
    pub fn blob_file(&self, md5: &str) -> Option<PathBuf> {
        if let Some(path) = self.lent.get(md5) {
            return Some(path.clone());
        }
        let path = Some(self.blob_path(md5)).filter(|_| md5.bytes().all(|b| b.is_ascii_hexdigit()))?;
        untrusted::open(&path).ok().map(|_| path)
    }

    fn blob_path(&self, md5: &str) -> PathBuf {
        self.root.join("blobs").join(md5)
    }

    /// Contents by md5; none where they were too large or nobody kept them.
    pub fn blob(&self, md5: &str) -> Option<Vec<u8>> {
        if let Some(path) = self.lent.get(md5) {
            return fs::read(path).ok();
        }
        let named = md5.bytes().all(|b| b.is_ascii_hexdigit());
        named.then(|| untrusted::read(&self.blob_path(md5), BLOB_LIMIT).ok()).flatten()
    }

    /// Adds a record: one write to a file open for appending, so that processes do not mix.
    pub fn add(&self, record: &Record) -> io::Result<()> {
        File::options().append(true).create(true).open(self.root.join("log"))?.write_all(&line(record)?)
    }

    /// All records in the order in which their processes began, and the number of lines that were none. Of a record
    /// that was added at the beginning and again at the end the latter counts.
    pub fn records(&self) -> io::Result<(Vec<Record>, usize)> {
        let data = match untrusted::read(&self.root.join("log"), LOG_LIMIT) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error),
        };
        Ok(records(&data))
    }

    /// Bytes of the log.
    pub fn length(&self) -> u64 {
        fs::symlink_metadata(self.root.join("log")).map_or(0, |meta| meta.len())
    }

    /// The records that came after `from` bytes; none where something there is no record.
    pub fn records_since(&self, from: u64) -> io::Result<Option<Vec<Record>>> {
        if self.length() == from {
            return Ok(Some(Vec::new()));
        }
        let data = untrusted::read(&self.root.join("log"), LOG_LIMIT)?;
        let (found, bad) = records(data.get(from as usize..).unwrap_or_default());
        Ok((bad == 0).then_some(found))
    }

    /// Adds what an earlier run recorded as if it happened now, in the same order.
    pub fn add_again(&self, records: Vec<Record>) -> io::Result<()> {
        let moments: BTreeSet<u64> = records.iter().flat_map(|record| [record.start, record.end]).collect();
        let now = now();
        let moved = |moment: u64| now + moments.range(..moment).count() as u64;
        for record in records {
            let (start, end) = (moved(record.start), moved(record.end));
            untrusted::append(&self.root.join("log"), &line(&Record { start, end, ..record })?)?;
        }
        Ok(())
    }
}

/// Nanoseconds of the clock of records.
pub fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The records in a log, and the number of lines that are none.
fn records(data: &[u8]) -> (Vec<Record>, usize) {
    let mut bad = 0;
    let mut records: Vec<Record> = Vec::new();
    for line in data.split(|b| *b == b'\n').filter(|l| !l.is_empty()) {
        match serde_json::from_slice(line) {
            // one is added when its process begins, and again at its end
            Ok(_) if records.len() >= 2 * MOST_RECORDS => bad += 1,
            Ok(record) => records.push(record),
            Err(_) => bad += 1,
        }
    }
    let done: HashSet<(u32, u64)> =
        records.iter().filter(|r| r.ended != Ended::Unseen).map(|r| (r.pid, r.start)).collect();
    records.retain(|r| r.ended != Ended::Unseen || !done.contains(&(r.pid, r.start)));
    records.sort_by_key(|r| (r.start, r.end));
    (records, bad)
}

fn line(record: &Record) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(start: u64) -> Record {
        Record {
            tool: Tool::Sed,
            pid: 1,
            ended: Ended::Itself,
            start,
            end: start + 1,
            argv: vec![Bytes(b"sed".to_vec()), Bytes(b"s/\xff/\\1/".to_vec())],
            cwd: Bytes(b"/w".to_vec()),
            exit: 0,
            at: Bytes::default(),
            phase: "src_prepare".into(),
            starter: Starter::Phase(vec![]),
            scripts: vec![],
            targets: vec![],
            stdin: Stream::Nowhere,
            stdout: Stream::Pipe,
            locale: Bytes::default(),
            posixly_correct: false,
            patch: None,
        }
    }

    #[test]
    fn records_come_back_in_order_and_without_loss() {
        let dir = tempfile::tempdir().unwrap();
        let trace = TraceDir::create(dir.path()).unwrap();
        trace.add(&record(7)).unwrap();
        trace.add(&record(3)).unwrap();
        fs::OpenOptions::new().append(true).open(dir.path().join("log")).unwrap().write_all(b"{rubbish\n").unwrap();
        let (records, bad) = trace.records().unwrap();
        assert_eq!(bad, 1);
        assert_eq!(records.iter().map(|r| r.start).collect::<Vec<_>>(), [3, 7]);
        assert_eq!(records[0].argv[1].0, b"s/\xff/\\1/");
    }

    #[test]
    fn what_has_no_end_is_kept_as_such() {
        let dir = tempfile::tempdir().unwrap();
        let trace = TraceDir::create(dir.path()).unwrap();
        let begun = |start| Record { ended: Ended::Unseen, ..record(start) };
        for record in [begun(1), record(1), begun(2), Record { pid: 2, ..record(2) }] {
            trace.add(&record).unwrap();
        }
        let (records, _) = trace.records().unwrap();
        assert_eq!(
            records.iter().map(|r| (r.start, r.ended)).collect::<Vec<_>>(),
            [(1, Ended::Itself), (2, Ended::Unseen), (2, Ended::Itself)]
        );
    }

    #[test]
    fn what_is_lent_is_not_kept_again() {
        let dir = tempfile::tempdir().unwrap();
        let (data, small) = (vec![b'x'; LENT_FROM as usize], b"small");
        let file = dir.path().join("pristine");
        fs::write(&file, &data).unwrap();
        let lent = |data: &[u8]| (format!("{:x}", md5::compute(data)), file.clone());
        let trace = TraceDir::create(&dir.path().join("trace")).unwrap();
        trace.clone().with_lent([lent(&data), lent(small)].into()).tell_lent().unwrap();
        // as the tracer opens it
        let md5 = trace.keep(&data).unwrap();
        assert_eq!((trace.blob(&md5), trace.blob_file(&md5)), (None, None));
        let told = trace.clone().with_lent([lent(&data)].into());
        assert_eq!(told.blob_file(&md5), Some(file.clone()));
        assert_eq!(told.blob(&md5), Some(data));
        let md5 = trace.keep(small).unwrap();
        assert_eq!(trace.blob(&md5).as_deref(), Some(&small[..]));
    }

    #[test]
    fn records_of_an_earlier_run_come_before_what_is_to_come_and_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let trace = TraceDir::create(dir.path()).unwrap();
        trace.add(&record(7)).unwrap();
        let from = trace.length();
        assert_eq!(trace.records_since(from).unwrap().unwrap().len(), 0);
        for start in [1 << 60, 9, 5] {
            trace.add(&Record { pid: start as u32, end: start + 3, ..record(start) }).unwrap();
        }
        let since = trace.records_since(from).unwrap().unwrap();
        assert_eq!(since.iter().map(|r| r.start).collect::<Vec<_>>(), [5, 9, 1 << 60]);
        let other = tempfile::tempdir().unwrap();
        let again = TraceDir::create(other.path()).unwrap();
        let begun = now();
        again.add_again(since).unwrap();
        let records = again.records().unwrap().0;
        assert_eq!(records.iter().map(|r| r.pid).collect::<Vec<_>>(), [5, 9, (1u64 << 60) as u32]);
        assert!(records[0].start >= begun && records[2].end < now() + 1_000_000);
        assert!(records.windows(2).all(|pair| pair[0].end < pair[1].start));
        fs::write(dir.path().join("log"), "rubbish\n").unwrap();
        assert!(trace.records_since(0).unwrap().is_none());
    }

    #[test]
    fn contents_are_kept_once_and_found_by_md5() {
        let dir = tempfile::tempdir().unwrap();
        let trace = TraceDir::create(dir.path()).unwrap();
        let md5 = trace.keep(b"a").unwrap();
        assert_eq!(trace.keep(b"a").unwrap(), md5);
        assert_eq!(trace.blob(&md5).unwrap(), b"a");
        assert_eq!(trace.blob("../log"), None);
    }
}
