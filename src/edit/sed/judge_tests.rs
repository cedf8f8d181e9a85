use std::collections::HashMap;
use std::ffi::OsString;
use std::time::Duration;

use super::*;
use crate::edit::sed::argv::{Invocation, words};
use crate::edit::sed::call::{Content, Environment};
use crate::edit::sed::run::End;

fn sed() -> Option<&'static Sed> {
    static SED: std::sync::OnceLock<Option<Sed>> = std::sync::OnceLock::new();
    SED.get_or_init(|| Sed::locate(&std::env::var_os("PATH")?).ok()).as_ref()
}

/// Runs the call for real in a directory of its own; the files as it leaves them, or its output.
fn really(argv: &[&str], files: &[&str]) -> Result<Vec<Vec<u8>>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    for (index, file) in files.iter().enumerate() {
        std::fs::write(dir.path().join(format!("f{index}")), file).map_err(|e| e.to_string())?;
    }
    std::fs::write(dir.path().join("extra"), "a\nextra\n").map_err(|e| e.to_string())?;
    let arguments = argv[1..].iter().map(OsString::from);
    let names = (0..files.len()).map(|index| format!("f{index}").into());
    let arguments: Vec<OsString> = arguments.chain(names).collect();
    let limits = Limits { time: Duration::from_secs(2), ..Limits::default() };
    let mut out = Vec::new();
    let run = sed()
        .expect("GNU sed")
        .run(dir.path(), &arguments, &[("LC_ALL", "C.UTF-8".into())], limits, |chunk| out.extend_from_slice(chunk))
        .map_err(|e| e.to_string())?;
    if run.end != End::Exit(0) {
        return Err(run.complaint());
    }
    if !argv.iter().any(|word| word.starts_with("-i")) {
        return Ok(vec![out]);
    }
    let read = |index| std::fs::read(dir.path().join(format!("f{index}")));
    (0..files.len()).map(read).collect::<Result<_, _>>().map_err(|e| e.to_string())
}

fn judge_call(argv: &[&str], files: &[&str], after: Option<&[Vec<u8>]>) -> CallJudgement {
    let mut whole = words(argv);
    whole.extend((0..files.len()).map(|index| format!("f{index}").into_bytes()));
    let invocation = Invocation::parse(&whole, false).expect("sed would start");
    let call = Call {
        invocation: &invocation,
        script_files: HashMap::new(),
        read_files: HashMap::from([(b"extra".to_vec(), Some(b"a\nextra\n".to_vec())), (b"none".to_vec(), None)]),
        environment: Environment { lc_all: Some("C.UTF-8".into()), ..Environment::default() },
        exit: Some(0),
        targets: files
            .iter()
            .enumerate()
            .map(|(index, file)| Target {
                before: Content::Bytes(file.as_bytes()),
                changed: after.map(|after| after[index] != file.as_bytes()),
            })
            .collect(),
    };
    let limits = Limits { time: Duration::from_secs(2), ..Limits::default() };
    judge_within(&call, sed().expect("GNU sed"), limits)
}

/// The verdicts on `sed -i` with these words, on real results.
fn verdicts(argv: &[&str], files: &[&str]) -> CallJudgement {
    let mut words = vec!["sed", "-i"];
    words.extend(argv);
    let after = really(&words, files).expect("sed accepts it");
    judge_call(&words, files, Some(&after))
}

#[track_caller]
fn expect(argv: &[&str], file: &str, wanted: &[Verdict]) -> CallJudgement {
    let judgement = verdicts(argv, &[file]);
    let got: Vec<Verdict> = judgement.commands.iter().map(|c| c.verdict).collect();
    assert_eq!(got, wanted, "{argv:?} on {file:?}: {judgement:?}");
    judgement
}

use Verdict::{Control, Dead, Guard, Identity, Live, NetZero, Unknown};

#[test]
fn chains() {
    if sed().is_none() {
        return;
    }
    expect(&["-e", "s/foo/bar/", "-e", "s/bar/baz/"], "foo\n", &[Live, Live]);
    expect(&["s/one/two/; s/three/four/; s/two/2/"], "one\n", &[Live, Dead, Live]);
    expect(&["/hidapi\\.h/{s:<:<hidapi/:;s/>/>/}"], "#include <hidapi.h>\n", &[Live, Identity]);
    let both = expect(&["s/a/b/;s/b/a/"], "a\n", &[NetZero, NetZero]);
    assert_eq!(both.targets, [NetZero]);
    expect(&["s/a/b/3;s/a/c/2"], "a a\n", &[Dead, Live]);
    expect(&["s/x*/-/2"], "a\n", &[Live]);
    expect(&["s/lib/&/"], "lib\n", &[Identity]);
    expect(&["y/abc/abc/"], "lib\n", &[Identity]);
    expect(&["y/xyz/abc/"], "lib\n", &[Dead]);
}

#[test]
fn texts_and_deletions() {
    if sed().is_none() {
        return;
    }
    let argv = ["-e", "/^old/c\\\nnew one\\\nnew two", "-e", "1i\\\n# head", "-e", "/^gone/a\\\nnever; s/x/y/"];
    expect(&argv, "first\nold\nx\n", &[Live, Live, Dead]);
    expect(&["$a\\"], "a", &[Guard]);
    expect(&["/foo/c\\foo"], "foo\n", &[Identity]);
    expect(&["/foo/c\\foo"], "foo", &[Live]);
    expect(&["r none"], "foo", &[Live]);
    expect(&["/foo/c\\bar"], "foo\n", &[Live]);
    expect(&["/a/,/b/c\\\na\\\nb"], "a\nb\n", &[Identity]);
    expect(&["/x/d;/y/d"], "x\n", &[Live, Dead]);
    expect(&["/x/r extra"], "x\n", &[Live]);
    expect(&["/x/r none"], "x\n", &[Dead]);
    expect(&["/x/r other"], "x\n", &[Unknown]);
    expect(&["-e", "40,50d", "-e", "1~2s/$/!/"], "a\nb\n", &[Dead, Live]);
}

#[test]
fn flow() {
    if sed().is_none() {
        return;
    }
    expect(&["-e", "/^#/b end", "-e", "s/socket6/socket/", "-e", ": end"], "# s\nsocket\n", &[Control, Dead]);
    expect(&[":a;N;$!ba;s/\\n/ /g"], "a\nb\nc\n", &[Control, Control, Live]);
    expect(&["$!N;/\\n.*sysroot=/!P;D"], "first\nsecond\n--sysroot=x\nlast\n", &[Control, Live, Control]);
    expect(&["/^foo/{N;/^foo\\nbar/d}"], "foo\nbar\nbaz\n", &[Control, Live]);
    expect(&["s/^#/#/;t;s/foo/bar/"], "#foo\nfoo\n", &[Control, Control, Live]);
    expect(&["s/^#/#/;s/foo/bar/"], "#foo\nfoo\n", &[Identity, Live]);
    expect(&["2q"], "1\n2\n3\n", &[Live]);
    expect(&["3q"], "1\n2\n3\n", &[Identity]);
    expect(&["/a/s//b/;s//c/"], "a\n", &[Live, Dead]);
    expect(&["-n", "/keep/p"], "keep\ndrop\n", &[Control]);
    expect(&["h;s/a/b/;x;s/b/c/;G"], "a\n", &[Control, Live, Control, Dead, Control]);
}

#[test]
fn a_status_of_the_scripts_own_is_a_question() {
    if sed().is_none() {
        return;
    }
    let replaced = "/alpha/{s//ALPHA/;h};${x;/./{x;q0};x;q1}";
    expect(&[replaced], "alpha\nb\n", &[Live, Control, Control, Control, Control, Control, Control]);
    let forbidden = expect(&["/forbidden/q1"], "a\n", &[Control]);
    assert_eq!(forbidden.targets, [Guard]);
    expect(&["-e", "s/a/b/", "-e", "/nope1/Q1"], "a\n", &[Live, Control]);
    let dead = expect(&["-e", "s/x/b/", "-e", "/nope1/Q1"], "a\n", &[Dead, Control]);
    assert_eq!(dead.targets, [Dead]);
    // what it cuts off is an edit
    expect(&["/b/q0"], "a\nb\nc\n", &[Live]);
    expect(&["/x/q"], "a\n", &[Dead]);
}

#[test]
fn what_only_takes_lines_apart_undoes_nothing() {
    if sed().is_none() {
        return;
    }
    let file = "a\nb\nc\n";
    let pairs = expect(&["$!N;s/nope\\nx/y/;P;D"], file, &[Control, Dead, Control, Control]);
    assert_eq!(pairs.targets, [Dead]);
    expect(&["H;1h;$!d;x;s/nope/x/"], file, &[Control, Control, Control, Control, Dead]);
    let unique = expect(&["$!N;/^\\(.*\\)\\n\\1$/!P;D"], file, &[Control; 3]);
    assert_eq!(unique.targets, [Dead]);
    expect(&["H;$!d;x;s/^\\n//;s/nope/x/"], file, &[Control, Control, Control, Control, Dead]);
    // beside it two commands may well undo each other
    expect(&["$!N;s/b/B/;s/B/b/;P;D"], file, &[Control, NetZero, NetZero, Control, Control]);
    expect(&["p;d"], file, &[NetZero, NetZero]);
}

#[test]
fn nothing_is_run_or_written() {
    if sed().is_none() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out");
    let script = |text: &str| text.replace("OUT", &out.display().to_string());
    for text in ["s/a/b/w OUT", "w OUT", "1e touch OUT", "s/a/touch OUT/e", "$!W OUT"] {
        judge_call(&["sed", "-i", "-e", &script(text)], &["a\nb\n"], None);
        assert!(!out.exists(), "{text}");
    }
    let judgement = judge_call(&["sed", "-i", "s/a/date/e;s/b/c/"], &["a\n"], None);
    assert_eq!(judgement.commands.iter().map(|c| c.verdict).collect::<Vec<_>>(), [Unknown, Unknown]);
    let judgement = judge_call(&["sed", "-i", "s/x/date/e;s/a/c/"], &["a\n"], None);
    assert_eq!(judgement.commands.iter().map(|c| c.verdict).collect::<Vec<_>>(), [Dead, Live]);
    let judgement = judge_call(&["sed", "-i", "s/a/date/e"], &["a\n"], Some(&[b"x".to_vec()]));
    assert_eq!(judgement.commands[0].verdict, Live);
}

#[test]
fn endless_scripts_end() {
    if sed().is_none() {
        return;
    }
    let judgement = judge_call(&["sed", "-i", ":a;ba"], &["a\n"], None);
    assert_eq!(judgement.commands[0].verdict, Unknown);
    assert!(judgement.reason.is_some_and(|reason| reason.contains("did not come to an end")));
    let judgement = judge_call(&["sed", "-i", "s/\\(/x/"], &["a\n"], None);
    assert_eq!(judgement.reason.as_deref(), Some("sed refuses the script: Unmatched ( or \\("));
}

#[test]
fn several_files() {
    if sed().is_none() {
        return;
    }
    let argv = ["-e", "1s/^/# made\\n/", "-e", "$s/$/ # end/", "-e", "3s/c/C/", "-e", "/b/d"];
    let judgement = verdicts(&argv, &["a\n", "b\n"]);
    let targets: Vec<_> = judgement.commands.iter().map(|c| c.targets.clone()).collect();
    assert_eq!(targets, [[Live, Live], [Live, Live], [Dead, Dead], [Dead, Live]]);
    // without -i and -s lines run on, and $ is the last line of the last file
    let judgement = judge_call(&["sed", "-e", "3d", "-e", "$d", "-e", "$!N"], &["a\nb\n", "c\n", "d\n"], None);
    let targets: Vec<_> = judgement.commands[..2].iter().map(|c| c.targets.clone()).collect();
    assert_eq!(targets, [[Dead, Live, Dead], [Dead, Dead, Live]]);
    let judgement = judge_call(&["sed", "--posix", "-s", "/a/d"], &["a\n", "b\n"], None);
    assert_eq!(judgement.commands[0].targets, [Live, Dead]);
}

#[test]
fn files_on_disk_and_script_files() {
    let Some(sed) = sed() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let blob = dir.path().join("blob");
    std::fs::write(&blob, b"caf\xe9\r\nsame\r\n").expect("written");
    let argv = words(["sed", "-i", "-f", "x.sed", "one", "gone", "two"]);
    let invocation = Invocation::parse(&argv, false).expect("sed would start");
    let target = |before| Target { before, changed: Some(true) };
    let call = Call {
        invocation: &invocation,
        script_files: HashMap::from([(b"x.sed".to_vec(), b"#!/bin/sed -f\ns/\\r$//\n/same/{\ns/s/s/\n}\n".to_vec())]),
        read_files: HashMap::new(),
        environment: Environment { lc_all: Some("C.UTF-8".into()), ..Environment::default() },
        exit: None,
        targets: vec![target(Content::File(&blob)), target(Content::Missing), target(Content::File(&blob))],
    };
    let judgement = judge(&call, sed);
    assert_eq!(judgement.reason, None);
    let targets: Vec<_> = judgement.commands.iter().map(|c| c.targets.clone()).collect();
    assert_eq!(targets, [[Live, Verdict::PathGone, Live], [Identity, Verdict::PathGone, Identity]]);
    assert_eq!(judgement.commands[1].text, b"s/s/s/");
    let failed = Call {
        exit: Some(4),
        targets: vec![Target { before: Content::File(&blob), changed: Some(false) }],
        ..call.clone()
    };
    let verdicts: Vec<_> = judge(&failed, sed).commands.iter().map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Unknown, Identity]);
    let unread = Call { script_files: HashMap::new(), ..call };
    let reason = judge(&unread, sed).reason;
    assert_eq!(reason.as_deref(), Some("sed refuses the script: couldn't open file x.sed"));
}

#[test]
fn unclosed_ranges() {
    if sed().is_none() {
        return;
    }
    let unclosed = |script: &str, file: &str| verdicts(&[script], &[file]).commands[0].unclosed.clone();
    assert_eq!(unclosed("/^test(/,/timeout\\n)/d", "a\ntest(\n)\n"), [0]);
    assert_eq!(unclosed("/^%c/,$d", "a\n%c\n"), [0; 0]);
    assert_eq!(unclosed("/B/,/E/s/x/y/", "B\nx\nE\nx\n"), [0; 0]);
    assert_eq!(unclosed("/B/,/E/s/x/y/", "B\nx\nx\n"), [0]);
    assert_eq!(unclosed("/B/,/E/s/x/y/", "x\nE\n"), [0; 0]);
    assert_eq!(unclosed("/B/,/B/s/x/y/", "xB\nx\nx\n"), [0]);
    assert_eq!(unclosed("0,/E/s/x/y/", "xE\nE\n"), [0; 0]);
    assert_eq!(unclosed("/B/,/E/{/x/{s/x/y/}}", "B\nx\n"), [0]);
    assert_eq!(unclosed("2,/E/s/x/y/", "E\nxE\nx\n"), [0]);
}

#[test]
fn option_order_and_never() {
    if sed().is_none() {
        return;
    }
    let late = expect(&["-e", "s/(lib|usr)64/lib/", "-e", "s/x+/y/", "-r"], "DIR = lib64\n", &[Dead, Dead]);
    assert_eq!(late.commands.iter().map(|c| c.option_order).collect::<Vec<_>>(), [true, false]);
    let never = |argv: &[&str]| verdicts(argv, &["q\n"]).commands.iter().map(|c| c.never).collect::<Vec<_>>();
    assert_eq!(
        never(&["s/usr/usr/g;s/a.b/a.b/;s/a\\.b/a.b/;s/x/&/;s/A/A/I;s/x/&/p"]),
        [true, false, true, true, false, false]
    );
    assert_eq!(never(&["y/ab/ab/;y/ab/ba/;s/^x$/x/;s,a\\,b,a\\,b,"]), [true, false, true, true]);
    assert_eq!(never(&["/^foo\\nbar/d;/a/,/b\\nc/d;s/a\\n*/b/;s/\\(a\\nb\\)/c/"]), [true, false, false, true]);
    assert_eq!(never(&["/^foo/{N;/^foo\\nbar/d}"]), [false, false]);
    assert_eq!(never(&["s/;/\\n/;/^foo\\nbar/d"]), [false, false]);
    assert_eq!(never(&["-E", "s/(a|b\\n)/c/;s/(a\\n)+b/c/;s/(a\\n)?b/c/"]), [false, true, false]);
    assert_eq!(never(&["-z", "s/a\\nb/c/"]), [false]);
}

#[path = "judge_property.rs"]
mod property;
