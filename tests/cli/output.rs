//! What is printed, and where to: formats, files, pipes; and that a run leaves nothing else behind.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fixture::{DEAD, LIVE, overlay, with_foo};
use crate::schema;
use crate::support::overlay::Place;
use crate::support::run::{audit, ebaudit, run};

/// Findings of several kinds, a hole, and a live edit.
fn mixed() -> Place {
    let place = overlay(&["dev-libs"]);
    place.package("dev-libs/dead-1", DEAD);
    place.package("dev-libs/hole-1", "src_prepare() {\n\tdie \"on purpose\"\n}\n");
    place.package("dev-libs/live-1", LIVE);
    place.package("dev-libs/gone-1", "src_prepare() {\n\tdefault\n\tsed -i -e 's/a/b/' gone.txt\n\ttrue\n}\n");
    let new = "src_prepare() {\n\tdefault\n\techo new > new.txt || die\n\trm a.txt || die\n}\n";
    place.package("dev-libs/new-1", new);
    let commands = "src_prepare() {\n\tdefault\n\tsed -i.orig -e 's/alpha/A/;s/gamma/G/' a.txt || die\n}\n";
    place.package("dev-libs/some-1", commands);
    place
}

/// The repository's own overlay, which needs nothing else.
fn own(place: &Place) -> Command {
    let overlay = Path::new(env!("CARGO_MANIFEST_DIR")).join("overlay");
    let mut command = ebaudit(place);
    command.arg("audit").arg(&overlay).arg("--offline").arg("--distdir").arg(overlay.join("distfiles"));
    command
}

#[test]
fn json_keeps_the_contract() {
    let place = mixed();
    let report = run(&place, &mut audit(&place, ["--format", "json"])).exits(3).json();
    schema::document(&report);
    assert_eq!(report["repository"]["name"], "cases");
    assert_eq!(report["repository"]["location"], place.repo().to_str().unwrap());
    assert_eq!(report["summary"]["ebuilds"], 6);
    assert_eq!(report["summary"]["not_audited"], 1);
    let place = Place::new();
    schema::document(&run(&place, own(&place).args(["--format", "json"])).json());
}

#[test]
fn jsonl_gives_the_same_ebuilds_a_line() {
    let place = mixed();
    let whole = run(&place, &mut audit(&place, ["--format", "json"])).json();
    let done = run(&place, &mut audit(&place, ["--format", "jsonl", "--no-cache"])).exits(3);
    let mut lines: Vec<Value> = done.stdout.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let last = lines.pop().unwrap();
    let summary = last.get("summary").unwrap_or(&last);
    lines.iter().for_each(schema::ebuild);
    schema::summary(summary, &lines.iter().collect::<Vec<_>>());
    lines.sort_by_key(|e| e["cpv"].as_str().unwrap().to_owned());
    assert_eq!(lines, *whole["ebuilds"].as_array().unwrap());
    assert_eq!(*summary, whole["summary"]);
}

#[test]
fn text_says_file_line_and_how_many() {
    let place = with_foo(DEAD);
    let done = run(&place, &mut audit(&place, [""; 0])).exits(1);
    for part in ["dev-libs/foo-1.2", "DeadSed", "foo-1.2.ebuild:13", "s/gamma/GAMMA/", "1 of 1"] {
        assert!(done.stdout.contains(part), "no {part:?} in:\n{}", done.stdout);
    }
    assert!(!done.stdout.contains('\x1b') && done.stderr.is_empty(), "{}{}", done.stdout, done.stderr);
    let done = run(&place, &mut audit(&place, ["--color", "always"])).exits(1);
    assert!(done.stdout.contains("\x1b["), "{}", done.stdout);
    let place = with_foo(LIVE);
    let done = run(&place, &mut audit(&place, ["--diff"])).exits(0);
    assert!(done.stdout.contains("-alpha\n+ALPHA\n"), "{}", done.stdout);
}

#[test]
fn a_fault_of_several_versions_is_told_once() {
    let place = overlay(&["dev-libs"]);
    let text = |more: &str| format!("src_prepare() {{\n\tdefault\n{more}\tsed -i -e 's/gamma/G/' a.txt || die\n}}\n");
    place.package("dev-libs/foo-1.2", &text(""));
    place.package("dev-libs/foo-1.10", &text("\tuse doc && sed -i s/a/b/ a.txt\n").replace("src_p", "IUSE=doc\nsrc_p"));
    place.package("dev-libs/bar-1.2", &text(""));
    let done = run(&place, &mut audit(&place, [""; 0])).exits(1);
    assert_eq!(done.stdout.matches("error[DeadSed]").count(), 2, "{}", done.stdout);
    for part in ["the same in dev-libs/foo-1.10:15", "2 edits, 0 live, 1 not run, 1 error", ", 4 edits: 3 errors,"] {
        assert!(done.stdout.contains(part), "no {part:?} in:\n{}", done.stdout);
    }
    let report = run(&place, &mut audit(&place, ["--format", "json"])).exits(1).json();
    assert_eq!(report["summary"]["findings"]["error"], 3);
}

#[test]
fn a_report_into_a_device_does_not_replace_it() {
    let place = with_foo(LIVE);
    let link = place.path().join("report.json");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    for format in ["text", "json", "jsonl"] {
        run(&place, &mut audit(&place, ["--format", format, "-o", "report.json"])).exits(0);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{format}");
    }
}

#[test]
fn a_report_into_a_file() {
    let place = with_foo(DEAD);
    let file = place.path().join("report.json");
    fs::write(&file, "old").unwrap();
    let words = ["--format", "json", "-o", "report.json"];
    let done = run(&place, &mut audit(&place, words)).exits(1);
    assert_eq!(done.stdout, "");
    schema::document(&serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap());
    // the same as on standard output
    let printed = run(&place, &mut audit(&place, ["--format", "json", "--refresh"])).stdout;
    assert_eq!(fs::read_to_string(&file).unwrap(), printed);
    for format in ["text", "jsonl"] {
        run(&place, &mut audit(&place, ["--format", format, "-o", "report.json"])).exits(1);
        assert_ne!(fs::read_to_string(&file).unwrap(), printed);
    }
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.iter().all(|n| !n.to_string_lossy().starts_with(".tmp")), "{names:?}");
}

#[test]
fn an_old_report_stays_if_the_run_fails() {
    let place = with_foo(DEAD);
    let file = place.path().join("report");
    fs::write(&file, "old").unwrap();
    for words in [["-o", "report", "--use", "a/b"], ["-o", "report", "--format", "yaml"]] {
        run(&place, &mut audit(&place, words)).exits(2);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }
    run(&place, ebaudit(&place).args(["audit", "nowhere/", "-o", "report"])).exits(2);
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
}

#[test]
fn a_report_where_nothing_can_be_written() {
    let place = with_foo(LIVE);
    // a directory that is none, one that is not there, and a directory in the file's place; /proc refuses even root
    fs::write(place.path().join("plain"), "").unwrap();
    fs::create_dir(place.path().join("dir")).unwrap();
    for word in ["plain/report", "nowhere/report", "dir", "/proc/report"] {
        for format in ["text", "jsonl"] {
            let done = run(&place, &mut audit(&place, ["--format", format, "-o", word])).exits(2).says(word);
            assert!(!done.stderr.contains(".tmp"), "{}", done.stderr);
        }
    }
    fs::set_permissions(place.path().join("dir"), fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(place.path().join("dir/probe"), "").is_err() {
        run(&place, &mut audit(&place, ["-o", "dir/report"])).exits(2).says("dir/report");
    }
}

#[test]
fn nothing_is_audited_before_the_report_can_be_written() {
    let place = with_foo("src_prepare() {\n\tdefault\n\tsleep 3\n}\n");
    let start = std::time::Instant::now();
    run(&place, &mut audit(&place, ["-o", "nowhere/report"])).exits(2);
    assert!(start.elapsed().as_secs() < 3, "the audit ran although its report had no place to go");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = overlay(&["dev-libs"]);
    for number in 0..40 {
        place.package(&format!("dev-libs/p{number}-1"), "src_prepare() { default; }\n");
    }
    for format in ["text", "json", "jsonl"] {
        // no reader from the beginning, and one that reads a line
        for lines in [0, 1] {
            let mut command = audit(&place, ["--format", format, "--fail-on", "never"]);
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut reader = BufReader::new(child.stdout.take().unwrap());
            for _ in 0..lines {
                reader.read_line(&mut String::new()).unwrap();
            }
            drop(reader);
            let mut errors = String::new();
            child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
            let status = child.wait().unwrap();
            assert_eq!((status.code(), &errors[..]), (Some(0), ""), "{format}, {lines} lines read");
        }
    }
}

#[test]
fn a_full_disk_is_a_failure() {
    let place = with_foo(LIVE);
    use std::os::unix::fs::FileTypeExt;
    if !fs::metadata("/dev/full").is_ok_and(|m| m.file_type().is_char_device()) {
        return;
    }
    for format in ["text", "json", "jsonl"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = audit(&place, ["--format", format]);
        let status = command.stdout(full).stderr(Stdio::null()).status().unwrap();
        assert!(!status.success(), "{format}: a report that was lost is no success");
    }
}

#[test]
fn times_are_told_beside_the_report() {
    let place = with_foo(DEAD);
    let plain = run(&place, &mut audit(&place, ["--no-cache"])).exits(1);
    let done = run(&place, &mut audit(&place, ["--no-cache", "--stats"])).exits(1);
    assert_eq!(done.stdout, plain.stdout);
    assert!(done.stderr.starts_with("ebaudit: 1 ebuild, 0 from the cache, in "), "{}", done.stderr);
    for part in ["distfiles", "unpacking", "hashing", "phases", "judging"] {
        assert!(done.stderr.contains(&format!("{part} ")), "{}", done.stderr);
    }
}

#[test]
fn nothing_is_left_in_the_temporary_directory() {
    let place = mixed();
    let empty = || fs::read_dir(place.tmp()).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
    let prepare = "src_prepare() {\n\tdefault\n\tmkdir -p locked/deep || die\n\techo > locked/deep/x || die\n\
                   \tchmod 0500 locked/deep || die\n\tchmod 0 locked || die\n}\n";
    place.package("dev-libs/locked-1", prepare);
    run(&place, &mut audit(&place, [""; 0])).exits(3);
    assert_eq!(empty(), [""; 0].map(Path::new));
    run(&place, &mut audit(&place, ["--timeout", "1", "--max-unpacked-size", "3"])).exits(3);
    assert_eq!(empty(), [""; 0].map(Path::new));
    run(&place, &mut audit(&place, ["-o", "nowhere/report"])).exits(2);
    assert_eq!(empty(), [""; 0].map(Path::new));
    run(&place, &mut audit(&place, ["--use", "a/b"])).exits(2);
    assert_eq!(empty(), [""; 0].map(Path::new));
}

#[test]
fn the_repository_is_only_read() {
    let place = mixed();
    let listing = || {
        let walk = walkdir::WalkDir::new(place.path().join("repo")).sort_by_file_name();
        walk.into_iter().map(|e| e.unwrap().into_path()).collect::<Vec<_>>()
    };
    let before = (listing(), fs::read_dir(place.dist()).unwrap().count());
    run(&place, &mut audit(&place, [""; 0])).exits(3);
    assert_eq!((listing(), fs::read_dir(place.dist()).unwrap().count()), before);
}

#[test]
fn a_run_says_the_same_again_and_with_any_number_of_jobs() {
    let place = mixed();
    let report = |jobs: &str| {
        run(&place, &mut audit(&place, ["--format", "json", "--no-cache", "--jobs", jobs])).exits(3).stdout
    };
    let first = report("1");
    assert_eq!(first, report("1"));
    assert_eq!(first, report("4"));
    let tree = serde_json::from_str::<Value>(&first).unwrap()["ebuilds"][0]["tree"].clone();
    assert!(tree["before"].is_string() && tree["after"].is_string(), "{tree}");
    let place = Place::new();
    let trees = |jobs: &str| {
        let report = run(&place, own(&place).args(["--format", "json", "--no-cache", "--jobs", jobs])).json();
        let ebuilds = report["ebuilds"].as_array().unwrap().iter();
        ebuilds.map(|e| [&e["cpv"], &e["tree"], &e["findings"]].map(Value::clone)).collect::<Vec<_>>()
    };
    assert_eq!(trees("1"), trees("4"));
}

#[test]
fn a_run_says_the_same_of_words_with_the_work_directory_in_them() {
    let place = with_foo("src_prepare() {\n\tdefault\n\tsed -i -e 's/alpha/A/' \"${S}\"/a.txt || die\n}\n");
    let report = || run(&place, &mut audit(&place, ["--format", "json", "--no-cache"])).exits(0).stdout;
    assert_eq!(report(), report());
}
