use std::fs;

use super::super::config::PortageConfig;
use super::*;

fn world() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for path in [
        "own/a-b/foo/foo-1.ebuild",
        "own/a-b/foo/foo-1.10.ebuild",
        "own/a-b/foo/foo-1.9-r1.ebuild",
        "own/a-b/foo/Manifest",
        "own/a-b/foo/bar-1.ebuild",
        "own/a-b/foo/files/x",
        "own/a-b/foobar/foobar-2.ebuild",
        "own/c-d/foo/foo-3.ebuild",
        "own/README",
        "other/a-b/zoo/zoo-1.ebuild",
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    for name in ["own", "other"] {
        for (file, text) in [("profiles/repo_name", name), ("metadata/layout.conf", "masters =")] {
            let path = root.join(name).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    dir
}

fn resolve_at(cwd: &Path, repo: Option<&Path>, words: &[&str]) -> Result<Resolved, TargetError> {
    let words: Vec<OsString> = words.iter().map(OsString::from).collect();
    let targets = Targets::parse(&words, cwd, repo)?;
    let set = RepositorySet::resolve(targets.repository.clone(), &[], &PortageConfig::default()).unwrap();
    targets.resolve(&set, &|ebuild| Some(ebuild.cpv.pv()[..1].to_owned()))
}

fn names(resolved: Resolved) -> Vec<String> {
    resolved.ebuilds.iter().map(|ebuild| ebuild.cpv.to_string()).collect()
}

const FOO: [&str; 3] = ["a-b/foo-1", "a-b/foo-1.9-r1", "a-b/foo-1.10"];

#[test]
fn paths_and_atoms() {
    let dir = world();
    let own = dir.path().join("own");
    let all = [&FOO[..], &["a-b/foobar-2", "c-d/foo-3"]].concat();
    for (cwd, words, expected) in [
        ("", &[][..], &all[..]),
        ("a-b/foo/files", &[], &all),
        ("", &["."], &all),
        ("a-b", &[".."], &all),
        ("", &["a-b/"], &all[..4]),
        ("", &["a-b/foo"], &FOO),
        ("a-b", &["foo"], &FOO),
        ("a-b/foo", &["foo-1.ebuild", "./foo-1.ebuild"], &FOO[..1]),
        ("a-b/foo", &["."], &FOO),
        ("", &["foo"], &["a-b/foo-1", "a-b/foo-1.9-r1", "a-b/foo-1.10", "c-d/foo-3"]),
        ("", &["=a-b/foo-1.9*"], &FOO[1..2]),
        ("", &["c-d/*", "=foo-1"], &["a-b/foo-1", "c-d/foo-3"]),
        ("", &["foo:3::own"], &["c-d/foo-3"]),
        ("", &["*/*"], &all),
    ] {
        assert_eq!(names(resolve_at(&own.join(cwd), None, words).unwrap()), expected, "{cwd} {words:?}");
    }
    assert_eq!(names(resolve_at(Path::new("/"), Some(&own), &["=c-d/foo-3"]).unwrap()), ["c-d/foo-3"]);
    let absolute = own.join("a-b/foo/foo-1.ebuild");
    assert_eq!(names(resolve_at(Path::new("/"), None, &[absolute.to_str().unwrap()]).unwrap()), ["a-b/foo-1"]);
}

#[test]
fn what_was_left_out_is_said() {
    let dir = world();
    let resolved = resolve_at(&dir.path().join("own"), None, &["foo", "a-b/foo"]).unwrap();
    assert_eq!(resolved.problems.len(), 1);
    assert!(resolved.problems[0].path.ends_with("a-b/foo/bar-1.ebuild"));
}

#[test]
fn a_linked_repository_is_the_same() {
    let dir = world();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path().join("own"), &link).unwrap();
    let real = dir.path().join("own/a-b/foo/foo-1.ebuild");
    let linked = link.join("a-b/foo/foo-1.10.ebuild");
    let words = [linked.to_str().unwrap(), real.to_str().unwrap()];
    assert_eq!(names(resolve_at(Path::new("/"), None, &words).unwrap()), ["a-b/foo-1", "a-b/foo-1.10"]);
}

#[test]
fn errors_say_what_is_wrong() {
    let dir = world();
    let own = dir.path().join("own");
    let error = |words: &[&str]| resolve_at(&own, None, words).unwrap_err().to_string();
    assert_eq!(error(&["fooo"]), "`fooo` matches no ebuild of the repository `own`; there is a-b/foo, c-d/foo");
    assert_eq!(error(&["x-y/foobar"]), "`x-y/foobar` matches no ebuild of the repository `own`; there is a-b/foobar");
    assert_eq!(error(&["zzzzzz"]), "`zzzzzz` matches no ebuild of the repository `own`");
    assert!(error(&["=a-b/foo-7"]).ends_with("there is =a-b/foo-1.10, =a-b/foo-1.9-r1, =a-b/foo-1"));
    assert!(
        error(&["foo::gentoo"]).starts_with("`foo::gentoo` asks for the repository `gentoo`, but `own` is audited")
    );
    assert!(error(&["../other", "."]).contains("lies in the repository"));
    assert!(error(&["a-b/foo", "../other/a-b/zoo"]).ends_with("audit one repository at a time"));
    assert!(error(&["./none"]).contains("there is no such file"));
    assert!(error(&["README"]).ends_with("name an .ebuild file, a directory or an atom"));
    assert!(error(&["a-b/foo/Manifest"]).contains("is a file, but no ebuild"));
    assert!(error(&["profiles"]).contains("neither a category, a package nor an ebuild"));
    assert!(error(&["a-b/foo/bar-1.ebuild"]).contains("must begin with `foo-`"));
    assert!(error(&["a-b/foo-1"]).contains("write =a-b/foo-1"));
    fs::create_dir_all(own.join("nested/profiles")).unwrap();
    fs::write(own.join("nested/profiles/repo_name"), "nested").unwrap();
    assert!(error(&["a-b/foo", "nested"]).ends_with("audit one repository at a time"));
    let outside = resolve_at(Path::new("/proc"), None, &["foo"]).unwrap_err().to_string();
    assert!(
        outside.starts_with("/proc: neither this directory") && outside.ends_with("name a path in one"),
        "{outside}"
    );
}
