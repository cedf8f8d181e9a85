use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::edit::sed::argv::{Invocation, words};
use crate::edit::sed::call::{Content, Environment, Target};

fn sed() -> Option<Sed> {
    Sed::locate(&std::env::var_os("PATH")?).ok()
}

/// Runs the call for real in a directory of its own; the files as it leaves them, or its output.
fn really(argv: &[&str], files: &[&str]) -> Result<Vec<Vec<u8>>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    for (index, file) in files.iter().enumerate() {
        std::fs::write(dir.path().join(format!("f{index}")), file).map_err(|e| e.to_string())?;
    }
    std::fs::write(dir.path().join("extra"), "a\nextra\n").map_err(|e| e.to_string())?;
    let names = (0..files.len()).map(|index| format!("f{index}"));
    let out = Command::new("timeout")
        .arg("2")
        .arg("sed")
        .args(&argv[1..])
        .args(names)
        .current_dir(dir.path())
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).into_owned());
    }
    if !argv.iter().any(|word| word.starts_with("-i")) {
        return Ok(vec![out.stdout]);
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
    judge_within(&call, &sed().expect("GNU sed"), limits)
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

fn piece() -> impl Strategy<Value = String> {
    let address = prop::sample::select(vec![
        "", "", "", "", "/a/", "/b/", "1", "2", "$", "1!", "/a/!", "/a/,/b/", "/b/,/zz/", "2,3", "1~2", "/a/,+1",
        "0,/b/", "/c/,/a/!", "//", "/B/I", "$!",
    ]);
    let command = prop::sample::select(vec![
        "s/a/b/",
        "s/b/a/",
        "s/a/a/",
        "s/b/&/g",
        "s/a/b/2",
        "s/b*/c/g",
        "s/c/a/p",
        "s/^/#/",
        "s/$/c/",
        "s/x/y/",
        "s/b/b/p",
        "s/\\n/ /g",
        "s/a/c\\nb/",
        "s//c/",
        "s/b//",
        "s/[ab]/x/I",
        "s/a/b/w out",
        "s/\\(a\\)\\(.*\\)/\\2\\1/",
        "y/ab/ba/",
        "y/ab/ab/",
        "y/q/r/",
        "d",
        "D",
        "N",
        "$!N",
        "n",
        "P",
        "p",
        "h",
        "H",
        "g",
        "G",
        "x",
        "q",
        "Q",
        "z",
        "=",
        "l",
        "F",
        "i\\foo",
        "a\\foo",
        "c\\a",
        "c\\abc",
        "a\\\nb\\\nc",
        "r extra",
        "r none",
        "R extra",
        "w out",
        "W out",
        "b",
        "t",
        "T",
        "bx",
        "tx",
        "Tx",
        "{s/a/b/;s/b/c/}",
        "{p;d}",
        "{N;s/\\n//}",
        "{s/b/b/;t;s/a/q/}",
        "{h;d}",
    ]);
    (address, command).prop_map(|(address, command)| {
        let single = command.starts_with(['q', 'Q']) && address.contains(',');
        format!("{}{command}", if single { "" } else { address })
    })
}

fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a", "b", "ab", "ba", "c", "", "abc", "a b a", "xyz", "aa", "#a"]);
    (prop::collection::vec(line, 0..6), any::<bool>()).prop_map(|(lines, whole)| {
        let text = lines.join("\n");
        if whole && !text.is_empty() { text + "\n" } else { text }
    })
}

/// The script without some commands.
fn without(script: &Script, gone: impl Fn(usize) -> bool) -> String {
    let mut out = String::new();
    for item in &script.items {
        let span = match item {
            Item::Command(index) if gone(*index) => continue,
            Item::Command(index) => &script.commands[*index].span,
            Item::Open(block) => &script.blocks[*block].span,
            Item::Close { span, .. } | Item::Label { span, .. } | Item::Comment(span) => span,
        };
        out.push_str(&String::from_utf8_lossy(script.source(span)));
        out.push('\n');
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    /// Leaving out what is dead or identity gives sed's own output; so does what is live, with what steers it.
    #[test]
    fn verdicts_are_true(
        pieces in prop::collection::vec(piece(), 1..6),
        label in 0usize..5,
        options in prop::sample::select(vec![vec!["-i"], vec!["-i"], vec!["-i", "-n"], vec!["-i", "-E"], vec![], vec!["-s"], vec!["-i", "-z"]]),
        files in prop::collection::vec(text(), 1..3),
    ) {
        if sed().is_none() {
            return Ok(());
        }
        let mut lines = pieces.clone();
        lines.insert(label.min(pieces.len()), ":x".to_string());
        let text = lines.join("\n");
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let argv = |script: &str| -> Vec<String> {
            let mut argv = vec!["sed".to_string()];
            argv.extend(options.iter().map(|o| o.to_string()));
            argv.extend(["-e".to_string(), script.to_string()]);
            argv
        };
        let run = |script: &str| {
            let argv = argv(script);
            really(&argv.iter().map(String::as_str).collect::<Vec<_>>(), &files)
        };
        let Ok(after) = run(&text) else { return Ok(()) };
        let in_place = options.contains(&"-i");
        let argv = argv(&text);
        let judgement =
            judge_call(&argv.iter().map(String::as_str).collect::<Vec<_>>(), &files, in_place.then_some(after.as_slice()));
        prop_assert_eq!(&judgement.reason, &None, "{}", text);
        let verdict = |index: usize| judgement.commands[index].verdict;
        let mut whole = words(&argv);
        whole.push(b"f0".to_vec());
        let invocation = Invocation::parse(&whole, false).expect("sed would start");
        let locale = Locale { posixly_correct: false, utf8: true };
        let script = Script::cut(&invocation, &HashMap::new(), locale).expect("sed accepts it");
        prop_assert!(!judgement.commands.iter().any(|c| c.verdict == Unknown), "{} {:?}", text, judgement);

        let shorter = without(&script, |index| matches!(verdict(index), Dead | Identity));
        prop_assert_eq!(run(&shorter), Ok(after.clone()), "without the idle: {:?} {:?}", text, judgement);
        for (target, file) in files.iter().enumerate() {
            let zero = judgement.commands.iter().any(|c| c.targets[target] == NetZero);
            prop_assert!(!zero || after[target] == file.as_bytes(), "net zero: {:?} {:?}", text, judgement);
            if in_place && files.len() == 1 && !zero {
                let live = without(&script, |index| !matches!(verdict(index), Live | Control | Guard));
                prop_assert_eq!(run(&live), Ok(after.clone()), "the live alone: {:?} {:?}", text, judgement);
            }
            let quiet = options.contains(&"-n");
            if in_place && !quiet && script.commands.len() == 1 && script.commands[0].name != b'w' && script.commands[0].name != b'W' {
                let changed = after[target] != file.as_bytes();
                let live = judgement.commands[0].targets[target] == Live;
                let judged = judgement.commands[0].targets[target] != Control;
                prop_assert!(!judged || live == changed, "alone: {:?} {:?}", text, judgement);
            }
        }
    }
}
