//! Ebuilds that can't be audited: the status, and a reason that a person can act on.

use std::fs;

use crate::fixture::{DEAD, LIVE, overlay, usual, with_foo};
use crate::support::overlay::{Place, dist_line, found, put};
use crate::support::run::{Done, audit, run};

fn json(place: &Place, words: &[&str]) -> Done {
    run(place, audit(place, ["--format", "json"]).args(words))
}

/// The rule of the first finding.
fn rule(done: &Done) -> String {
    done.json()["ebuilds"][0]["findings"][0]["rule"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_master_that_is_not_there() {
    let place = with_foo(LIVE);
    found(&place.repo(), "cases", " elsewhere", &["dev-libs"]);
    // the ebuild needs nothing of it, or it does
    let done = json(&place, &[]);
    assert!(matches!(done.code, Some(0 | 3)), "{}", done.stderr);
    done.says("--repository elsewhere=PATH");
    place.ebuild("dev-libs/foo-1.2", usual("8") + "inherit helpers\n" + LIVE);
    let done = json(&place, &[]).exits(3).is("unsupported", "--repository elsewhere=PATH");
    assert_eq!(rule(&done), "Unsupported");
}

#[test]
fn an_eclass_that_is_not_there() {
    let place = with_foo(&format!("inherit helpers\n{LIVE}"));
    let done = json(&place, &[]).exits(3).is("unsupported", "helpers").is("unsupported", "--repository");
    assert_eq!(rule(&done), "Unsupported");
}

#[test]
fn a_master_by_option_and_beside_the_overlay() {
    let place = with_foo(&format!("inherit helpers\n{LIVE}"));
    found(&place.repo(), "cases", " elsewhere", &["dev-libs"]);
    let eclass = "helpers_do() { sed -i -e 's/alpha/E/' a.txt || die; }\n";
    found(&place.path().join("somewhere"), "elsewhere", "", &["dev-libs"]);
    put(&place.path().join("somewhere/eclass/helpers.eclass"), eclass);
    json(&place, &["--repository", "elsewhere=somewhere"]).exits(0).is("audited", "");
    let absolute = format!("elsewhere={}", place.path().join("somewhere").display());
    json(&place, &["--repository", &absolute]).exits(0).is("audited", "");
    json(&place, &["--repository", "elsewhere=repo/../somewhere"]).exits(0).is("audited", "");
    json(&place, &["--repository", "elsewhere=dist"]).exits(2).says("there is no repository");
    // the names of profiles are those of any repository
    put(&place.path().join("somewhere/profiles/default/here/make.defaults"), "ARCH=amd64\n");
    for profile in ["default/here", "repo/../somewhere/profiles/default/here"] {
        json(&place, &["--repository", &absolute, "--profile", profile]).exits(0).is("audited", "");
    }
    fs::rename(place.path().join("somewhere"), place.path().join("elsewhere")).unwrap();
    found(&place.path().join("elsewhere"), "other", "", &["dev-libs"]);
    json(&place, &[]).says("calls itself other");
    found(&place.path().join("elsewhere"), "elsewhere", "", &["dev-libs"]);
    fs::rename(place.path().join("elsewhere"), place.path().join("somewhere")).unwrap();
    // under its own name beside the overlay it is found without a word
    fs::rename(place.path().join("somewhere"), place.path().join("elsewhere")).unwrap();
    let done = json(&place, &[]).exits(0).is("audited", "");
    assert_eq!(done.stderr, "");
}

#[test]
fn eapis_that_are_not_known() {
    let place = overlay(&["dev-libs"]);
    for eapi in ["6", "99", "5-progress"] {
        place.ebuild("dev-libs/foo-1.2", usual(eapi) + LIVE);
        let done = json(&place, &[]).exits(3).is("unsupported", eapi).is("unsupported", "EAPI");
        assert_eq!(rule(&done), "Unsupported");
    }
    place.ebuild("dev-libs/foo-1.2", usual("8 9") + LIVE);
    let status = json(&place, &[]).exits(3).json()["ebuilds"][0]["status"].as_str().unwrap().to_owned();
    assert!(["unsupported", "invalid"].contains(&&status[..]), "{status}");
    // without a line of its own the EAPI is 0
    place.ebuild("dev-libs/foo-1.2", usual("8").replace("EAPI=8\n", "") + LIVE);
    json(&place, &[]).exits(3).is("unsupported", "EAPI 0");
    // EAPI 9 runs where bash is new enough, and else says what it lacks
    place.package("dev-libs/foo-1.2", LIVE);
    place.ebuild("dev-libs/foo-1.2", usual("9") + LIVE);
    let done = json(&place, &[]);
    match done.code {
        Some(0) => drop(done.is("audited", "")),
        _ => drop(done.exits(3).is("unsupported", "bash")),
    }
}

#[test]
fn an_ebuild_that_bash_can_not_read() {
    let place = with_foo("src_prepare() {\n\tif true; then\n}\n");
    let done = json(&place, &[]).exits(3).is("invalid", "line 13");
    assert_eq!(rule(&done), "InvalidEbuild");
    place.ebuild("dev-libs/foo-1.2", usual("8") + "die \"no such thing\"\n");
    json(&place, &[]).exits(3).is("invalid", "no such thing");
    place.ebuild("dev-libs/foo-1.2", usual("8") + "exit 0\n");
    json(&place, &[]).exits(3).is("invalid", "");
    place.ebuild("dev-libs/foo-1.2", "");
    json(&place, &[]).exits(3);
    // metadata that breaks the rules
    place.ebuild("dev-libs/foo-1.2", usual("8").replace("${P}.tar.gz", "( ${P}.tar.gz") + LIVE);
    json(&place, &[]).exits(3).is("invalid", "SRC_URI");
    place.ebuild("dev-libs/foo-1.2", usual("8").replace("SLOT=\"0\"", "") + LIVE);
    json(&place, &[]).exits(3).is("invalid", "SLOT");
}

#[test]
fn an_ebuild_that_waits_or_reads() {
    let place = with_foo("src_prepare() {\n\tdefault\n\tcat\n\tread -r line\n\ttrue\n}\n");
    json(&place, &[]).exits(0).is("audited", "");
    place.ebuild("dev-libs/foo-1.2", usual("8") + "src_prepare() {\n\tdefault\n\tsleep 100\n}\n");
    let done = json(&place, &["--timeout", "1"]).exits(3).is("timed-out", "1 s");
    assert_eq!(rule(&done), "TimedOut");
    place.ebuild("dev-libs/foo-1.2", usual("8") + "sleep 100\n");
    json(&place, &["--timeout", "1"]).exits(3).is("timed-out", "--timeout");
}

#[test]
fn an_ebuild_that_is_no_utf8() {
    let place = with_foo(LIVE);
    let mut text = usual("8").into_bytes();
    text.extend(b"# caf\xe9\nsrc_prepare() {\n\tdefault\n\tsed -i -e 's/caf\xe9/x/' a.txt || die\n}\n");
    place.ebuild("dev-libs/foo-1.2", text);
    let done = json(&place, &[]).exits(1).is("audited", "");
    let finding = &done.json()["ebuilds"][0]["findings"][0];
    assert_eq!((&finding["rule"], &finding["line"]), (&"DeadSed".into(), &14.into()));
    let argv = done.json()["ebuilds"][0]["edits"][0]["argv"].to_string();
    assert!(argv.contains(r"caf\\xe9") || argv.contains(r"caf\\xE9"), "{argv}");
    let done = run(&place, &mut audit(&place, [""; 0])).exits(1);
    assert!(done.stdout.contains("DeadSed"), "{}", done.stdout);
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let place = with_foo("src_prepare() {\n\tdefault\n\tsed -i -e $'s/\\e]0;/x/' a.txt || die $'\\e]0;x\\a'\n}\n");
    for words in [&[""; 0][..], &["--diff"], &["--format", "json"]] {
        let done = run(&place, &mut audit(&place, words)).exits(1);
        assert!(!done.stdout.contains(['\x1b', '\x07']), "{:?}", done.stdout);
    }
    place.ebuild("dev-libs/foo-1.2", usual("8") + "src_prepare() {\n\tdie $'\\e]0;x\\a'\n}\n");
    let done = run(&place, &mut audit(&place, [""; 0])).exits(3);
    assert!(!(done.stdout + &done.stderr).contains(['\x1b', '\x07']));
}

#[test]
fn a_distfile_that_is_not_there() {
    let place = with_foo(LIVE);
    let file = place.dist().join("foo-1.2.tar.gz");
    fs::remove_file(&file).unwrap();
    let done = json(&place, &[]).exits(3).is("fetch-failed", "foo-1.2.tar.gz").is("fetch-failed", "offline");
    assert_eq!(rule(&done), "FetchFailed");
    // where to put it
    let done = done.is("fetch-failed", file.to_str().unwrap());
    assert_eq!(done.json()["ebuilds"][0]["findings"].as_array().unwrap().len(), 1);
    place.ebuild("dev-libs/foo-1.2", usual("8") + "RESTRICT=\"fetch\"\n" + LIVE);
    json(&place, &[]).exits(3).is("fetch-failed", file.to_str().unwrap()).is("fetch-failed", "by hand");
}

#[test]
fn manifests_without_the_line() {
    let place = with_foo(LIVE);
    let manifest = place.package_dir("dev-libs/foo-1.2").join("Manifest");
    fs::remove_file(&manifest).unwrap();
    let done = json(&place, &[]).exits(3).is("fetch-failed", "Manifest").is("fetch-failed", "--allow-unverified");
    assert_eq!(rule(&done), "BadDigest");
    json(&place, &["--allow-unverified"]).exits(0).is("audited", "");
    put(&manifest, dist_line("other-1.tar.gz", b"other"));
    json(&place, &[]).exits(3).is("fetch-failed", "foo-1.2.tar.gz");
    put(&manifest, dist_line("foo-1.2.tar.gz", b"something else"));
    let done = json(&place, &["--allow-unverified"]).exits(3).is("fetch-failed", "foo-1.2.tar.gz");
    assert_eq!(rule(&done), "BadDigest");
}

#[test]
fn a_manifest_with_a_broken_line() {
    let place = with_foo(LIVE);
    let manifest = place.package_dir("dev-libs/foo-1.2").join("Manifest");
    let good = fs::read_to_string(&manifest).unwrap();
    let broken = [
        "DIST foo-1.2.tar.gz\n".to_owned(),
        good.replace("DIST foo-1.2.tar.gz ", "DIST foo-1.2.tar.gz x"),
        good.replace(" SHA512 ", " SHA512"),
        good.replace("BLAKE2B ", "BLAKE2B zz"),
        "DIST foo-1.2.tar.gz -1 BLAKE2B 00 SHA512 00\n".to_owned(),
        "DIST foo-1.2.tar.gz 10\n".to_owned(),
        "\u{0}\u{1}\n".to_owned(),
        "<<<<<<< HEAD\n".to_owned(),
    ];
    for text in broken {
        put(&manifest, &text);
        let done = json(&place, &[]).exits(3).is("fetch-failed", "");
        let reason = done.json()["ebuilds"][0]["reason"].to_string();
        assert!(reason.contains("Manifest") || reason.contains("foo-1.2.tar.gz"), "{text:?}: {reason}");
    }
    // a broken line beside the good one
    put(&manifest, good.clone() + "DIST other\n");
    let done = json(&place, &[]);
    assert!(matches!(done.code, Some(0 | 3)), "{}", done.stderr);
    put(&manifest, [good.as_bytes(), b"DIST caf\xe9.tar 1 SHA512 00\n"].concat());
    let done = json(&place, &[]);
    assert!(matches!(done.code, Some(0 | 3)), "{}", done.stderr);
}

#[test]
fn an_archive_that_is_none() {
    let place = overlay(&["dev-libs"]);
    place.ebuild("dev-libs/foo-1.2", usual("8") + DEAD);
    place.distfile("dev-libs/foo-1.2", "foo-1.2.tar.gz", b"<html>404</html>\n");
    let done = json(&place, &[]).exits(3).is("unpack-failed", "foo-1.2.tar.gz");
    assert_eq!(rule(&done), "UnpackFailed");
}

#[test]
fn a_source_directory_that_is_not_there() {
    let place = with_foo(&format!("S=\"${{WORKDIR}}/nowhere\"\n{LIVE}"));
    let done = json(&place, &[]).exits(3).is("prepare-failed", "nowhere").is("prepare-failed", "foo-1.2");
    assert_eq!(rule(&done), "PrepareFailed");
}

#[test]
fn a_source_that_is_a_file_of_this_machine() {
    let place = with_foo(LIVE);
    let secret = place.path().join("secret.txt");
    put(&secret, "secret-5f3a\n");
    let text = usual("8").replace("https://example.org/${P}.tar.gz", &format!("file://{}", secret.display()));
    place.ebuild(
        "dev-libs/foo-1.2",
        text + "S=${WORKDIR}\nsrc_prepare() {\n\tdie \"$(cat \"${DISTDIR}/secret.txt\")\"\n}\n",
    );
    let mut command = crate::support::run::ebaudit(&place);
    command
        .arg("audit")
        .arg(place.repo())
        .args(["--allow-unverified", "--format", "json", "--distdir"])
        .arg(place.dist());
    let done = run(&place, &mut command).exits(3).is("fetch-failed", "secret.txt");
    assert!(!done.stdout.contains("secret-5f3a"));
}

#[test]
fn a_link_out_of_the_repository() {
    let place = with_foo(LIVE);
    let ebuild = place.ebuild_path("dev-libs/foo-1.2");
    put(&place.path().join("secret"), "EAPI=8\nsecret-5f3a\n");
    for to in [place.path().join("secret"), "/dev/zero".into(), "/dev/tty".into()] {
        fs::remove_file(&ebuild).unwrap();
        std::os::unix::fs::symlink(&to, &ebuild).unwrap();
        let done = run(&place, audit(&place, ["--format", "json"]).args(["--timeout", "5"]));
        assert!(!(done.stdout + &done.stderr).contains("secret-5f3a"), "{}", to.display());
        assert!(!done.timed_out);
    }
    // within the repository a link is as good as a file
    put(&place.repo().join("dev-libs/foo/foo.text"), usual("8") + LIVE);
    fs::remove_file(&ebuild).unwrap();
    std::os::unix::fs::symlink("foo.text", &ebuild).unwrap();
    json(&place, &[]).exits(0).is("audited", "");
}

#[test]
fn files_that_are_no_ebuilds() {
    let place = with_foo(LIVE);
    let dir = place.package_dir("dev-libs/foo-1.2");
    put(&dir.join("foo.ebuild"), "");
    put(&dir.join("bar-1.ebuild"), "");
    put(&dir.join("foo-1.2.ebuild.orig"), "");
    fs::create_dir(dir.join("foo-3.ebuild")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("foo-4.ebuild")).unwrap();
    let done = json(&place, &[]);
    assert!(done.cpvs().contains(&"dev-libs/foo-1.2".to_owned()));
    for name in ["foo.ebuild", "bar-1.ebuild"] {
        assert!(done.stderr.contains(name), "{name} was left out without a word: {}", done.stderr);
    }
}

#[test]
fn carriage_returns_at_all_line_ends_are_named() {
    let place = with_foo("");
    let text = std::fs::read_to_string(place.ebuild_path("dev-libs/foo-1.2")).unwrap() + LIVE;
    place.ebuild("dev-libs/foo-1.2", text.replace('\n', "\r\n"));
    let done = run(&place, &mut audit(&place, ["--format", "json"]));
    done.exits(3).is("invalid", "its lines end in carriage returns (CR LF)");
}

#[test]
fn an_interrupted_run_loses_no_ebuild() {
    let place = overlay(&["dev-libs"]);
    place.package("dev-libs/a-1", LIVE);
    place.package(
        "dev-libs/b-1",
        &format!(
            "src_prepare() {{\n\tdefault\n\tsed -i s/alpha/A/ a.txt\n\ttouch {}/now\n\tsleep 60\n}}\n",
            place.path().display()
        ),
    );
    place.package("dev-libs/c-1", LIVE);
    let out = place.path().join("report.json");
    let mut command = audit(&place, ["--format", "json", "-j", "1", "-o"]);
    let mut child = command.arg(&out).stdin(std::process::Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while !place.path().join("now").exists() && begun.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let ebuilds = report["ebuilds"].as_array().unwrap().iter();
    let told: Vec<_> =
        ebuilds.map(|e| (e["cpv"].as_str().unwrap(), e["status"].as_str().unwrap(), e["reason"].as_str())).collect();
    let wanted = [
        ("dev-libs/a-1", "audited", None),
        ("dev-libs/b-1", "timed-out", Some("src_prepare was interrupted")),
        ("dev-libs/c-1", "skipped", Some("interrupted before it was begun")),
    ];
    assert_eq!(told, wanted);
    // what it did until then is there
    assert_eq!(report["ebuilds"][1]["edits"][0]["verdict"], "live");
    assert_eq!((&report["summary"]["audited"], &report["summary"]["not_audited"]), (&1.into(), &1.into()));
}

#[test]
fn a_report_goes_through_a_link_to_the_file_behind_it() {
    let place = with_foo(LIVE);
    std::fs::create_dir(place.path().join("sub")).unwrap();
    for (link, to) in [("there.json", "sub/there.json"), ("not.json", "sub/not.json")] {
        std::os::unix::fs::symlink(to, place.path().join(link)).unwrap();
        if link == "there.json" {
            std::fs::write(place.path().join(to), "old").unwrap();
        }
        run(&place, &mut audit(&place, ["--format", "json", "-o", link])).exits(0);
        assert!(std::fs::symlink_metadata(place.path().join(link)).unwrap().is_symlink(), "{link}");
        let text = std::fs::read_to_string(place.path().join(to)).unwrap();
        assert!(text.starts_with('{'), "{link}: {text}");
    }
}

#[test]
fn what_of_the_repository_was_left_out_is_in_the_report() {
    let place = with_foo(LIVE);
    std::os::unix::fs::symlink("foo", place.repo().join("dev-libs/bar")).unwrap();
    let report = run(&place, &mut audit(&place, ["--format", "json"])).exits(0).json();
    let remark = report["remarks"][0].as_str().unwrap_or_default().to_owned();
    assert!(remark.starts_with("dev-libs/bar/foo-1.2.ebuild: "), "{report}");
    let lines = run(&place, &mut audit(&place, ["--format", "jsonl"])).exits(0).stdout;
    assert!(lines.lines().last().unwrap().contains("dev-libs/bar/foo-1.2.ebuild: "), "{lines}");
}

#[test]
fn an_ebuild_for_other_machines() {
    let place = with_foo("src_prepare() {\n\tdefault\n\tdie none\n}\n");
    let path = place.ebuild_path("dev-libs/foo-1.2");
    let text = fs::read_to_string(&path).unwrap();
    json(&place, &[]).exits(3).is("prepare-failed", "none");
    for (keywords, others) in [("-* ~arm64", "arm64"), ("~arm64 riscv", "arm64, riscv")] {
        put(&path, text.replace("~amd64", keywords));
        let reason = format!("the ebuild is keyworded for {others}, not for amd64");
        json(&place, &[]).exits(3).is("prepare-failed", &reason).is("prepare-failed", "--profile");
    }
}
