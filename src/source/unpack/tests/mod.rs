//! Archives made on the spot, honest and hostile.

mod against_tools;
mod bounds;
mod codecs;
mod tar;
mod zip;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{Clock, Kind, Limits, UnpackError, Unpacked, unpack, unpack_hashed};

/// A directory to unpack into, in a place of its own, so that it shows what leaves it.
struct Place {
    _temp: tempfile::TempDir,
    outer: PathBuf,
    into: PathBuf,
}

impl Place {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let outer = temp.path().join("outer");
        let into = outer.join("work");
        fs::create_dir_all(&into).unwrap();
        Place { _temp: temp, outer, into }
    }

    fn archive(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self._temp.path().join(name);
        fs::write(&path, data).unwrap();
        path
    }

    fn unpack(&self, name: &str, data: &[u8]) -> Result<Unpacked, UnpackError> {
        self.unpack_within(name, data, &Limits::default())
    }

    fn unpack_within(&self, name: &str, data: &[u8], limits: &Limits) -> Result<Unpacked, UnpackError> {
        let archive = self.archive(name, data);
        match Kind::by_name(OsStr::new(name), "8") {
            Some(kind) => {
                self.hashed(unpack_hashed(kind, &archive, OsStr::new(name), &self.into, limits, &Clock::default())?)
            }
            None => unpack(&archive, OsStr::new(name), &self.into, "8", limits),
        }
    }

    /// Whatever is unpacked in these tests has the md5s that were taken meanwhile.
    fn hashed(&self, mut done: Unpacked) -> Result<Unpacked, UnpackError> {
        let mut files = 0;
        for item in walkdir::WalkDir::new(&self.into).into_iter().flatten().filter(|i| i.file_type().is_file()) {
            let Some(sum) = done.sums.get(&item.metadata().unwrap().ino()) else { continue };
            let Ok(data) = fs::read(item.path()) else { continue };
            assert_eq!(*sum, md5::compute(data).0, "{}", item.path().display());
            files += 1;
        }
        assert!(files > 0 || done.sums.is_empty(), "no file has its md5");
        done.sums.clear();
        Ok(done)
    }

    fn unpack_as(&self, kind: Kind, name: &str, data: &[u8]) -> Result<Unpacked, UnpackError> {
        let archive = self.archive(name, data);
        let limits = Limits::default();
        self.hashed(unpack_hashed(kind, &archive, OsStr::new(name), &self.into, &limits, &Clock::default())?)
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.into.join(path)).unwrap()).into_owned()
    }

    fn mode(&self, path: &str) -> u32 {
        let meta = fs::symlink_metadata(self.into.join(path)).unwrap();
        meta.permissions().mode() & 0o7777
    }

    fn mtime(&self, path: &str) -> (i64, i64) {
        let meta = fs::symlink_metadata(self.into.join(path)).unwrap();
        (meta.mtime(), meta.mtime_nsec())
    }

    fn has(&self, path: &str) -> bool {
        self.into.join(path).symlink_metadata().is_ok()
    }

    /// Refused, and the directory around holds nothing but the one to unpack into.
    fn assert_refused(&self, result: Result<Unpacked, UnpackError>) -> String {
        let error = result.unwrap_err();
        assert!(matches!(error, UnpackError::Refused { .. }), "{error:?}");
        let text = error.to_string();
        assert!(!text.contains('\n'));
        self.assert_nothing_outside();
        text
    }

    fn assert_nothing_outside(&self) {
        let names = |dir: &Path| fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect::<Vec<_>>();
        assert_eq!(names(&self.outer), ["work"]);
    }
}

fn failed(result: Result<Unpacked, UnpackError>) -> String {
    match result {
        Err(UnpackError::Failed { archive, why }) => format!("{archive}: {why}"),
        other => panic!("{other:?}"),
    }
}

/// A tar archive, member by member, names unchecked.
#[derive(Default)]
struct TarMaker(Vec<u8>);

/// The header of a sparse file `h`, with its map.
fn sparse(map: impl FnOnce(&mut ::tar::GnuHeader)) -> ::tar::Header {
    let mut header = ::tar::Header::new_gnu();
    header.as_mut_bytes()[0] = b'h';
    header.as_mut_bytes()[156] = b'S';
    header.set_size(0);
    header.set_mode(0o644);
    map(header.as_gnu_mut().unwrap());
    header.set_cksum();
    header
}

impl TarMaker {
    fn member(mut self, flag: u8, name: &[u8], link: &[u8], mode: u32, data: &[u8]) -> Self {
        let mut header = ::tar::Header::new_gnu();
        let bytes = header.as_mut_bytes();
        bytes[..name.len()].copy_from_slice(name);
        bytes[157..157 + link.len()].copy_from_slice(link);
        bytes[156] = flag;
        header.set_mode(mode);
        header.set_size(data.len() as u64);
        header.set_mtime(1_000_000_000);
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(data);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        self.member(b'0', name.as_bytes(), b"", 0o644, text.as_bytes())
    }

    fn dir(self, name: &str, mode: u32) -> Self {
        self.member(b'5', name.as_bytes(), b"", mode, b"")
    }

    fn symlink(self, name: &str, to: &str) -> Self {
        self.member(b'2', name.as_bytes(), to.as_bytes(), 0o777, b"")
    }

    fn hard_link(self, name: &str, to: &str) -> Self {
        self.member(b'1', name.as_bytes(), to.as_bytes(), 0o644, b"")
    }

    fn pax(self, records: &[(&str, &[u8])]) -> Self {
        self.extended(b'x', records)
    }

    fn global(self, records: &[(&str, &[u8])]) -> Self {
        self.extended(b'g', records)
    }

    fn extended(self, flag: u8, records: &[(&str, &[u8])]) -> Self {
        let mut data = Vec::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let mut length = rest + 1;
            while length.to_string().len() + rest != length {
                length = length.to_string().len() + rest;
            }
            data.extend_from_slice(format!("{length} {key}=").as_bytes());
            data.extend_from_slice(value);
            data.push(b'\n');
        }
        self.member(flag, b"pax", b"", 0o644, &data)
    }

    fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}
