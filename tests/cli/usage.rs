//! Words of the command line that are no targets: help, wrong options, wrong values.

use std::fs;
use std::os::unix::fs::symlink;

use crate::fixture::{DEAD, LIVE, overlay, with_foo};
use crate::support::overlay::{Place, put};
use crate::support::run::{audit, ebaudit, run};

#[test]
fn help_and_version_go_to_standard_output() {
    let place = Place::new();
    let done = run(&place, ebaudit(&place).arg("--help")).exits(0);
    assert!(done.stdout.contains("Usage: ebaudit") && done.stdout.contains("audit"), "{}", done.stdout);
    assert_eq!(done.stderr, "");
    let done = run(&place, ebaudit(&place).arg("--version")).exits(0);
    assert_eq!(done.stdout, format!("ebaudit {}\n", env!("CARGO_PKG_VERSION")));
    let done = run(&place, ebaudit(&place).args(["audit", "--help"])).exits(0);
    let promised = [
        "--repository",
        "--distdir",
        "--offline",
        "--use",
        "--profile",
        "--cache-dir",
        "--timeout",
        "--max-unpacked-size",
        "--eclass-edits",
        "--format",
        "--fail-on",
        "--jobs",
        "-o",
    ];
    for word in promised {
        assert!(done.stdout.contains(word), "no {word} in {}", done.stdout);
    }
}

#[test]
fn wrong_words_are_named() {
    let place = with_foo(LIVE);
    run(&place, &mut ebaudit(&place)).exits(2).says("Usage");
    run(&place, ebaudit(&place).arg("adit")).exits(2).says("'adit'").says("audit");
    run(&place, &mut audit(&place, ["--ofline"])).exits(2).says("'--ofline'").says("--offline");
    let wrong: [&[&str]; 8] = [
        &["--format", "yaml"],
        &["--fail-on", "warnings"],
        &["--jobs", "0"],
        &["--jobs", "many"],
        &["--timeout", "1.5"],
        &["--timeout", "soon"],
        &["--max-unpacked-size", "8T"],
        &["--max-unpacked-size", "99999999999G"],
    ];
    for words in wrong {
        let done = run(&place, &mut audit(&place, words)).exits(2).says(words[0]).says(words[1]);
        assert_eq!(done.stdout, "", "{words:?}");
    }
    run(&place, &mut audit(&place, ["--live", "--keyworded"])).exits(2).says("--live").says("--keyworded");
}

const BOUNDS: [&str; 14] = [
    "--timeout",
    "--unpack-timeout",
    "--cpu-time",
    "--max-output",
    "--max-processes",
    "--max-memory",
    "--max-open-files",
    "--max-file-size",
    "--max-tree-files",
    "--max-tree-size",
    "--max-depth",
    "--max-unpacked-size",
    "--max-ratio",
    "--max-path",
];

#[test]
fn a_bound_may_be_as_large_as_a_number_can_be() {
    let place = with_foo(LIVE);
    let most = u64::MAX.to_string();
    for layers in ["auto", "off"] {
        let words = BOUNDS.iter().flat_map(|bound| [*bound, &most]).chain(["--no-cache", "--layers", layers]);
        run(&place, &mut audit(&place, words)).exits(0);
    }
}

#[test]
fn no_bound_is_zero() {
    let place = with_foo(LIVE);
    for bound in BOUNDS {
        run(&place, &mut audit(&place, [bound, "0"])).exits(2).says(bound).says("0 is no bound; name a larger number");
    }
}

#[test]
fn a_malformed_repository_is_named() {
    let place = with_foo(LIVE);
    for word in ["gentoo", "=", "gentoo=", "=/var/db/repos/gentoo"] {
        run(&place, &mut audit(&place, ["--repository", word])).exits(2).says("--repository").says("NAME=PATH");
    }
    let done = run(&place, &mut audit(&place, ["--repository", "gentoo=nowhere"])).exits(2);
    assert!(done.stderr.contains("nowhere"), "{}", done.stderr);
}

#[test]
fn directories_that_are_not_there_are_named() {
    let place = with_foo(LIVE);
    for words in [["--distdir", "nowhere"], ["--profile", "nowhere"], ["--source", "dev-libs/foo-9999=nowhere"]] {
        let mut command = ebaudit(&place);
        run(&place, command.arg("audit").arg(place.repo()).args(words)).exits(2).says("nowhere");
    }
    run(&place, &mut audit(&place, ["--work-dir", "nowhere"])).exits(2).says("nowhere");
}

#[test]
fn without_a_repository_around() {
    let place = Place::new();
    let done = run(&place, ebaudit(&place).arg("audit")).exits(2);
    assert!(done.stderr.starts_with("ebaudit: "), "{}", done.stderr);
    assert!(done.stderr.contains("repo_name") || done.stderr.contains("repository"), "{}", done.stderr);
    assert!(done.stderr.contains(&*place.path().to_string_lossy()), "which directory? {}", done.stderr);
    run(&place, ebaudit(&place).args(["audit", "not/here"])).exits(2).says("repository");
    run(&place, ebaudit(&place).args(["audit", "./nothing"])).exits(2).says("nothing");
    // a directory that is no overlay
    fs::create_dir(place.path().join("plain")).unwrap();
    run(&place, ebaudit(&place).args(["audit", "plain"])).exits(2).says("plain");
}

#[test]
fn the_advice_without_a_repository_can_be_followed() {
    let place = Place::new();
    let done = run(&place, ebaudit(&place).arg("audit")).exits(2);
    assert!(!done.stderr.contains("--repo "), "{}", done.stderr);
    assert_eq!(done.stderr.matches("neither this directory").count(), 1, "{}", done.stderr);
}

#[test]
fn use_flags_may_begin_with_a_dash() {
    let place = overlay(&["dev-libs"]);
    let prepare = "IUSE=\"+doc test\"\nsrc_prepare() {\n\tdefault\n\tuse doc && sed -i -e 's/alpha/D/' a.txt\n\
                   \tuse test && sed -i -e 's/beta/T/' a.txt\n\ttrue\n}\n";
    place.package("dev-libs/foo-1.2", prepare);
    let flags = |words: &[&str]| {
        let report = run(&place, &mut audit(&place, [&["--format", "json"], words].concat())).exits(0).json();
        report["ebuilds"][0]["variants"][0]["use"].to_string()
    };
    assert_eq!(flags(&[]), r#"["doc","-test"]"#);
    assert_eq!(flags(&["--use", "-doc"]), r#"["-doc","-test"]"#);
    assert_eq!(flags(&["--use", "-doc test"]), r#"["-doc","test"]"#);
    assert_eq!(flags(&["--use=-doc", "--use", "test"]), r#"["-doc","test"]"#);
    run(&place, &mut audit(&place, ["--use", "a/b"])).exits(2).says("--use").says("a/b");
}

#[test]
fn fail_on_chooses_the_status() {
    let place = with_foo(DEAD);
    for (level, code) in [("error", 1), ("warning", 1), ("note", 1), ("never", 0)] {
        run(&place, &mut audit(&place, ["--fail-on", level])).exits(code);
    }
    run(&place, &mut audit(&place, [""; 0])).exits(1);
    // a backup left behind is a warning
    let place = with_foo("src_prepare() {\n\tdefault\n\tsed -i.bak -e 's/alpha/A/' a.txt || die\n}\n");
    for (level, code) in [("error", 0), ("warning", 1), ("note", 1), ("never", 0)] {
        run(&place, &mut audit(&place, ["--fail-on", level])).exits(code);
    }
    // a hole in the report wins, whatever --fail-on says
    place.package("dev-libs/dead-1", DEAD);
    place.package("dev-libs/hole-1", "src_prepare() {\n\tdie \"on purpose\"\n}\n");
    run(&place, &mut audit(&place, [""; 0])).exits(3);
    let done = run(&place, &mut audit(&place, ["--fail-on", "never"])).exits(3);
    assert!(done.stdout.contains("on purpose"), "{}", done.stdout);
}

#[test]
fn an_overlay_with_nothing_in_it() {
    let place = overlay(&["dev-libs"]);
    let done = run(&place, &mut audit(&place, ["--format", "json"]));
    // nothing to audit is told, and is no success that a CI could take for one by mistake
    match done.code {
        Some(0) => assert_eq!(done.json()["summary"]["ebuilds"], 0),
        _ => drop(done.exits(2)),
    }
}

#[test]
fn a_folder_that_can_not_be_read_is_not_taken_for_an_empty_one() {
    let place = overlay(&["dev-libs"]);
    let nothing = "nothing is audited: there are no ebuilds in what ";
    run(&place, &mut audit(&place, [""; 0])).exits(0).says(&format!("{nothing}was named\n"));
    fs::create_dir(place.path().join("outside")).unwrap();
    symlink(place.path().join("outside"), place.repo().join("dev-libs")).unwrap();
    run(&place, &mut audit(&place, [""; 0])).exits(3).says(&format!("{nothing}could be read\n"));
}

#[test]
fn a_broken_configuration_names_file_and_line() {
    let place = with_foo(LIVE);
    put(&place.path().join("root/etc/portage/make.conf"), "USE=\"doc\"\nDISTDIR=\"/x\n");
    let mut command = audit(&place, [""; 0]);
    run(&place, command.env("PORTAGE_CONFIGROOT", place.path().join("root"))).exits(2).says("make.conf");
    put(&place.repo().join("metadata/ebaudit.toml"), "ignore = {{\n");
    run(&place, &mut audit(&place, [""; 0])).exits(2).says("ebaudit.toml");
}
