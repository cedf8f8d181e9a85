//! A file that is hashed while somebody reads it, so that it is read once.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard};

use super::distfile::Distfile;
use super::unpack::Clock;
use super::verify::{Hashing, VerifyError};

/// Bytes that a reader may leave out, as between the members of a .zip, and that are read for the hashes at once.
const GAP: u64 = 1 << 20;
const PART: usize = 128 << 10;

/// A file to read, with nobody or a [`Watch`] beside.
pub(super) struct Tapped {
    file: File,
    at: u64,
    hashed: Option<Arc<Mutex<Hashed>>>,
    clock: Clock,
}

struct Hashed {
    clock: Clock,
    hashing: Hashing,
    /// All bytes before this one are hashed.
    upto: u64,
}

/// Comes to know whether the file is what the Manifest means.
pub(super) struct Watch {
    file: File,
    hashed: Arc<Mutex<Hashed>>,
}

#[cfg(test)]
impl From<File> for Tapped {
    fn from(file: File) -> Self {
        Tapped::new(file, &Clock::default())
    }
}

impl Tapped {
    pub(super) fn new(file: File, clock: &Clock) -> Tapped {
        Tapped { file, at: 0, hashed: None, clock: clock.clone() }
    }

    pub(super) fn watched(file: File, expected: &Distfile, clock: &Clock) -> Result<(Tapped, Watch), VerifyError> {
        let hashed = Hashed { clock: clock.clone(), hashing: Hashing::begin(expected)?, upto: 0 };
        let hashed = Arc::new(Mutex::new(hashed));
        let watch = Watch { file: file.try_clone()?, hashed: hashed.clone() };
        Ok((Tapped { hashed: Some(hashed), ..Tapped::new(file, clock) }, watch))
    }

    pub(super) fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

impl Read for Tapped {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        // also for decoders that give nothing, however much they read
        self.clock.look()?;
        let n = self.file.read(buf)?;
        if let Some(hashed) = &self.hashed {
            lock(hashed).saw(&self.file, self.at, &buf[..n])?;
        }
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for Tapped {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

impl Watch {
    /// Reads what nobody has read, and compares.
    pub(super) fn finish(self) -> Result<(), VerifyError> {
        let mut hashed = lock(&self.hashed);
        hashed.read_on(&self.file, u64::MAX)?;
        hashed.hashing.finish()
    }
}

fn lock(hashed: &Mutex<Hashed>) -> MutexGuard<'_, Hashed> {
    hashed.lock().unwrap_or_else(|e| e.into_inner())
}

impl Hashed {
    /// Somebody read `bytes` at a place. What comes too early is left for the end.
    fn saw(&mut self, file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
        if at > self.upto && at - self.upto <= GAP && !bytes.is_empty() {
            self.read_on(file, at)?;
        }
        let new = self.upto.checked_sub(at).and_then(|known| bytes.get(known as usize..));
        if let Some(new) = new {
            self.hashing.take(new);
            self.upto += new.len() as u64;
        }
        Ok(())
    }

    fn read_on(&mut self, file: &File, end: u64) -> io::Result<()> {
        let mut part = vec![0; PART];
        while self.upto < end {
            self.clock.look()?;
            let most = part.len().min((end - self.upto).try_into().unwrap_or(PART));
            match file.read_at(&mut part[..most], self.upto) {
                Ok(0) => return Ok(()),
                Ok(n) => {
                    self.hashing.take(&part[..n]);
                    self.upto += n as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::source::testing::distfile;

    fn watched(data: &[u8], expected: &Distfile) -> (Tapped, Watch) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(data).unwrap();
        file.rewind().unwrap();
        Tapped::watched(file, expected, &Clock::default()).unwrap()
    }

    #[test]
    fn it_is_hashed_whatever_is_read() {
        let data: Vec<u8> = (0..3_000_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        let expected = distfile("a", &data);
        for read in [0, 1, 1000, 2_999_999, 3_000_000, 4_000_000] {
            let (tapped, watch) = watched(&data, &expected);
            let mut got = Vec::new();
            tapped.take(read).read_to_end(&mut got).unwrap();
            assert_eq!(got, data[..data.len().min(read as usize)]);
            watch.finish().unwrap();
        }
        let mut other = data.clone();
        other[2_500_000] ^= 1;
        for read in [0, 2_000_000, 2_500_001, 3_000_000] {
            let (tapped, watch) = watched(&other, &expected);
            tapped.take(read).read_to_end(&mut Vec::new()).unwrap();
            assert!(matches!(watch.finish(), Err(VerifyError::Mismatch(_))), "{read}");
        }
        let longer = [&data[..], b"x"].concat();
        let Err(VerifyError::Mismatch(wrong)) = watched(&longer, &expected).1.finish() else { panic!("longer") };
        assert_eq!(wrong.what, "size");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        #[test]
        fn in_whatever_order(steps in prop::collection::vec((0..3_000_000u64, 0..300_000u64), 0..12), wrong: bool) {
            let mut data: Vec<u8> = (0..2_500_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
            let expected = distfile("a", &data);
            if wrong {
                data[1_234_567] ^= 8;
            }
            let (mut tapped, watch) = watched(&data, &expected);
            for (at, bytes) in steps {
                tapped.seek(SeekFrom::Start(at)).unwrap();
                let mut got = Vec::new();
                (&mut tapped).take(bytes).read_to_end(&mut got).unwrap();
                let start = data.len().min(at as usize);
                prop_assert!(got == data[start..data.len().min(start + bytes as usize)]);
            }
            prop_assert_eq!(watch.finish().is_err(), wrong);
        }
    }
}
