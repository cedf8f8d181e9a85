//! The installed packages: all records of var/db/pkg.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::super::cpv::Cpv;
use super::super::names;
use super::super::text;
use super::error::SystemError;
use super::model::{Dependencies, Installed, Unreadable};
use super::problem::Problems;
use super::record::Record;

/// Fields without which a directory is no record.
const ESSENTIAL: [&str; 4] = ["SLOT", "EAPI", "KEYWORDS", "repository"];

/// Reads all records below `root`, as they are.
pub(super) fn read(root: &Path, problems: &Problems) -> Result<Vec<Installed>, SystemError> {
    let base = root.join("var/db/pkg");
    if !base.is_dir() {
        return Err(SystemError::NoRecords(base));
    }
    let mut dirs: Vec<(String, PathBuf)> = Vec::new();
    for category in text::sorted_names(&base)? {
        let dir = base.join(&category);
        let Some(category) = category.to_str().filter(|name| names::is_category(name) && !is_excluded(name)) else {
            continue;
        };
        let packages = text::sorted_names(&dir).unwrap_or_else(|error| {
            let message = format!(
                "can't be read: {}; its packages are taken for not installed, make the directory readable",
                error.reason()
            );
            problems.add(&dir, None, message);
            Vec::new()
        });
        dirs.extend(packages.into_iter().map(|name| (category.to_owned(), dir.join(name))));
    }
    let read = dirs.par_iter().filter_map(|(category, dir)| record(category, dir, problems));
    Ok(read.collect())
}

/// What vardbapi never takes for a package: hidden names, half-merged ones.
fn is_excluded(name: &str) -> bool {
    name.starts_with('.') || name.starts_with("-MERGING-") || name == "CVS" || name == "lost+found"
}

fn record(category: &str, dir: &Path, problems: &Problems) -> Option<Installed> {
    let name = dir.file_name().unwrap_or_default();
    if name.to_str().is_some_and(is_excluded) {
        return None;
    }
    match dir.metadata() {
        Ok(meta) if !meta.is_dir() => return None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        // a name tells enough to keep the package, its fields count as unreadable
        _ => {}
    }
    let Some(cpv) = name.to_str().and_then(|name| Cpv::from_pf(category, name).ok()) else {
        problems.add(dir, None, "is no name of a package with a version; move the directory away");
        return None;
    };
    let record = Record::open(dir);
    if ESSENTIAL.iter().all(|field| record.find(field).is_none()) && record.unreadable().is_empty() {
        let message = "the record is empty: neither its single files nor a `metadata` of this state are there; \
                       the package is left out, merge it again";
        problems.add(dir, None, message);
        return None;
    }
    for (field, found) in [("CATEGORY", category), ("PF", &name.to_string_lossy())] {
        if let Some(said) = record.find(field).filter(|said| said != found) {
            let said = crate::escape::show(said.as_bytes());
            let message =
                format!("says {said}, the directory's place says {found}, which counts; merge the package again");
            problems.add(&dir.join(field), None, message);
        }
    }
    let (slot, subslot) = slot(&record, dir, problems);
    let eapi = record.get("EAPI");
    let number = |field: &str| record.get(field).parse().ok();
    let words = |text: String| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    let iuse = words(record.get("IUSE"));
    let mut installed = Installed {
        cpv,
        recorded_name: None,
        slot,
        subslot,
        repository: record.get("repository"),
        eapi: if eapi.is_empty() { "0".to_owned() } else { eapi },
        use_flags: words(record.get("USE")).into_iter().collect(),
        iuse: iuse.iter().map(|flag| flag.trim_start_matches(['+', '-']).to_owned()).collect::<BTreeSet<_>>(),
        dependencies: Dependencies {
            depend: record.get("DEPEND"),
            bdepend: record.get("BDEPEND"),
            rdepend: record.get("RDEPEND"),
            pdepend: record.get("PDEPEND"),
            idepend: record.get("IDEPEND"),
        },
        keywords: words(record.get("KEYWORDS")),
        license: record.get("LICENSE"),
        build_time: number("BUILD_TIME"),
        size: number("SIZE"),
        unreadable: Vec::new(),
    };
    installed.unreadable = record.unreadable();
    complain(dir, &installed.unreadable, problems);
    Some(installed)
}

/// Tells of the fields that can't be read, in one line for all with the same reason.
fn complain(dir: &Path, unreadable: &[Unreadable], problems: &Problems) {
    let mut fields: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Unreadable { field, reason } in unreadable {
        fields.entry(reason).or_default().push(field);
    }
    for (reason, fields) in fields {
        match fields[..] {
            [field] => {
                let message = format!("can't be read: {reason}; taken for empty, make the file readable");
                problems.add(&dir.join(field), None, message);
            }
            _ => {
                let fields = fields.join(", ");
                let message = format!("{fields} can't be read: {reason}; taken for empty, make the files readable");
                problems.add(dir, None, message);
            }
        }
    }
}

/// SLOT; `0` in the place of one that is none, as in Portage.
fn slot(record: &Record<'_>, dir: &Path, problems: &Problems) -> (String, String) {
    let text = record.get("SLOT");
    // told of already
    if text.is_empty() && !record.unreadable().is_empty() {
        return ("0".to_owned(), "0".to_owned());
    }
    let (slot, subslot) = text.split_once('/').map_or((text.as_str(), None), |(slot, subslot)| (slot, Some(subslot)));
    if !names::is_slot(slot) || subslot.is_some_and(|subslot| !names::is_slot(subslot)) {
        let text = crate::escape::show(text.as_bytes());
        let message = format!("`{text}` is no slot (PMS 3.1.3); taken for 0, merge the package again");
        problems.add(&dir.join("SLOT"), None, message);
        return ("0".to_owned(), "0".to_owned());
    }
    (slot.to_owned(), subslot.unwrap_or(slot).to_owned())
}
