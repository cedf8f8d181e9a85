use super::*;
use crate::tree::{Pack, Snapshot};

/// A tree with these files, the first of which the call named; what was found of the call.
fn explained(words: &[&str], files: &[(&str, &str)]) -> Option<Explained> {
    let bench = bench()?;
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join("tree").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let pack = Pack::create(dir.path()).unwrap();
    let before = Snapshot::take(&dir.path().join("tree"), None, Some(&pack), Default::default()).unwrap();
    let shelf = Shelf::new(&before, None, &pack, &[], &|_| None);
    let (path, content) = files[0];
    let own = Own { path: path.into(), shown: path.to_owned(), content: content.into(), pristine: None };
    let dead = Dead { call: &call(words), own: &[own], moment: 1 };
    Some(told(explain(&dead, &shelf, &bench)))
}

/// The first statement's answer that says something.
fn told(mut found: Vec<Explained>) -> Explained {
    found.swap_remove(found.iter().position(|e| e.cause != Cause::Unknown).unwrap_or(0))
}

fn bench() -> Option<Bench> {
    Bench::new(&crate::phase::job::find_program("perl")?, "C.UTF-8", Budget::of(std::time::Duration::MAX)).ok()
}

fn call(words: &[&str]) -> Invocation {
    let words: Vec<Vec<u8>> = ["perl"].iter().chain(words).map(|w| w.as_bytes().to_vec()).collect();
    Invocation::parse(&words)
}

#[track_caller]
fn is(script: &str, files: &[(&str, &str)], cause: Cause, line: &str, note: &str) {
    let Some(found) = explained(&["-pi", "-e", script, "f"], files) else { return };
    assert_eq!(found.cause, cause, "{found:?}");
    let evidence = found
        .evidence
        .first()
        .map(|e| (format!("{}:{}", e.path, e.line.unwrap_or_default()), e.note.clone().unwrap_or_default()));
    let evidence = evidence.unwrap_or_default();
    assert_eq!((evidence.0.as_str(), evidence.1.as_str()), (line, note));
}

#[test]
fn each_cause_is_proved_by_perl() {
    is("s/alpha/beta/", &[("f", "x\nbeta\n")], Cause::Upstreamed, "f:2", "already so");
    is("s/alpha\\b/b/", &[("f", "x\n"), ("sub/g.c", "y\nalpha\n")], Cause::WrongFile, "sub/g.c:2", "matches here");
    is("s/CFLAGS=-O3/CFLAGS=/", &[("f", "CFLAGS = -O3\n")], Cause::Drifted, "f:1", "blanks");
    is("s/Some_Name/other_thing/", &[("f", "x\nSOME_NAME\n")], Cause::Drifted, "f:2", "case");
    is("s/^set_it$/gone_now/", &[("f", "#set_it\n")], Cause::Drifted, "f:1", "anchor");
    is("s/name=\"x\"/gone_now/", &[("f", "name='x'\n")], Cause::Drifted, "f:1", "quotes");
    is("s/set_it$/gone_now/", &[("f", "set_it\r\n")], Cause::Drifted, "f:1", "line-ending");
    is("s/get_version \\(\"1.0.7\"\\)/gone/", &[("f", "get_version (\"1.12.0\")\n")], Cause::Drifted, "f:1", "words");
    is("s/PATCH_VERSION 5/gone_now/", &[("f", "set(PATCH_VERSION 0)\n")], Cause::Drifted, "f:1", "words");
    is("s/alphabet/gone_now/", &[("f", "x\n"), ("g", "y\n")], Cause::Removed, "", "");
    is("s/alpha/$&/", &[("f", "x\n")], Cause::Never, "", "");
    // the first statement says nothing, the second one does
    is("y/q/u/; s/alphabet/gone_now/", &[("f", "x\n")], Cause::Removed, "", "");
    is("s/foo = bar1/gone/", &[("f", "foo = bar2\n")], Cause::Drifted, "f:1", "words");
}

#[test]
fn patterns_of_several_lines_or_alternatives_have_causes() {
    is("s/alpha|beta/x/", &[("f", "x\n"), ("g.c", "y\nbeta\n")], Cause::WrongFile, "g.c:2", "matches here");
    is("s/alpha|beta/x/", &[("f", "x\n"), ("g.c", "y\n")], Cause::Removed, "", "");
    is("s/alpha|beta/x/", &[("f", "x\nALPHA\n")], Cause::Drifted, "f:2", "case");
    is("s/[qrs]{3}/r/", &[("f", "x\n"), ("g.c", "y\n")], Cause::Removed, "", "");
    is("s/alpha\\nbeta/x/", &[("f", "alpha\nbeta\n")], Cause::Never, "", "");
    is("s/alphabet\\n//", &[("f", "x\n"), ("g.c", "y\n")], Cause::Removed, "", "");
    let slurped = |files: &[(&str, &str)]| explained(&["-0777", "-pi", "-e", "s/alpha\\nbeta/x/", "f"], files);
    for (files, cause) in [
        (&[("f", "x\n"), ("g.c", "y\nalpha\nbeta\n")][..], Cause::WrongFile),
        (&[("f", "x\n"), ("g.c", "y\n")], Cause::Removed),
        (&[("f", "alpha\n  beta\n")], Cause::Drifted),
    ] {
        let Some(found) = slurped(files) else { return };
        assert_eq!(found.cause, cause, "{found:?}");
    }
}

#[test]
fn what_is_not_proved_is_unknown_and_says_why() {
    for (words, why) in [
        (&["-pi", "-e", "s/a/system('touch x')/e", "f"][..], "flag e"),
        (&["-pi", "-e", "BEGIN { unlink 'f' } s/q/r/", "f"], "more than edit"),
        (&["-MFile::Copy", "-pi", "-e", "s/q/r/", "f"], "option -M"),
        (&["-i", "edit.pl", "f"], "its script is a file"),
        (&["-ni", "-e", "s/q/r/; print", "f"], "prints by itself"),
        (&["-pi", "-e", "y/q/r/", "f"], "no pattern"),
        // the text is there, in a file that nothing tries
        (&["-pi", "-e", "s/^.needle$/other_thing/", "f"], "its text is in the source"),
    ] {
        let Some(found) = explained(words, &[("f", "x\n"), ("g.c", "many needles\n")]) else { return };
        assert_eq!(found.cause, Cause::Unknown, "{words:?}");
        assert!(found.reason.as_ref().is_some_and(|r| r.contains(why)), "{words:?}: {:?}", found.reason);
    }
}

#[test]
fn a_match_that_gives_the_same_text_is_an_identity() {
    let Some(bench) = bench() else { return };
    let judged = |script: &str| verdicts(&call(&["-pi", "-e", script, "f"]), &[b"alpha\n"], &bench);
    assert_eq!(judged("s/alpha/alpha/"), Some(vec![Verdict::Identity]));
    assert_eq!(judged("s/alpha/b/; s/b/alpha/"), Some(vec![Verdict::NetZero]));
    assert_eq!(judged("s/gamma/b/"), Some(vec![Verdict::Dead]));
    assert_eq!(judged("s/alpha/lc('ALPHA')/e"), None);
}

#[test]
fn no_cause_is_claimed_once_the_time_is_over() {
    let Some(perl) = crate::phase::job::find_program("perl") else { return };
    let bench = Bench::new(&perl, "C.UTF-8", Budget::of(std::time::Duration::ZERO)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let pack = Pack::create(dir.path()).unwrap();
    let shelf = Shelf::new(&Snapshot::default(), None, &pack, &[], &|_| None);
    let own = Own { path: "f".into(), shown: "f".to_owned(), content: b"x\n".to_vec(), pristine: None };
    let dead = Dead { call: &call(&["-pi", "-e", "s/alphabet/b/", "f"]), own: &[own], moment: 1 };
    let found = told(explain(&dead, &shelf, &bench));
    assert_eq!((found.cause, found.reason.as_deref()), (Cause::Unknown, Some(OVER)));
}
