//! The result cache: what comes from it is what a new run finds, and what changed is run again.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

#[allow(dead_code)] // the other tests use the rest
mod support;

use support::overlay::{Place, dist_line, found, put};
use support::run::{audit, run};

/// Four ebuilds: `a-1` inherits `one`, `b-1` both, `c-1` has a distfile, a flag and files, `d-1` is live.
fn overlay(nap: &str) -> Place {
    let place = Place::new();
    let repo = place.repo();
    found(&repo, "results", "", &["app-misc"]);
    put(&repo.join("eclass/one.eclass"), "one_edit() { echo x > x; sed -i -e 's/nowhere/y/' x || die; }\n");
    put(&repo.join("eclass/two.eclass"), "two_edit() { :; }\n");
    let ebuild = |head: &str, body: &str| {
        format!(
            "EAPI=8\n{head}\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nLICENSE=MIT\nSLOT=0\nS=${{WORKDIR}}\n\
             src_prepare() {{\n\tdefault\n\techo a > b || die\n\tsleep {nap}\n\tsed -i -e s/a/b/ b || die\n\
             \tsed -i -e s/zz/b/ b || die\n{body}}}\n"
        )
    };
    put(&repo.join("app-misc/a/a-1.ebuild"), ebuild("inherit one", "\tone_edit\n"));
    put(&repo.join("app-misc/b/b-1.ebuild"), ebuild("inherit one two", "\tone_edit\n\ttwo_edit\n"));
    let head = "IUSE=\"doc\"\nSRC_URI=\"c.txt doc? ( c-doc.txt )\"";
    put(&repo.join("app-misc/c/c-1.ebuild"), ebuild(head, "\tcp \"${DISTDIR}\"/c.txt . || die\n"));
    put(&repo.join("app-misc/c/files/note"), "one\n");
    put(&repo.join("app-misc/d/d-1.ebuild"), ebuild("PROPERTIES=live", ""));
    distfile(&place, b"one\n");
    place
}

fn distfile(place: &Place, data: &[u8]) {
    put(&place.dist().join("c.txt"), data);
    put(&place.dist().join("c-doc.txt"), b"doc\n");
    let manifest = dist_line("c.txt", data) + &dist_line("c-doc.txt", b"doc\n");
    put(&place.repo().join("app-misc/c/Manifest"), manifest);
}

fn report(place: &Place, words: &[&str]) -> Value {
    let done = run(place, &mut audit(place, ["--format", "json"].iter().chain(words)));
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.stderr))
}

/// The names of the packages whose results came from the cache; they are taken out of the report.
fn cached(report: &mut Value) -> String {
    let ebuilds = report["ebuilds"].as_array_mut().unwrap();
    let mut names = Vec::new();
    for ebuild in ebuilds {
        if ebuild.as_object_mut().unwrap().remove("cached") == Some(Value::Bool(true)) {
            names.push(ebuild["cpv"].as_str().unwrap().replace("app-misc/", "").replace("-1", ""));
        }
    }
    names.concat()
}

#[test]
fn the_same_from_the_cache() {
    let place = overlay("0");
    let mut fresh = report(&place, &[]);
    assert_eq!(cached(&mut fresh), "");
    let mut known = report(&place, &[]);
    assert_eq!(cached(&mut known), "abcd");
    assert_eq!(known, fresh);
    let text = |words: &[&str]| run(&place, &mut audit(&place, words));
    let (known, fresh) = (text(&["--diff"]), text(&["--diff", "--no-cache"]));
    assert!(known.stdout.contains(" (4 cached)"), "{}", known.stdout);
    assert_eq!(known.stdout.replace(" (4 cached)", ""), fresh.stdout);
    assert_eq!(known.code, fresh.code);
}

#[test]
fn what_changed_is_run_again() {
    let place = overlay("0");
    let again = |words: &[&str]| cached(&mut report(&place, words));
    again(&[]);
    let repo = place.repo();
    let edit = |path: &str, from: &str, to: &str| {
        let path = repo.join(path);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from));
        put(&path, text.replace(from, to));
    };
    edit("eclass/two.eclass", ":", "true");
    assert_eq!(again(&[]), "acd", "an eclass");
    edit("eclass/one.eclass", "x > x", "z > x");
    assert_eq!(again(&[]), "cd", "the other");
    edit("app-misc/a/a-1.ebuild", "s/zz/b/", "s/yy/b/");
    assert_eq!(again(&[]), "bcd", "an ebuild");
    edit("app-misc/c/files/note", "one", "two");
    assert_eq!(again(&[]), "abd", "a file of files/");
    put(&repo.join("app-misc/c/files/deep/er"), "");
    assert_eq!(again(&[]), "abd", "a new one");
    distfile(&place, b"two\n");
    assert_eq!(again(&[]), "abd", "a distfile");
    // the flags of all, but for what one of them has in IUSE
    assert_eq!(again(&["--use", "doc"]), "abd", "USE");
    assert_eq!(again(&["--use", "doc"]), "abcd", "the same USE");
    put(&place.path().join("etc/etc/portage/make.conf"), "USE=\"doc\"\nCFLAGS=\"-O3\"\n");
    let mut configured = audit(&place, ["--format", "json"]);
    let done = run(&place, configured.env("PORTAGE_CONFIGROOT", place.path().join("etc")));
    assert_eq!(cached(&mut serde_json::from_str(&done.stdout).unwrap()), "", "make.conf");
    assert_eq!(again(&["--eclass-edits"]), "", "an option that shows in reports");
    again(&[]);
    assert_eq!(again(&["--jobs", "1", "--fail-on", "never"]), "abcd", "options that do not");
    // what links lead to, what may be executed, and what lies beside
    fs::set_permissions(repo.join("app-misc/c/files/note"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    assert_eq!(again(&[]), "abd", "a mode");
    put(&repo.join("app-misc/c/beside.txt"), "x");
    assert_eq!(again(&[]), "abd", "a file beside the ebuild");
    put(&repo.join("eclass/beside.txt"), "x");
    assert_eq!(again(&[]), "", "a file beside the eclasses");
    put(&repo.join("app-misc/c/metadata.xml"), "x");
    assert_eq!(again(&[]), "abcd", "what no phase sees");
    fs::rename(repo.join("eclass"), repo.join("moved")).unwrap();
    std::os::unix::fs::symlink("moved", repo.join("eclass")).unwrap();
    assert_eq!(again(&[]), "", "a link in the place of the eclasses");
    put(&repo.join("app-misc/a/a-1.ebuild"), fs::read_to_string(repo.join("app-misc/b/b-1.ebuild")).unwrap());
    assert_eq!(again(&[]), "bcd", "another text under the name");
}

#[test]
fn an_eclass_that_hides_itself() {
    let place = overlay("0");
    let eclass = place.repo().join("eclass/one.eclass");
    let text = fs::read_to_string(&eclass).unwrap();
    let forged = "declare -f eb_print_metadata | sed '1s/eb_/real_/' > \"${T}\"/f; . \"${T}\"/f; eb_print_metadata() { INHERITED= real_print_metadata; }\n";
    put(&eclass, text.clone() + forged);
    report(&place, &[]);
    put(&eclass, text);
    assert_eq!(cached(&mut report(&place, &[])), "cd");
}

#[test]
fn not_taken_and_not_kept() {
    let place = overlay("0");
    assert_eq!(cached(&mut report(&place, &["--no-cache"])), "");
    assert_eq!(cached(&mut report(&place, &["--refresh"])), "");
    assert_eq!(cached(&mut report(&place, &["--refresh"])), "");
    assert_eq!(cached(&mut report(&place, &["--no-cache"])), "");
    assert_eq!(cached(&mut report(&place, &[])), "abcd");
    // what another try may change
    fs::remove_file(place.dist().join("c-doc.txt")).unwrap();
    for _ in 0..2 {
        let mut failed = report(&place, &["--use", "doc"]);
        assert!(!cached(&mut failed).contains('c'));
        assert_eq!(failed["ebuilds"][2]["status"], "fetch-failed");
    }
    put(&place.dist().join("c-doc.txt"), b"doc\n");
    assert_eq!(report(&place, &["--use", "doc"])["ebuilds"][2]["status"], "audited");
    // the source of a live ebuild
    fs::create_dir(place.path().join("source")).unwrap();
    let source = format!("app-misc/d-1={}", place.path().join("source").display());
    report(&place, &["--source", &source]);
    assert_eq!(cached(&mut report(&place, &["--source", &source])), "abc");
}

#[test]
fn a_damaged_cache_is_none() {
    let place = overlay("0");
    let mut fresh = report(&place, &[]);
    for damage in [&b"{"[..], b"", b"\xff\0", b"{\"inputs\":\"\"}"] {
        let files = walkdir::WalkDir::new(place.path().join("cache/ebaudit/results")).min_depth(2);
        let files = files.into_iter().flatten().filter(|f| f.file_type().is_file());
        assert!(files.map(|f| fs::write(f.path(), damage).unwrap()).count() >= 4);
        let mut again = report(&place, &[]);
        assert_eq!((cached(&mut again), &again), (String::new(), &fresh));
    }
    fs::remove_dir_all(place.path().join("cache")).unwrap();
    put(&place.path().join("cache"), "no folder");
    let done = run(&place, &mut audit(&place, ["--format", "json", "--resume"]));
    assert!(done.stderr.contains("nothing can be resumed"), "{}", done.stderr);
    cached(&mut fresh);
    assert_eq!(serde_json::from_str::<Value>(&done.stdout).unwrap(), fresh);
}

#[test]
fn a_killed_run_is_resumed() {
    let place = overlay("0.3");
    let words = ["--jobs", "1", "--format", "jsonl"];
    let mut child =
        audit(&place, words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let kept = || walkdir::WalkDir::new(place.path().join("cache/ebaudit/results")).into_iter().flatten();
    let end = Instant::now() + Duration::from_secs(30);
    while !kept().any(|f| f.depth() == 3 && !f.file_name().as_encoded_bytes().starts_with(b".new-"))
        && Instant::now() < end
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let mut resumed = report(&place, &["--resume"]);
    let names = cached(&mut resumed);
    assert!((1..4).contains(&names.len()), "{names}");
    let mut fresh = report(&place, &["--no-cache"]);
    cached(&mut fresh);
    assert_eq!(resumed, fresh);
}

#[test]
fn fixing_writes_what_a_cached_result_knows_of() {
    let place = overlay("0");
    report(&place, &[]);
    let done = run(&place, &mut audit(&place, ["--fix"]));
    assert!(done.stdout.contains("2 fixed, 1 left"), "{}\n{}", done.stdout, done.stderr);
    let text = fs::read_to_string(place.repo().join("app-misc/a/a-1.ebuild")).unwrap();
    assert!(!text.contains("s/zz/b/"), "{text}");
    let mut after = report(&place, &[]);
    assert_eq!(
        (cached(&mut after).as_str(), &after["summary"]["findings"]["error"]),
        ("cd", &Value::from(1)),
        "what flags may reach is left to people"
    );
    let done = run(&place, &mut audit(&place, ["--fix"]));
    assert!(done.stdout.contains("(3 cached)") && done.stdout.contains("0 fixed"), "{}", done.stdout);
}
