//! What is said of single edits, on small overlays from end to end.

#[path = "cli/fixture.rs"]
#[allow(dead_code)]
mod fixture;
#[allow(dead_code)]
mod support;

use fixture::with_foo;
use serde_json::Value;
use support::run::{audit, run};

/// The first line of src_prepare's body behind `default`.
const FIRST: u64 = 13;

/// The report of an ebuild whose src_prepare is `default` and these lines.
#[track_caller]
fn prepared(lines: &str) -> Value {
    reported(&format!("src_prepare() {{\n\tdefault\n{lines}}}\n"))
}

#[track_caller]
fn reported(text: &str) -> Value {
    let place = with_foo(text);
    let words = ["--format", "json", "--fail-on", "never"];
    let report = run(&place, &mut audit(&place, words)).exits(0).json();
    report["ebuilds"][0].clone()
}

/// `rule line cause note` of each finding.
fn findings(ebuild: &Value) -> Vec<String> {
    let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    let one = |f: &Value| {
        let words = [text(&f["rule"]), f["line"].to_string(), text(&f["cause"]), text(&f["evidence"][0]["note"])];
        words.join(" ").trim_end_matches(" -").to_owned()
    };
    ebuild["findings"].as_array().unwrap().iter().map(one).collect()
}

/// `line verdict` of each edit.
fn verdicts(ebuild: &Value) -> Vec<String> {
    let edits = ebuild["edits"].as_array().unwrap().iter();
    edits.map(|e| format!("{} {}", e["origin"]["line"], e["verdict"].as_str().unwrap())).collect()
}

#[test]
fn a_dead_perl_call_has_a_cause() {
    let ebuild = prepared(
        "\tprintf 'one\\ngamma\\n' > b.c || die\n\tperl -pi -e 's/gamma/x/' a.txt || die\n\
         \tperl -i -pe 's/ALPHA/x/; s/zeta/y/' a.txt || die\n\tperl -pi -e 's/omega/longer/' a.txt || die\n\
         \tperl -pi -e 's/beta/beta/' a.txt || die\n\tperl -pi -e 's/(omega)/uc $1/e' a.txt || die\n",
    );
    let line = |n: u64, rest: &str| format!("DeadPerl {} {rest}", FIRST + n);
    let wanted = [line(1, "wrong-file matches here"), line(2, "drifted case"), line(3, "removed"), line(5, "unknown")];
    assert_eq!(findings(&ebuild), wanted);
    assert_eq!(verdicts(&ebuild)[3], format!("{} identity", FIRST + 4));
    let reason = ebuild["findings"][3]["reason"].as_str().unwrap();
    assert_eq!(reason, "its replacement is code (flag e), so it was not run again");
}

#[test]
fn a_line_is_drifted_only_where_sed_would_change_it() {
    let ebuild = prepared(
        "\tprintf 'set(PATCH_VERSION 0)\\nvalue_of other thing\\n' > b.txt || die\n\
         \tsed -i 's/PATCH_VERSION 5/x/' b.txt || die\n\
         \tsed -i '/^value_of_other/s/thing_there/x/' b.txt || die\n",
    );
    let wanted = [format!("DeadSed {} drifted words", FIRST + 1), format!("DeadSed {} removed", FIRST + 2)];
    assert_eq!(findings(&ebuild), wanted);
    // all but the last word is there
    let ebuild = prepared(
        "\tprintf 'foo = bar2\\nCFLAGS = -O3\\n' > b.txt || die\n\tsed -i 's/foo = bar1/x/' b.txt || die\n\
         \tsed -i 's/^CFLAGS = -O2/x/' b.txt || die\n\tperl -pi -e 's/foo = bar1/x/' b.txt || die\n\
         \tsed -i 's/foo = qux/x/; s/CFLAGS-O2/x/' a.txt || die\n",
    );
    let line = |n: u64, rule: &str, rest: &str| format!("{rule} {} {rest}", FIRST + n);
    let drifted = "drifted words";
    let wanted = [line(1, "DeadSed", drifted), line(2, "DeadSed", drifted), line(3, "DeadPerl", drifted)];
    assert_eq!(findings(&ebuild), [&wanted[..], &[line(4, "DeadSed", "removed")]].concat());
}

#[test]
fn what_a_search_did_not_see_is_said() {
    let ebuild = reported(
        "src_unpack() {\n\tdefault\n\tcd \"${S}\" || die\n\
         \ttruncate -s 5M huge.txt || die\n\tprintf 'gamma\\0' > data.bin || die\n}\n\n\
         src_prepare() {\n\tdefault\n\tsed -i s/gamma/x/ a.txt || die\n}\n",
    );
    let reason = ebuild["findings"][0]["reason"].as_str();
    let wanted = "1 file too large for it was not searched, 1 binary file with its text was not tried";
    assert_eq!((reason, &ebuild["findings"][0]["cause"]), (Some(wanted), &"removed".into()));
}

#[test]
fn lines_are_right_beside_a_debug_trap_of_the_ebuild() {
    let ebuild = prepared(
        "\ttrap 'COUNT=$(( COUNT + 1 ))' DEBUG\n\tsed -i s/alpha/A/ a.txt || die\n\t:\n\ttrap - DEBUG\n\
         \tsed -i s/gamma/A/ a.txt || die\n\t[[ ${COUNT} -ge 2 && ${COUNT} -le 5 ]] || die \"${COUNT}\"\n",
    );
    assert_eq!(verdicts(&ebuild), [format!("{} live", FIRST + 1), format!("{} dead", FIRST + 4)]);
    assert_eq!(ebuild["status"], "audited");
}

#[test]
fn a_function_named_sed_leaves_its_callers_their_calls() {
    let ebuild = reported(
        "sed() { command sed -i \"$@\" || die; }\n\nsrc_prepare() {\n\tdefault\n\
         \tsed -e s/alpha/A/ a.txt\n\t\\sed -e s/gamma/G/ a.txt\n}\n",
    );
    assert_eq!(verdicts(&ebuild), [format!("{} live", FIRST + 2), format!("{} dead", FIRST + 3)]);
    assert_eq!(findings(&ebuild), [format!("DeadSed {} removed", FIRST + 3)]);
}

#[test]
fn a_call_that_was_cut_off_is_unknown() {
    let ebuild = prepared(
        "\ttimeout 0.3 sed -i ':a;ba' a.txt\n\tsed -i ':b;bb' a.txt &\n\tsleep 0.3; kill -9 $!; wait\n\
         \t( ulimit -t 1; exec sed -i ':c;bc' a.txt )\n\tsed -i ':d;bd' a.txt &\n\tsleep 0.3\n",
    );
    let line = |n: u64| format!("{} unknown", FIRST + n);
    assert_eq!(verdicts(&ebuild), [line(0), line(1), line(3), line(4)]);
    assert!(findings(&ebuild).is_empty(), "{:?}", findings(&ebuild));
    let reason = |n: usize| ebuild["edits"][n]["reason"].as_str().unwrap().to_owned();
    assert_eq!(reason(0), "a signal or the end of the phase came before the end of sed");
    assert_eq!(reason(2), "sed was ended by a signal");
}

#[test]
fn a_reader_between_an_edit_and_its_undoing_hides_neither() {
    let undone = |between: &str| {
        let lines = format!("\tsed -i s/alpha/A/ a.txt\n{between}\tsed -i s/^A$/alpha/ a.txt\n");
        findings(&prepared(&lines)).iter().any(|f| f.starts_with("OverwrittenEdit"))
    };
    assert!(undone(""));
    assert!(undone("\tx=$(sed -n /beta/p a.txt)\n"), "it does not see the edit");
    assert!(!undone("\tx=$(sed -n 1p a.txt)\n"), "what it read lives on");
}

#[test]
fn output_to_dev_null_edits_nothing() {
    let ebuild = prepared(
        "\tsed -e s/alpha/A/ a.txt > /dev/null || die\n\tsed -n /alpha/p a.txt > /dev/null || die\n\
         \tif sed -e '/beta/q 1' a.txt > /dev/null; then die; fi\n\tsed -e 's/alpha/A/w b.txt' a.txt > /dev/null || die\n",
    );
    let wanted = [(0, "no-output"), (1, "filter"), (2, "filter"), (3, "filter")];
    assert_eq!(verdicts(&ebuild), wanted.map(|(n, v)| format!("{} {v}", FIRST + n)));
    assert_eq!(findings(&ebuild), [format!("NoInPlace {FIRST} -")].map(|f| f.trim_end_matches(" -").to_owned()));
}

#[test]
fn a_question_to_sed_is_no_edit() {
    let ebuild = prepared(
        "\tif sed -n '/gamma/q1' a.txt; then :; fi\n\tsed -n '/gamma/q1' a.txt && :\n\tif ! sed -n /beta/Q5 a.txt; then :; fi\n\
         \tsed -n '/beta/q' a.txt || die\n\twhile ! sed '/beta/Q0;$q1' a.txt; do break; done\n\
         \tsed 's/alpha/A/' a.txt || die\n\tif ! sed 's/alpha/A/' a.txt; then die; fi\n\tsed -n 's/alpha/A/' a.txt\n",
    );
    let wanted = ["filter", "filter", "filter", "filter", "filter", "no-output", "no-output", "filter"];
    let line = |(n, verdict): (u64, &&str)| format!("{} {verdict}", FIRST + n);
    assert_eq!(verdicts(&ebuild), (0..).zip(&wanted).map(line).collect::<Vec<_>>());
    assert_eq!(findings(&ebuild), [5, 6].map(|n| format!("NoInPlace {}", FIRST + n)));
    assert!(ebuild["findings"].as_array().unwrap().iter().all(|f| f["suggestion"].is_object()));
}

#[test]
fn a_question_may_be_put_through_a_function() {
    let ebuild = reported(
        "myq() { sed -n '/alpha/p' \"$1\"; }\nouter() { myq \"$1\"; }\nforgotten() { sed 's/alpha/A/' \"$1\"; }\n\
         quiet() { sed -n '/alpha/q' \"$1\"; }\nprinted() { sed -n '/alpha/p' \"$1\"; }\n\n\
         src_prepare() {\n\tdefault\n\tif outer a.txt; then :; fi\n\tforgotten a.txt || die\n\tquiet a.txt || die\n\
         \tprinted a.txt\n}\n",
    );
    assert_eq!(verdicts(&ebuild), ["11 filter", "13 no-output", "14 filter", "15 no-output"]);
}

#[test]
fn nothing_is_said_to_be_unrun_while_calls_are_lost() {
    let lines = |lost: &str| {
        format!("\tlocal list=()\n\tfor f in \"${{list[@]}}\"; do\n\t\tsed -i s/a/b/ \"${{f}}\"\n\tdone\n{lost}")
    };
    assert_eq!(findings(&prepared(&lines(""))), [format!("UnrunEdit {}", FIRST + 2)]);
    // its stack is not known
    let ebuild = prepared(&lines("\tenv -u EB_AT sed -i s/alpha/A/ a.txt\n"));
    assert_eq!(verdicts(&ebuild)[0], format!("{} unknown", FIRST + 2));
    assert!(findings(&ebuild).iter().all(|f| !f.starts_with("UnrunEdit")));
}

#[test]
fn a_loop_with_as_many_scripts_as_turns_is_judged() {
    let ebuild = prepared("\tfor i in {1..120}; do\n\t\tsed -i -e \"s/word_${i}_/x/\" a.txt || die\n\tdone\n");
    assert_eq!(findings(&ebuild), [format!("DeadSed {} removed", FIRST + 1)]);
    let commands = ebuild["edits"][0]["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 120);
    assert!(commands.iter().all(|c| c["verdict"] == "dead"));
    assert_eq!(commands[119]["reason"], "only 100 dead commands of a place are explained");
}

#[test]
fn a_changed_file_names_the_patch_that_changed_it() {
    let place = with_foo(
        "PATCHES=( \"${FILESDIR}\"/one.patch )\n\nsrc_prepare() {\n\tdefault\n\tmkdir sub && echo beta > sub/b.txt || die\n\
         \tpatch -d sub -p3 < \"${FILESDIR}\"/two.patch || die\n\tpatch -i \"${FILESDIR}\"/three.patch || die\n}\n",
    );
    let patch = |name: &str, file: &str, old: &str, new: &str| {
        let text = format!("--- {file}\n+++ {file}\n@@ -1 +1 @@\n-{old}\n+{new}\n");
        support::overlay::put(&place.package_dir("dev-libs/foo-1.2").join("files").join(name), text);
    };
    let one = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-alpha\n+ALPHA\n beta\n--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+gamma\n";
    support::overlay::put(&place.package_dir("dev-libs/foo-1.2").join("files/one.patch"), one);
    patch("two.patch", "x/y/z/b.txt", "beta", "BETA");
    patch("three.patch", "deep/down/new.txt", "gamma", "GAMMA");
    let report = run(&place, &mut audit(&place, ["--format", "json"])).exits(0).json();
    let ebuild = &report["ebuilds"][0];
    let lines = |file: &Value| -> Vec<u64> {
        let ids = file["edits"].as_array().unwrap().iter();
        ids.map(|id| ebuild["edits"][id.as_u64().unwrap() as usize]["origin"]["line"].as_u64().unwrap()).collect()
    };
    let changed = ebuild["changed"].as_array().unwrap().iter();
    let told: Vec<_> = changed.map(|c| (c["path"].as_str().unwrap(), lines(c))).collect();
    let wanted = [("foo-1.2/a.txt", vec![11]), ("foo-1.2/new.txt", vec![11, 17]), ("foo-1.2/sub/b.txt", vec![16])];
    assert_eq!(told, wanted);
}

#[test]
fn a_status_of_the_scripts_own_is_no_dead_command() {
    let ebuild = prepared(
        "\tsed -i '/alpha/{s//ALPHA/;h};${x;/./{x;q0};x;q1}' a.txt || die\n\tsed -i '/forbidden/q1' a.txt || die\n\
         \tsed -i -e 's/beta/B/' -e '/nope1/Q1' a.txt || die\n\tsed -i '$!b;/zz/q0;q1' a.txt && die\n\
         \tsed -i -e 's/nope2/x/' -e '/forbidden/q1' a.txt || die\n\tsed -i -e 's/nope3/x/' -e '$q5' a.txt\n",
    );
    let wanted = ["live", "guard", "live", "guard", "dead", "dead"];
    let lines = (FIRST..).zip(wanted).map(|(line, verdict)| format!("{line} {verdict}"));
    assert_eq!(verdicts(&ebuild), lines.collect::<Vec<_>>());
    assert_eq!(findings(&ebuild), [4, 5].map(|n| format!("DeadExpression {} removed", FIRST + n)));
}

#[test]
fn a_call_is_as_live_as_its_commands() {
    let ebuild = prepared(
        "\tsed -i '/beta/w list.txt' a.txt || die\n\tsed -i -e '/beta/w w.txt' -e 's/nope1/x/' a.txt || die\n\
         \tsed -i '1e touch made' a.txt || die\n\tsed -i 's/beta/&/;1e touch made' a.txt || die\n",
    );
    let wanted = ["live", "live", "unknown", "unknown"];
    let lines = (FIRST..).zip(wanted).map(|(line, verdict)| format!("{line} {verdict}"));
    assert_eq!(verdicts(&ebuild), lines.collect::<Vec<_>>());
    assert_eq!(findings(&ebuild), [format!("DeadExpression {} removed", FIRST + 1)]);
    assert_eq!(ebuild["edits"][2]["reason"], "the script runs a command (e), which a replay does not");
}

#[test]
fn lines_that_are_only_taken_apart_make_no_net_zero() {
    let ebuild = prepared(
        "\tsed -i '$!N;s/nope\\nx/y/;P;D' a.txt || die\n\tsed -i 'H;1h;$!d;x;s/nope/x/' a.txt || die\n\
         \tsed -i '$!N;/^\\(.*\\)\\n\\1$/!P;D' a.txt || die\n\tsed -i 's/alpha/x/;s/x/alpha/' a.txt || die\n",
    );
    let causes = ["removed", "removed", "unknown"];
    let wanted: Vec<String> = (FIRST..).zip(causes).map(|(line, cause)| format!("DeadSed {line} {cause}")).collect();
    assert_eq!(findings(&ebuild)[..3], wanted);
    assert_eq!(findings(&ebuild)[3], format!("NetZeroEdit {}", FIRST + 3));
    assert_eq!(ebuild["findings"][2]["reason"], "its commands only steer, and nothing came of it");
}

/// The cause of each sed of a.txt (`alpha`, `beta`, `gamma`), all dead, with b.txt beside it. Every unknown one has a reason.
#[track_caller]
fn causes(scripts: &[(&str, &str)]) {
    let lines: String = scripts.iter().map(|(words, _)| format!("\tsed -i {words} a.txt\n")).collect();
    let ebuild = reported(&format!(
        "src_unpack() {{\n\tdefault\n\tcd \"${{S}}\" || die\n\techo gamma >> a.txt || die\n\
         \tprintf '%s\\n' one two thirty-Q 4 5 6 7 8 9 10 11 12 > b.txt || die\n}}\n\nsrc_prepare() {{\n\tdefault\n{lines}}}\n",
    ));
    let found = ebuild["findings"].as_array().unwrap();
    assert_eq!(found.len(), scripts.len(), "{found:#?}");
    for ((words, cause), finding) in scripts.iter().zip(found) {
        assert_eq!(finding["cause"], *cause, "{words}: {finding:#}");
        let has_reason = finding["reason"].is_string();
        assert!(*cause != "unknown" || has_reason, "{words}: {finding:#}");
    }
}

#[test]
fn superseded_is_what_the_command_itself_would_have_done() {
    causes(&[
        ("'H;1h;$!d;x;s/nope/x/'", "removed"),
        ("'H;$!d;x;s/^\\n//;s/nope/x/'", "removed"),
        ("--posix 's/alpha\\+/A/'", "drifted"),
    ]);
}

#[test]
fn removed_is_only_what_is_nowhere() {
    causes(&[
        ("'/alpha/{n;n;s/beta/x/}'", "unknown"),
        ("'1s/beta/A/'", "unknown"),
        ("'s/beta/A/2'", "unknown"),
        ("'/beta/{/alpha/d}'", "unknown"),
        ("'/beta/s/alpha/x/'", "unknown"),
        ("'/gamma/,/alpha/s/beta/A/'", "unknown"),
        ("'/gamma/!s/gamma/A/'", "never"),
        ("'/gamma/!{s//A/}'", "never"),
        ("'y/Q/W/'", "wrong-file"),
        ("'y/Z/W/'", "removed"),
        ("'10,11d'", "wrong-file"),
        ("'s/[XY]Z/A/'", "removed"),
        ("'20q'", "unknown"),
    ]);
}

#[test]
fn what_reads_writes_or_runs_has_a_cause_too() {
    causes(&[
        ("'/gamma/r missing.txt'", "bad-script"),
        ("'/nope/r b.txt'", "removed"),
        ("'s/nope/x/w f'", "removed"),
        ("'/nope/w f'", "removed"),
        ("'s/nope/date/e'", "removed"),
        ("'/two/r b.txt'", "wrong-file"),
    ]);
    let ebuild = prepared("\tsed 's/nope/x/' < a.txt > out || die\n\tsed 's/alpha/alpha/' < a.txt > out2 || die\n");
    assert_eq!(findings(&ebuild), [format!("DeadSed {FIRST} removed"), format!("IdentityEdit {}", FIRST + 1)]);
    // whoever picks lines may get all of them
    let ebuild = prepared("\tsed -n '/a/p' a.txt > all || die\n\tsed -n '/./p;$=' a.txt > b.txt || die\n");
    let none: [String; 0] = [];
    assert_eq!(findings(&ebuild), none);
}

#[test]
fn a_line_is_drifted_where_any_one_word_is_another() {
    let ebuild =
        prepared("\tprintf 'CFLAGS = -O3 -g\\n' > b.txt || die\n\tsed -i 's/CFLAGS = -O2 -g/x/' b.txt || die\n");
    assert_eq!(findings(&ebuild), [format!("DeadSed {} drifted words", FIRST + 1)]);
}

#[test]
fn evidence_is_the_line_that_the_command_means() {
    let ebuild = prepared(
        "\tprintf 'one\\n\\ndeep omega\\nlast\\n' > b.txt || die\n\tsed -i '/deep omega/a more' a.txt || die\n\
         \tsed -i '/omega/q' a.txt || die\n\tsed -i '/deep om/r a.txt' a.txt || die\n",
    );
    for finding in ebuild["findings"].as_array().unwrap() {
        assert_eq!(
            (&finding["cause"], &finding["evidence"][0]["line"]),
            (&"wrong-file".into(), &3.into()),
            "{finding:#}"
        );
        assert_eq!(finding["evidence"][0]["text"], "deep omega");
    }
    assert_eq!(findings(&ebuild).len(), 3);
}
