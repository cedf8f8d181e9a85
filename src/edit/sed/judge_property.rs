//! The verdicts hold on random scripts and files.

use proptest::prelude::*;

use super::*;

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
    #![proptest_config(ProptestConfig::with_cases(200))]

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
