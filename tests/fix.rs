//! `--fix`, `--unsafe-fixes` and `--suggest` on small overlays: what is written, what stays as it was.

#[path = "cli/fixture.rs"]
#[allow(dead_code)]
mod fixture;
#[allow(dead_code)]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use fixture::{usual, with_foo};
use support::overlay::Place;
use support::run::{Done, audit, run};

const FOO: &str = "dev-libs/foo-1.2";

fn audited(place: &Place, words: &[&str]) -> Done {
    run(place, &mut audit(place, words.iter().copied().chain(["--fail-on", "never"])))
}

/// The ebuild behind the usual head.
fn rest(place: &Place) -> String {
    let text = fs::read_to_string(place.ebuild_path(FOO)).unwrap();
    text.strip_prefix(&usual("8")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// What becomes of an ebuild that ends in `text`; a second run must have nothing to do.
#[track_caller]
fn fixed(text: &str, words: &[&str]) -> String {
    let place = with_foo(text);
    audited(&place, words).exits(0);
    let once = rest(&place);
    let again = audited(&place, words).exits(0);
    assert!(again.stdout.contains("\n0 fixed, "), "{}", again.stdout);
    assert_eq!(rest(&place), once, "a second run changed it again");
    once
}

/// A src_prepare with a live sed and `lines`.
fn prepare(lines: &str) -> String {
    format!("src_prepare() {{\n\tdefault\n\tsed -i -e 's/alpha/ALPHA/' a.txt || die\n{lines}}}\n")
}

#[track_caller]
fn becomes(lines: &str, wanted: &str) {
    assert_eq!(fixed(&prepare(lines), &["--fix"]), prepare(wanted));
}

#[test]
fn a_dead_call_goes_with_all_that_hangs_on_it() {
    becomes("\tsed -i -e 's/gamma/x/' a.txt || die \"no gamma\"\n", "");
    becomes("\tsed -e 's/gamma/x/' \\\n\t\t-i a.txt \\\n\t\t|| die\n\n\t: # end\n", "\n\t: # end\n");
    becomes("\tfind . -name a.txt -exec sed -i -e 's/gamma/x/' {} + || die\n", "");
    becomes("\tfor f in a.txt; do\n\t\tsed -i 's/gamma/x/' \"${f}\" || die\n\tdone\n", "");
    becomes(
        "\tsed -i 's/gamma/x/' a.txt &&\n\t\tsed -i 's/beta/b/' a.txt || die\n",
        "\tsed -i 's/beta/b/' a.txt || die\n",
    );
}

#[test]
fn a_comment_of_a_call_alone_goes_with_it() {
    becomes("\t# about gamma\n\tsed -i 's/gamma/x/' a.txt || die # bug 1\n", "");
    let (gamma, beta) = ("\tsed -i 's/gamma/x/' a.txt || die\n", "\tsed -i 's/beta/b/' a.txt || die\n");
    becomes(&format!("\n\t# about gamma\n{gamma}\n\t# about beta\n{beta}"), &format!("\n\t# about beta\n{beta}"));
    // it may be about both
    let text = prepare(&format!("\t# about\n{gamma}{beta}"));
    let place = with_foo(&text);
    let done = audited(&place, &["--fix"]).exits(0);
    let said = "foo-1.2.ebuild: 1 fixed; the comment on line 14 stood above what went, and stays\n1 fixed, 0 left\n";
    assert!(done.stdout.ends_with(said), "{}", done.stdout);
    assert_eq!(rest(&place), text.replace(&gamma, ""));
}

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
            support::overlay::put(&copy.join(p).join("a.txt"), text);
        }
        apply(program, words, &copy, &shown);
        assert_eq!(fs::read_to_string(copy.join("bar-1/a.txt")).unwrap(), "ALPHA\nbeta\n\n");
        fs::remove_dir_all(&copy).unwrap();
    }
}

#[test]
fn nothing_is_left_empty() {
    let lines = "\tif true; then\n\t\tsed -i 's/gamma/x/' a.txt || die\n\tfi\n";
    becomes(lines, lines);
    let two = "\tif true; then\n\t\tsed -i 's/beta/b/' a.txt || die\n\t\tsed -i 's/gamma/x/' a.txt || die\n\tfi\n";
    becomes(two, "\tif true; then\n\t\tsed -i 's/beta/b/' a.txt || die\n\tfi\n");
    let both = "\tif true; then\n\t\tsed -i 's/gamma/x/' a.txt\n\t\tsed -i 's/delta/x/' a.txt\n\tfi\n";
    becomes(both, "\tif true; then\n\t\tsed -i 's/delta/x/' a.txt\n\tfi\n");
}

#[test]
fn a_call_that_makes_a_file_stays() {
    let lines = "\tsed -e 's/gamma/x/' a.txt > b.txt || die\n";
    assert_eq!(fixed(&prepare(lines), &["--fix", "--unsafe-fixes"]), prepare(lines));
}

#[test]
fn a_dead_expression_goes_and_the_rest_stays_as_it_is_written() {
    let call = |words: &str| format!("\tsed{words} || die\n");
    for (old, new) in [
        (" -e 's/gamma/x/' \\\n\t\t-e \"s/beta/b/\" \\\n\t\t-i a.txt", " \\\n\t\t-e \"s/beta/b/\" \\\n\t\t-i a.txt"),
        (" -e s/beta/b/ \\\n\t\t-e 's/gamma/x/' \\\n\t\t-i a.txt", " -e s/beta/b/ \\\n\t\t-i a.txt"),
        (" -i a.txt \\\n\t\t-e \"s/beta/b/\" \\\n\t\t-e 's/gamma/x/'", " -i a.txt \\\n\t\t-e \"s/beta/b/\" \\\n\t\t"),
        (" -i -e 's/gamma/x/' -e  's/beta/b/' a.txt", " -i -e  's/beta/b/' a.txt"),
        (" -i 's/beta/b/; s/gamma/x/; s/b$/B/' a.txt", " -i 's/beta/b/; s/b$/B/' a.txt"),
        (" -i '\n\t\ts/gamma/x/\n\t\ts/beta/b/\n\t' a.txt", " -i '\n\t\ts/beta/b/\n\t' a.txt"),
        (" -i --expression=s/gamma/x/ -es/beta/b/ a.txt", " -i -es/beta/b/ a.txt"),
    ] {
        becomes(&call(old), &call(new).replace("\t\t || die", "\t\t|| die"));
    }
}

#[test]
fn elements_of_an_array_go_with_their_lines() {
    let lines = |gamma: &str| {
        format!(
            "\tlocal args=(\n\t\t# the live one\n\t\t-e 's/beta/b/'\n{gamma}\t)\n\tsed -i \"${{args[@]}}\" a.txt || die\n"
        )
    };
    becomes(&lines("\t\t-e 's/gamma/x/'\n"), &lines(""));
}

#[test]
fn a_command_in_a_loop_goes_only_where_it_is_dead_each_time() {
    // ALPHA is in the file, OMEGA is not
    let lines = "\tfor x in ALPHA OMEGA; do\n\t\tsed -i -e \"s/${x}/y/\" -e 's/y/z/' a.txt || die\n\tdone\n";
    becomes(lines, lines);
}

#[test]
fn a_prepare_that_only_has_default_left_goes() {
    let dead = "src_prepare() {\n\tdefault\n\tsed -i 's/gamma/x/' a.txt || die\n}\n";
    let test = "\nsrc_test() {\n\t:\n}\n";
    assert_eq!(fixed(&format!("{dead}{test}"), &["--fix"]), "src_test() {\n\t:\n}\n");
    let kept = "src_prepare() {\n\t# why\n\tdefault\n}\n";
    assert_eq!(fixed(&kept.replace("\tdefault", "\tsed -i 's/gamma/x/' a.txt\n\tdefault"), &["--fix"]), kept);
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
fn bytes_and_mode_of_the_ebuild_stay() {
    let place = with_foo("");
    let path = place.ebuild_path(FOO);
    let bytes = |dead: &[u8]| {
        let head = [usual("8").as_bytes(), b"# caf\xe9 \xff\nsrc_prepare() {\n\tdefault\n"].concat();
        [&head[..], dead, b"\tsed -i 's/beta/b/' a.txt # \xe9\n}\n"].concat()
    };
    fs::write(&path, bytes(b"\tsed -i 's/gamma/x/' a.txt || die\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let done = audited(&place, &["--fix"]).exits(0);
    assert!(done.stdout.contains("1 fixed, 0 left"), "{}", done.stdout);
    assert_eq!(fs::read(&path).unwrap(), bytes(b""));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
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
fn corrections_are_written_only_when_that_is_asked_for() {
    for (old, new) in [
        // the options of sed are read in order
        ("\tsed -e 's/(beta)+/b/' -E -i a.txt || die\n", "\tsed -E -e 's/(beta)+/b/' -i a.txt || die\n"),
        ("\tsed -i -e 's/BETA/b/' a.txt || die\n", "\tsed -i -e 's/beta/b/' a.txt || die\n"),
        ("\tsed -i -e '/BETA/d' a.txt || die\n", "\tsed -i -e '/beta/d' a.txt || die\n"),
        ("\tsed -e 's/beta/b/' a.txt || die\n", "\tsed -i -e 's/beta/b/' a.txt || die\n"),
    ] {
        becomes(old, old);
        assert_eq!(fixed(&prepare(old), &["--fix", "--unsafe-fixes"]), prepare(new));
    }
}

#[test]
fn a_drifted_pattern_is_put_right_in_its_own_quotes() {
    for (file, old, new) in [
        // a version
        ("v = 1.12.0;", "'s/v = 1\\.7\\.0;/V/'", "'s/v = 1\\.12\\.0;/V/'"),
        ("get(1.12.0)", "s:1.7.0:${PV}:", "s:1.12.0:${PV}:"),
        // anchors
        ("  one two", "'s/^one/ONE/'", "'s/one/ONE/'"),
        ("one two;", "\"/^one two\\$/d\"", "\"/^one two/d\""),
        // the dialect of a lone expression, and of one among others
        ("aaab", "'s/a+b/c/'", "-E 's/a+b/c/'"),
        ("aaab", "-e s/beta/x/ -e 's/(a)+b/c/'", "-e s/beta/x/ -e 's/\\(a\\)\\+b/c/'"),
        ("aaab", "-E 's/\\(a\\)\\+b/c/'", "-E 's/(a)+b/c/'"),
        // line ends
        ("one two\\r", "'s/two$/TWO/'", "'s/two\\r$/TWO\\r/'"),
        ("one two\\r", "\"s/ two$//\"", "\"s/ two\\\\r$/\\\\r/\""),
        // characters of several bytes
        ("one  two\u{e9}", "'s/one two\u{e9}/x/'", "'s/one  two\u{e9}/x/'"),
        // the address of a block
        ("one  two", "'/one two/{s/two/2/}'", "'/one  two/{s/two/2/}'"),
        // quotes
        ("it = 'x'", "'s/it = \"x\"/y/'", "'s/it = '\\''x'\\''/y/'"),
    ] {
        let lines = |words: &str| {
            let file = file.replace('\'', "'\\''");
            format!("\tprintf 'beta\\n{file}\\n' > b.txt || die\n\tsed -i {words} b.txt || die\n")
        };
        let wanted = match new == format!("-E {old}") {
            true => lines(old).replace("\tsed -i", "\tsed -E -i"),
            false => lines(new),
        };
        assert_eq!(fixed(&prepare(&lines(old)), &["--fix", "--unsafe-fixes"]), prepare(&wanted), "{old}");
    }
}

#[test]
fn a_wrong_path_is_put_right_in_the_ebuilds_own_words() {
    for (old, new) in [("sub/a.txt", "a.txt"), ("\"${S}\"/sub/a.txt", "\"${S}\"/a.txt"), ("'./sub/a.txt'", "'a.txt'")] {
        for tool in ["sed -i", "perl -pi -e"] {
            let text = |path: &str| {
                format!(
                    "src_unpack() {{\n\tdefault\n\tmkdir \"${{S}}\"/sub && echo other > \"${{S}}\"/sub/a.txt || die\n}}\n\n\
                     src_prepare() {{\n\tdefault\n\t{tool} 's/beta/b/' {path} || die\n}}\n"
                )
            };
            assert_eq!(fixed(&text(old), &["--fix", "--unsafe-fixes"]), text(new));
        }
    }
}

#[test]
fn what_is_wanted_is_put_right_or_left_and_never_removed() {
    let made = "\tprintf 'one\\r\\ntwo three\\r\\nv = 1.2.0;\\r\\n' > b.txt || die\n";
    let becomes = |old: &str, new: &str| {
        let text = |lines: &str| prepare(&format!("{made}{lines}"));
        let place = with_foo(&text(old));
        audited(&place, &["--fix", "--unsafe-fixes"]).exits(0);
        assert_eq!(rest(&place), text(new), "{old}");
    };
    // two commands of one call, for one cause and for two
    becomes(
        "\tsed -i -e 's/one$/ONE/' -e 's/three$/3/' b.txt || die\n",
        "\tsed -i -e 's/one\\r$/ONE\\r/' -e 's/three\\r$/3\\r/' b.txt || die\n",
    );
    becomes(
        "\tsed -i -e 's/one$/ONE/' -e 's/v = 1.1.0/v/' b.txt || die\n",
        "\tsed -i -e 's/one\\r$/ONE\\r/' -e 's/v = 1.2.0/v/' b.txt || die\n",
    );
    // with one that nobody wants, and one that no program puts right
    becomes(
        "\tsed -i -e 's/gamma/x/' -e 's/one$/ONE/' b.txt || die\n",
        "\tsed -i -e 's/one\\r$/ONE\\r/' b.txt || die\n",
    );
    becomes(
        "\tsed -i -e 's/one$/ONE/' -e '/two xx three/,/x/d' b.txt || die\n",
        "\tsed -i -e 's/one\\r$/ONE\\r/' -e '/two xx three/,/x/d' b.txt || die\n",
    );
    for kept in [
        "\tsed -i -e '/two xx three/,/x/d' b.txt || die\n",
        "\tsed -i -e '/two xx three/,/x/d' -e 's/gamma/x/' b.txt || die\n",
        "\tsed -i -e '/two xx three/,/x/d' -e 's/two/2/' b.txt || die\n",
        "\tperl -pi -e 's/three$/3/' b.txt || die\n",
        "\tperl -pi -e 's/gamma/x/; s/TWO/2/' b.txt || die\n",
        "\tperl -pi -e 's/(gamma)/lc $1/e' b.txt || die\n",
    ] {
        becomes(kept, kept);
    }
    becomes("\tperl -pi -e 's/gamma/x/' b.txt || die\n", "");
    becomes("\tperl -pi -e \"s:THREE:3:\" b.txt || die\n", "\tperl -pi -e \"s:three:3:\" b.txt || die\n");
    becomes("\tperl -i -pe 's/twothree/2/' b.txt || die\n", "\tperl -i -pe 's/two three/2/' b.txt || die\n");
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
fn the_overlays_thunk_is_edited_where_its_text_is() {
    let place = Place::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("overlay");
    for item in walkdir::WalkDir::new(&root).into_iter().map(Result::unwrap) {
        let path = item.path().strip_prefix(&root).unwrap();
        let wanted = ["profiles", "metadata", "dev-libs/roct-thunk-interface"].iter().any(|p| path.starts_with(p));
        if wanted && item.file_type().is_file() {
            support::overlay::put(&place.repo().join(path), fs::read(item.path()).unwrap());
        }
    }
    let run_in = |words: &[&str]| {
        let distdir = ["--distdir".to_owned(), root.join("distfiles").to_str().unwrap().to_owned()];
        let mut command = support::run::ebaudit(&place);
        command.arg("audit").arg(place.repo().join("dev-libs/roct-thunk-interface")).args(distdir).arg("--offline");
        run(&place, command.args(words))
    };
    let done = run_in(&["--fix", "--unsafe-fixes"]).exits(0);
    assert!(done.stdout.ends_with("4 fixed, 0 left\n"), "{}", done.stdout);
    let report = run_in(&["--format", "json"]).exits(0).json();
    for ebuild in report["ebuilds"].as_array().unwrap() {
        let edits = ebuild["edits"].as_array().unwrap();
        assert!(edits.iter().all(|e| e["verdict"] == "live"), "{edits:?}");
    }
}

#[test]
fn a_loop_that_reads_its_files_from_a_list_goes_with_its_only_call() {
    let lines = "\twhile IFS= read -r -d '' f; do\n\t\tsed -i 's/gamma/x/' \"${f}\" || die\n\
                 \tdone < <(find . -name '*.txt' -print0)\n";
    becomes(lines, "");
    becomes(&lines.replace("find . -name '*.txt' -print0", "printf 'a.txt\\0' | tee list"), &{
        lines.replace("find . -name '*.txt' -print0", "printf 'a.txt\\0' | tee list")
    });
}

#[test]
fn an_expression_of_another_file_gets_a_call_of_its_own() {
    let made = "\tmkdir sub && printf 'one\\ngamma\\n' > sub/b.c || die\n";
    for (old, new) in [
        (
            "\tsed -e 's/beta/b/' \\\n\t\t-e \"s/gam${PV:0:0}ma/x/\" \\\n\t\t-i a.txt || die \"no\" # why\n\t: end\n",
            "\tsed -e 's/beta/b/' \\\n\t\t-i a.txt || die \"no\" # why\n\tsed -i -e \"s/gam${PV:0:0}ma/x/\" sub/b.c || die \"no\"\n\
             \t: end\n",
        ),
        (
            "\tsed -i -E '/(gamma)+/d; s/(beta)+/b/' a.txt\n",
            "\tsed -i -E 's/(beta)+/b/' a.txt\n\tsed -i -E -e '/(gamma)+/d' sub/b.c\n",
        ),
        (
            "\tsed -i -e s/gamma/x/ -e s/beta/b/ a.txt \\\n\t\t|| true\n",
            "\tsed -i -e s/beta/b/ a.txt \\\n\t\t|| true\n\tsed -i -e s/gamma/x/ sub/b.c || true\n",
        ),
    ] {
        assert_eq!(
            fixed(&prepare(&(made.to_owned() + old)), &["--fix", "--unsafe-fixes"]),
            prepare(&(made.to_owned() + new))
        );
    }
    // in a loop the place behind the call is no place behind all
    let lines = format!("{made}\tfor x in a; do\n\t\tsed -i -e s/gamma/x/ -e s/beta/b/ a.txt\n\tdone\n");
    becomes(&lines, &lines);
}

#[test]
fn expressions_in_variables_and_files_are_taken_out_or_it_is_said_why_not() {
    let lines = |gamma: &str| format!("\tlocal x='{gamma}s/beta/b/'\n\tsed -i -e \"${{x}}\" a.txt || die\n");
    becomes(&lines("s/gamma/x/; "), &lines(""));
    let said = |lines: &str| {
        let place = with_foo(&prepare(lines));
        support::overlay::put(&place.package_dir(FOO).join("files/x.sed"), "s/gamma/x/\ns/beta/b/\n");
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

#[test]
fn corrections_that_do_not_go_together_are_written_one_by_one() {
    let call = |what: &str| format!("\tsed -i -e 's/{what}/b/' a.txt || die\n");
    // either alone finds its text, the second one finds nothing behind the first, and goes in the next round
    let place = with_foo(&prepare(&(call("BETA") + &call("Beta"))));
    let done = audited(&place, &["--fix", "--unsafe-fixes"]).exits(0);
    assert!(done.stdout.ends_with("2 fixed, 0 left\n"), "{}", done.stdout);
    assert_eq!(rest(&place), prepare(&call("beta")));
    // those that do are written together
    let lines = |a: &str, b: &str| call(a) + "\tsed -i -e 's/gamma/x/' a.txt || die\n" + &call(b);
    let place = with_foo(&prepare(&lines("BETA", "^ALP")));
    audited(&place, &["--fix", "--unsafe-fixes"]).exits(0);
    assert_eq!(rest(&place), prepare(&(call("beta") + &call("^ALP"))));
    let place = with_foo(&prepare(&lines("BETA", "^alpHA")));
    let done = audited(&place, &["--fix", "--unsafe-fixes"]).exits(0);
    assert!(done.stdout.ends_with("3 fixed, 0 left\n"), "{}", done.stdout);
    assert_eq!(rest(&place), prepare(&(call("beta") + &call("^ALPHA"))));
}

#[test]
fn what_may_live_under_other_flags_is_not_removed_unless_that_is_asked_for() {
    for lines in [
        "\tlocal e=( -e 's/gamma/x/' )\n\tuse foo && e+=( -e 's/beta/x/' )\n\tsed -i \"${e[@]}\" a.txt\n",
        "\tlocal pat=gamma\n\tuse foo && pat=beta\n\tsed -i \"s/${pat}/x/\" a.txt\n",
        "\tsed -i -e \"$(usex foo s/beta/B/ s/gamma/x/)\" a.txt\n",
        "\tsed -i -e s/gamma/x/ $(usex foo \"-e s/beta/B/\" \"\") a.txt\n",
        "\tif use foo; then\n\t\techo gamma >> a.txt\n\tfi\n\tsed -i 's/gamma/x/' a.txt\n",
        "\tsed -i \"s/alpha/${EPREFIX}x/\" a.txt\n",
    ] {
        let text = format!("IUSE=\"foo\"\n\n{}", prepare(lines));
        assert_eq!(fixed(&text, &["--fix"]), text, "{lines}");
        let place = with_foo(&text);
        let done = audited(&place, &["--suggest", "--format", "json"]).exits(0);
        let suggestion = done.json()["ebuilds"][0]["findings"][0]["suggestion"].clone();
        assert_ne!(suggestion["applicability"], "safe", "{suggestion}");
    }
    // what is asked only behind it has no part in it
    let lines = |dead: &str| format!("{dead}\tif use foo; then\n\t\techo gamma >> a.txt\n\tfi\n");
    let text = |dead: &str| format!("IUSE=\"foo\"\n\n{}", prepare(&lines(dead)));
    assert_eq!(fixed(&text("\tsed -i 's/gamma/x/' a.txt\n"), &["--fix"]), text(""));
    let asked = format!("IUSE=\"foo\"\n\n{}", prepare("\tuse foo && : > b\n\tsed -i 's/gamma/x/' a.txt\n"));
    let gone = asked.replace("\tsed -i 's/gamma/x/' a.txt\n", "");
    assert_eq!(fixed(&asked, &["--fix", "--unsafe-fixes"]), gone);
}

#[test]
fn what_is_printed_for_a_reader_is_no_edit_in_place() {
    for words in ["-n 's/alpha/einfo &/p'", "-n '$='", "-n '/al/p'", "'s/alpha/A/p'", "1q", "'#n\n/al/p'"] {
        let lines = format!("\tsed {words} a.txt\n");
        assert_eq!(fixed(&prepare(&lines), &["--fix", "--unsafe-fixes"]), prepare(&lines));
    }
}

#[test]
fn a_second_run_has_nothing_to_do() {
    for (old, new) in [
        ("\tsed -i -e 's/beta/&/;s/gamma/x/;s/delta/x/' a.txt || die\n", ""),
        ("\tsed -i -e 's/beta/&/' -e \"s/gamma/x/\" a.txt || die\n", ""),
        (
            "\tsed -i -e 's/beta/&/;s/gamma/x/;s/beta/b/;s/delta/x/' a.txt || die\n",
            "\tsed -i -e 's/beta/b/' a.txt || die\n",
        ),
        // dead only once what was before it is gone
        (
            "\tsed -i 's/beta/beta/' a.txt\n\tsed -i -e 's/gamma/x/' -e 's/beta/b/' a.txt\n",
            "\tsed -i -e 's/beta/b/' a.txt\n",
        ),
    ] {
        becomes(old, new);
    }
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
fn a_correction_changes_the_text() {
    let lines = "\techo 'foo  =  bar' > b.txt\n\tsed -i '/foo = bar/{s/bar/baz/}' b.txt || die\n";
    let right = lines.replace("/foo = bar/", "/foo  =  bar/");
    assert_eq!(fixed(&prepare(lines), &["--fix", "--unsafe-fixes"]), prepare(&right));
}

#[test]
fn what_asks_for_the_status_of_a_call_keeps_it() {
    becomes("\tsed -i 's/gamma/x/' a.txt; rc=$?\n", "\tsed -i 's/gamma/x/' a.txt; rc=$?\n");
}
