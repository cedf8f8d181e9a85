//! Is a file the one that the Manifest means? Its size and every hash known here are compared in one reading.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use blake2::Blake2b512;
use sha2::{Digest, Sha256, Sha512};

use super::distfile::Distfile;

const CHUNK: usize = 256 << 10;
/// Chunks on their way to a hashing thread.
const AHEAD: usize = 4;
/// Below this, starting a thread costs more than it brings.
const THREADS_FROM: u64 = 1 << 20;

/// The first thing in which a file differs from its DIST line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestMismatch {
    /// `size`, or a hash's name.
    pub what: String,
    /// By the Manifest: bytes, or lower-case hexadecimal digits.
    pub expected: String,
    /// Of the file.
    pub got: String,
}

impl fmt::Display for DigestMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Sixteen digits tell two hashes apart and leave the line readable.
        let short = |digits: &str| match digits.char_indices().nth(16) {
            Some((end, _)) if self.what != "size" => format!("{}…", &digits[..end]),
            _ => digits.to_owned(),
        };
        let (expected, got) = (short(&self.expected), short(&self.got));
        write!(f, "{} is {got}, the Manifest says {expected}", self.what)
    }
}

/// Why a file was not found good.
#[derive(Debug)]
pub enum VerifyError {
    Mismatch(DigestMismatch),
    /// The Manifest gives none of BLAKE2B, SHA512, SHA256.
    NoKnownHash,
    Io(io::Error),
}

impl From<io::Error> for VerifyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch(mismatch) => mismatch.fmt(f),
            Self::NoKnownHash => f.write_str("the Manifest gives no hash that ebaudit knows"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for VerifyError {}

/// Compares a file with its DIST line: the size, then BLAKE2B, SHA512 and SHA256 as far as given.
/// A file without a DIST line is good as it is.
pub fn verify(path: &Path, expected: &Distfile) -> Result<(), VerifyError> {
    if !expected.in_manifest() {
        return Ok(());
    }
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    if size != expected.size {
        return Err(mismatch("size", expected.size, size));
    }
    let hashers = hashers(expected)?;
    let (mut hashers, digits): (Vec<Hasher>, Vec<String>) = hashers.into_iter().unzip();
    let read = match size {
        THREADS_FROM.. => hash_on_threads(&mut file, &mut hashers)?,
        _ => hash_here(&mut file, &mut hashers)?,
    };
    // It may have grown or shrunk meanwhile.
    compare(expected.size, read, hashers.into_iter().zip(digits))
}

fn hashers(expected: &Distfile) -> Result<Vec<(Hasher, String)>, VerifyError> {
    let given = |hasher: Hasher| Some((hasher.clone(), expected.hashes.get(hasher.name())?.clone()));
    let hashers: Vec<_> = Hasher::all().into_iter().filter_map(given).collect();
    if hashers.is_empty() { Err(VerifyError::NoKnownHash) } else { Ok(hashers) }
}

fn compare(size: u64, read: u64, hashers: impl IntoIterator<Item = (Hasher, String)>) -> Result<(), VerifyError> {
    if read != size {
        return Err(mismatch("size", size, read));
    }
    for (hasher, expected) in hashers {
        let name = hasher.name();
        let got = hasher.finish();
        if !got.eq_ignore_ascii_case(&expected) {
            return Err(mismatch(name, expected, got));
        }
    }
    Ok(())
}

/// The hashes of a DIST line, taken by threads of their own while somebody reads the file.
pub(super) struct Hashing {
    size: u64,
    read: u64,
    chunk: Vec<u8>,
    threads: Vec<HashThread>,
}

struct HashThread {
    sender: SyncSender<Arc<Vec<u8>>>,
    thread: JoinHandle<Hasher>,
    /// By the Manifest.
    digits: String,
}

impl Hashing {
    pub(super) fn begin(expected: &Distfile) -> Result<Hashing, VerifyError> {
        let mut threads = Vec::new();
        for (mut hasher, digits) in hashers(expected)? {
            let (sender, receiver) = sync_channel::<Arc<Vec<u8>>>(AHEAD);
            let thread = thread::Builder::new().name(hasher.name().into()).spawn(move || {
                while let Ok(chunk) = receiver.recv() {
                    hasher.update(&chunk);
                }
                hasher
            })?;
            threads.push(HashThread { sender, thread, digits });
        }
        Ok(Hashing { size: expected.size, read: 0, chunk: Vec::new(), threads })
    }

    /// Takes the next bytes; waits where the hashes are behind.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.read += bytes.len() as u64;
        self.chunk.extend_from_slice(bytes);
        if self.chunk.len() >= CHUNK {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        let chunk = Arc::new(std::mem::replace(&mut self.chunk, Vec::with_capacity(2 * CHUNK)));
        for thread in &self.threads {
            let _ = thread.sender.send(chunk.clone());
        }
    }

    /// All bytes are taken.
    pub(super) fn finish(&mut self) -> Result<(), VerifyError> {
        self.hand_on();
        let mut hashers = Vec::new();
        for HashThread { sender, thread, digits } in self.threads.drain(..) {
            drop(sender);
            let hasher = thread.join().map_err(|_| io::Error::other("hashing broke down"))?;
            hashers.push((hasher, digits));
        }
        compare(self.size, self.read, hashers)
    }
}

fn mismatch(what: &str, expected: impl ToString, got: impl ToString) -> VerifyError {
    VerifyError::Mismatch(DigestMismatch {
        what: what.to_owned(),
        expected: expected.to_string(),
        got: got.to_string(),
    })
}

#[derive(Clone)]
enum Hasher {
    Blake2b(Box<Blake2b512>),
    Sha512(Box<Sha512>),
    Sha256(Box<Sha256>),
}

impl Hasher {
    fn all() -> [Hasher; 3] {
        [Hasher::Blake2b(Box::default()), Hasher::Sha512(Box::default()), Hasher::Sha256(Box::default())]
    }

    fn name(&self) -> &'static str {
        match self {
            Hasher::Blake2b(_) => "BLAKE2B",
            Hasher::Sha512(_) => "SHA512",
            Hasher::Sha256(_) => "SHA256",
        }
    }

    fn update(&mut self, data: &[u8]) {
        match self {
            Hasher::Blake2b(hasher) => hasher.update(data),
            Hasher::Sha512(hasher) => hasher.update(data),
            Hasher::Sha256(hasher) => hasher.update(data),
        }
    }

    fn finish(self) -> String {
        match self {
            Hasher::Blake2b(hasher) => hex(&hasher.finalize()),
            Hasher::Sha512(hasher) => hex(&hasher.finalize()),
            Hasher::Sha256(hasher) => hex(&hasher.finalize()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn hash_here(file: &mut File, hashers: &mut [Hasher]) -> io::Result<u64> {
    let mut buffer = vec![0; CHUNK];
    let mut total = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(n) => {
                hashers.iter_mut().for_each(|h| h.update(&buffer[..n]));
                total += n as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads here and hashes the first here; each further hash has a thread.
fn hash_on_threads(file: &mut File, hashers: &mut [Hasher]) -> io::Result<u64> {
    let Some((first, rest)) = hashers.split_first_mut() else {
        return Ok(0);
    };
    thread::scope(|scope| {
        let mut senders = Vec::new();
        for hasher in rest {
            let (sender, receiver) = sync_channel::<Arc<Vec<u8>>>(AHEAD);
            thread::Builder::new().name(hasher.name().into()).spawn_scoped(scope, move || {
                while let Ok(chunk) = receiver.recv() {
                    hasher.update(&chunk);
                }
            })?;
            senders.push(sender);
        }
        // A chunk is used again when every thread has let go of it.
        let mut ring: Vec<Arc<Vec<u8>>> = (0..AHEAD + 2).map(|_| Arc::default()).collect();
        let mut total = 0;
        for turn in 0.. {
            let chunk = &mut ring[turn % (AHEAD + 2)];
            if Arc::get_mut(chunk).is_none() {
                *chunk = Arc::default();
            }
            let Some(buffer) = Arc::get_mut(chunk) else {
                continue;
            };
            buffer.clear();
            let n = file.take(CHUNK as u64).read_to_end(buffer)?;
            if n == 0 {
                break;
            }
            total += n as u64;
            let chunk = Arc::clone(chunk);
            for sender in &senders {
                let _ = sender.send(Arc::clone(&chunk));
            }
            first.update(&chunk);
        }
        Ok(total)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distfile(data: &[u8]) -> Distfile {
        Distfile {
            name: "x".into(),
            size: data.len() as u64,
            hashes: [
                ("BLAKE2B".to_owned(), hex(&Blake2b512::digest(data))),
                ("SHA512".to_owned(), hex(&Sha512::digest(data))),
                ("SHA3_512".to_owned(), "not looked at".to_owned()),
            ]
            .into(),
            ..Distfile::default()
        }
    }

    fn check(data: &[u8], expected: &Distfile) -> Result<(), VerifyError> {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x");
        std::fs::write(&path, data).unwrap();
        verify(&path, expected)
    }

    #[test]
    fn good_and_bad_files_of_all_sizes() {
        for size in [0, 1, 1000, CHUNK, (3 << 20) + 17] {
            let mut data: Vec<u8> = (0..size).map(|i| (i * 7) as u8).collect();
            let expected = distfile(&data);
            check(&data, &expected).unwrap();
            data.push(b'x');
            let Err(VerifyError::Mismatch(wrong)) = check(&data, &expected) else {
                panic!("longer by one");
            };
            assert_eq!(wrong.what, "size");
            data.pop();
            let Some(last) = data.last_mut() else {
                continue;
            };
            *last ^= 1;
            let Err(VerifyError::Mismatch(wrong)) = check(&data, &expected) else {
                panic!("other by one bit");
            };
            assert_eq!(wrong.what, "BLAKE2B");
            assert_eq!(wrong.expected, expected.hashes["BLAKE2B"]);
            assert!(wrong.to_string().len() < 100);
        }
    }

    #[test]
    fn every_known_hash_counts() {
        let mut expected = distfile(b"data");
        expected.hashes.insert("SHA512".into(), "00".into());
        let Err(VerifyError::Mismatch(wrong)) = check(b"data", &expected) else {
            panic!("SHA512 is wrong");
        };
        assert_eq!(wrong.what, "SHA512");
        expected.hashes = [("WHIRLPOOL".into(), "00".into())].into();
        let result = check(b"data", &expected);
        assert!(matches!(result, Err(VerifyError::NoKnownHash)));
        expected.hashes.clear();
        check(b"other data", &expected).unwrap();
    }
}
