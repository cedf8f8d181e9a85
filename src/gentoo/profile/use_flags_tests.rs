use std::fs;
use std::path::Path;

use super::super::super::config::Environment;
use super::super::super::masters::RepositorySet;
use super::super::super::repository::Repository;
use super::super::ProfileSource;
use super::*;

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let world = World { dir: tempfile::tempdir().unwrap() };
        world.write("own/profiles/repo_name", "own");
        world.write("own/metadata/layout.conf", "masters =");
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn state(&self, iuse: &str, environment: &[(&str, &str)], extra: &str) -> UseState {
        let environment: Environment = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let root = self.dir.path();
        let config = PortageConfig::load(&root.join("machine"), environment).unwrap();
        let own = Repository::open(&root.join("own")).unwrap();
        let set = RepositorySet::resolve(own, &[], &config).unwrap();
        let profile = root.join("own/profiles/top");
        let given = profile.is_dir().then_some(profile.as_path());
        let profile = Profile::choose(given, Path::new("/nonexistent"), &set, &config).unwrap();
        assert_eq!(profile.source == ProfileSource::BuiltIn, given.is_none());
        let map = [("IUSE", iuse), ("SLOT", "0"), ("KEYWORDS", "amd64")];
        let metadata = Metadata::from_map(&map.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        let cpv = Cpv::parse("a/b-1").unwrap();
        let package = UsePackage { cpv: &cpv, metadata: &metadata, repository: "own" };
        UseState::compute(&profile, &config, package, &UseChange::parse(extra).unwrap())
    }
}

fn on(state: &UseState) -> String {
    let flags: Vec<_> = state.iuse().iter().filter(|(_, on)| *on).map(|(flag, _)| flag.as_str()).collect();
    flags.join(" ")
}

const PROFILE: [(&str, &str); 5] = [
    (
        "own/profiles/base/make.defaults",
        "ARCH=amd64\nACCEPT_KEYWORDS=amd64\nUSE=\"p q\"\nUSE_EXPAND=\"PT ELIBC\"\nUSE_EXPAND_IMPLICIT=ELIBC\nUSE_EXPAND_VALUES_ELIBC=\"glibc musl\"\nELIBC=glibc\nPT=\"x y\"\nPROFILE_ONLY_VARIABLES=ELIBC\nCFLAGS=-O2\n",
    ),
    ("own/profiles/top/parent", "../base\n"),
    ("own/profiles/top/eapi", "5\n"),
    ("own/profiles/top/make.defaults", "USE=\"-q\"\nPT=\"-y z\"\nCFLAGS=\"${CFLAGS} -g\"\n"),
    ("own/profiles/top/use.force", "f\n"),
];

#[test]
fn the_order_of_strength() {
    let world = World::new(&PROFILE);
    assert_eq!(on(&world.state("+a -b c p q", &[], "")), "a p");
    world.write("machine/etc/portage/make.conf", "USE=\"-a -p c\"\n");
    assert_eq!(on(&world.state("+a -b c p q", &[], "")), "c");
    assert_eq!(on(&world.state("+a -b c p q", &[("USE", "b -c")], "")), "b");
    assert_eq!(on(&world.state("+a -b c p q", &[("USE", "b -c")], "-* q")), "q");
    assert_eq!(on(&world.state("f g", &[("USE", "-f g")], "-f")), "f g");
}

#[test]
fn masks_are_strongest_and_stable_ones_are_for_stable_packages() {
    let world = World::new(&PROFILE);
    world.write("own/profiles/top/use.stable.mask", "s\n");
    world.write("own/profiles/top/package.use.mask", "a/b f\n=a/b-2 p\n");
    world.write("own/profiles/use.mask", "r\nt\n");
    world.write("own/profiles/top/use.mask", "-t\n");
    assert_eq!(on(&world.state("f p r s t", &[], "f r s t")), "p t");
    let state = world.state("f p r s t", &[("ACCEPT_KEYWORDS", "~amd64")], "f r s t");
    assert_eq!(on(&state), "p s t");
    assert!(state.is_fixed("f") && !state.is_fixed("t"));
}

#[test]
fn expanded_variables() {
    let world = World::new(&PROFILE);
    let iuse = "pt_x pt_y pt_z pt_w";
    let state = world.state(iuse, &[], "");
    assert_eq!(on(&state), "pt_x pt_z");
    assert_eq!(state.variables()["PT"], "z x");
    assert_eq!(state.variables()["ELIBC"], "glibc");
    assert_eq!((state.variables()["CFLAGS"].as_str(), state.variables()["ARCH"].as_str()), ("-O2 -g", "amd64"));
    assert!(state.is_effective("elibc_musl") && state.is_enabled("elibc_glibc") && !state.is_enabled("elibc_musl"));
    let state = world.state(iuse, &[("PT", "w y v"), ("ELIBC", "musl"), ("CFLAGS", "-O3")], "-pt_y");
    assert_eq!((on(&state).as_str(), state.variables()["PT"].as_str()), ("pt_w", "w"));
    assert_eq!((state.variables()["ELIBC"].as_str(), state.variables()["CFLAGS"].as_str()), ("glibc", "-O3"));
    let state = world.state(iuse, &[("USE", "-pt_* pt_y")], "");
    assert_eq!((on(&state).as_str(), state.variables()["PT"].as_str()), ("pt_y", "y"));
    assert_eq!(on(&world.state(iuse, &[("USE", "pt_* -pt_w")], "")), "pt_x pt_y pt_z");
    assert_eq!(world.state("a", &[], "").variables()["PT"], "");
}

#[test]
fn repositories_are_weakest() {
    let world = World::new(&PROFILE);
    world.write("own/profiles/make.defaults", "USE=\"m n\"\n");
    world.write("own/profiles/package.use", "a/b o -n\n");
    assert_eq!(on(&world.state("m n o", &[], "")), "m o");
    assert_eq!(on(&world.state("-m n o", &[], "")), "o");
    world.write("own/profiles/make.defaults", "USE_EXPAND=\"RX\"\nRX=a\nELIBC=musl\nCFLAGS=-O1\n");
    let state = world.state("rx_a rx_b pt_x", &[], "");
    assert_eq!((on(&state).as_str(), state.variables()["RX"].as_str()), ("rx_a pt_x", "a"));
    assert_eq!((state.variables()["ELIBC"].as_str(), state.variables()["CFLAGS"].as_str()), ("glibc", "-O2 -g"));
    assert_eq!(on(&world.state("rx_a rx_b", &[("RX", "b")], "")), "rx_b");
}

#[test]
fn built_in_values() {
    let state =
        World::new(&[]).state("python_targets_python3_13 abi_x86_64 x", &[("PYTHON_TARGETS", "python3_13")], "");
    assert_eq!(on(&state), "python_targets_python3_13 abi_x86_64");
    for flag in ["amd64", "elibc_glibc", "kernel_linux", "userland_GNU"] {
        assert!(state.is_enabled(flag), "{flag}");
    }
    let variables = state.variables();
    assert_eq!((variables["ABI"].as_str(), variables["LIBDIR_amd64"].as_str()), ("amd64", "lib64"));
    assert_eq!((variables["PYTHON_TARGETS"].as_str(), variables["ABI_X86"].as_str()), ("python3_13", "64"));
    assert!(!variables.contains_key("ACCEPT_KEYWORDS") && !variables.contains_key("DISTDIR"));
}

#[test]
fn words_of_the_command_line() {
    assert_eq!(UseChange::parse(" a  -b -* ").unwrap().len(), 3);
    for bad in ["--a", "+a", "-", "a,b", "!a"] {
        assert_eq!(UseChange::parse(bad), Err(UseChangeError(bad.to_owned())), "{bad}");
    }
}

#[test]
fn stable_packages() {
    let stable = |keywords: &[&str], accepted: &[&str]| {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        is_stable(&owned(keywords), &owned(accepted).into_iter().collect())
    };
    assert!(stable(&["amd64", "~x86"], &["amd64"]) && stable(&["x86"], &["*"]));
    assert!(!stable(&["~amd64"], &["amd64"]) && !stable(&["amd64"], &["amd64", "~amd64"]));
    assert!(!stable(&["amd64"], &["**"]) && !stable(&["-amd64"], &["amd64"]) && !stable(&[], &["amd64"]));
}
