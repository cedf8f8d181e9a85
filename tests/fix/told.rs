//! What is said: of suggestions, of what was written and what is left, and on which lines.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::fixture::with_foo;
use crate::support::overlay::{found, put};
use crate::support::run::run;
use crate::{FOO, audited, becomes, prepare, rest};

#[test]
fn why_findings_are_left_is_said() {
    let dead = ["s/gamma/x/", "s/BETA/b/"].map(|script| format!("\tsed -i '{script}' a.txt || die\n")).concat();
    let place = with_foo(&prepare(&format!("{dead}\techo x > b.txt\n\tsed -i.orig 's/x/y/' b.txt || die\n")));
    let end = |words: &[&str]| {
        let done = audited(&place, words).exits(0);
        let at = done.stdout.find("dev-libs/foo/foo-1.2.ebuild: ").expect("the file is named");
        done.stdout[at..].to_owned()
    };
    let left = "left: 1 for --unsafe-fixes: to be put right rather than removed, in reach of flags or of the machine, or \
                not tried\nleft: 1 without a change that is known to be right\n";
    let shown = end(&["--fix", "--diff"]);
    assert!(shown.starts_with("dev-libs/foo/foo-1.2.ebuild: 1 would be fixed\n--- a/dev-libs/"), "{shown}");
    assert!(shown.ends_with(&format!("{left}1 would be fixed, 2 left\n")), "{shown}");
    assert_eq!(end(&["--fix"]), format!("dev-libs/foo/foo-1.2.ebuild: 1 fixed\n{left}1 fixed, 2 left\n"));
    let end = end(&["--fix", "--unsafe-fixes"]);
    assert!(end.ends_with(": 1 fixed\nleft: 1 without a change that is known to be right\n1 fixed, 1 left\n"), "{end}");
}

#[test]
fn diffs_under_their_headings_can_be_applied() {
    let place = with_foo(&prepare("\tsed -i 's/gamma/x/' a.txt || die\n"));
    // the last line of context is a blank one
    let unpack = "src_unpack() {\n\tdefault\n\techo >> \"${S}\"/a.txt || die\n}\n\n";
    place.package("dev-libs/bar-1", &(unpack.to_owned() + &prepare("\tsed -i 's/delta/x/' a.txt || die\n")));
    let shown = audited(&place, &["--fix", "--diff"]).exits(0).stdout;
    assert!(shown.contains("dev-libs/foo/foo-1.2.ebuild: 1 would be fixed\n--- a/"), "{shown}");
    let apply = |program: &str, words: &[&str], dir: &Path, text: &str| {
        fs::write(place.path().join("diff"), text).unwrap();
        let input = fs::File::open(place.path().join("diff")).unwrap();
        let done = Command::new(program).args(words).current_dir(dir).stdin(input).output().unwrap();
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stdout));
    };
    let copy = place.path().join("copy");
    for (program, words) in [("git", &["apply"][..]), ("patch", &["-p1"])] {
        assert!(Command::new("cp").arg("-a").arg(place.repo()).arg(&copy).status().unwrap().success());
        apply(program, words, &copy, &shown);
        for (ebuild, word) in [("foo/foo-1.2", "gamma"), ("bar/bar-1", "delta")] {
            let text = fs::read_to_string(copy.join(format!("dev-libs/{ebuild}.ebuild"))).unwrap();
            assert!(!text.contains(word), "{program}: {text}");
        }
        fs::remove_dir_all(&copy).unwrap();
    }
    // of the sources: each ebuild has its own folder there
    let shown = audited(&place, &["--diff"]).exits(0).stdout;
    assert!(shown.contains("dev-libs/foo-1.2: what prepare changed\n--- a/foo-1.2/a.txt"), "{shown}");
    for (program, words) in [("git", &["apply"][..]), ("patch", &["-p1"])] {
        for (p, text) in [("foo-1.2", "alpha\nbeta\n"), ("bar-1", "alpha\nbeta\n\n")] {
            crate::support::overlay::put(&copy.join(p).join("a.txt"), text);
        }
        apply(program, words, &copy, &shown);
        assert_eq!(fs::read_to_string(copy.join("bar-1/a.txt")).unwrap(), "ALPHA\nbeta\n\n");
        fs::remove_dir_all(&copy).unwrap();
    }
}

/// Bytes that a terminal would obey, and one that is no UTF-8.
const ODD: &[u8] = b"\t# caf\xc3\xa9\r\n\t# \x0c \x1b[2J \xe2\x80\xae \xe9 a\rb\n";

#[test]
fn diffs_for_programs_have_the_bytes_as_they_are_and_those_for_terminals_have_not() {
    let place = with_foo("");
    let path = place.ebuild_path(FOO);
    let text = prepare("\tsed -i 's/gamma/x/' a.txt || die\n");
    let dead = text.find("\tsed -i 's/gamma").unwrap();
    let bytes =
        [crate::fixture::usual("8").as_bytes(), &text.as_bytes()[..dead], ODD, &text.as_bytes()[dead..]].concat();
    fs::write(&path, &bytes).unwrap();
    let fixed = String::from_utf8_lossy(&bytes).replace("\tsed -i 's/gamma/x/' a.txt || die\n", "");
    audited(&place, &["--fix", "--diff"]).exits(0);
    let piped = fs::read(place.path().join("out")).unwrap();
    audited(&place, &["--fix", "--diff", "-o", "diff"]).exits(0);
    assert_eq!(fs::read(place.path().join("diff")).unwrap(), piped);
    audited(&place, &["--fix", "--diff", "--format", "json"]).exits(0);
    let beside = fs::read(place.path().join("err")).unwrap();
    for shown in [piped, beside] {
        for (program, words) in [("git", &["apply"][..]), ("patch", &["-p1", "--binary"])] {
            fs::write(&path, &bytes).unwrap();
            fs::write(place.path().join("diff"), &shown).unwrap();
            let input = fs::File::open(place.path().join("diff")).unwrap();
            let done = Command::new(program).args(words).current_dir(place.repo()).stdin(input).output().unwrap();
            assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stdout));
            assert_eq!(String::from_utf8_lossy(&fs::read(&path).unwrap()), fixed, "{program}");
        }
    }
    fs::write(&path, &bytes).unwrap();
    let colored = audited(&place, &["--fix", "--diff", "--color", "always"]).exits(0).stdout;
    // what the terminal gets, which itself puts a carriage return before each newline
    let spawn = "import pty, sys; pty.spawn(sys.argv[1:])";
    let mut command = Command::new("python3");
    command.args(["-c", spawn, env!("CARGO_BIN_EXE_ebaudit"), "audit"]).arg(place.repo()).arg("--distdir");
    command.arg(place.dist()).args([
        "--offline",
        "--fail-on",
        "never",
        "--fix",
        "--diff",
        "--quiet",
        "--color",
        "never",
    ]);
    command.env("TMPDIR", place.tmp()).env("XDG_CACHE_HOME", place.path().join("cache"));
    let terminal = run(&place, &mut command).stdout.replace("\r\n", "\n");
    for shown in [colored, terminal] {
        assert!(shown.contains(" \t# café\\x0d\n \t# \\x0c \\x1b[2J \\u{202e} \\xe9 a\\x0db\n"), "{shown}");
        assert!(!shown.contains(['\r', '\u{202e}']) && !shown.contains("\x1b[2J"), "{shown}");
    }
}

#[test]
fn diffs_of_sources_have_their_characters_as_they_are() {
    let text = "src_unpack() {\n\tdefault\n\tprintf 'x\\r\\n\\f\\n' >> \"${S}\"/a.txt || die\n}\n\n";
    let place = with_foo(&(text.to_owned() + &prepare("")));
    let shown = audited(&place, &["--diff"]).exits(0).stdout;
    assert!(shown.contains("-alpha\n+ALPHA\n beta\n x\r\n \x0c\n"), "{shown}");
    let shown = audited(&place, &["--diff", "--color", "always"]).exits(0).stdout;
    assert!(shown.contains("-alpha\n+ALPHA\n beta\n x\\x0d\n \\x0c\n"), "{shown}");
}

#[test]
fn the_diff_is_shown_and_nothing_written() {
    let text = prepare("\tsed -i 's/gamma/x/' a.txt || die\n");
    let place = with_foo(&text);
    let shown = audited(&place, &["--fix", "--diff"]).exits(0);
    assert!(shown.stdout.contains("\n-\tsed -i 's/gamma/x/' a.txt || die\n"), "{}", shown.stdout);
    assert!(shown.stdout.contains("--- a/dev-libs/foo/foo-1.2.ebuild"), "{}", shown.stdout);
    assert!(shown.stdout.ends_with("1 would be fixed, 0 left\n"), "{}", shown.stdout);
    assert_eq!(rest(&place), text);
}

#[test]
fn a_suggestion_is_verified_only_when_that_is_asked_for() {
    let place = with_foo(&prepare("\tsed -i 's/gamma/x/' a.txt || die\n"));
    let suggestion = |words: &[&str]| {
        let done = audited(&place, &[words, &["--format", "json"]].concat()).exits(0);
        done.json()["ebuilds"][0]["findings"][0]["suggestion"].clone()
    };
    let plain = suggestion(&[]);
    assert_eq!((&plain["verified"], &plain["applicability"]), (&false.into(), &"unsafe".into()));
    let tried = suggestion(&["--suggest"]);
    assert_eq!((&tried["verified"], &tried["applicability"]), (&true.into(), &"safe".into()));
    assert_eq!(tried["replacement"], "");
    assert!(tried.get("line").is_none(), "{tried}");
}

#[test]
fn words_of_a_functions_callers_are_told_there_and_left() {
    let text = "myed() {\n\tsed -i -e \"$@\" || die\n}\n\nsrc_prepare() {\n\tdefault\n\tmyed 's/alpha/A/' a.txt\n\
                \tmyed 's/gamma/x/' a.txt\n}\n";
    let place = with_foo(text);
    let done = audited(&place, &["--fix", "--unsafe-fixes", "--format", "json"]).exits(0);
    let finding = done.json()["ebuilds"][0]["findings"][0].clone();
    assert_eq!((&finding["rule"], &finding["line"]), (&"DeadExpression".into(), &18.into()));
    assert_eq!(finding["suggestion"]["text"], "remove `s/gamma/x/` by hand: a caller of the function gives it");
    assert_eq!(rest(&place), text);
    let text =
        "myed() {\n\tsed -i -e \"$1\" \"$2\"\n\t:\n}\n\nsrc_prepare() {\n\tdefault\n\tmyed 's/alpha/A/' gone.txt\n}\n";
    let place = with_foo(text);
    let done = audited(&place, &["--fix", "--unsafe-fixes", "--format", "json"]).exits(0);
    let finding = done.json()["ebuilds"][0]["findings"][0].clone();
    assert_eq!((&finding["rule"], &finding["line"]), (&"PathGone".into(), &18.into()));
    assert_eq!(rest(&place), text);
}

#[test]
fn expressions_in_variables_and_files_are_taken_out_or_it_is_said_why_not() {
    let lines = |gamma: &str| format!("\tlocal x='{gamma}s/beta/b/'\n\tsed -i -e \"${{x}}\" a.txt || die\n");
    becomes(&lines("s/gamma/x/; "), &lines(""));
    let said = |lines: &str| {
        let place = with_foo(&prepare(lines));
        crate::support::overlay::put(&place.package_dir(FOO).join("files/x.sed"), "s/gamma/x/\ns/beta/b/\n");
        let done = audited(&place, &["--suggest", "--format", "json"]).exits(0);
        let suggestion = done.json()["ebuilds"][0]["findings"][0]["suggestion"].clone();
        assert!(suggestion["replacement"].is_null(), "{suggestion}");
        suggestion["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        said("\tsed -i -f \"${FILESDIR}\"/x.sed a.txt || die\n"),
        "remove `s/gamma/x/` by hand: it stands in the script file files/x.sed"
    );
    assert_eq!(
        said("\tlocal x=s/gamma/x/\n\tsed -i -e \"${x}\" -e s/beta/b/ a.txt || die\n"),
        "remove `s/gamma/x/` by hand: nothing else is in the variable that holds it"
    );
    assert_eq!(
        said("\tlocal x=B\n\tsed -i -e \"s/${x}ETA/x/\" a.txt || die\n\techo \"${x}\"\n"),
        "match the text as it is now by hand: an expansion of the shell makes it"
    );
    // used twice, its value is not this call's alone
    assert_eq!(
        said("\tlocal x='s/gamma/x/;s/beta/b/'\n\tsed -i -e \"${x}\" a.txt || die\n\techo \"${x}\"\n"),
        "remove `s/gamma/x/` by hand: an expansion of the shell makes it"
    );
}

/// Rule and lines of each finding of a src_prepare with these lines, the first of which is line 14.
fn stand(lines: &str) -> Vec<(String, u64, u64)> {
    let place = with_foo(&prepare(lines));
    let report = audited(&place, &["--format", "json"]).exits(0).json();
    let findings = report["ebuilds"][0]["findings"].as_array().unwrap().clone();
    let line = |f: &serde_json::Value, name: &str| f[name].as_u64().unwrap();
    findings.iter().map(|f| (f["rule"].as_str().unwrap().to_owned(), line(f, "line"), line(f, "end_line"))).collect()
}

#[test]
fn a_command_is_told_on_the_line_of_its_own_word() {
    let dead = |line: u64| ("DeadExpression".to_owned(), line, line);
    let comments = "\tsed -i -e 's/beta/b/' `# it's live` \\\n\t\t-e 's/gamma/x/' `# dead` \\\n\t\ta.txt || die\n";
    assert_eq!(stand(comments), [dead(15)]);
    becomes(comments, &comments.replace("-e 's/gamma/x/' ", ""));
    let twice = "\tsed -i -e 's/gamma/x/' \\\n\t\t-e 's/beta/b/' \\\n\t\t-e 's/gamma/x/' a.txt\n";
    assert_eq!(stand(twice), [dead(14), dead(16)]);
    let longer = "\tsed -i -e 's/beta/b/;s/gamma/x/g' \\\n\t\t-e 's/gamma/x/' a.txt\n";
    assert_eq!(stand(longer), [dead(14), dead(15)]);
    let document = "\tsed -i -f - a.txt <<-EOF || die\n\t\ts/beta/b/\n\t\ts/gamma/x/\n\tEOF\n";
    assert_eq!(stand(document), [dead(16)]);
}

#[test]
fn what_is_said_of_an_edit_is_what_it_does() {
    let all = |lines: &str| {
        let place = with_foo(&prepare(lines));
        audited(&place, &["--suggest", "--format", "json"]).exits(0).json()["ebuilds"][0].clone()
    };
    let first = |lines: &str| all(lines)["findings"][0].clone();
    let split = first("\tsed -i -e 's/beta/b/' -e '/gamma/a\\' -e 'bar' a.txt\n");
    assert_eq!(split["suggestion"]["text"], "remove `/gamma/a\\\\nbar` by hand: another expression goes on with it");
    let appended = first("\techo b > b.txt\n\tsed 's/gamma/x/' a.txt >> b.txt\n");
    let message = appended["message"].as_str().unwrap();
    assert!(message.starts_with("this sed changed nothing of what it writes to foo-1.2/b.txt"), "{message}");
    let copy = first("\tperl -i.bak -pe 's/beta/b/' a.txt\n");
    assert_eq!((&copy["rule"], &copy["target"]), (&"LeftoverBackup".into(), &"foo-1.2/a.txt.bak".into()));
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n ALPHA\n-beta\n+b\n";
    let tried = all(&format!("\tpatch -p1 --dry-run <<'EOF' || die\n{patch}EOF\n"));
    let verdicts: Vec<_> = tried["edits"].as_array().unwrap().iter().map(|e| e["verdict"].clone()).collect();
    assert_eq!(verdicts, ["live", "filter"]);
}

#[test]
fn a_file_of_another_repository_is_left_as_it_is() {
    let place = with_foo(&prepare("\tsed -i -e 's/none/x/' a.txt || die\n"));
    // beside the overlay, where its master is found
    found(&place.repo(), "cases", " elsewhere", &["dev-libs"]);
    found(&place.path().join("elsewhere"), "elsewhere", "", &["dev-libs"]);
    let (path, other) = (place.ebuild_path(FOO), place.path().join("elsewhere/dev-libs/foo/foo-1.2.ebuild"));
    put(&other, fs::read(&path).unwrap());
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&other, &path).unwrap();
    let before = fs::read(&other).unwrap();
    let done = audited(&place, &["--fix"]);
    assert!(done.stderr.contains("a link out of the repository"), "{}{}", done.stdout, done.stderr);
    assert_eq!(fs::read(&other).unwrap(), before);
}
