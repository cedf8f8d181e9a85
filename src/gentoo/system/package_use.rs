//! The user's package.use and package.env.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::varfile::Variables;
use super::layer::Layer;
use super::lines::Reader;
use super::settings::{INCREMENTAL, Settings};
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
        for word in words {
            if let Some(name) = word.strip_suffix(':') {
                prefix = format!("{}_", name.to_lowercase());
                continue;
            }
            match word.strip_prefix('-') {
                Some(flag) => layer.use_word(&format!("-{prefix}{flag}")),
                None => layer.use_word(&format!("{prefix}{word}")),
            }
        }
    }
    table
}

/// package.env with the files of etc/portage/env that it names.
pub(super) struct PackageEnv {
    pub table: AtomTable<Vec<String>>,
    pub files: BTreeMap<String, Variables>,
    /// The variables of the `*/*` line, which count as make.conf's.
    pub global: Variables,
}

/// Reads package.env. Variables that only a profile may set are passed over, as by Portage.
pub(super) fn package_env(reader: Reader<'_>, etc: &Path, settings: &Settings) -> PackageEnv {
    let path = etc.join("package.env");
    let mut table = reader.table(&path, false);
    let mut files = BTreeMap::new();
    for name in table.values_mut().flat_map(|names| names.iter()) {
        if files.contains_key(name) {
            continue;
        }
        let file = etc.join("env").join(name);
        if !file.is_file() {
            reader.problems.add(
                &path,
                None,
                format!("names env/{name}, which is not there; write it or take the word out"),
            );
        }
        let mut known = settings.known.clone();
        let mut variables = reader.variables(&file, &mut known, true);
        variables.retain(|variable, _| {
            let kept = !settings.profile_only.contains(variable);
            if !kept {
                reader.problems.add(&file, None, format!("sets {variable}, which only a profile may set; remove it"));
            }
            kept
        });
        files.insert(name.clone(), variables);
    }
    let mut global = Variables::new();
    for name in table.remove("*/*").unwrap_or_default() {
        for (name, value) in files.get(&name).into_iter().flatten() {
            add(&mut global, name, value);
        }
    }
    PackageEnv { table, files, global }
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
