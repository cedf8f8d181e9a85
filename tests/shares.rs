//! A part of the work: what commits touched, and the shares of several machines, whose reports make the whole again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

#[allow(dead_code)] // the other tests use the rest
mod support;

use support::overlay::{Place, found, put};
use support::run::{Done, audit, ebaudit, run};

const NAMES: &[&str] = &["a", "b", "c", "d", "e", "f", "g"];

fn overlay() -> Place {
    let place = Place::new();
    let repo = place.repo();
    found(&repo, "shares", "", &["app-misc"]);
    put(&repo.join("eclass/one.eclass"), "inherit two\n");
    put(&repo.join("eclass/two.eclass"), ":\n");
    for (at, name) in NAMES.iter().enumerate() {
        let inherit = if *name == "a" { "inherit one" } else { "" };
        for version in 1..=2 {
            let text = format!(
                "EAPI=8\n{inherit}\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nLICENSE=MIT\nSLOT=0\nS=${{WORKDIR}}\n\
                 src_prepare() {{\n\tdefault\n\techo {at} > b || die\n\tsed -i -e s/3/4/ b || die\n}}\n"
            );
            put(&repo.join(format!("app-misc/{name}/{name}-{version}.ebuild")), text);
        }
    }
    put(&repo.join("app-misc/fails/fails-1.ebuild"), "EAPI=8\nSLOT=0\nS=${WORKDIR}\nsrc_prepare() { die no; }\n");
    put(&repo.join("app-misc/Bad Name/x-1.ebuild"), "");
    place
}

fn git(place: &Place, words: &[&str]) {
    let identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"];
    let done = Command::new("git").args(identity).args(words).current_dir(place.repo()).output().unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

fn committed() -> Place {
    let place = overlay();
    fs::remove_dir_all(place.repo().join("app-misc/fails")).unwrap();
    fs::remove_dir_all(place.repo().join("app-misc/Bad Name")).unwrap();
    git(&place, &["init", "-q", "-b", "main"]);
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "all"]);
    place
}

fn names(done: &Done) -> Vec<String> {
    let report: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}", done.stderr));
    let ebuilds = report["ebuilds"].as_array().unwrap();
    ebuilds.iter().map(|e| e["cpv"].as_str().unwrap().replace("app-misc/", "")).collect()
}

fn edit(place: &Place, path: &str) {
    let path = place.repo().join(path);
    let text = fs::read_to_string(&path).unwrap_or_default();
    put(&path, text + "# changed\n");
}

#[test]
fn only_what_commits_touch() {
    let place = committed();
    let chosen = |words: &[&str]| names(&run(&place, &mut audit(&place, ["--format", "json"].iter().chain(words))));
    assert_eq!(chosen(&["--commits", "HEAD"]), [""; 0]);
    git(&place, &["switch", "-qc", "work"]);
    edit(&place, "app-misc/b/b-2.ebuild");
    edit(&place, "app-misc/c/files/x.patch");
    git(&place, &["rm", "-q", "app-misc/e/e-1.ebuild"]);
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "more"]);
    assert_eq!(chosen(&["--commits", "main"]), ["b-2", "c-1", "c-2"]);
    edit(&place, "eclass/two.eclass");
    assert_eq!(chosen(&["--commits=main..HEAD"]), ["b-2", "c-1", "c-2"], "what is not committed");
    assert_eq!(chosen(&["--staged"]), [""; 0], "nor staged");
    git(&place, &["add", "-A"]);
    assert_eq!(chosen(&["--staged"]), ["a-1", "a-2"], "an eclass, inherited through another");
    git(&place, &["commit", "-qm", "even more"]);
    assert_eq!(chosen(&["--commits", "HEAD~1..HEAD"]), ["a-1", "a-2"]);
    // what main got since is none of the branch's changes
    git(&place, &["switch", "-q", "main"]);
    edit(&place, "app-misc/f/Manifest");
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "elsewhere"]);
    git(&place, &["switch", "-q", "work"]);
    assert_eq!(chosen(&["--commits", "main..work"]), ["a-1", "a-2", "b-2", "c-1", "c-2"]);
    assert_eq!(chosen(&["--commits", "main..work", "--latest"]), ["a-2", "b-2", "c-2"]);
    git(&place, &["remote", "add", "origin", "."]);
    git(&place, &["fetch", "-q", "origin"]);
    assert_eq!(chosen(&["--commits"]), ["a-1", "a-2", "b-2", "c-1", "c-2"], "what origin/main lacks");
    let done = run(&place, &mut audit(&place, ["--commits", "nowhere"]));
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("--commits nowhere: git knows no commit nowhere"), "{}", done.stderr);
    edit(&place, "profiles/package.mask");
    git(&place, &["add", "-A"]);
    let done = run(&place, &mut audit(&place, ["--staged", "--format", "json"]));
    assert!(done.stdout.contains("profiles/ or the repository's settings"), "{}", done.stdout);
}

#[test]
fn why_nothing_is_audited() {
    let place = committed();
    let said = |words: &[&str]| {
        let done = run(&place, &mut audit(&place, words));
        assert_eq!((done.code, done.stderr.lines().count()), (Some(0), 1), "{}", done.stderr);
        done.stderr
    };
    let number = names(&run(&place, &mut audit(&place, ["--format", "json"]))).len();
    let none = format!("none of {number} ebuilds\n");
    assert_eq!(said(&["--commits", "HEAD"]), format!("ebaudit: nothing is audited: the commits touch {none}"));
    assert_eq!(said(&["--staged"]), format!("ebaudit: nothing is audited: what is staged touches {none}"));
    assert_eq!(said(&["--live"]), format!("ebaudit: nothing is audited: --live leaves {none}"));
    let empty = (1..=40).map(|index| run(&place, &mut audit(&place, ["--shard", &format!("{index}/40")])));
    let empty: Vec<String> = empty.map(|done| done.stderr).filter(|said| !said.is_empty()).collect();
    assert_eq!(empty.len(), 40 - number);
    assert!(empty.iter().all(|said| said.contains("/40 has none of")), "{empty:?}");
}

#[test]
fn an_overlay_within_a_repository_of_git() {
    let place = committed();
    let inner = place.repo().join("below/overlay");
    found(&inner, "inner", "", &["app-misc"]);
    put(&inner.join("app-misc/z/z-1.ebuild"), "EAPI=8\nSLOT=0\nS=${WORKDIR}\n");
    edit(&place, "app-misc/b/b-2.ebuild");
    git(&place, &["add", "-A"]);
    let done = run(&place, ebaudit(&place).args(["audit", "--staged", "--offline", "--format", "json"]).arg(&inner));
    assert_eq!(names(&done), ["z-1"]);
}

#[test]
fn in_a_hook() {
    let place = committed();
    let inner = place.repo().join("below/overlay");
    found(&inner, "inner", "", &["app-misc"]);
    put(&inner.join("app-misc/z/z-1.ebuild"), "EAPI=8\nSLOT=0\nS=${WORKDIR}\n");
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "inner"]);
    git(&place, &["worktree", "add", "-q", "../linked"]);
    let linked = place.path().join("linked");
    put(&linked.join("below/overlay/app-misc/z/z-2.ebuild"), "EAPI=8\nSLOT=0\nS=${WORKDIR}\n");
    let add =
        |words: &[&str]| assert!(Command::new("git").arg("-C").arg(&linked).args(words).status().unwrap().success());
    add(&["add", "-A"]);
    // as git sets them for a hook of a linked work tree
    let dir = place.repo().join(".git/worktrees/linked");
    let mut hook = ebaudit(&place);
    hook.args(["audit", "below/overlay", "--staged", "--offline", "--format", "json", "--no-cache"])
        .current_dir(&linked);
    hook.env("GIT_DIR", &dir).env("GIT_INDEX_FILE", dir.join("index"));
    assert_eq!(names(&run(&place, &mut hook)), ["z-2"]);
    // another repository's
    hook.env("GIT_DIR", place.repo().join(".git")).env("GIT_INDEX_FILE", place.repo().join(".git/index"));
    assert_eq!(names(&run(&place, &mut hook)), ["z-2"]);
    fs::remove_file(linked.join("below/overlay/app-misc/z/z-2.ebuild")).unwrap();
    let done = run(&place, &mut hook);
    assert!(done.stderr.contains("app-misc/z/z-2.ebuild is staged and not in the working tree"), "{}", done.stderr);
    let outside = Place::new();
    found(&outside.repo(), "outside", "", &["app-misc"]);
    let done = run(&outside, &mut audit(&outside, ["--staged"]));
    assert!(done.code == Some(2) && done.stderr.contains("not a git repository"), "{}", done.stderr);
}

/// A commit can hold the files of a bare repository, whose settings name programs.
#[test]
fn a_bare_repository_in_a_commit_runs_nothing() {
    let place = committed();
    let inner = place.repo().join("below/overlay");
    found(&inner, "inner", "", &["app-misc"]);
    put(&inner.join("app-misc/z/z-1.ebuild"), "EAPI=8\nSLOT=0\nS=${WORKDIR}\n");
    let ran = place.path().join("ran");
    let program = format!("touch {}; false", ran.display());
    for (at, text) in [
        ("HEAD", "ref: refs/heads/main\n".to_owned()),
        ("objects/keep", String::new()),
        ("refs/heads/main", format!("{}\n", "1".repeat(40))),
        (
            "config",
            format!(
                "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\tsshCommand = {program:?}\n\tfsmonitor = {program:?}\n\
                 [extensions]\n\tpartialClone = far\n[remote \"far\"]\n\turl = ssh://example.org/x\n\tpromisor = true\n"
            ),
        ),
    ] {
        put(&inner.join(at), text);
    }
    git(&place, &["add", "-A"]);
    git(&place, &["commit", "-qm", "inner"]);
    for work_tree in ["", "[core]\n\tbare = false\n\tworktree = .\n"] {
        put(&inner.join("config"), fs::read_to_string(inner.join("config")).unwrap() + work_tree);
        for words in [["--commits=main"], ["--commits=HEAD~1..HEAD"], ["--staged"]] {
            let mut command = ebaudit(&place);
            command.args(["audit", "--offline"]).args(words).arg(&inner).env("GIT_INDEX_FILE", inner.join("index"));
            let done = run(&place, &mut command);
            assert!(!ran.exists(), "{words:?} ran a program of the commit");
            assert!(done.code == Some(2) && done.stderr.contains("bare"), "{words:?} {}", done.stderr);
        }
    }
}

/// The reports of all shards, in files.
fn shards(place: &Place, of: usize, format: &str) -> Vec<PathBuf> {
    let report = |index: usize| {
        let path = place.path().join(format!("{index}.{format}"));
        let shard = format!("{index}/{of}");
        run(place, audit(place, ["--format", format, "--shard", &shard, "-o"]).arg(&path));
        path
    };
    (1..=of).map(report).collect()
}

fn merge(place: &Place, reports: &[PathBuf], words: &[&str]) -> Done {
    run(place, ebaudit(place).arg("merge").args(reports).args(words).arg("--repository").arg(place.repo()))
}

#[test]
fn a_report_names_no_file_of_this_machine() {
    let place = overlay();
    let parts = shards(&place, 1, "json");
    put(&place.path().join("a/b/secret.ebuild"), "line one\n".repeat(40) + "canary-secret\n");
    let text = fs::read_to_string(&parts[0]).unwrap();
    let mut report: Value = serde_json::from_str(&text).unwrap();
    report["repository"]["location"] = place.path().to_str().unwrap().into();
    for ebuild in report["ebuilds"].as_array_mut().unwrap() {
        for finding in ebuild["findings"].as_array_mut().unwrap() {
            (finding["line"], finding["end_line"]) = (41.into(), 41.into());
        }
        ebuild["path"] = "a/b/secret.ebuild".into();
    }
    put(&parts[0], report.to_string());
    for words in [&[][..], &["--repository", "repo"], &["--diff"]] {
        let done = run(&place, ebaudit(&place).arg("merge").args(&parts).args(words));
        assert!(done.code != Some(2) && !done.stdout.contains("canary-secret"), "{} {}", done.stdout, done.stderr);
    }
    // the same in the repository's own folder is quoted
    put(&place.repo().join("a/b/secret.ebuild"), "line one\n".repeat(40) + "canary-secret\n");
    let done = run(&place, ebaudit(&place).arg("merge").args(&parts).args(["--repository", "repo"]));
    assert!(done.stdout.contains("canary-secret"), "{} {}", done.stdout, done.stderr);
}

#[test]
fn a_repository_that_is_not_that_of_the_reports_is_told() {
    let place = overlay();
    let parts = shards(&place, 1, "json");
    let other = place.path().join("other");
    found(&other, "stranger", "", &["app-misc"]);
    let done = run(&place, ebaudit(&place).arg("merge").args(&parts).args(["--repository", "other"]));
    let said = "ebaudit: --repository other: it is stranger, the reports are of ";
    assert!(done.stderr.starts_with(said), "{}", done.stderr);
    // what quotes no lines lacks none
    for format in ["json", "jsonl"] {
        let words = ["--repository", "other", "--format", format];
        assert_eq!(run(&place, ebaudit(&place).arg("merge").args(&parts).args(words)).stderr, "");
    }
    assert_eq!(merge(&place, &parts, &[]).stderr, "");
}

#[test]
fn the_shards_are_the_whole() {
    let place = overlay();
    for (format, of) in [("json", 3), ("jsonl", 5), ("json", 1), ("json", 40)] {
        let mut parts = shards(&place, of, format);
        parts.reverse();
        for format in ["json", "text"] {
            let whole = run(&place, &mut audit(&place, ["--format", format, "--no-cache"]));
            let merged = merge(&place, &parts, &["--format", format]);
            let plain = |text: &str| {
                let lines = text.lines().filter(|line| !line.contains("\"cached\": true"));
                lines.map(|line| line.trim_end_matches(',').replace(" (14 cached)", "")).collect::<Vec<_>>()
            };
            assert_eq!(plain(&merged.stdout), plain(&whole.stdout), "{format} of {of}");
            assert_eq!((merged.code, whole.code), (Some(3), Some(3)));
        }
    }
    let merged = merge(&place, &shards(&place, 2, "json"), &["--format", "jsonl"]);
    assert_eq!(merged.stdout.lines().count(), 16);
    put(&place.path().join("again.jsonl"), merged.stdout);
    assert_eq!(merge(&place, &[place.path().join("again.jsonl")], &[]).code, Some(3));
}

#[test]
fn what_does_not_belong_together() {
    let place = overlay();
    let parts = shards(&place, 3, "json");
    let refused = |reports: &[&Path], said: &str| {
        let reports: Vec<PathBuf> = reports.iter().map(|path| path.to_path_buf()).collect();
        let done = merge(&place, &reports, &[]);
        assert!(done.code == Some(2) && done.stderr.contains(said), "{:?}: {}", done.code, done.stderr);
    };
    fs::remove_dir_all(place.repo().join("app-misc/fails")).unwrap();
    let done = merge(&place, &parts[1..], &["--fail-on", "never"]);
    assert!(done.code == Some(3) && done.stderr.contains("the report of shard 1/3 is missing"), "{}", done.stderr);
    refused(&[&parts[0], &parts[0]], "are both the shard 1/3");
    let other = place.path().join("other.json");
    let text = fs::read_to_string(&parts[1]).unwrap();
    put(&other, &text[..text.len() / 2]);
    refused(&[&parts[0], &other], "no whole report");
    put(&other, "{}");
    refused(&[&parts[0], &other], "it has no schema");
    put(&other, "");
    refused(&[&other], "it is empty");
    put(&other, text.replace("\"of\": 3", "\"of\": 4"));
    refused(&[&parts[0], &other], "number of shards: 3");
    let compact = |text: &str| serde_json::from_str::<Value>(text).unwrap().to_string();
    put(&other, compact(&text));
    let done = merge(&place, &[parts[0].clone(), other.clone(), parts[2].clone()], &[]);
    assert_eq!(done.stdout, merge(&place, &parts, &[]).stdout, "a document in one line");
    let mut less: Value = serde_json::from_str(&text).unwrap();
    less["ebuilds"].as_array_mut().unwrap().pop();
    put(&other, less.to_string());
    refused(&[&parts[0], &other], "says that it has");
    put(&other, text.replacen("\"schema\"", "\"interrupted\": true, \"schema\"", 1));
    let done = merge(&place, &[parts[0].clone(), other.clone(), parts[2].clone()], &["--fail-on", "never"]);
    assert!(done.code == Some(3) && done.stderr.contains("was interrupted"), "{}", done.stderr);
    put(&other, text.replace("\"index\": 2", "\"index\": 0"));
    refused(&[&parts[0], &other], "no shard 0 of 3");
    put(&other, text.replace("\"name\": \"shares\"", "\"name\": \"others\""));
    refused(&[&parts[0], &other], "the repository shares");
    refused(&[&place.path().join("nowhere")], "nowhere");
    put(&other, run(&place, &mut audit(&place, ["--format", "json"])).stdout);
    refused(&[&parts[0], &other], "is the report of a shard");
    // the ebuild that is gone changed what is shared out
    run(&place, audit(&place, ["--format", "json", "--shard", "2/3", "-o"]).arg(&other));
    refused(&[&parts[0], &other], "shared out different ebuilds");
    let done = run(&place, &mut audit(&place, ["--shard", "4/3"]));
    assert!(done.code == Some(2) && done.stderr.contains("no shard 4 of 3"), "{}", done.stderr);
}
