//! What to audit: overlays, directories, files, atoms, and the filters over them.

use std::fs;
use std::path::Path;

use crate::fixture::{DEAD, LIVE, overlay, usual, with_foo};
use crate::support::overlay::{Place, put};
use crate::support::run::{Done, audit, ebaudit, run};

/// Four packages in two categories.
fn several() -> Place {
    let place = overlay(&["app-misc", "dev-libs"]);
    for cpv in ["app-misc/tool-3", "dev-libs/bar-1", "dev-libs/foo-1.2", "dev-libs/foo-1.10"] {
        place.package(cpv, LIVE);
    }
    place
}

/// Audits with `dir` as the current directory and these words as targets.
fn from(place: &Place, dir: &Path, words: &[&str]) -> Done {
    let mut command = ebaudit(place);
    command.current_dir(dir).args(["audit", "--format", "json", "--offline", "--distdir"]).arg(place.dist());
    run(place, command.args(words))
}

const ALL: [&str; 4] = ["app-misc/tool-3", "dev-libs/bar-1", "dev-libs/foo-1.2", "dev-libs/foo-1.10"];

#[test]
fn the_overlay_around_the_current_directory() {
    let place = several();
    assert_eq!(from(&place, &place.repo(), &[]).exits(0).cpvs(), ALL);
    assert_eq!(from(&place, &place.repo().join("profiles"), &["dev-libs/bar"]).exits(0).cpvs(), ALL[1..2]);
    // inside a category or a package the words mean what they mean at the top
    let inside = from(&place, &place.repo().join("dev-libs/foo"), &["foo-1.2.ebuild"]).exits(0).cpvs();
    assert_eq!(inside, ["dev-libs/foo-1.2"]);
}

#[test]
fn directories_and_files() {
    let place = several();
    let repo = place.repo();
    assert_eq!(from(&place, place.path(), &["repo"]).exits(0).cpvs(), ALL);
    assert_eq!(from(&place, place.path(), &["repo/dev-libs"]).exits(0).cpvs(), ALL[1..]);
    assert_eq!(from(&place, place.path(), &["repo/dev-libs/foo/"]).exits(0).cpvs(), ALL[2..]);
    assert_eq!(from(&place, &repo, &["./dev-libs/bar/bar-1.ebuild"]).exits(0).cpvs(), ALL[1..2]);
    let path = place.ebuild_path("dev-libs/foo-1.10");
    assert_eq!(from(&place, place.path(), &[path.to_str().unwrap()]).exits(0).cpvs(), ALL[3..]);
    // named twice, audited once
    assert_eq!(from(&place, &repo, &["dev-libs/foo", "=dev-libs/foo-1.2"]).exits(0).cpvs(), ALL[2..]);
}

#[test]
fn atoms() {
    let place = several();
    let repo = place.repo();
    let cases: [(&str, &[&str]); 7] = [
        ("dev-libs/foo", &ALL[2..]),
        ("=dev-libs/foo-1.2", &ALL[2..3]),
        (">=dev-libs/foo-1.3", &ALL[3..]),
        ("<dev-libs/foo-1.3", &ALL[2..3]),
        ("=dev-libs/foo-1*", &ALL[2..]),
        ("dev-libs/*", &ALL[1..]),
        ("*/tool", &ALL[..1]),
    ];
    for (atom, cpvs) in cases {
        assert_eq!(from(&place, &repo, &[atom]).exits(0).cpvs(), cpvs, "{atom}");
    }
}

#[test]
fn a_target_that_matches_nothing() {
    let place = several();
    let repo = place.repo();
    let nothing = |word: &str| {
        let done = from(&place, &repo, &[word]).exits(2).says(word);
        assert_eq!(done.stdout, "", "{word}");
        done.stderr
    };
    for word in ["dev-libs/fooo", "dev-lib/foo", "dev-libs/Foo"] {
        let text = nothing(word);
        assert!(text.contains("dev-libs/foo"), "no near name in {text}");
    }
    nothing("=dev-libs/foo-7");
    nothing("nothing/*");
    nothing("dev-libs/foo/foo-7.ebuild");
    nothing("=dev-libs/foo");
    nothing("[");
}

#[test]
fn the_latest_of_each_slot() {
    let place = several();
    place.ebuild("dev-libs/foo-2.0_beta1", usual("8").replace("SLOT=\"0\"", "SLOT=\"2\"") + LIVE);
    place.ebuild("dev-libs/foo-2.0", usual("8").replace("SLOT=\"0\"", "SLOT=\"2/9\"") + LIVE);
    let done = from(&place, &place.repo(), &["--latest", "dev-libs/foo"]);
    assert_eq!(done.cpvs(), ["dev-libs/foo-1.10", "dev-libs/foo-2.0"]);
}

#[test]
fn the_latest_of_each_computed_slot() {
    let place = several();
    for cpv in ["dev-libs/foo-2.0", "dev-libs/foo-2.1"] {
        place.ebuild(cpv, usual("8").replace("SLOT=\"0\"", "SLOT=\"$(ver_cut 1)\"") + LIVE);
    }
    for cpv in ["dev-libs/foo-4.0", "dev-libs/foo-4.1"] {
        place.ebuild(cpv, usual("8").replace("SLOT=\"0\"", "MY_SLOT=${PV}\nSLOT=${MY_SLOT}") + LIVE);
    }
    let done = from(&place, &place.repo(), &["--latest", "dev-libs/foo"]);
    assert_eq!(done.cpvs(), ["dev-libs/foo-1.10", "dev-libs/foo-2.1", "dev-libs/foo-4.0", "dev-libs/foo-4.1"]);
}

#[test]
fn keyworded_and_live() {
    let place = several();
    let live = usual("8").replace("~amd64", "").replace("SRC_URI", "EGIT_REPO_URI");
    place.ebuild("dev-libs/foo-9999", live + LIVE);
    place.ebuild("dev-libs/foo-3", usual("8").replace("~amd64", "") + LIVE);
    let done = from(&place, &place.repo(), &["--keyworded", "dev-libs/foo"]).exits(0);
    assert_eq!(done.cpvs(), ALL[2..]);
    let done = from(&place, &place.repo(), &["--live"]).exits(0).is("skipped", "--source");
    assert_eq!(done.cpvs(), ["dev-libs/foo-9999"]);
    let done = from(&place, &place.repo(), &["--latest", "dev-libs/foo"]);
    assert!(!done.cpvs().contains(&"dev-libs/foo-9999".to_owned()), "{:?}", done.cpvs());
}

#[test]
fn a_live_ebuild_with_its_source() {
    let place = overlay(&["dev-libs"]);
    let text = usual("8").replace("SRC_URI=\"https://example.org/${P}.tar.gz\"\n", "").replace("~amd64", "");
    place.ebuild("dev-libs/foo-9999", text + DEAD);
    from(&place, &place.repo(), &[]).exits(0).is("skipped", "--source dev-libs/foo-9999=");
    let source = place.path().join("checkout");
    put(&source.join("a.txt"), "alpha\n");
    put(&source.join(".git/HEAD"), "ref: refs/heads/main\n");
    let word = format!("dev-libs/foo-9999={}", source.display());
    let done = from(&place, &place.repo(), &["--source", &word]).exits(1).is("audited", "");
    assert_eq!(done.json()["ebuilds"][0]["findings"][0]["rule"], "DeadSed");
    // the source is only read, and a relative path is one from here
    place.ebuild("dev-libs/foo-9999", usual("8").replace("SRC_URI", "NOT_SRC_URI").replace("~amd64", "") + LIVE);
    let done = from(&place, place.path(), &["repo", "--source", "=dev-libs/foo-9999=checkout"]);
    let done = done.exits(0).is("audited", "");
    assert_eq!(done.json()["ebuilds"][0]["edits"][0]["verdict"], "live");
    assert_eq!(fs::read_to_string(source.join("a.txt")).unwrap(), "alpha\n");
}

#[test]
fn a_source_for_no_ebuild_is_named() {
    let place = with_foo(LIVE);
    fs::create_dir(place.path().join("checkout")).unwrap();
    let mut command = audit(&place, ["--source", "dev-libs/fou-9999=checkout"]);
    run(&place, &mut command).exits(2).says("dev-libs/fou-9999");
}
