//! Variables as env.d, make.globals, the profile, make.conf and the environment together make them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::config::Environment;
use super::super::profile::INCREMENTAL;
use super::super::varfile::Variables;
use super::lines::Reader;
use super::node::Node;

/// What counts where make.globals is not there or says nothing.
const DEFAULTS: [(&str, &str); 3] = [
    ("ACCEPT_PROPERTIES", "*"),
    ("ACCEPT_RESTRICT", "*"),
    ("USE_ORDER", "env:pkg:conf:defaults:pkginternal:features:repo:env.d"),
];

/// The layers of a configuration.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// etc/profile.env
    pub env_d: Variables,
    pub globals: Variables,
    /// The profile's make.defaults, incremental variables joined.
    pub defaults: Variables,
    pub conf: Variables,
    pub environment: Variables,
    /// What nobody but a profile may set.
    pub profile_only: BTreeSet<String>,
    /// What `${NAME}` stands for in files that are read later.
    pub known: Variables,
}

/// The layers before the profile, with what `${NAME}` stands for.
pub(super) fn begin(reader: Reader<'_>, root: &Path) -> Settings {
    let env_d = reader.variables(&root.join("etc/profile.env"), &mut Variables::new(), false);
    let mut known = env_d.clone();
    known.extend(["EPREFIX", "BROOT", "SYSROOT"].map(|name| (name.to_owned(), String::new())));
    known.extend(["ROOT", "EROOT", "ESYSROOT"].map(|name| (name.to_owned(), "/".to_owned())));
    known.insert("PORTAGE_CONFIGROOT".to_owned(), root.to_string_lossy().into_owned());
    let mut globals: Variables = DEFAULTS.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    globals.extend(reader.variables(&root.join("usr/share/portage/config/make.globals"), &mut known, false));
    Settings { env_d, globals, known, ..Settings::default() }
}

impl Settings {
    /// Takes the variables of the profile's directories.
    pub fn with_profile(&mut self, nodes: &[Node]) {
        for node in nodes {
            stack(&mut self.defaults, &node.defaults);
        }
        self.profile_only =
            words([self.defaults.get("PROFILE_ONLY_VARIABLES")].into_iter().flatten()).into_iter().collect();
        self.env_d.retain(|name, _| !self.profile_only.contains(name));
    }

    /// Takes make.conf and the environment.
    pub fn with_user(&mut self, reader: Reader<'_>, root: &Path, environment: &Environment) {
        let mut known = std::mem::take(&mut self.known);
        for file in ["etc/make.conf", "etc/portage/make.conf"] {
            self.conf.extend(reader.variables(&root.join(file), &mut known, true));
        }
        self.known = known;
        let environment = environment
            .iter()
            .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
        // what profile.env exports is in the environment of every login and is no choice for this run (Portage)
        self.environment = environment.filter(|(name, value)| self.env_d.get(name) != Some(value)).collect();
        // variables that begin with __ are make.conf's own
        self.conf.retain(|name, _| !name.starts_with("__") && !self.profile_only.contains(name));
        self.environment.retain(|name, _| !self.profile_only.contains(name));
    }

    /// The layers from the weakest to the strongest.
    fn layers(&self) -> [&Variables; 5] {
        [&self.env_d, &self.globals, &self.defaults, &self.conf, &self.environment]
    }

    /// The strongest value of a variable that is not incremental.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.layers().into_iter().rev().find_map(|layer| layer.get(name)).map(String::as_str)
    }

    /// The words of an incremental variable over all layers, in the order of their first mention.
    pub fn words(&self, name: &str) -> Vec<String> {
        words(self.layers().into_iter().filter_map(|layer| layer.get(name)))
    }

    /// The words of ACCEPT_LICENSE and its kin over all layers: `*` and `-word` stay, since what they stand for
    /// depends on the package.
    pub fn acceptance(&self, name: &str) -> Vec<String> {
        let values = self.layers().into_iter().filter_map(|layer| layer.get(name));
        values.flat_map(|value| value.split_whitespace()).map(str::to_owned).collect()
    }
}

/// The words of the values of an incremental variable.
pub(super) fn words<'a>(values: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut at: BTreeMap<String, usize> = BTreeMap::new();
    for (time, word) in values.flat_map(|value| value.split_whitespace()).enumerate() {
        match word.strip_prefix('-') {
            Some("*") => at.clear(),
            Some(word) => {
                at.remove(word);
            }
            None => {
                let word = word.strip_prefix('+').unwrap_or(word);
                if !word.is_empty() {
                    at.entry(word.to_owned()).or_insert(time);
                }
            }
        }
    }
    let mut words: Vec<_> = at.into_iter().collect();
    words.sort_by_key(|(_, time)| *time);
    words.into_iter().map(|(word, _)| word).collect()
}

/// Puts a file's variables over those before it; incremental ones are joined (portage.util.stack_dicts).
pub(super) fn stack(over: &mut Variables, variables: &Variables) {
    for (name, value) in variables {
        match over.get_mut(name) {
            Some(before) if INCREMENTAL.contains(&name.as_str()) => {
                before.push(' ');
                before.push_str(value);
            }
            _ => {
                over.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_add_up() {
        let values = ["a b -c".to_owned(), "-a c".to_owned(), "+d b".to_owned()];
        assert_eq!(words(values.iter()), ["b", "c", "d"]);
        let values = ["a b".to_owned(), "-* ~amd64 amd64".to_owned()];
        assert_eq!(words(values.iter()), ["~amd64", "amd64"]);
    }
}
