//! Variables as profile, make.conf and environment together make them.

use std::collections::{BTreeMap, BTreeSet};

use super::super::config::PortageConfig;
use super::super::varfile::Variables;
use super::chain::Profile;

/// Variables whose values add up word by word, `-word` and `-*` taking away (portage.const.INCREMENTALS).
pub const INCREMENTAL: [&str; 12] = [
    "ACCEPT_KEYWORDS",
    "CONFIG_PROTECT",
    "CONFIG_PROTECT_MASK",
    "ENV_UNSET",
    "FEATURES",
    "IUSE_IMPLICIT",
    "PROFILE_ONLY_VARIABLES",
    "USE",
    "USE_EXPAND",
    "USE_EXPAND_HIDDEN",
    "USE_EXPAND_IMPLICIT",
    "USE_EXPAND_UNPREFIXED",
];

/// Variables that configure Portage and are no ebuild's business, or that would change how bash itself runs.
const NOT_EXPORTED: [&str; 34] = [
    "ACCEPT_CHOSTS",
    "ACCEPT_KEYWORDS",
    "ACCEPT_LICENSE",
    "ACCEPT_PROPERTIES",
    "ACCEPT_RESTRICT",
    "AUTOCLEAN",
    "BASH_ENV",
    "BOOTSTRAP_USE",
    "CLEAN_DELAY",
    "COLLISION_IGNORE",
    "CONFIG_PROTECT",
    "CONFIG_PROTECT_MASK",
    "DISTDIR",
    "EMERGE_DEFAULT_OPTS",
    "EMERGE_LOG_DIR",
    "EMERGE_WARNING_DELAY",
    "FEATURES",
    "GENTOO_MIRRORS",
    "HOME",
    "IFS",
    "PATH",
    "PKGDIR",
    "POSIXLY_CORRECT",
    "PROFILE_ONLY_VARIABLES",
    "ROOT",
    "RPMDIR",
    "SHELLOPTS",
    "SYNC",
    "SYSROOT",
    "TMPDIR",
    "UNINSTALL_IGNORE",
    "USE",
    "USE_EXPAND_HIDDEN",
    "USE_ORDER",
];

/// Groups of the same by how their names begin.
const NOT_EXPORTED_PREFIXES: [&str; 7] =
    ["BASHOPTS", "BASH_FUNC_", "BINPKG_", "FETCHCOMMAND", "LD_PRELOAD", "PORTAGE_", "RESUMECOMMAND"];

/// The layers of a configuration.
pub(super) struct Settings<'a> {
    config: &'a PortageConfig,
    /// `profiles/make.defaults` of the masters and the repository: weakest of all.
    repositories: Variables,
    /// The profile's make.defaults, incremental variables joined.
    defaults: Variables,
    /// What only a profile may set.
    profile_only: BTreeSet<String>,
}

impl<'a> Settings<'a> {
    pub fn new(profile: &Profile, config: &'a PortageConfig) -> Settings<'a> {
        let mut defaults = Variables::new();
        for node in &profile.nodes {
            stack(&mut defaults, &node.make_defaults);
        }
        let mut profile_only = Words::default();
        profile_only.add(defaults.get("PROFILE_ONLY_VARIABLES"));
        let mut repositories = Variables::new();
        for node in &profile.repositories {
            stack(&mut repositories, &node.make_defaults);
        }
        repositories.retain(|name, _| !profile_only.0.contains(name));
        Settings { config, repositories, defaults, profile_only: profile_only.0 }
    }

    /// Whether nobody but a profile may set a variable.
    pub fn is_profile_only(&self, name: &str) -> bool {
        self.profile_only.contains(name)
    }

    /// A variable of the profile alone.
    pub fn default(&self, name: &str) -> Option<&str> {
        self.defaults.get(name).map(String::as_str)
    }

    /// A variable of make.conf alone, unless only a profile may set it.
    pub fn conf(&self, name: &str) -> Option<String> {
        let allowed = !self.is_profile_only(name);
        allowed.then(|| self.config.conf(name).map(str::to_owned)).flatten()
    }

    /// A variable of the environment alone, unless only a profile may set it.
    pub fn environment(&self, name: &str) -> Option<String> {
        let allowed = !self.is_profile_only(name);
        allowed.then(|| self.config.environment(name)).flatten()
    }

    /// The strongest value of a variable that is not incremental.
    pub fn get(&self, name: &str) -> Option<String> {
        let weaker = || {
            let globals = self.config.globals();
            [&self.defaults, globals, &self.repositories].into_iter().find_map(|layer| layer.get(name)).cloned()
        };
        self.environment(name).or_else(|| self.conf(name)).or_else(weaker)
    }

    /// The words of an incremental variable over all layers.
    pub fn words(&self, name: &str) -> BTreeSet<String> {
        let mut words = Words::default();
        words.add(self.repositories.get(name));
        words.add(self.config.globals().get(name));
        words.add(self.defaults.get(name));
        words.add(self.conf(name).as_ref());
        words.add(self.environment(name).as_ref());
        words.0
    }

    /// What the phases of an ebuild see, but for USE and the USE_EXPAND variables: all variables of profile
    /// and make.conf, with the environment's value for those that have one there.
    pub fn exported(&self) -> BTreeMap<String, String> {
        let mut out = BTreeMap::new();
        let conf = self.config.conf_variables();
        let names = [&self.repositories, &self.defaults, conf].into_iter().flat_map(|layer| layer.keys());
        for name in names {
            let kept = NOT_EXPORTED.contains(&name.as_str())
                || NOT_EXPORTED_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
            if kept {
                continue;
            }
            if name != "USE" && INCREMENTAL.contains(&name.as_str()) {
                out.insert(name.clone(), join(&self.words(name)));
            } else if let Some(value) = self.get(name) {
                out.insert(name.clone(), value);
            }
        }
        // what Portage itself fills in
        out.entry("USERLAND".to_owned()).or_insert_with(|| "GNU".to_owned());
        if let Some(host) = out.get("CHOST").cloned() {
            out.entry("CBUILD".to_owned()).or_insert(host);
        }
        out
    }
}

/// Puts a file's variables over those before it; incremental ones are joined.
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

pub(super) fn join(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// The words of an incremental variable.
#[derive(Default)]
struct Words(BTreeSet<String>);

impl Words {
    fn add(&mut self, value: Option<&String>) {
        for word in value.into_iter().flat_map(|value| value.split_whitespace()) {
            match word.strip_prefix('-') {
                Some("*") => self.0.clear(),
                Some(word) => {
                    self.0.remove(word);
                }
                None => {
                    self.0.insert(word.trim_start_matches('+').to_owned());
                }
            }
        }
    }
}
