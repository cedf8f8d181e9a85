//! USE of candidates: all layers of the configuration and what each says of a flag (portage.config.setcpv, PMS 5.2 and 11.1.1).

use std::collections::BTreeSet;

use super::super::metadata::Metadata;
use super::super::profile::implicit_flags;
use super::super::restrict::Restrict;
use super::super::varfile::Variables;
use super::atom::Subject;
use super::flags::{self, FlagLists, Stack};
use super::layer::Layer;
use super::model::CandidateUse;
use super::package_use::PackageEnv;
use super::settings::{self, Settings};
use super::table::AtomTable;

/// The flags that a repository gives its own packages and those of whoever has it as a master.
#[derive(Debug, Default)]
pub(super) struct RepositoryFlags {
    /// `profiles/make.defaults`, without what only a profile may set.
    pub defaults: Variables,
    pub mask: FlagLists,
    pub force: FlagLists,
    pub use_flags: FlagLists,
    /// Its masters and itself.
    pub stacked: Vec<usize>,
}

/// The layers of USE, the strongest last, by the names that USE_ORDER has for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LayerName {
    EnvD,
    Repo,
    Features,
    /// The defaults in IUSE.
    Internal,
    /// The profile.
    Defaults,
    /// make.conf and `*/*` lines.
    Conf,
    /// package.use and package.env.
    Package,
    Env,
}

/// All that decides on USE.
#[derive(Debug, Default)]
pub(super) struct UseConfig {
    pub repositories: Vec<RepositoryFlags>,
    pub profile_mask: Stack,
    pub profile_force: Stack,
    pub profile_use: Stack,
    pub user: AtomTable<Layer>,
    /// The `*/*` lines of package.use and package.env, which act as if they stood in make.conf.
    user_global: Layer,
    pub package_env: PackageEnv,
    /// make.conf.
    conf: Layer,
    env: Layer,
    env_d: Layer,
    order: Vec<LayerName>,
    expand: Vec<String>,
    unprefixed: Vec<String>,
    arch: String,
    implicit: BTreeSet<String>,
    /// What counts as IUSE besides in EAPI 0 to 4, which know no IUSE_EFFECTIVE.
    implicit_old: BTreeSet<String>,
    test: bool,
    features: Vec<String>,
    allow_test: Vec<String>,
}

/// The package that USE is asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub subject: Subject<'a>,
    /// The index of its repository.
    pub repository: usize,
    pub metadata: &'a Metadata,
    pub stable: bool,
}

impl UseConfig {
    /// Prepares what does not depend on the package. The lists, tables and `*/*` lines are filled in before.
    /// `global` are the `*/*` words of package.use and package.env, `variables` the other variables of the latter, which
    /// settings has already.
    pub fn prepare(&mut self, settings: &Settings, global: &Layer, variables: &Variables, archs: &[String]) {
        self.expand = settings.words("USE_EXPAND");
        self.unprefixed = settings.words("USE_EXPAND_UNPREFIXED");
        let layer = |variables: &Variables, more: &[&Layer]| {
            Layer::of_variables(|name| variables.get(name).map(String::as_str), &self.expand, &self.unprefixed, more)
        };
        self.env = layer(&settings.environment, &[]);
        self.env_d = layer(&settings.env_d, &[]);
        self.conf = layer(&settings.conf, &[global]);
        self.user_global = layer(variables, &[global]);
        self.arch = settings.defaults.get("ARCH").cloned().unwrap_or_default();
        self.implicit = implicit(settings, &self.expand, &self.unprefixed);
        self.order = order(settings.get("USE_ORDER").unwrap_or_default());
        self.features = settings.words("FEATURES");
        self.test = self.features.iter().any(|word| word == "test");
        let allow_test = settings.get("ALLOW_TEST").unwrap_or_default();
        self.allow_test = allow_test.split_whitespace().map(str::to_owned).collect();
        self.implicit_old = self.implicit_old(settings, archs);
    }

    /// The flags of USE_EXPAND variables and USE in a make.defaults of the profile, as one layer: the variables add up
    /// as flags do, so that a sub-profile can take away.
    pub fn of_make_defaults(defaults: &Variables, expand: &[String], unprefixed: &[String]) -> Layer {
        let mut layer = Layer::default();
        for name in unprefixed {
            layer.use_words(defaults.get(name).map_or("", String::as_str));
        }
        for name in expand {
            let prefix = name.to_lowercase();
            for word in defaults.get(name).map_or("", String::as_str).split_whitespace() {
                match word.strip_prefix('-') {
                    Some(word) => layer.use_word(&format!("-{prefix}_{word}")),
                    None => layer.use_word(&format!("{prefix}_{word}")),
                }
            }
        }
        layer.use_words(defaults.get("USE").map_or("", String::as_str));
        layer
    }

    /// Whether a flag belongs to IUSE_EFFECTIVE of any package (PMS 11.1.1).
    pub fn is_implicit(&self, flag: &str) -> bool {
        self.implicit.contains(flag)
    }

    /// USE of a package.
    pub fn state(&self, asked: Asked<'_>) -> CandidateUse {
        let own: BTreeSet<&str> = asked.metadata.iuse_flags().collect();
        let old = asked.metadata.eapi.parse::<u32>().is_ok_and(|eapi| eapi < 5);
        let implicit = if old { &self.implicit_old } else { &self.implicit };
        let mut effective = own.clone();
        effective.extend(implicit.iter().map(String::as_str));

        let (mut mask, mut force) = (Vec::new(), Vec::new());
        for &index in &self.repositories[asked.repository].stacked {
            self.repositories[index].mask.collect(asked.subject, asked.stable, &mut mask);
            self.repositories[index].force.collect(asked.subject, asked.stable, &mut force);
        }
        self.profile_mask.collect(asked.subject, asked.stable, &mut mask);
        self.profile_force.collect(asked.subject, asked.stable, &mut force);
        let listed = |layers: &[&Layer]| -> BTreeSet<&str> {
            effective.iter().copied().filter(|flag| flags::says(layers, flag, false) == Some(true)).collect()
        };
        let (forced, masked) = (listed(&force), listed(&mask));

        let (package, test) = self.package(asked.subject);
        let mut internal = Layer::default();
        for flag in asked.metadata.iuse.iter().filter(|flag| flag.starts_with(['+', '-'])) {
            internal.use_word(flag);
        }
        let mut profile = Vec::new();
        self.profile_use.collect(asked.subject, asked.stable, &mut profile);
        let mut layers = Layers {
            config: self,
            repo: self.of_repositories(asked),
            test: Layer::default(),
            internal,
            profile,
            package,
        };
        if test {
            layers.test.use_word("test");
        }
        let is_on = |layers: &Layers<'_>, flag: &str| {
            let on = forced.contains(flag)
                || flag == self.arch
                || layers.says(flag, own.contains(flag)).is_some_and(|(on, _)| on);
            on && !masked.contains(flag)
        };
        if test && self.restricts_test(asked.metadata, &|flag| effective.contains(flag) && is_on(&layers, flag)) {
            layers.internal.use_word("-test");
        }
        let enabled: BTreeSet<String> =
            effective.iter().filter(|flag| is_on(&layers, flag)).map(|flag| (*flag).to_owned()).collect();
        let by_default =
            |flag: &&&str| enabled.contains(**flag) && !forced.contains(**flag) && layers.only_internal(flag);
        let by_default = own.iter().filter(by_default).map(|flag| (*flag).to_owned()).collect();
        let user = own.iter().filter(|flag| layers.user_speaks_of(flag)).map(|flag| (*flag).to_owned()).collect();
        let owned = |flags: BTreeSet<&str>| flags.into_iter().map(str::to_owned).collect();
        CandidateUse { forced: owned(forced), masked: owned(masked), user, by_default, enabled }
    }

    /// What package.env and package.use say of a package, and whether FEATURES has `test`.
    fn package(&self, subject: Subject<'_>) -> (Layer, bool) {
        let variables = self.package_env.of(subject);
        let said = self.user.matching(subject);
        if variables.is_empty() {
            let mut layer = Layer::default();
            said.into_iter().for_each(|words| layer.append(words));
            return (layer, self.test);
        }
        let get = |name: &str| variables.get(name).map(String::as_str);
        let features = self.features.join(" ");
        let own = variables.get("FEATURES").cloned().unwrap_or_default();
        let test = settings::words([&features, &own].into_iter()).iter().any(|word| word == "test");
        let layer = Layer::of_variables(get, &self.expand, &self.unprefixed, &said);
        (layer, test)
    }

    /// `profiles/make.defaults`, use.stable and package.use of the masters and the repository itself.
    fn of_repositories(&self, asked: Asked<'_>) -> Layer {
        let mut variables = Variables::new();
        let mut words = Vec::new();
        let mut uses = Vec::new();
        for &index in &self.repositories[asked.repository].stacked {
            let repository = &self.repositories[index];
            let mut own = repository.defaults.clone();
            let mut layer = Layer::default();
            layer.use_words(&own.remove("USE").unwrap_or_default());
            settings::stack(&mut variables, &own);
            words.clear();
            repository.use_flags.collect(asked.subject, asked.stable, &mut words);
            words.iter().for_each(|words| layer.append(words));
            uses.push(layer);
        }
        let uses: Vec<&Layer> = uses.iter().collect();
        Layer::of_variables(|name| variables.get(name).map(String::as_str), &self.expand, &self.unprefixed, &uses)
    }

    /// Whether tests are off since the ebuild says so (portage.config.setcpv).
    fn restricts_test(&self, metadata: &Metadata, enabled: &dyn Fn(&str) -> bool) -> bool {
        let Ok(restrict) = Restrict::evaluate(&metadata.restrict, enabled) else {
            return false;
        };
        let properties = Restrict::evaluate(&metadata.properties.join(" "), enabled).unwrap_or_default();
        let allows = |word: &str| self.allow_test.iter().any(|allowed| allowed == word);
        let needs = |word: &str, allowed: &str| properties.contains(word) && allows(allowed);
        let allowed = allows("all") || needs("test_network", "network") || needs("test_privileged", "privileged");
        restrict.contains("test") && !allowed
    }

    /// portage.config._get_implicit_iuse: of patterns (`elibc_*`) the flags that some layer names.
    fn implicit_old(&self, settings: &Settings, archs: &[String]) -> BTreeSet<String> {
        let mut flags: BTreeSet<String> = archs.iter().cloned().collect();
        flags.extend([self.arch.clone(), "build".to_owned(), "bootstrap".to_owned()]);
        let hidden: Vec<_> =
            settings.words("USE_EXPAND_HIDDEN").iter().map(|name| format!("{}_", name.to_lowercase())).collect();
        let layers = [&self.env, &self.conf, &self.env_d, self.profile_use.global(), self.profile_force.global()];
        for flag in layers.into_iter().flat_map(Layer::named) {
            if hidden.iter().any(|prefix| flag.starts_with(prefix.as_str())) {
                flags.insert(flag.to_owned());
            }
        }
        for layer in [self.profile_mask.global(), self.profile_force.global()] {
            flags.extend(layer.named().filter(|flag| layer.says(flag, false) == Some(true)).map(str::to_owned));
        }
        flags
    }
}

/// The layers for one package.
struct Layers<'a> {
    config: &'a UseConfig,
    repo: Layer,
    test: Layer,
    internal: Layer,
    profile: Vec<&'a Layer>,
    package: Layer,
}

impl Layers<'_> {
    fn layer_says(&self, name: LayerName, flag: &str, own: bool) -> Option<bool> {
        match name {
            LayerName::EnvD => self.config.env_d.says(flag, own),
            LayerName::Repo => self.repo.says(flag, own),
            LayerName::Features => self.test.says(flag, own),
            LayerName::Internal => self.internal.says(flag, own),
            LayerName::Defaults => flags::says(&self.profile, flag, own),
            LayerName::Conf => self.config.conf.says(flag, own),
            LayerName::Package => self.package.says(flag, own),
            LayerName::Env => self.config.env.says(flag, own),
        }
    }

    /// What the strongest layer that speaks of a flag says, and which that is.
    fn says(&self, flag: &str, own: bool) -> Option<(bool, LayerName)> {
        self.config.order.iter().rev().find_map(|&name| Some((self.layer_says(name, flag, own)?, name)))
    }

    fn only_internal(&self, flag: &str) -> bool {
        let others = self.config.order.iter().filter(|name| **name != LayerName::Internal);
        others.into_iter().all(|&name| self.layer_says(name, flag, true).is_none())
    }

    fn user_speaks_of(&self, flag: &str) -> bool {
        self.package.says(flag, true).is_some()
            || self.config.env.says(flag, true).is_some()
            || self.config.user_global.says(flag, true).is_some()
    }
}

/// USE_ORDER, turned round: the weakest first.
fn order(text: &str) -> Vec<LayerName> {
    let name = |word: &str| {
        Some(match word {
            "env" => LayerName::Env,
            "pkg" => LayerName::Package,
            "conf" => LayerName::Conf,
            "defaults" => LayerName::Defaults,
            "pkginternal" => LayerName::Internal,
            "features" => LayerName::Features,
            "repo" => LayerName::Repo,
            "env.d" => LayerName::EnvD,
            _ => return None,
        })
    };
    text.split(':').rev().filter_map(name).collect()
}

/// The implicit part of IUSE_EFFECTIVE (PMS 11.1.1).
fn implicit(settings: &Settings, expand: &[String], unprefixed: &[String]) -> BTreeSet<String> {
    let is_in = |list: &[String], name: &str| list.iter().any(|one| one == name);
    implicit_flags(
        settings.words("IUSE_IMPLICIT"),
        settings.words("USE_EXPAND_IMPLICIT"),
        |name| settings.get(name).unwrap_or_default().to_owned(),
        |name| is_in(expand, name),
        |name| is_in(unprefixed, name),
    )
}
