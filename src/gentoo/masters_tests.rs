use std::fs;

use super::super::config::Environment;
use super::*;

fn make(root: &Path, name: &str, layout: &str, eclasses: &[&str]) -> Repository {
    let at = root.join(name);
    for dir in ["profiles", "metadata", "eclass"] {
        fs::create_dir_all(at.join(dir)).unwrap();
    }
    fs::write(at.join("profiles/repo_name"), name).unwrap();
    fs::write(at.join("metadata/layout.conf"), layout).unwrap();
    for eclass in eclasses {
        fs::write(at.join("eclass").join(format!("{eclass}.eclass")), "").unwrap();
    }
    Repository::open(&at).unwrap()
}

fn config(repos_conf: &str) -> PortageConfig {
    let environment = Environment::from([("PORTAGE_REPOSITORIES".into(), repos_conf.into())]);
    PortageConfig::load(Path::new("/nonexistent"), environment).unwrap()
}

fn names(repositories: &[Repository]) -> Vec<&str> {
    repositories.iter().map(|repository| repository.name.as_str()).collect()
}

#[test]
fn masters_are_found_and_the_last_eclass_wins() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    make(root, "deep", "masters =", &["deep"]);
    make(root, "gentoo", "masters = deep", &["a", "b", "c"]);
    make(root, "guru", "masters = gentoo", &["b", "c"]);
    let own = make(root, "own", "masters = gentoo guru gone", &["c"]);
    let set = RepositorySet::resolve(own, &[], &config("")).unwrap();
    assert_eq!((names(&set.masters), set.missing.clone()), (vec!["gentoo", "guru"], vec!["gone".to_owned()]));
    let of = |eclass: &str| set.find_eclass(eclass).map(|(name, _)| name.to_owned());
    assert_eq!((of("a"), of("b"), of("c")), (Some("gentoo".into()), Some("guru".into()), Some("own".into())));
    assert_eq!((of("deep"), of("../own/eclass/c"), of("")), (None, None, None));
    let dirs: Vec<_> = ["own", "guru", "gentoo"].map(|name| root.join(name).join("eclass")).into();
    assert_eq!(set.eclass_dirs(), dirs);
    assert_eq!(set.location("guru"), Some(root.join("guru").as_path()));
}

#[test]
fn overrides_go_before_repos_conf_and_that_before_siblings() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    make(root, "gentoo", "masters =", &[]);
    make(root, "elsewhere", "masters =", &[]);
    make(root, "given", "masters =", &[]);
    let own = make(root, "own", "masters = gentoo", &[]);
    let conf = config(&format!("[gentoo]\nlocation = {}\n", root.join("elsewhere").display()));
    let set = RepositorySet::resolve(own.clone(), &[], &conf).unwrap();
    assert_eq!(set.masters[0].location, root.join("elsewhere"));
    let given = [("gentoo".to_owned(), root.join("given"))];
    let set = RepositorySet::resolve(own.clone(), &given, &conf).unwrap();
    assert_eq!((set.masters[0].location.clone(), set.masters[0].name.as_str()), (root.join("given"), "gentoo"));
    let bad = [("gentoo".to_owned(), root.join("nowhere"))];
    let error = RepositorySet::resolve(own, &bad, &conf).unwrap_err().to_string();
    assert!(error.starts_with("--repository gentoo=") && error.ends_with("is no directory"), "{error}");
}

#[test]
fn without_masters_the_main_repository_is_one() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), "gentoo", "", &["a"]);
    let own = make(dir.path(), "own", "", &[]);
    let set = RepositorySet::resolve(own.clone(), &[], &config("")).unwrap();
    assert_eq!(names(&set.masters), ["gentoo"]);
    let other = config("[DEFAULT]\nmain-repo = other\n");
    let set = RepositorySet::resolve(own, &[], &other).unwrap();
    assert!(set.masters.is_empty() && set.missing.is_empty());
    let gentoo = Repository::open(&dir.path().join("gentoo")).unwrap();
    assert!(RepositorySet::resolve(gentoo, &[], &config("")).unwrap().masters.is_empty());
}

#[test]
fn repos_conf_may_set_masters_and_eclass_overrides() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    make(root, "gentoo", "masters =", &["a"]);
    make(root, "over", "masters =", &["a"]);
    let own = make(root, "own", "masters = gone", &["a"]);
    let conf = config("[own]\nmasters = gentoo\neclass-overrides = over\n");
    let set = RepositorySet::resolve(own, &[], &conf).unwrap();
    assert_eq!(names(&set.masters), ["gentoo"]);
    assert_eq!(set.find_eclass("a").unwrap().0, "over");
    assert!(set.missing.is_empty());
}
