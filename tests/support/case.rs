//! A case: a repository, its distfiles, and what an audit of them must say. One TOML file a case.
//!
//! An `[[ebuild]]` has a `path` and its `text` (or `base64`), a `[[file]]` is any other file of the repository
//! (`symlink` and `mode` besides). A `[[distfile]]` is an archive made of its `[[distfile.entry]]`s as its `name` says,
//! or the bytes of a plain or singly compressed file. `as` names the true format where the name lies; `bare` leaves
//! out members for parent directories; `absent` puts it into the Manifest only; `corrupt` changes a byte against the
//! Manifest; `cut` keeps the first bytes; `append` adds rubbish. `[expect]` is explained in `compare.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde::Deserialize;

use crate::archive::{self, Entry, Kind, Shape};
use crate::support::overlay::{Place, dist_line, found, put};

/// One value, or a list of which any will do.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Any<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> Any<T> {
    pub fn all(&self) -> &[T] {
        match self {
            Any::One(value) => std::slice::from_ref(value),
            Any::Many(values) => values,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    #[expect(dead_code, reason = "for readers")]
    title: String,
    #[expect(dead_code, reason = "for readers")]
    log: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[expect(dead_code, reason = "for another judge of the same cases")]
    proved: Option<bool>,
    #[expect(dead_code, reason = "for readers")]
    reason: Option<String>,
    #[expect(dead_code, reason = "for readers")]
    ambiguous: Option<String>,
    pub ebuild: Vec<PlainFile>,
    #[serde(default)]
    file: Vec<PlainFile>,
    #[serde(default)]
    distfile: Vec<Distfile>,
    pub expect: Expect,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainFile {
    pub path: String,
    text: Option<String>,
    base64: Option<String>,
    symlink: Option<String>,
    mode: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Distfile {
    name: String,
    #[serde(default)]
    entry: Vec<CaseEntry>,
    text: Option<String>,
    base64: Option<String>,
    size: Option<usize>,
    #[serde(rename = "as")]
    shape: Option<String>,
    #[serde(default)]
    bare: bool,
    #[serde(default)]
    absent: bool,
    #[serde(default)]
    corrupt: bool,
    cut: Option<usize>,
    append: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseEntry {
    path: Option<String>,
    path64: Option<String>,
    text: Option<String>,
    base64: Option<String>,
    size: Option<usize>,
    mode: Option<String>,
    symlink: Option<String>,
    hardlink: Option<String>,
    #[serde(default)]
    fifo: bool,
    #[serde(default)]
    dir: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    pub exit: Any<i32>,
    pub status: Option<Any<String>>,
    pub reason: Option<Any<String>>,
    /// `any`: findings are not compared.
    pub findings: Option<String>,
    /// Exactly these paths changed in the first ebuild's tree.
    pub changed: Option<Vec<String>>,
    #[serde(default)]
    pub after: Vec<PlainFile>,
    #[serde(default)]
    pub must_not_exist: Vec<String>,
    /// No file of this name may turn up anywhere.
    pub canary: Option<String>,
    #[serde(default)]
    pub ebuild: Vec<WantedEbuild>,
    #[serde(default)]
    pub finding: Vec<WantedFinding>,
    #[serde(default)]
    pub maybe: Vec<WantedFinding>,
    #[serde(default)]
    pub absent: Vec<WantedFinding>,
    #[serde(default)]
    pub verdict: Vec<WantedVerdict>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedEbuild {
    pub cpv: String,
    pub status: Option<Any<String>>,
    pub reason: Option<Any<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedFinding {
    pub rule: Any<String>,
    pub cpv: Option<String>,
    pub line: Option<Any<u64>>,
    pub command: Option<u64>,
    pub level: Option<String>,
    pub cause: Option<Any<String>>,
    pub evidence: Option<Any<String>>,
    pub evidence_line: Option<u64>,
    pub note: Option<String>,
    pub mention: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedVerdict {
    pub line: Any<u64>,
    pub command: Option<u64>,
    pub text: Option<String>,
    pub path: Option<String>,
    pub cpv: Option<String>,
    pub verdict: String,
}

impl Case {
    pub fn read(path: &Path) -> Result<Case, String> {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        toml::from_str(&text).map_err(|e| e.to_string())
    }

    /// The CPVs of the ebuilds in their order.
    pub fn cpvs(&self) -> Vec<String> {
        self.ebuild.iter().map(|e| cpv_of(&e.path)).collect()
    }

    /// Writes the repository and the distfiles.
    pub fn lay(&self, place: &Place) {
        let repo = place.repo();
        let categories: BTreeSet<&str> = self.ebuild.iter().map(|e| e.path.split('/').next().unwrap()).collect();
        found(&repo, "cases", "", &categories.into_iter().collect::<Vec<_>>());
        for file in self.ebuild.iter().chain(&self.file) {
            let path = repo.join(&file.path);
            if let Some(to) = &file.symlink {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                symlink(to, path).unwrap();
                continue;
            }
            put(&path, file.content());
            if let Some(mode) = &file.mode {
                fs::set_permissions(&path, fs::Permissions::from_mode(octal(mode))).unwrap();
            }
        }
        let mut lines = Vec::new();
        for distfile in &self.distfile {
            let mut data = distfile.bytes();
            lines.push(dist_line(&distfile.name, &data));
            if distfile.corrupt {
                *data.last_mut().unwrap() ^= 1;
            }
            if !distfile.absent {
                put(&place.dist().join(&distfile.name), data);
            }
        }
        lines.sort();
        if !lines.is_empty() {
            for ebuild in &self.ebuild {
                put(&repo.join(&ebuild.path).with_file_name("Manifest"), lines.concat());
            }
        }
    }
}

impl PlainFile {
    pub fn content(&self) -> Vec<u8> {
        content(self.text.as_deref(), self.base64.as_deref(), None)
    }
}

impl Distfile {
    fn bytes(&self) -> Vec<u8> {
        let given = content(self.text.as_deref(), self.base64.as_deref(), self.size);
        let entries = || self.entry.iter().map(CaseEntry::entry).collect::<Vec<_>>();
        let ready = self.base64.is_some() || self.text.is_some();
        let mut data = match Shape::of(self.shape.as_deref().unwrap_or(&self.name)) {
            Shape::Tar(_) | Shape::Zip if ready => given,
            Shape::Tar(how) => archive::squeeze(archive::tar(&entries(), !self.bare), how),
            Shape::Zip => archive::zip(&entries()),
            Shape::Single(how) => archive::squeeze(given, how),
            Shape::Plain => given,
        };
        data.truncate(self.cut.unwrap_or(usize::MAX));
        data.extend(self.append.iter().flat_map(|t| t.bytes()));
        data
    }
}

impl CaseEntry {
    fn entry(&self) -> Entry {
        let name = match (&self.path, &self.path64) {
            (Some(path), None) => path.clone().into_bytes(),
            (None, Some(bytes)) => base64(bytes),
            _ => panic!("an entry has a path or a path64: {self:?}"),
        };
        let kind = if let Some(to) = &self.symlink {
            Kind::Symlink(to.clone())
        } else if let Some(to) = &self.hardlink {
            Kind::Hardlink(to.clone())
        } else if self.fifo {
            Kind::Fifo
        } else if self.dir {
            Kind::Dir
        } else {
            Kind::File(content(self.text.as_deref(), self.base64.as_deref(), self.size))
        };
        let mode = self.mode.as_deref().map_or(if self.dir { 0o755 } else { 0o644 }, octal);
        Entry { name, mode, kind }
    }
}

/// `cat/pn/pf.ebuild` → `cat/pf`.
pub fn cpv_of(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let [category, _, file] = parts[..] else { panic!("{path} is no ebuild's path") };
    format!("{category}/{}", file.strip_suffix(".ebuild").unwrap())
}

fn content(text: Option<&str>, bytes: Option<&str>, size: Option<usize>) -> Vec<u8> {
    match (bytes, size) {
        (Some(bytes), _) => base64(bytes),
        (None, Some(size)) => vec![0; size],
        (None, None) => text.unwrap_or_default().as_bytes().to_vec(),
    }
}

fn octal(mode: &str) -> u32 {
    u32::from_str_radix(mode, 8).unwrap()
}

fn base64(text: &str) -> Vec<u8> {
    let (mut out, mut bits, mut have) = (Vec::new(), 0u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ if byte.is_ascii_whitespace() => continue,
            _ => panic!("{text:?} is no base64"),
        };
        bits = bits << 6 | u32::from(value);
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
        }
    }
    out
}
