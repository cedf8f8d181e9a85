//! One record of var/db/pkg: its fields, in either of Portage's forms.
//!
//! Each field is a file of its own. Since Portage 3.0.82 a file `metadata` may hold most of them: `#format=1`, lines
//! `FIELD=value`, at the end `#dir_mtime=` with the directory's modification time in nanoseconds. With another format
//! or time it is stale and the single files count (portage.dbapi.vartree._read_metadata_file).

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::super::text;
use super::model::Unreadable;

/// The fields that the one-file form carries; one that is not in it is empty.
const IN_ONE_FILE: [&str; 23] = [
    "BDEPEND",
    "BUILD_ID",
    "BUILD_TIME",
    "CHOST",
    "COUNTER",
    "DEFINED_PHASES",
    "DEPEND",
    "DESCRIPTION",
    "EAPI",
    "HOMEPAGE",
    "IDEPEND",
    "IUSE",
    "KEYWORDS",
    "LICENSE",
    "PDEPEND",
    "PROPERTIES",
    "PROVIDES",
    "RDEPEND",
    "REQUIRES",
    "RESTRICT",
    "SLOT",
    "USE",
    "repository",
];

/// A record's directory.
pub(super) struct Record<'a> {
    dir: &'a Path,
    one_file: Option<HashMap<String, String>>,
    /// The fields that can't be read, and why.
    unreadable: RefCell<BTreeMap<String, String>>,
}

impl<'a> Record<'a> {
    pub fn open(dir: &'a Path) -> Record<'a> {
        let mut record = Record { dir, one_file: None, unreadable: RefCell::default() };
        let text = record.read("metadata");
        record.one_file = text.zip(dir.metadata().ok()).and_then(|(text, meta)| parse(&text, &meta));
        record
    }

    /// A field with one blank between words; empty where there is none.
    pub fn get(&self, field: &str) -> String {
        self.find(field).unwrap_or_default()
    }

    /// A field, none where it is not there at all.
    pub fn find(&self, field: &str) -> Option<String> {
        match &self.one_file {
            Some(fields) if IN_ONE_FILE.contains(&field) => fields.get(field).map(|value| one_line(value)),
            _ => self.read(field).map(|text| one_line(&text)),
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        text::read(&self.dir.join(file)).unwrap_or_else(|error| {
            self.unreadable.borrow_mut().insert(file.to_owned(), error.reason());
            None
        })
    }

    /// What of the fields asked for so far can't be read, by name.
    pub fn unreadable(&self) -> Vec<Unreadable> {
        let unreadable = self.unreadable.borrow();
        let list = unreadable.iter().map(|(field, reason)| Unreadable { field: field.clone(), reason: reason.clone() });
        list.collect()
    }
}

fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut out = words.next().unwrap_or_default().to_owned();
    for word in words {
        out.push(' ');
        out.push_str(word);
    }
    out
}

fn parse(text: &str, dir: &Metadata) -> Option<HashMap<String, String>> {
    let (mut format, mut time) = (None, None);
    let mut fields = HashMap::new();
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("#format=") {
            format = Some(number.trim().parse::<i64>().ok().filter(|number| *number == 1)?);
        } else if let Some(number) = line.strip_prefix("#dir_mtime=") {
            time = Some(number.trim().parse::<i128>().ok()?);
        } else if let Some((field, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            fields.insert(field.to_owned(), value.to_owned());
        }
    }
    format?;
    let now = i128::from(dir.mtime()) * 1_000_000_000 + i128::from(dir.mtime_nsec());
    (time? == now).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;

    /// A record with SLOT in a file and other things in the one-file form, stamped with the directory's time plus `off`.
    fn record(format: &str, off: Option<i128>) -> (tempfile::TempDir, String, String) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("SLOT"), "from\n  file\n").unwrap();
        fs::write(dir.path().join("SIZE"), "7\n").unwrap();
        let path = dir.path().join("metadata");
        fs::write(&path, format!("#format={format}\nSLOT=0/1\nodd\n#remark=1\n")).unwrap();
        let meta = dir.path().metadata().unwrap();
        let now = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
        if let Some(off) = off {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            writeln!(file, "#dir_mtime={}", now + off).unwrap();
        }
        let record = Record::open(dir.path());
        let read = (record.get("SLOT"), record.get("SIZE"));
        (dir, read.0, read.1)
    }

    #[test]
    fn the_one_file_form_counts_while_it_is_fresh() {
        assert_eq!(record("1", Some(0)).1, "0/1");
        for (format, off) in [("1", Some(1)), ("2", Some(0)), ("1", None), ("x", Some(0))] {
            assert_eq!(record(format, off).1, "from file", "{format} {off:?}");
        }
        assert_eq!(record("1", Some(0)).2, "7");
    }
}
