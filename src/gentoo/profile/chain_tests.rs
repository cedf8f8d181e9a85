use std::fs;

use super::*;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn set(root: &Path) -> RepositorySet {
    for (name, masters) in [("gentoo", ""), ("own", "gentoo")] {
        write(root, &format!("{name}/profiles/repo_name"), name);
        write(root, &format!("{name}/metadata/layout.conf"), &format!("masters = {masters}\n"));
    }
    let own = Repository::open(&root.join("own")).unwrap();
    RepositorySet::resolve(own, &[], &PortageConfig::default()).unwrap()
}

fn choose(root: &Path, given: Option<&str>) -> Result<Profile, ProfileError> {
    let given = given.map(|path| root.join(path));
    Profile::choose(given.as_deref(), &root.join("machine"), &set(root), &PortageConfig::default())
}

fn names(profile: &Profile) -> Vec<&str> {
    profile.directories().map(|dir| dir.file_name().unwrap().to_str().unwrap()).collect()
}

#[test]
fn parents_come_first_and_each_time() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root, "gentoo/profiles/base/use.mask", "");
    write(root, "gentoo/profiles/a/parent", "../base\n");
    write(root, "gentoo/profiles/b/parent", "# x\n:base\n");
    write(root, "own/profiles/top/parent", "gentoo:a\ngentoo:b\n");
    assert_eq!(names(&choose(root, Some("own/profiles/top")).unwrap()), ["base", "a", "base", "b", "top"]);
}

#[test]
fn errors_name_the_place() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let error = |path: &str| choose(root, Some(path)).unwrap_err().to_string();
    assert!(error("own/profiles/none").ends_with("own/profiles/none: is no directory, so no profile"));
    write(root, "own/profiles/empty/parent", "# nothing\n");
    assert!(error("own/profiles/empty").contains("empty/parent: names no parent"));
    write(root, "own/profiles/gone/parent", "\n../nowhere\n");
    assert!(error("own/profiles/gone").contains("gone/parent:2: the parent profile `../nowhere` is not there"));
    write(root, "own/profiles/far/parent", "guru:x\n");
    assert!(error("own/profiles/far").contains("far/parent:1: `guru:x` lies in a repository that is not known"));
    write(root, "own/profiles/loop/parent", "../loop\n");
    assert!(error("own/profiles/loop").contains("is a parent of itself"));
    write(root, "own/profiles/bad/make.defaults", "A=\"\n");
    assert!(error("own/profiles/bad").contains("bad/make.defaults:1: a quotation mark"));
}

#[test]
fn a_diamond_of_diamonds_ends() {
    let dir = tempfile::tempdir().unwrap();
    for level in 0..40 {
        write(dir.path(), &format!("own/profiles/{level}/parent"), &format!("../{0}\n../{0}\n", level + 1));
    }
    write(dir.path(), "own/profiles/40/use.mask", "");
    assert!(matches!(choose(dir.path(), Some("own/profiles/0")), Err(ProfileError::TooMany(_))));
}

#[test]
fn the_choice() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    assert_eq!(choose(root, None).unwrap().source, ProfileSource::BuiltIn);
    write(root, "own/profiles/default/linux/amd64/23.0/use.mask", "");
    assert!(
        matches!(choose(root, None).unwrap().source, ProfileSource::Repository(path) if path.starts_with(root.join("own")))
    );
    write(root, "gentoo/profiles/default/linux/amd64/23.0/use.mask", "");
    assert!(
        matches!(choose(root, None).unwrap().source, ProfileSource::Repository(path) if path.starts_with(root.join("gentoo")))
    );
    write(root, "machine/etc/portage/make.profile/use.mask", "");
    write(root, "machine/etc/portage/profile/use.mask", "x");
    let machine = choose(root, None).unwrap();
    assert_eq!(names(&machine), ["make.profile", "profile"]);
    let given = choose(root, Some("own/profiles/default/linux/amd64/23.0")).unwrap();
    assert!(matches!(given.source, ProfileSource::Given(_)));
}
