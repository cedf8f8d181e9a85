use std::collections::HashMap;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;
use crate::edit::sed::argv::{Invocation, words};

const UTF8: Locale = Locale { posixly_correct: false, utf8: true };

fn cut_argv(argv: &[&str]) -> Result<Script, CutError> {
    let invocation = Invocation::parse(&words(argv), false).expect("sed would start");
    Script::cut(&invocation, &HashMap::new(), UTF8)
}

fn cut(script: &str) -> Script {
    cut_argv(&["sed", script]).expect("sed accepts it")
}

fn sources(script: &Script) -> Vec<&str> {
    script.commands.iter().map(|c| std::str::from_utf8(script.source(&c.span)).expect("text")).collect()
}

#[test]
fn separators_and_blocks() {
    let script = cut("s/a/b/;s/c/d/g ; /x/ { p;p }\n $!{ N ; D;};;d # end");
    assert_eq!(sources(&script), ["s/a/b/", "s/c/d/g", "p", "p", "N", "D", "d"]);
    assert_eq!(
        script.commands.iter().map(|c| c.block).collect::<Vec<_>>(),
        [None, None, Some(0), Some(0), Some(1), Some(1), None]
    );
    assert!(script.blocks[1].addresses.negated);
}

#[test]
fn texts() {
    let text = |script: &str| match &cut(script).commands[0].detail {
        Detail::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text("a\\\nfoo"), "foo\n");
    assert_eq!(text("a\\\n  foo\\\nbar\np"), "  foo\nbar\n");
    assert_eq!(text("a  foo"), "foo\n");
    assert_eq!(text("a\\  foo"), "  foo\n");
    assert_eq!(text("a\\text"), "text\n");
    assert_eq!(text("1i\\\tx"), "\tx\n");
    assert_eq!(text("$a\\"), "");
    assert_eq!(sources(&cut("1{a foo;p }\n}\np")), ["a foo;p }", "p"]);
}

#[test]
fn texts_over_several_pieces() {
    let script = cut_argv(&["sed", "-e", "/x/a\\", "-e", "one\\", "-e", "two", "-e", "p"]).expect("sed accepts it");
    assert_eq!(sources(&script), ["/x/a\\\none\\\ntwo", "p"]);
    assert_eq!(script.commands[0].detail, Detail::Text(b"one\ntwo\n".to_vec()));
    assert_eq!((script.commands[0].piece, script.commands[1].piece), (0, 3));
    assert_eq!(script.locate(script.commands[1].span.start), (3, 0));
    // anything else must end in its own piece
    assert_eq!(cut_argv(&["sed", "-e", "s/a/b\\", "-e", "c/"]).expect_err("refused").piece, 0);
}

#[test]
fn delimiters() {
    let script = cut("s,a\\,b,c,;s|[|]|x|2gp;\\,x,Is/[]/]/y/w out ;p");
    assert_eq!(sources(&script), ["s,a\\,b,c,", "s|[|]|x|2gp", "\\,x,Is/[]/]/y/w out ;p"]);
    let Detail::Substitute(second) = &script.commands[1].detail else { panic!("no s") };
    assert_eq!((second.number, second.global, second.print), (Some(2), true, true));
    let Detail::Substitute(third) = &script.commands[2].detail else { panic!("no s") };
    assert_eq!(third.write.as_deref(), Some(&b"out ;p"[..]));
    assert_eq!(script.source(&third.regex.span), b"[]/]");
}

#[test]
fn addresses() {
    let kinds = |script: &str| {
        let found = cut(script).commands.remove(0).addresses;
        [found.first, found.second].map(|a| a.map(|a| a.kind))
    };
    assert_eq!(kinds("1~2p"), [Some(AddressKind::Step { first: 1, step: 2 }), None]);
    assert_eq!(kinds("2 ~ 0 p"), [Some(AddressKind::Line(2)), None]);
    assert_eq!(kinds("5 , ~4 ! p"), [Some(AddressKind::Line(5)), Some(AddressKind::Multiple(4))]);
    assert_eq!(kinds("$,+3p"), [Some(AddressKind::Last), Some(AddressKind::Plus(3))]);
    assert!(matches!(kinds("0,/x/p"), [Some(AddressKind::Line(0)), Some(AddressKind::Regex(_))]));
}

#[test]
fn first_line_comment_means_quiet() {
    assert!(cut("#n\np").quiet);
    assert!(!cut(" #n\np").quiet);
    assert!(!cut("p\n#n").quiet);
}

#[test]
fn script_files_are_given() {
    let invocation = Invocation::parse(&words(["sed", "-f", "x.sed", "-e", "p"]), false).expect("sed would start");
    let files = HashMap::from([(b"x.sed".to_vec(), b"s/a/b/\n".to_vec())]);
    let script = Script::cut(&invocation, &files, UTF8).expect("sed accepts it");
    assert_eq!(sources(&script), ["s/a/b/", "p"]);
    assert!(Script::cut(&invocation, &HashMap::new(), UTF8).is_err());
}

/// The script as one command a line.
fn one_a_line(script: &Script) -> Vec<u8> {
    let mut out = Vec::new();
    for item in &script.items {
        let span = match item {
            Item::Command(index) => &script.commands[*index].span,
            Item::Open(block) => &script.blocks[*block].span,
            Item::Close { span, .. } | Item::Label { span, .. } | Item::Comment(span) => span,
        };
        out.extend_from_slice(script.source(span));
        out.push(b'\n');
    }
    // an unfinished text must stay unfinished
    if script.text.ends_with(b"\\") {
        out.pop();
    }
    out
}

/// Nothing but separators stands between the cut parts, and they stand in order.
fn gaps_hold_nothing(script: &Script) {
    let mut at = 0;
    for item in &script.items {
        let span = match item {
            Item::Command(index) => &script.commands[*index].span,
            Item::Open(block) => &script.blocks[*block].span,
            Item::Close { span, .. } | Item::Label { span, .. } | Item::Comment(span) => span,
        };
        assert!(script.text[at..span.start].iter().all(|&b| b == b';' || is_space(b)), "{script:?}");
        at = span.end;
    }
    assert!(script.text[at..].iter().all(|&b| b == b';' || is_space(b)), "{script:?}");
}

/// What sed says to a script: the program as it prints it, or its complaint.
fn sed(argv: &[Vec<u8>], dir: &std::path::Path) -> Result<String, String> {
    use std::os::unix::ffi::OsStrExt;
    std::fs::write(dir.join("empty"), "").expect("written");
    let out = Command::new("sed")
        .arg("--debug")
        .args(argv.iter().map(|word| std::ffi::OsStr::from_bytes(word)))
        .arg("empty")
        .current_dir(dir)
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .expect("sed starts");
    match out.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        _ => Err(String::from_utf8_lossy(&out.stderr).trim_end().to_string()),
    }
}

fn is_gnu_sed_4_9() -> bool {
    let out = Command::new("sed").arg("--version").output();
    out.is_ok_and(|out| out.stdout.starts_with(b"sed (GNU sed) 4.9"))
}

const OURS: &[&str] = &[
    "multiple `!'s",
    "unexpected `,'",
    "invalid usage of +N or ~N as first address",
    "unmatched `{'",
    "unexpected `}'",
    "extra characters after command",
    "expected \\ after `a', `c' or `i'",
    "`}' doesn't want any addresses",
    ": doesn't want any addresses",
    "comments don't accept any addresses",
    "missing command",
    "command only uses one address",
    "unterminated address regex",
    "unterminated `s' command",
    "unterminated `y' command",
    "unknown option to `s'",
    "multiple `p' options to `s' command",
    "multiple `g' options to `s' command",
    "multiple number options to `s' command",
    "number option to `s' command may not be zero",
    "strings for `y' command are different lengths",
    "delimiter character is not a single-byte character",
    "expected newer version of sed",
    "invalid usage of line address 0",
    "unknown command: `",
    "incomplete command",
    "\":\" lacks a label",
    "recursive escaping after \\c not allowed",
    "e/r/w commands disabled in sandbox mode",
    "missing filename in r/R/w/W commands",
    "can't find label for jump to `",
    "cannot specify modifiers on empty regexp",
];

/// The cutter and sed must agree on the pieces.
fn agree(pieces: &[&str], dir: &std::path::Path) {
    let argv: Vec<Vec<u8>> = pieces.iter().flat_map(|p| [b"-e".to_vec(), p.as_bytes().to_vec()]).collect();
    let mut whole = words(["sed"]);
    whole.extend(argv.iter().cloned());
    let invocation = Invocation::parse(&whole, false).expect("sed would start");
    let ours = Script::cut(&invocation, &HashMap::new(), UTF8);
    match (sed(&argv, dir), ours) {
        (Ok(program), Ok(script)) => {
            gaps_hold_nothing(&script);
            // a text without an end is taken as it stands, and `\c` or a backslash may eat the newline that joins two pieces:
            // in one piece these make another text
            let odd = pieces.last().is_some_and(|last| last.ends_with('\\'));
            if pieces.len() > 1
                && (odd || pieces.iter().any(|piece| piece.ends_with("\\c\\") || piece.ends_with("\\\\")))
            {
                return;
            }
            let again = [b"-e".to_vec(), one_a_line(&script)];
            let reread = sed(&again, dir).map(|text| text.replace('\n', ""));
            assert_eq!(reread, Ok(program.replace('\n', "")), "{pieces:?}");
        }
        (Err(theirs), Err(ours)) => {
            let regex_first = !OURS.iter().any(|text| theirs.contains(text));
            assert!(regex_first || theirs.ends_with(&ours.reason), "{pieces:?}: sed: {theirs}; cutter: {ours}");
        }
        (Ok(_), Err(ours)) => panic!("{pieces:?}: sed accepts it; cutter: {ours}"),
        (Err(theirs), Ok(_)) => {
            assert!(!OURS.iter().any(|text| theirs.contains(text)), "{pieces:?}: cutter accepts it; sed: {theirs}");
        }
    }
}

#[test]
fn agrees_with_sed_on_tricky_scripts() {
    if !is_gnu_sed_4_9() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let tricky = include_str!("cut_tricky.txt");
    let mut count = 0;
    for line in tricky.lines().filter(|line| !line.is_empty()) {
        let pieces: Vec<String> = line.split(" || ").map(|p| p.replace("␤", "\n").replace("␍", "\r")).collect();
        agree(&pieces.iter().map(String::as_str).collect::<Vec<_>>(), dir.path());
        count += 1;
    }
    assert!(count > 150, "{count} scripts");
}

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "s", "y", "/", "/", "/", "a", "b", "\\", "\\", "[", "]", "[^", "[:", ":]", "[.", "{", "}", ";", ";", "\n",
        "\n", " ", "!", "1", "0", "2", "$", ",", "+", "~", "g", "p", "p", "d", "w f", "i\\", "a\\", "c\\", "i x", "t",
        "T", ":a", "ba", "#", "=", "q", "I", "M", "e", "l", "x", "N", "\\n", "\\c\\", "r f", "/x/", "s/a/b/", "y/a/b/",
        "|", "s|a|b|", "é", "\r", "v", "Q5", "\t", "0,/x/", "/x/,+2", "R f", "W f", "z", "F", "&", "\\&", "\\1",
    ])
}

fn command() -> impl Strategy<Value = String> {
    let address = prop::sample::select(vec![
        "", "", "", "1", "$", "/a/", "\\,b,I", "1,3", "/a/,/b/", "2!", "/[/]/", "1~2", "/a/,+1", "0,/b/M ", "$ ! ",
    ]);
    let command = prop::sample::select(vec![
        "s/a/b/",
        "s,a,b,g",
        "s/[/]/x\\\ny/2p",
        "s/a/b/w out",
        "y/ab/cd/",
        "y/a\\/\\n/b\\nc/",
        "p",
        "d",
        "D",
        "N",
        "n",
        "a foo",
        "a\\\nfoo\\\nbar",
        "i\\  x",
        "c\\\nx",
        "$!N",
        "q",
        "q5",
        "l 3",
        "=",
        "b",
        "t x",
        "T;",
        "h",
        "H;x;G",
        "r file",
        "w out",
        "{p;p}",
        "{ s/a/b/ ; }",
        "{;;p\n}",
        ":x",
        "#c",
        "}",
        "{",
        "e",
        "e date",
        "z;F",
        "s/x/}/};",
    ]);
    let separator = prop::sample::select(vec![";", "\n", " ; ", "\n\n", "", "}"]);
    (address, command, separator).prop_map(|(a, c, s)| format!("{a}{c}{s}"))
}

/// So many cases, unless PROPTEST_CASES asks for others.
fn cases(usual: u32) -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(usual),
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn agrees_with_sed_on_soup(tokens in prop::collection::vec(token(), 1..8), at in 0usize..8) {
        if is_gnu_sed_4_9() {
            let dir = tempfile::tempdir().expect("a directory");
            let at = at.min(tokens.len());
            agree(&[&tokens[..at].concat(), &tokens[at..].concat()], dir.path());
        }
    }

    #[test]
    fn agrees_with_sed_on_commands(commands in prop::collection::vec(command(), 1..5), at in 0usize..5) {
        if is_gnu_sed_4_9() {
            let dir = tempfile::tempdir().expect("a directory");
            let at = at.min(commands.len());
            agree(&[&(commands[..at].concat() + "\n:x\n"), &commands[at..].concat()], dir.path());
        }
    }

    #[test]
    fn cuts_anything_without_a_panic(bytes: Vec<u8>, second: Vec<u8>) {
        let flags = Flags::default();
        let _ = pieces(&[(&bytes, flags), (&second, flags)], UTF8);
    }
}
