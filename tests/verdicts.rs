//! Verdicts that lead astray: what was not done before an edit, and causes that nothing shows.

#[path = "cli/fixture.rs"]
#[allow(dead_code)]
mod fixture;
#[allow(dead_code)]
mod support;

use std::fs;

use fixture::with_foo;
use serde_json::Value;
use support::run::{audit, run};

/// The first line of src_prepare's body behind `default`.
const FIRST: u64 = 13;

/// The report of an ebuild whose src_prepare is `default` and these lines, of which `words` are options.
#[track_caller]
fn prepared(lines: &str) -> Value {
    let place = with_foo(&format!("src_prepare() {{\n\tdefault\n{lines}}}\n"));
    let words = ["--format", "json", "--fail-on", "never", "--suggest"];
    let done = run(&place, &mut audit(&place, words));
    done.json()["ebuilds"][0].clone()
}

/// `line verdict` of each edit.
fn verdicts(ebuild: &Value) -> Vec<String> {
    let edits = ebuild["edits"].as_array().unwrap().iter();
    edits
        .map(|e| format!("{} {}", e["origin"]["line"].as_u64().unwrap() - FIRST, e["verdict"].as_str().unwrap()))
        .collect()
}

/// `rule line cause note` of each finding; lines count from the first.
fn findings(ebuild: &Value) -> Vec<String> {
    let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    let line = |v: &Value| v.as_u64().map_or("-".to_owned(), |l| (l - FIRST).to_string());
    let one = |f: &Value| {
        let words = [text(&f["rule"]), line(&f["line"]), text(&f["cause"]), text(&f["evidence"][0]["note"])];
        words.join(" ").trim_end_matches(" -").to_owned()
    };
    ebuild["findings"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn what_a_step_writes_that_was_not_run_is_not_judged() {
    let reconf = "\teautoreconf() { eb_note stubbed eautoreconf; }\n\tprintf 'one\\ntwo\\n' > configure || die\n\
                  \tsed -i s/nope/x/ configure\n\teautoreconf\n";
    let ebuild = prepared(&format!(
        "{reconf}\tsed -i s/made/x/ configure\n\tsed -i s/made/x/ Makefile.in\n\tsed -i -e s/one/1/ -e s/made/x/ configure\n\
         \tsed -i s/gone/x/ Makefile.am\n\tsed -i s/made/x/ a.txt\n\tsed -i s/made/made/ configure\n\
         \tprintf '%s\\0' configure.nope | grep -z 'in$' | xargs -0 -r sed -i s/x/y/\n"
    ));
    let wanted = ["2 dead", "4 unknown", "5 unknown", "6 live", "7 path-gone", "8 dead", "9 dead", "10 not-run"];
    assert_eq!(verdicts(&ebuild), wanted);
    assert_eq!(ebuild["remarks"][0], "eautoreconf was not run: its tools are not here");
    let reason = "eautoreconf was not run: its tools are not here, and may have written its file";
    assert_eq!(ebuild["edits"][1]["reason"], reason);
    let command = &ebuild["edits"][3]["commands"][1];
    assert_eq!((&command["verdict"], &command["reason"]), (&"unknown".into(), &reason.into()));
    let told = ["DeadSed 2 removed", "PathGone 7 removed", "DeadSed 8 removed", "DeadSed 9 never"];
    assert_eq!(findings(&ebuild)[..4], told);
    // a removal on such grounds is not offered
    assert!(ebuild["findings"].as_array().unwrap().iter().all(|f| f["line"] != FIRST + 4 && f["line"] != FIRST + 5));
    // a phase that dies of it says so
    let ebuild =
        prepared("\teautoreconf() { eb_note stubbed eautoreconf; }\n\teautoreconf\n\tsed -i s/x/y/ configure || die\n");
    let reason = ebuild["reason"].as_str().unwrap();
    assert!(reason.ends_with("; before that, eautoreconf was not run: its tools are not here"), "{reason}");
    assert_eq!(findings(&ebuild), ["PrepareFailed 2"]);
}

#[test]
fn what_a_missing_tool_may_have_written_is_not_judged() {
    let ebuild = prepared(
        "\tsed -i s/x/y/ early.c\n\tno_such_tool .txt .c a.txt\n\tsed -i s/nope/x/ a.txt\n\tsed -i s/alpha/A/ a.c\n\
         \tprintf 'b\\n' > b.txt || die\n\tsed -i s/nope/x/ b.txt || die\n",
    );
    assert_eq!(verdicts(&ebuild), ["0 path-gone", "2 unknown", "3 unknown", "5 dead"]);
    assert_eq!(ebuild["remarks"], Value::from(vec!["no_such_tool was called and is not here"]));
    assert_eq!(findings(&ebuild), ["PathGone 0 removed", "DeadSed 5 removed"]);
    // nothing that rests on it is safe
    let suggestions = ebuild["findings"].as_array().unwrap().iter().map(|f| &f["suggestion"]["applicability"]);
    assert!(suggestions.into_iter().all(|s| s == "unsafe"), "{ebuild}");
    // it is seen through others, and where it only answers nothing else changes
    let ebuild = prepared(
        "\tenv no_such_tool\n\tsed -i s/alpha/A/ a.c\n\tsed -i \"s/nope/$(no_such_config --libs foo)/\" a.txt\n\
         \tno_such_probe --version > /dev/null && die\n\tsed -i s/alpha/A/ b.c\n",
    );
    assert_eq!(verdicts(&ebuild), ["1 unknown", "2 dead", "4 unknown"]);
    let ebuild = prepared("\tlocal x=$(no_such_config --libs foo)\n\tsed -i s/alpha/A/ a.c\n\ttype -P no_such_tool\n");
    assert_eq!(verdicts(&ebuild), ["1 path-gone"]);
    assert_eq!(ebuild["remarks"], Value::from(vec!["no_such_config was called and is not here"]));
    let place = with_foo("src_prepare() {\n\tdefault\n\tno_such_tool a.txt\n\tsed -i s/nope/x/ a.txt || die\n}\n");
    let text = run(&place, &mut audit(&place, [] as [&str; 0])).exits(0).stdout;
    assert!(
        text.contains(
            "1 edit, 0 live, 1 unknown\n      no_such_tool was called and is not here\n      line 14: not judged"
        ),
        "{text}"
    );
    run(&place, &mut audit(&place, ["--fix", "--no-cache"]));
    assert!(fs::read_to_string(place.ebuild_path("dev-libs/foo-1.2")).unwrap().contains("s/nope/x/"));
}

/// `cause note` of each command of the only edit.
#[track_caller]
fn causes(lines: &str) -> Vec<String> {
    let ebuild = prepared(lines);
    let text = |v: &Value| v.as_str().unwrap_or("-").to_owned();
    let commands = ebuild["edits"][0]["commands"].as_array().unwrap().iter();
    commands.map(|c| format!("{} {}", text(&c["cause"]), text(&c["evidence"][0]["note"]))).collect()
}

#[test]
fn parentheses_that_are_meant_are_no_groups() {
    let file = "\tprintf 'add($x, qwt)\\nver 1.2\\nCFLAGS = -O22\\n' > b.txt || die\n";
    let dead = |seds: &str| causes(&format!("{file}\tsed -i {seds} b.txt || die\n"));
    assert_eq!(dead("-e '/add/s:(qwt):(qwt6):g' -e '/add/s:(qwt):qwt6:g'"), ["removed -"; 2]);
    assert_eq!(dead("-e 's:O2+:O2+g:' -e '/(add)/d'"), ["removed -"; 2]);
    let dialect = "drifted regex-dialect";
    assert_eq!(dead("-e 's:-(O2)+:-O3:' -e 's:(-O2):-O3:' -e 's:-O2+:-O3:'"), [dialect; 3]);
    assert_eq!(dead("-E -e 's:-\\(O2\\):(O3):'"), ["removed -"]);
}

#[test]
fn what_stands_there_anyway_is_not_upstreamed() {
    let file = "\tprintf 'target.path = x\\nall: foo\\n  use_it yes\\nopt = 1\\n' > b.txt || die\n";
    let dead = |sed: &str| causes(&format!("{file}\tsed -i '{sed}' b.txt || die\n"));
    assert_eq!(
        dead("s/target doc/target/; s/foo-static/foo/; s/gone/all/"),
        ["drifted words", "removed -", "removed -"]
    );
    let upstreamed = "upstreamed already so";
    assert_eq!(
        dead("s/^#target.path/target.path/; s/dont use_it yes/use_it yes/; s/opt = 0/opt = 1/"),
        [upstreamed; 3]
    );
}

#[test]
fn a_short_text_in_any_file_is_not_that_of_another_file() {
    let files = "\tprintf 'two foo\\r\\n' > a.txt; printf 'lib foo\\n' > other.mk; printf 'lib\\n' > Dockerfile\n\
                 \tprintf 'telling text\\n' > .gitlab-ci.yml; printf 'set_it\\n' > a.mk; printf 'set_it \\n' > x.service\n";
    let dead = |sed: &str, file: &str| causes(&format!("{files}\tsed -i '{sed}' {file} || die\n"));
    assert_eq!(dead("s/foo$/bar/", "a.txt"), ["drifted line-ending"]);
    assert_eq!(dead("s/lib/lib64/; s/telling text/x/", "x.service"), ["removed -", "removed -"]);
    assert_eq!(dead("s/^set_it$/x/", "a.txt"), ["wrong-file matches here"]);
    assert_eq!(dead("s/set_  *it$/x/; s/SET_IT/x/", "x.service"), ["drifted blanks", "drifted case"]);
}

#[test]
fn what_writes_what_it_matches_is_an_identity_with_any_address() {
    let ebuild = prepared("\tsed -i '2!s/alpha/alpha/' a.txt || die\n\tsed -i '1!s/alpha/alpha/' a.txt || die\n");
    assert_eq!(findings(&ebuild), ["IdentityEdit 0", "DeadSed 1 never"]);
    let message = ebuild["findings"][1]["message"].as_str().unwrap();
    assert!(message.ends_with(": it cannot change anything, whatever the file"), "{message}");
}

#[test]
fn a_word_that_is_read_as_another_is_told_as_that() {
    let told = |lines: &str| -> Vec<String> {
        let ebuild = prepared(lines);
        let found = ebuild["findings"].as_array().unwrap().iter();
        found.map(|f| format!("{} {}", f["rule"].as_str().unwrap(), f["message"].as_str().unwrap())).collect()
    };
    let before = "write -e before it, too";
    assert_eq!(
        told("\tsed -i s/x/b/ -e s/alpha/A/ a.txt\n"),
        [format!("PathGone `s/x/b/` is taken for a file, since -e is given: {before}")]
    );
    let refused = "DeadSed sed refused this edit: -e takes";
    assert_eq!(
        told("\tsed -i -e -E s/alpha/x/ a.txt\n\tsed -e -i s/alpha/x/ a.txt\n"),
        [
            format!("{refused} -E for its expression: write -E before -e"),
            format!("{refused} -i for its expression: write -i before -e")
        ]
    );
    let suffix = "-i takes what follows it for a suffix: write -i -r for the option -r";
    let copy = "LeftoverBackup the suffix of -i leaves the copy foo-1.2/a.txtr in the tree";
    assert_eq!(told("\tsed -ir s/alpha/x/ a.txt\n"), [format!("{copy}; {suffix}")]);
    let said = told("\tsed -i 's/alpha/x' a.txt\n");
    assert_eq!(
        said,
        ["DeadSed sed refused this edit (exit status 1): expression #1, char 9: unterminated `s' command"]
    );
}
