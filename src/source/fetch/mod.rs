//! Getting a distfile: from one URI after the other, into a partial file, verified, then under its name at once.

mod http;
mod part;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::distfile::Distfile;
use super::verify::{VerifyError, verify};
use http::Http;
use part::Part;

/// How long to wait and how often to try.
#[derive(Debug, Clone)]
pub struct FetchOptions {
    /// To resolve and connect, and for the first byte of an answer.
    pub connect_timeout: Duration,
    /// Without a byte of the body.
    pub stall_timeout: Duration,
    /// Tries of one URI while its faults may pass (lost connections, statuses 408, 429 and 5xx).
    pub tries: u32,
    /// Before the second try; doubled before each further one.
    pub backoff: Duration,
    /// Files at a time.
    pub jobs: usize,
}

impl Default for FetchOptions {
    fn default() -> Self {
        FetchOptions {
            connect_timeout: Duration::from_secs(20),
            stall_timeout: Duration::from_secs(30),
            tries: 4,
            backoff: Duration::from_secs(1),
            jobs: 4,
        }
    }
}

/// Hears how far the fetching is; called from several threads.
pub trait Progress: Sync {
    /// A file begins; its bytes, where the Manifest gives them.
    fn begin(&self, _name: &str, _total: Option<u64>) {}
    /// So many bytes of it are there; may go back where a server makes us start over.
    fn advance(&self, _name: &str, _done: u64) {}
    fn end(&self, _name: &str, _good: bool) {}
}

/// Tells nobody.
impl Progress for () {}

/// Why one attempt failed.
#[derive(Debug)]
enum Fault {
    /// Worth another try, after so long if the server says so.
    Passing(String, Option<Duration>),
    Lasting(String),
}

impl From<io::Error> for Fault {
    /// Of our own disk.
    fn from(error: io::Error) -> Self {
        Fault::Lasting(error.to_string())
    }
}

/// Gets files. The only thing in ebaudit that opens a connection.
pub struct Fetcher {
    options: FetchOptions,
    http: Http,
}

impl Fetcher {
    /// Proxies come from the environment (`https_proxy`, …). The certificates of `SSL_CERT_FILE`, where it can be read, are
    /// trusted in place of the built-in ones.
    pub fn new(options: FetchOptions) -> Self {
        let http = Http::new(&options);
        Fetcher { options, http }
    }

    /// How many files it fetches at a time.
    pub fn jobs(&self) -> usize {
        self.options.jobs.max(1)
    }

    /// Fetches a file into a directory and gives its path there. Nothing stands under its name before it is verified,
    /// and what stood there stays unless the fresh one is right. Two runs at once wait for each other; what one leaves
    /// unfinished the next goes on with.
    ///
    /// An error is one line for each URI, `URI: why`.
    pub fn fetch(&self, file: &Distfile, dir: &Path, progress: &dyn Progress) -> Result<PathBuf, Vec<String>> {
        let target = dir.join(&file.name);
        progress.begin(&file.name, file.in_manifest().then_some(file.size));
        let result = self.fetch_to(file, &target, progress);
        progress.end(&file.name, result.is_ok());
        result.map(|()| target)
    }

    fn fetch_to(&self, file: &Distfile, target: &Path, progress: &dyn Progress) -> Result<(), Vec<String>> {
        let disk = |error: io::Error| vec![format!("{}: {error}", target.display())];
        let mut part = Part::open(target).map_err(disk)?;
        // Another run may have brought it while this one waited for the lock.
        if part.waited() && file.in_manifest() && verify(target, file).is_ok() {
            part.discard();
            return Ok(());
        }
        let mut failures = Vec::new();
        for uri in &file.uris {
            match self.tries_of(file, uri, &mut part, progress) {
                Ok(()) => return part.finish(target).map_err(disk),
                Err(why) => failures.push(format!("{uri}: {why}")),
            }
        }
        part.keep_or_discard();
        Err(failures)
    }

    /// All tries of one URI.
    fn tries_of(&self, file: &Distfile, uri: &str, part: &mut Part, progress: &dyn Progress) -> Result<(), String> {
        let mut wait = self.options.backoff;
        let mut tries = self.options.tries.max(1);
        loop {
            let resumed = part.len() > 0;
            let fault = match self.once(file, uri, part, progress) {
                Ok(()) => match verify(part.path(), file) {
                    Ok(()) => return Ok(()),
                    Err(VerifyError::Io(error)) => return Err(error.to_string()),
                    Err(error) => {
                        part.clear().map_err(|e| e.to_string())?;
                        // The first half may have been another run's, of another file.
                        match resumed {
                            true => Fault::Passing(error.to_string(), Some(Duration::ZERO)),
                            false => Fault::Lasting(error.to_string()),
                        }
                    }
                },
                Err(fault) => fault,
            };
            tries -= 1;
            match fault {
                Fault::Lasting(why) => return Err(why),
                Fault::Passing(why, _) if tries == 0 => return Err(why),
                Fault::Passing(_, asked) => {
                    // A server may ask for more patience than a person at a terminal has.
                    let longest = Duration::from_secs(30);
                    std::thread::sleep(asked.unwrap_or(wait).min(longest));
                    wait = (wait * 2).min(longest);
                }
            }
        }
    }

    fn once(&self, file: &Distfile, uri: &str, part: &mut Part, progress: &dyn Progress) -> Result<(), Fault> {
        let size = file.in_manifest().then_some(file.size);
        part.limit(size)?;
        let mut tell = |done| progress.advance(&file.name, done);
        match uri.split_once("://") {
            Some(("http" | "https", _)) => self.http.get(uri, size, part, &mut tell),
            Some(("file", path)) => {
                let path = path.strip_prefix("localhost").unwrap_or(path);
                copy(&percent_decoded(path), size, part, &mut tell)
            }
            None => copy(uri.as_bytes(), size, part, &mut tell),
            Some((scheme, _)) => Err(Fault::Lasting(format!("{scheme}:// is not supported"))),
        }
    }
}

/// Takes a file of this machine.
fn copy(path: &[u8], size: Option<u64>, part: &mut Part, tell: &mut dyn FnMut(u64)) -> Result<(), Fault> {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(path));
    // Opening a FIFO would wait for ever.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Fault::Lasting("is no regular file".into()));
    }
    part.clear()?;
    let mut from = std::fs::File::open(path)?;
    part.take_all(&mut from, size, tell)
}

fn percent_decoded(path: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(value) if byte == b'%' => {
                out.push(value);
                rest = &tail[2..];
            }
            _ => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
