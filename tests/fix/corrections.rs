//! What is put right rather than removed.

use std::fs;

use crate::fixture::with_foo;
use crate::support::overlay::Place;
use crate::support::run::run;
use crate::{audited, becomes, fixed, prepare, rest};

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
fn the_overlays_thunk_is_edited_where_its_text_is() {
    let place = Place::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("overlay");
    for item in walkdir::WalkDir::new(&root).into_iter().map(Result::unwrap) {
        let path = item.path().strip_prefix(&root).unwrap();
        let wanted = ["profiles", "metadata", "dev-libs/roct-thunk-interface"].iter().any(|p| path.starts_with(p));
        if wanted && item.file_type().is_file() {
            crate::support::overlay::put(&place.repo().join(path), fs::read(item.path()).unwrap());
        }
    }
    let run_in = |words: &[&str]| {
        let distdir = ["--distdir".to_owned(), root.join("distfiles").to_str().unwrap().to_owned()];
        let mut command = crate::support::run::ebaudit(&place);
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
fn a_correction_changes_the_text() {
    let lines = "\techo 'foo  =  bar' > b.txt\n\tsed -i '/foo = bar/{s/bar/baz/}' b.txt || die\n";
    let right = lines.replace("/foo = bar/", "/foo  =  bar/");
    assert_eq!(fixed(&prepare(lines), &["--fix", "--unsafe-fixes"]), prepare(&right));
}
