use std::os::unix::ffi::OsStrExt;

use super::*;

fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

#[test]
fn names_a_repository() {
    let dir = tree(&[("profiles/repo_name", "one\n")]);
    let repository = Repository::open(dir.path()).unwrap();
    assert_eq!((repository.name.as_str(), repository.eapi.as_str()), ("one", "0"));
    fs::create_dir(dir.path().join("metadata")).unwrap();
    fs::write(dir.path().join("metadata/layout.conf"), "repo-name = two\n").unwrap();
    assert_eq!(Repository::open(dir.path()).unwrap().name, "two");
    assert_eq!(Repository::open_as(dir.path(), Some("three")).unwrap().name, "three");
    fs::write(dir.path().join("metadata/layout.conf"), "repo-name = a/b\n").unwrap();
    assert!(matches!(Repository::open(dir.path()), Err(RepositoryError::BadName { .. })));
}

#[test]
fn says_what_to_do_without_a_name() {
    let dir = tree(&[("metadata/layout.conf", "masters =\n")]);
    let error = Repository::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("profiles/repo_name"), "{error}");
    assert!(matches!(Repository::open(&dir.path().join("x")), Err(RepositoryError::NoDirectory(_))));
}

#[test]
fn is_found_from_within() {
    let dir = tree(&[("profiles/repo_name", "one\n"), ("a-b/c/c-1.ebuild", "")]);
    assert_eq!(Repository::around(&dir.path().join("a-b/c")).unwrap().location, dir.path());
    assert!(matches!(Repository::around(Path::new("/proc")), Err(RepositoryError::NoneAround(_))));
}

#[test]
fn lists_what_it_holds() {
    let dir = tree(&[
        ("profiles/repo_name", "one\n"),
        ("profiles/categories", "dev-libs\nnot-there\nsolo # a remark\n"),
        ("dev-libs/foo/foo-1.10.ebuild", ""),
        ("dev-libs/foo/foo-1.9.ebuild", ""),
        ("dev-libs/foo/bar-1.ebuild", ""),
        ("dev-libs/foo/.foo-2.ebuild", ""),
        ("dev-libs/foo/Manifest", ""),
        ("dev-libs/foo-1/foo-1-1.ebuild", ""),
        ("dev-libs/metadata.xml", ""),
        ("solo/x/x-1.ebuild", ""),
        ("un-listed/x/x-1.ebuild", ""),
        ("sources/x/x-1.ebuild", ""),
        ("no-packages/x/y", ""),
    ]);
    let odd = std::ffi::OsStr::from_bytes(b"foo-1\xff.ebuild");
    fs::write(dir.path().join("dev-libs/foo").join(odd), "").unwrap();
    let repository = Repository::open(dir.path()).unwrap();
    let categories = repository.categories(&[], true).unwrap();
    assert_eq!(categories.items, ["dev-libs", "solo", "un-listed"]);
    assert_eq!(categories.problems.len(), 1);
    assert!(repository.categories(&[], false).unwrap().problems.is_empty());
    let packages = repository.packages("dev-libs");
    assert_eq!(packages.items, ["foo"]);
    assert!(packages.problems[0].message.contains("foo-1"));
    let ebuilds = repository.ebuilds("dev-libs", "foo");
    let versions: Vec<_> = ebuilds.items.iter().map(|ebuild| ebuild.cpv.pv()).collect();
    assert_eq!(versions, ["1.9", "1.10"]);
    assert_eq!(ebuilds.items[0].relative(), Path::new("dev-libs/foo/foo-1.9.ebuild"));
    let messages: Vec<_> = ebuilds.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages.len(), 2);
    assert!(messages[0].contains("directory of foo") && messages[1].contains("\\xff"), "{messages:?}");
}
