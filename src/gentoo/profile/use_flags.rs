//! USE: which flags are on for a package, and the variables that follow from them (PMS 5.2, 11.1.1).

use std::collections::{BTreeMap, BTreeSet};

use super::super::config::PortageConfig;
use super::super::cpv::Cpv;
use super::super::metadata::Metadata;
use super::super::names;
use super::super::varfile::Variables;
use super::chain::Profile;
use super::node::{Asked, FlagLists, Node};
use super::variables::{self, Settings};

/// A word of `--use` that is no flag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--use: `{0}` is no USE flag; write `flag` or `-flag`, with blanks between them")]
pub struct UseChangeError(pub String);

/// A change of USE that was asked for: the strongest but for the profile's force and mask.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UseChange {
    Enable(String),
    Disable(String),
    /// `-*`
    DisableAll,
}

impl UseChange {
    /// Reads `flag -flag python_targets_python3_13 -*`.
    pub fn parse(text: &str) -> Result<Vec<UseChange>, UseChangeError> {
        let change = |word: &str| match word.strip_prefix('-') {
            Some("*") => Ok(UseChange::DisableAll),
            Some(flag) if names::is_use_flag(flag) => Ok(UseChange::Disable(flag.to_owned())),
            None if names::is_use_flag(word) => Ok(UseChange::Enable(word.to_owned())),
            _ => Err(UseChangeError(word.to_owned())),
        };
        text.split_whitespace().map(change).collect()
    }
}

/// The package that USE is computed for.
#[derive(Clone, Copy)]
pub struct UsePackage<'a> {
    pub cpv: &'a Cpv,
    pub metadata: &'a Metadata,
    /// The name of its repository.
    pub repository: &'a str,
}

/// USE for one package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UseState {
    enabled: BTreeSet<String>,
    iuse: Vec<(String, bool)>,
    effective: BTreeSet<String>,
    forced: BTreeSet<String>,
    masked: BTreeSet<String>,
    variables: BTreeMap<String, String>,
}

impl UseState {
    /// Computes USE in Portage's order of strength (USE_ORDER), from the weakest: repository-wide settings, the
    /// defaults in IUSE, the profile, make.conf, the environment, `extra`; then what the profile forces and masks.
    /// The user's package.use is not read.
    pub fn compute(
        profile: &Profile,
        config: &PortageConfig,
        package: UsePackage<'_>,
        extra: &[UseChange],
    ) -> UseState {
        let settings = Settings::new(profile, config);
        let metadata = package.metadata;
        let subslot = if metadata.subslot.is_empty() { &metadata.slot } else { &metadata.subslot };
        let asked = Asked {
            cpv: package.cpv,
            slot: &format!("{}/{subslot}", metadata.slot),
            repository: package.repository,
            stable: is_stable(&metadata.keywords, &settings.words("ACCEPT_KEYWORDS")),
        };
        let stacked = |lists: fn(&Node) -> &FlagLists| {
            let mut flags = Flags::default();
            for node in profile.repositories.iter().chain(&profile.nodes) {
                lists(node).of(asked).for_each(|word| flags.word(word));
            }
            flags.on
        };
        let (forced, masked) = (stacked(|node| &node.force), stacked(|node| &node.mask));

        let iuse: Vec<&str> = metadata.iuse_flags().collect();
        let expand = settings.words("USE_EXPAND");
        let mut flags = Flags { on: BTreeSet::new(), iuse: &iuse };
        flags.repositories(profile, &settings, asked, &expand);
        for flag in &metadata.iuse {
            if flag.starts_with(['+', '-']) {
                flags.word(flag);
            }
        }
        flags.profile(profile, &settings, asked, &expand);
        flags.layer(&settings, &expand, |name| settings.conf(name));
        flags.layer(&settings, &expand, |name| settings.environment(name));
        for change in extra {
            match change {
                UseChange::Enable(flag) => flags.word(flag),
                UseChange::Disable(flag) => flags.word(&format!("-{flag}")),
                UseChange::DisableAll => flags.word("-*"),
            }
        }
        let mut on = flags.on;
        on.extend(forced.iter().cloned());
        on.extend(settings.default("ARCH").map(str::to_owned));
        on.retain(|flag| !masked.contains(flag));

        let mut effective = implicit(&settings, &expand);
        effective.extend(iuse.iter().map(|flag| (*flag).to_owned()));
        on.retain(|flag| effective.contains(flag));
        let mut variables = settings.exported();
        expanded(&mut variables, &settings, &expand, &on, &effective);
        variables.insert("USE".to_owned(), variables::join(&on));
        UseState {
            iuse: iuse.iter().map(|flag| ((*flag).to_owned(), on.contains(*flag))).collect(),
            enabled: on,
            effective,
            forced,
            masked,
            variables,
        }
    }

    /// Whether a flag is on.
    pub fn is_enabled(&self, flag: &str) -> bool {
        self.enabled.contains(flag)
    }

    /// All flags that are on, implicit ones (`amd64`, `elibc_glibc`) included: the words of USE.
    pub fn enabled(&self) -> &BTreeSet<String> {
        &self.enabled
    }

    /// The flags of the ebuild's IUSE and whether they are on.
    pub fn iuse(&self) -> &[(String, bool)] {
        &self.iuse
    }

    /// Whether the ebuild may ask for a flag: IUSE_EFFECTIVE (PMS 11.1.1).
    pub fn is_effective(&self, flag: &str) -> bool {
        self.effective.contains(flag)
    }

    /// IUSE_EFFECTIVE.
    pub fn effective(&self) -> &BTreeSet<String> {
        &self.effective
    }

    /// Whether the profile leaves no choice, by force or mask.
    pub fn is_fixed(&self, flag: &str) -> bool {
        self.forced.contains(flag) || self.masked.contains(flag)
    }

    /// The variables that the phases see: those of the profile and make.conf (`ARCH`, `CHOST`, `LIBDIR_amd64`, …), `USE`,
    /// and each USE_EXPAND variable with the values that are on and in IUSE_EFFECTIVE, else empty.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }
}

/// Flags while they are stacked.
#[derive(Default)]
struct Flags<'a> {
    on: BTreeSet<String>,
    /// What `prefix_*` can stand for.
    iuse: &'a [&'a str],
}

impl Flags<'_> {
    fn word(&mut self, word: &str) {
        match word.strip_prefix('-') {
            Some("*") => self.on.clear(),
            Some(flag) => {
                if let Some(prefix) = flag.strip_suffix('*').filter(|prefix| prefix.ends_with('_')) {
                    self.on.retain(|on| !on.starts_with(prefix));
                }
                self.on.remove(flag);
            }
            None => {
                let flag = word.strip_prefix('+').unwrap_or(word);
                match flag.strip_suffix('*').filter(|prefix| prefix.ends_with('_')) {
                    Some(prefix) => {
                        let matching = self.iuse.iter().filter(|iuse| iuse.starts_with(prefix));
                        self.on.extend(matching.map(|flag| (*flag).to_owned()));
                    }
                    None => {
                        self.on.insert(flag.to_owned());
                    }
                }
            }
        }
    }

    fn words(&mut self, value: &str) {
        value.split_whitespace().for_each(|word| self.word(word));
    }

    /// A layer with variables of its own: a USE_EXPAND variable that it sets replaces what was before.
    fn layer(&mut self, settings: &Settings<'_>, expand: &BTreeSet<String>, get: impl Fn(&str) -> Option<String>) {
        for name in settings.words("USE_EXPAND_UNPREFIXED") {
            self.words(&get(&name).unwrap_or_default());
        }
        self.words(&get("USE").unwrap_or_default());
        for name in expand {
            let Some(value) = get(name) else { continue };
            let prefix = format!("{}_", name.to_lowercase());
            self.on.retain(|flag| !flag.starts_with(&prefix));
            for word in value.split_whitespace().filter(|word| !word.starts_with(['+', '-'])) {
                self.word(&format!("{prefix}{word}"));
            }
        }
    }

    /// `profiles/make.defaults` and package.use of the masters and the repository itself.
    fn repositories(
        &mut self,
        profile: &Profile,
        settings: &Settings<'_>,
        asked: Asked<'_>,
        expand: &BTreeSet<String>,
    ) {
        let mut layer = Variables::new();
        for node in &profile.repositories {
            let mut variables = node.make_defaults.clone();
            variables.retain(|name, _| !settings.is_profile_only(name));
            let flags: Vec<_> = node.use_flags.of(asked).collect();
            if !flags.is_empty() {
                let before = variables.remove("USE").unwrap_or_default();
                variables.insert("USE".to_owned(), format!("{before} {}", flags.join(" ")));
            }
            variables::stack(&mut layer, &variables);
        }
        self.layer(settings, expand, |name| layer.get(name).cloned());
    }

    /// The profile's directories: in each the USE_EXPAND variables add up as flags do, so that a sub-profile can take away.
    fn profile(&mut self, profile: &Profile, settings: &Settings<'_>, asked: Asked<'_>, expand: &BTreeSet<String>) {
        let unprefixed = settings.words("USE_EXPAND_UNPREFIXED");
        for name in &unprefixed {
            self.words(settings.default(name).unwrap_or_default());
        }
        for node in &profile.nodes {
            let own = |name: &str| node.make_defaults.get(name).map_or("", String::as_str);
            for name in &unprefixed {
                self.words(own(name));
            }
            for name in expand {
                let prefix = name.to_lowercase();
                for word in own(name).split_whitespace() {
                    match word.strip_prefix('-') {
                        Some(word) => self.word(&format!("-{prefix}_{word}")),
                        None => self.word(&format!("{prefix}_{word}")),
                    }
                }
            }
            self.words(own("USE"));
            node.use_flags.of(asked).for_each(|word| self.word(word));
        }
    }
}

/// The implicit part of IUSE_EFFECTIVE (PMS 11.1.1).
fn implicit(settings: &Settings<'_>, expand: &BTreeSet<String>) -> BTreeSet<String> {
    let unprefixed = settings.words("USE_EXPAND_UNPREFIXED");
    implicit_flags(
        settings.words("IUSE_IMPLICIT"),
        settings.words("USE_EXPAND_IMPLICIT"),
        |name| settings.get(name).unwrap_or_default(),
        |name| expand.contains(name),
        |name| unprefixed.contains(name),
    )
}

/// IUSE_IMPLICIT, and the values of the variables of USE_EXPAND_IMPLICIT as flags. `value` gives a variable; `expand` and
/// `unprefixed` say whether a name is in USE_EXPAND and USE_EXPAND_UNPREFIXED.
pub fn implicit_flags(
    iuse_implicit: impl IntoIterator<Item = String>,
    expand_implicit: impl IntoIterator<Item = String>,
    value: impl Fn(&str) -> String,
    expand: impl Fn(&str) -> bool,
    unprefixed: impl Fn(&str) -> bool,
) -> BTreeSet<String> {
    let mut flags: BTreeSet<String> = iuse_implicit.into_iter().collect();
    for name in expand_implicit {
        let prefix = name.to_lowercase();
        for value in value(&format!("USE_EXPAND_VALUES_{name}")).split_whitespace() {
            if unprefixed(&name) {
                flags.insert(value.to_owned());
            }
            if expand(&name) {
                flags.insert(format!("{prefix}_{value}"));
            }
        }
    }
    flags
}

/// Sets the USE_EXPAND variables to what is on: first in the order of the configured value, then sorted.
fn expanded(
    variables: &mut BTreeMap<String, String>,
    settings: &Settings<'_>,
    expand: &BTreeSet<String>,
    on: &BTreeSet<String>,
    effective: &BTreeSet<String>,
) {
    for name in expand {
        let prefix = format!("{}_", name.to_lowercase());
        let mut left: BTreeSet<&str> =
            on.iter().filter(|flag| effective.contains(*flag)).filter_map(|flag| flag.strip_prefix(&prefix)).collect();
        let configured = settings.get(name).unwrap_or_default();
        let mut values: Vec<&str> = configured.split_whitespace().filter(|value| left.remove(value)).collect();
        values.extend(left);
        variables.insert(name.clone(), values.join(" "));
    }
}

/// Whether a package counts as stable (PMS 5.2.11): it is accepted, and would not be if all its keywords were unstable.
fn is_stable(keywords: &[String], accepted: &BTreeSet<String>) -> bool {
    let accepts = |unstable: bool| {
        let stable = |keyword: &str| !unstable && !keyword.starts_with(['~', '-']);
        let any = |word: &str| accepted.contains(word);
        any("**")
            || keywords.iter().filter(|keyword| !keyword.starts_with('-')).any(|keyword| {
                let bare = keyword.trim_start_matches('~');
                match stable(keyword) {
                    true => any(bare) || any("*"),
                    false => any(&format!("~{bare}")) || any("~*"),
                }
            })
    };
    accepts(false) && !accepts(true)
}

#[cfg(test)]
#[path = "use_flags_tests.rs"]
mod tests;
