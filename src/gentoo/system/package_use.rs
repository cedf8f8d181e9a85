//! The user's package.use and package.env.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::super::profile::INCREMENTAL;
use super::super::varfile::{self, Variables};
use super::atom::Subject;
use super::flags;
use super::layer::Layer;
use super::lines::Reader;
use super::settings::Settings;
use super::table::AtomTable;

/// Reads etc/portage/package.use. After `VARIABLE:` the flags of a line are values of that USE_EXPAND variable
/// (portage(5)).
pub(super) fn package_use(reader: Reader<'_>, path: &Path) -> AtomTable<Layer> {
    let mut table: AtomTable<Layer> = AtomTable::default();
    for line in reader.lines(path) {
        let mut words = line.text.split(' ');
        let Some(atom) = reader.atom(&line, words.next().unwrap_or_default()) else { continue };
        let layer = table.entry(atom);
        let mut prefix = String::new();
        let mut is_empty = true;
        for word in words {
            if let Some(name) = word.strip_suffix(':') {
                prefix = format!("{}_", name.to_lowercase());
                continue;
            }
            is_empty = false;
            let word = match word.strip_prefix('-') {
                Some(flag) => format!("-{prefix}{flag}"),
                None => format!("{prefix}{word}"),
            };
            flags::check(reader, &line, &word);
            layer.use_word(&word);
        }
        if is_empty {
            reader.says_nothing(&line, "flag");
        }
    }
    table
}

/// package.env and the files of etc/portage/env that it names.
#[derive(Debug, Default)]
pub(super) struct PackageEnv {
    table: AtomTable<Vec<String>>,
    dir: PathBuf,
    /// What `${NAME}` stands for in the first file of a list; later ones see the variables of those before.
    known: Variables,
    profile_only: BTreeSet<String>,
    read: Mutex<HashMap<Vec<String>, Arc<Variables>>>,
}

impl PackageEnv {
    /// Reads package.env and looks at each file that it names. The second value are the variables of the `*/*` line,
    /// which count as make.conf's.
    pub fn open(reader: Reader<'_>, etc: &Path, settings: &Settings) -> (PackageEnv, Variables) {
        let path = etc.join("package.env");
        let mut package_env = PackageEnv {
            table: reader.table(&path, Some("file of env/")),
            dir: etc.join("env"),
            known: settings.known.clone(),
            profile_only: settings.profile_only.clone(),
            read: Mutex::default(),
        };
        let named: BTreeSet<String> = package_env.table.values_mut().flat_map(|names| names.iter().cloned()).collect();
        for name in named {
            let file = package_env.dir.join(&name);
            if !file.is_file() {
                let message = format!("names env/{name}, which is not there; write it or take the word out");
                reader.problems.add(&path, None, message);
            }
            for name in reader.variables(&file, &mut settings.known.clone(), true).keys() {
                if settings.profile_only.contains(name) {
                    let message = format!("sets {name}, which only a profile may set; remove it");
                    reader.problems.add(&file, None, message);
                }
            }
        }
        let global = package_env.table.remove("*/*").unwrap_or_default();
        let global = (*package_env.variables(global)).clone();
        (package_env, global)
    }

    /// The variables that hold for a package.
    pub fn of(&self, subject: Subject<'_>) -> Arc<Variables> {
        self.variables(self.table.matching(subject).into_iter().flatten().cloned().collect())
    }

    fn variables(&self, names: Vec<String>) -> Arc<Variables> {
        let mut read = self.read.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(variables) = read.get(&names) {
            return variables.clone();
        }
        let (mut known, mut variables) = (self.known.clone(), Variables::new());
        for name in &names {
            let own = varfile::read_sound(&self.dir.join(name), &mut known, true, &mut |_| {});
            for (name, value) in own.iter().filter(|(name, _)| !self.profile_only.contains(*name)) {
                add(&mut variables, name, value);
            }
        }
        read.entry(names).or_insert(Arc::new(variables)).clone()
    }
}

/// Sets a variable; an incremental one grows.
pub(super) fn add(variables: &mut Variables, name: &str, value: &str) {
    match variables.get_mut(name) {
        Some(before) if INCREMENTAL.contains(&name) => {
            before.push(' ');
            before.push_str(value);
        }
        _ => {
            variables.insert(name.to_owned(), value.to_owned());
        }
    }
}
