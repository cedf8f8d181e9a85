//! Faults of a whole run: killed at any moment, interrupted, no room, no work folder, a reader that went away. What was
//! finished is reported or can be resumed, and nothing is left.

use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[allow(dead_code)] // the other tests use the rest
mod support;

use rustix::process::{Pid, Signal, kill_process};
use support::overlay::{Place, found, put};
use support::processes;
use support::run::{audit, run};

/// An overlay of `count` ebuilds that take a while and leave a process behind.
fn overlay(count: usize, nap: &str) -> Place {
    let place = Place::new();
    found(&place.repo(), "faults", "", &["app-misc"]);
    for number in 0..count {
        let text = format!(
            "EAPI=8\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nLICENSE=MIT\nSLOT=0\nS=${{WORKDIR}}\n\
             src_prepare() {{\n\tdefault\n\t( setsid bash -c 'exec -a {} sleep 1000' & ) > /dev/null 2>&1\n\
             \techo a > b || die\n\tsleep {nap}\n\tsed -i -e s/a/b/ b || die\n\tsed -i -e s/zz/b/ b || die\n}}\n",
            processes::mark(&place)
        );
        put(&place.repo().join(format!("app-misc/p{number}/p{number}-1.ebuild")), text);
    }
    place
}

fn start(place: &Place, words: &[&str]) -> Child {
    let mut command = audit(place, words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.spawn().unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Waits until no process of the place is left.
#[track_caller]
fn all_gone(place: &Place) {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let left = processes::of(place);
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "left: {left:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[track_caller]
fn nothing_is_left(place: &Place) {
    all_gone(place);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(place.path().to_str().unwrap()), "{mounts}");
}

fn is_empty(place: &Place) -> bool {
    fs::read_dir(place.tmp()).unwrap().next().is_none()
}

#[test]
fn killed_at_any_moment_nothing_is_left() {
    for tier in ["auto", "landlock"] {
        let place = overlay(4, "0.05");
        let words = ["--sandbox", tier, "--jobs", "2", "--format", "json"];
        let tried = run(&place, &mut audit(&place, words));
        if tried.code == Some(2) {
            support::tiers::left_out(if tier == "auto" { "namespaces" } else { tier }, tried.stderr.trim());
            continue;
        }
        for moment in 0..25u64 {
            let mut child = start(&place, &words);
            // spread over the run, without a pattern
            std::thread::sleep(Duration::from_millis(moment * 7919 % 400));
            child.kill().unwrap();
            child.wait().unwrap();
            nothing_is_left(&place);
        }
        let done = run(&place, &mut audit(&place, words));
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        assert_eq!(done.stdout.matches("\"DeadSed\"").count(), 4);
        // what the killed ones could not remove is gone, too
        let left: Vec<_> = fs::read_dir(place.tmp()).unwrap().flatten().map(|entry| entry.path()).collect();
        assert!(left.is_empty(), "{tier}: {left:?}");
    }
}

#[test]
fn the_first_signal_ends_the_jobs_and_the_report_has_what_is_done() {
    for first in [Signal::INT, Signal::TERM] {
        let place = overlay(6, "0.3");
        let mut child = start(&place, &["--jobs", "1", "--format", "json"]);
        std::thread::sleep(Duration::from_millis(900));
        signal(&child, first);
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(!report["ebuilds"].as_array().unwrap().is_empty());
        nothing_is_left(&place);
        assert!(is_empty(&place));
    }
}

/// An overlay whose only ebuild waits within its sandbox for a distfile that a server never sends.
fn waiting() -> (Place, std::net::TcpListener) {
    let place = overlay(1, "0");
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let ebuild = place.repo().join("app-misc/p0/p0-1.ebuild");
    let uri = format!("SRC_URI=http://{}/p0.tar\nSLOT=0", server.local_addr().unwrap());
    let text = fs::read_to_string(&ebuild).unwrap().replace("SLOT=0", &uri);
    fs::write(&ebuild, text.replacen("\n", "\n( setsid sleep 1000 & ) > /dev/null 2>&1\n", 1)).unwrap();
    put(&place.repo().join("app-misc/p0/Manifest"), support::overlay::dist_line("p0.tar", b"x"));
    (place, server)
}

/// The program on its way with the distfile asked for.
fn start_waiting(place: &Place, server: &std::net::TcpListener) -> (Child, std::net::TcpStream) {
    let mut command = support::run::ebaudit(place);
    command.arg("audit").arg(place.repo()).arg("--distdir").arg(place.dist()).args(["--format", "json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let child = command.spawn().unwrap();
    (child, server.accept().unwrap().0)
}

#[test]
fn a_second_signal_ends_all_at_once() {
    let (place, server) = waiting();
    let (mut child, _asked) = start_waiting(&place, &server);
    signal(&child, Signal::TERM);
    // timeout of coreutils sends it to the process and to its group: one request
    signal(&child, Signal::TERM);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(child.try_wait().unwrap().is_none(), "the first request ends what can be ended, and waits for the rest");
    signal(&child, Signal::TERM);
    let begun = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    nothing_is_left(&place);
    assert!(is_empty(&place));
}

#[test]
fn one_request_by_two_signals_has_its_report() {
    let place = overlay(6, "0.3");
    let mut child = start(&place, &["--jobs", "1", "--format", "json"]);
    std::thread::sleep(Duration::from_millis(900));
    signal(&child, Signal::TERM);
    signal(&child, Signal::TERM);
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    nothing_is_left(&place);
    assert!(is_empty(&place));
}

#[test]
fn two_signals_at_the_beginning() {
    let place = overlay(1, "0");
    let mut child = start(&place, &["--jobs", "1"]);
    signal(&child, Signal::INT);
    std::thread::sleep(Duration::from_millis(30));
    let _ = kill_process(Pid::from_child(&child), Signal::INT);
    let status = child.wait().unwrap();
    // before the handler is there the first one ends it as usual; behind it two are one request
    assert!(status.code() == Some(130) || status.signal() == Some(2), "{status}");
    nothing_is_left(&place);
}

#[test]
fn no_work_folder() {
    let place = overlay(1, "0");
    let done = run(&place, audit(&place, ["--work-dir"]).arg(place.path().join("nowhere")));
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("nowhere"), "{}", done.stderr);
}

#[test]
fn a_work_folder_that_vanishes() {
    let place = overlay(6, "0.2");
    let mut child = start(&place, &["--jobs", "1", "--format", "json"]);
    std::thread::sleep(Duration::from_millis(500));
    let _ = fs::rename(place.tmp(), place.path().join("elsewhere"));
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(3));
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["ebuilds"].as_array().unwrap().len(), 6);
    nothing_is_left(&place);
}

#[test]
fn no_room_on_the_disk() {
    let place = overlay(1, "0");
    let ebuild = place.repo().join("app-misc/p0/p0-1.ebuild");
    let text = fs::read_to_string(&ebuild).unwrap().replace("sleep 0", "head -c 9000000 /dev/zero > big || die full");
    fs::write(&ebuild, text).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=3m tmpfs {0} && exec {1} audit {2} --offline --format json --work-dir {0}",
        place.tmp().display(),
        env!("CARGO_BIN_EXE_ebaudit"),
        place.repo().display()
    );
    let mut command = Command::new("unshare");
    command.args(["-Urm", "sh", "-c", &script]).env("XDG_CACHE_HOME", place.path().join("cache"));
    let done = run(&place, &mut command);
    if done.stderr.contains("unshare:") || done.stderr.contains("mount:") {
        // what mounts a small file system is what the tier needs as well
        return support::tiers::left_out("namespaces", done.stderr.trim());
    }
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["ebuilds"][0]["status"], "prepare-failed", "{report}");
}

#[test]
fn a_reader_that_goes_away() {
    let place = overlay(3, "0");
    let mut child = start(&place, &["--format", "jsonl"]);
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    nothing_is_left(&place);
    assert!(is_empty(&place));
}

#[test]
fn two_runs_at_once() {
    let place = overlay(3, "0.1");
    let words = ["--format", "json"];
    let mut children = [start(&place, &words), start(&place, &words), start(&place, &words)];
    let texts = children.each_mut().map(|child| {
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        text
    });
    assert!(texts[0] == texts[1] && texts[1] == texts[2]);
    assert!(is_empty(&place));
}
