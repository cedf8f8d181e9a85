//! Reading a machine: the order in which its files are taken, and how they become rules.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::super::config::Environment;
use super::super::cpv::Cpv;
use super::super::repos_conf::ReposConf;
use super::super::text;
use super::super::varfile::Variables;
use super::candidates::{Candidates, MetadataSource, Rules};
use super::error::SystemError;
use super::flags::Stack;
use super::keywords::{self, Keywords};
use super::licenses::{self, Acceptance, Groups};
use super::lines::Reader;
use super::masks::{Masks, Sources};
use super::node::{self, Node, NodeKind};
use super::package_use::{self, PackageEnv};
use super::problem::Problems;
use super::repositories::{Conf, Repositories};
use super::settings::{self, Settings};
use super::table::AtomTable;
use super::updates::Updates;
use super::use_config::{RepositoryFlags, UseConfig};
use super::{System, installed, moves, profile, world};

/// Reads a machine below `root`.
pub(super) fn load(
    root: &Path,
    environment: &Environment,
    source: Option<MetadataSource>,
) -> Result<System, SystemError> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let problems = Problems::default();
    let reader = Reader::user(&problems);
    let etc = root.join("etc/portage");
    let mut settings = settings::begin(reader, &root);
    let repositories = Repositories::open(&root, &problems, repos_conf(&root, &settings, environment, &problems))?;
    let (mut nodes, profile) = profile_nodes(&root, &repositories, &problems, &mut settings.known)?;
    settings.with_profile(&nodes);
    settings.with_user(reader, &root, environment);
    let repository_nodes = repository_nodes(&repositories, &settings, &problems);
    let updates = Updates::read(&repositories, &problems);
    let mut installed = installed::read(&root, &problems)?;
    let mut world = world::read(&root, &problems);
    moves::apply(&updates, &mut installed, &mut world);
    world.extend(world::of_profile(&nodes));
    let provided = provided(&nodes, &problems);

    let masks = masks(reader, &etc, &repositories, &repository_nodes, &nodes);
    let groups = groups(reader, &etc, &repositories);
    let mut package_use = package_use::package_use(reader, &etc.join("package.use"));
    let use_global = package_use.remove("*/*").unwrap_or_default();
    let licenses = of_user(reader, &etc, "package.license", "ACCEPT_LICENSE", &mut settings);
    let properties = of_user(reader, &etc, "package.properties", "ACCEPT_PROPERTIES", &mut settings);
    let restrict = of_user(reader, &etc, "package.accept_restrict", "ACCEPT_RESTRICT", &mut settings);
    let (package_env, mut env_global) = PackageEnv::open(reader, &etc, &settings);
    let env_use = env_global.remove("USE").unwrap_or_default();
    for (name, value) in &env_global {
        package_use::add(&mut settings.conf, name, value);
    }

    let keywords = keywords(reader, &etc, &settings, &mut nodes);
    let mut flags = UseConfig::default();
    flags.repositories = repository_flags(&repositories, repository_nodes, &settings);
    flags.user = package_use;
    flags.package_env = package_env;
    let (expand, unprefixed) = (settings.words("USE_EXPAND"), settings.words("USE_EXPAND_UNPREFIXED"));
    for node in &mut nodes {
        node.use_flags.always = UseConfig::of_make_defaults(&node.defaults, &expand, &unprefixed);
    }
    let mut stack = |lists: fn(&mut Node) -> &mut super::flags::FlagLists| {
        Stack::new(nodes.iter_mut().map(|node| std::mem::take(lists(node))).collect())
    };
    flags.profile_mask = stack(|node| &mut node.mask);
    flags.profile_force = stack(|node| &mut node.force);
    flags.profile_use = stack(|node| &mut node.use_flags);
    let mut global = use_global.clone();
    global.use_words(&env_use);
    flags.prepare(&settings, &global, &env_global, &archs(reader, &etc, &repositories));
    let acceptance = |variable: &str, of_user: AtomTable<Vec<String>>| Acceptance {
        global: settings.acceptance(variable),
        of_user,
        ..Acceptance::default()
    };
    let rules = Rules {
        flags,
        masks,
        keywords,
        licenses: license_rules(licenses, &settings, &groups, &mut nodes),
        properties: acceptance("ACCEPT_PROPERTIES", properties),
        restrict: acceptance("ACCEPT_RESTRICT", restrict),
    };
    let categories = categories(reader, &etc, &repositories);
    let candidates = Candidates::new(repositories, rules, source, categories);
    let arch = settings.get("ARCH").unwrap_or_default().to_owned();
    Ok(System { root, arch, profile, problems, installed, world, provided, updates, candidates })
}

/// repos.conf, of the environment if that has it.
fn repos_conf(root: &Path, settings: &Settings, environment: &Environment, problems: &Problems) -> Conf {
    let shared = root.join("usr/share/portage/config/repos.conf");
    let own = root.join("etc/portage/repos.conf");
    let mut complain = |error| problems.repos_conf(&error);
    if let Some(text) = environment.get(OsStr::new("PORTAGE_REPOSITORIES")) {
        let path = Path::new("PORTAGE_REPOSITORIES");
        let parsed = ReposConf::parse(&text.to_string_lossy(), path, &settings.known);
        let repositories = parsed.map_err(&mut complain).unwrap_or_default();
        return Conf { own: repositories.clone(), repositories };
    }
    Conf {
        own: ReposConf::read_sound(std::slice::from_ref(&own), &settings.known, &mut |_| {}),
        repositories: ReposConf::read_sound(&[shared, own], &settings.known, &mut complain),
    }
}

/// The directories of the profile, parents first, then the user's own; and the one that the profile is.
fn profile_nodes(
    root: &Path,
    repositories: &Repositories,
    problems: &Problems,
    known: &mut Variables,
) -> Result<(Vec<Node>, PathBuf), SystemError> {
    let mut nodes = Vec::new();
    let mut last = PathBuf::new();
    for directory in profile::directories(root, repositories)? {
        last.clone_from(&directory.dir);
        nodes.push(Node::read(problems, &directory.dir, &directory.kind, known));
    }
    let own = root.join("etc/portage/profile");
    if own.exists() {
        let kind = NodeKind {
            default_eapi: String::new(),
            formats: super::repositories::Formats::of_no_repository(),
            user: true,
        };
        nodes.push(Node::read(problems, &own, &kind, known));
    }
    Ok((nodes, last))
}

/// The `profiles` directories of the repositories.
fn repository_nodes(repositories: &Repositories, settings: &Settings, problems: &Problems) -> Vec<Node> {
    let read = |repo: &super::repositories::Repo| {
        let kind = NodeKind { default_eapi: repo.repository.eapi.clone(), formats: repo.formats.clone(), user: false };
        let mut known = settings.globals.clone();
        Node::read(problems, &repo.repository.location.join("profiles"), &kind, &mut known)
    };
    repositories.all.iter().map(read).collect()
}

fn repository_flags(repositories: &Repositories, nodes: Vec<Node>, settings: &Settings) -> Vec<RepositoryFlags> {
    let flags = nodes.into_iter().enumerate().map(|(index, node)| {
        let mut defaults = node.defaults;
        defaults.retain(|name, _| !settings.profile_only.contains(name));
        RepositoryFlags {
            defaults,
            mask: node.mask,
            force: node.force,
            use_flags: node.use_flags,
            stacked: repositories.with_masters(index).collect(),
        }
    });
    flags.collect()
}

fn masks(
    reader: Reader<'_>,
    etc: &Path,
    repositories: &Repositories,
    of_repositories: &[Node],
    nodes: &[Node],
) -> Masks {
    let masks = node::masks(reader, &etc.join("package.mask"), true);
    let unmasks = node::masks(reader, &etc.join("package.unmask"), true);
    Masks::new(
        repositories,
        &Sources {
            repositories: of_repositories.iter().map(|node| node.masks.as_slice()).collect(),
            profile: nodes.iter().map(|node| node.masks.as_slice()).collect(),
            user: &masks,
        },
        &Sources {
            repositories: of_repositories.iter().map(|node| node.unmasks.as_slice()).collect(),
            profile: nodes.iter().map(|node| node.unmasks.as_slice()).collect(),
            user: &unmasks,
        },
    )
}

fn keywords(reader: Reader<'_>, etc: &Path, settings: &Settings, nodes: &mut [Node]) -> Keywords {
    let mut global = settings.words("ACCEPT_KEYWORDS");
    global.sort();
    let environment = settings.environment.get("ACCEPT_KEYWORDS").map_or("", String::as_str);
    let mut out = Keywords {
        global,
        environment: environment.split_whitespace().map(str::to_owned).collect(),
        arch: settings.get("ARCH").unwrap_or_default().to_owned(),
        changes: nodes.iter_mut().map(|node| std::mem::take(&mut node.keywords)).collect(),
        of_profile: nodes.iter_mut().map(|node| std::mem::take(&mut node.accept_keywords)).collect(),
        of_user: AtomTable::default(),
    };
    for name in ["package.keywords", "package.accept_keywords"] {
        out.of_user.extend(reader.table(&etc.join(name), None));
    }
    // the user's lines go by what the profile accepts, not by his own make.conf (portage's KeywordsManager)
    let of_profile = settings.defaults.get("ACCEPT_KEYWORDS").map_or("", String::as_str);
    let defaults = keywords::unstable(of_profile.split_whitespace());
    for words in out.of_user.values_mut().filter(|words| words.is_empty()) {
        words.clone_from(&defaults);
    }
    out
}

/// A file of lines about one ACCEPT_ variable. Its `*/*` line counts as if it stood in make.conf.
fn of_user(
    reader: Reader<'_>,
    etc: &Path,
    file: &str,
    variable: &str,
    settings: &mut Settings,
) -> AtomTable<Vec<String>> {
    let word = if variable == "ACCEPT_LICENSE" { "licence" } else { "word" };
    let mut table = reader.table(&etc.join(file), Some(word));
    if let Some(words) = table.remove("*/*") {
        let conf = settings.conf.entry(variable.to_owned()).or_default();
        conf.push(' ');
        conf.push_str(&words.join(" "));
    }
    table
}

fn license_rules(
    mut of_user: AtomTable<Vec<String>>,
    settings: &Settings,
    groups: &Groups,
    nodes: &mut [Node],
) -> Acceptance {
    let mut global = settings.acceptance("ACCEPT_LICENSE");
    if global.is_empty() {
        global = ["*", "-@EULA"].map(str::to_owned).into();
    }
    let mut of_profile: Vec<_> = nodes.iter_mut().map(|node| std::mem::take(&mut node.licenses)).collect();
    for words in of_profile.iter_mut().chain([&mut of_user]).flat_map(|table| table.values_mut()) {
        *words = licenses::expand(words.iter(), groups);
    }
    Acceptance { global: licenses::expand(&global, groups), of_profile, of_user }
}

/// The licence groups of all repositories and the user.
fn groups(reader: Reader<'_>, etc: &Path, repositories: &Repositories) -> Groups {
    let mut groups = Groups::new();
    let places = repositories.all.iter().map(|repo| repo.repository.location.join("profiles"));
    for dir in places.chain([etc.to_owned()]) {
        for line in reader.lines(&dir.join("license_groups")) {
            let mut words = line.text.split(' ').map(str::to_owned);
            let group = groups.entry(words.next().unwrap_or_default()).or_default();
            group.extend(words);
        }
    }
    groups
}

/// A list that `profiles` of the repositories and the user's directory have each, `-word` taking away.
fn listed(reader: Reader<'_>, etc: &Path, repositories: &Repositories, file: &str) -> Vec<String> {
    let mut words = BTreeSet::new();
    let places = repositories.all.iter().map(|repo| repo.repository.location.join("profiles"));
    for line in places.chain([etc.to_owned()]).flat_map(|dir| reader.lines(&dir.join(file))) {
        match line.text.strip_prefix('-') {
            Some("*") => words.clear(),
            Some(word) => {
                words.remove(word);
            }
            None => {
                words.insert(line.text);
            }
        }
    }
    words.into_iter().collect()
}

fn categories(reader: Reader<'_>, etc: &Path, repositories: &Repositories) -> Vec<String> {
    let mut categories = listed(reader, etc, repositories, "categories");
    categories.retain(|name| super::super::names::is_category(name));
    categories
}

fn archs(reader: Reader<'_>, etc: &Path, repositories: &Repositories) -> Vec<String> {
    listed(reader, etc, repositories, "arch.list")
}

/// package.provided of the profile (PMS 5.2.8: not from EAPI 7 on).
fn provided(nodes: &[Node], problems: &Problems) -> Vec<Cpv> {
    let mut lines: BTreeMap<&str, &text::Line> = BTreeMap::new();
    for line in nodes.iter().flat_map(|node| &node.provided) {
        match line.text.strip_prefix('-') {
            Some("*") => lines.clear(),
            Some(cpv) => {
                lines.remove(cpv);
            }
            None => {
                lines.insert(&line.text, line);
            }
        }
    }
    let mut out = Vec::new();
    for line in lines.into_values() {
        match Cpv::parse(&line.text) {
            Ok(cpv) => out.push(cpv),
            Err(error) => problems.line(line, format!("{error}; mend or remove the line")),
        }
    }
    out.sort();
    out
}
