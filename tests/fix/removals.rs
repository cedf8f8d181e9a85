//! What goes, with what hangs on it, and what stays.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::fixture::{usual, with_foo};
use crate::{FOO, audited, becomes, fixed, prepare, rest};

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
fn comments_stay_and_are_named() {
    becomes("\t# about gamma\n\tsed -i 's/gamma/x/' a.txt || die # bug 1\n", "\t# about gamma\n\t# bug 1\n");
    let said = |old: &str, new: &str, number: u32, lines: &[u32]| {
        let place = with_foo(&prepare(old));
        let done = audited(&place, &["--fix"]).exits(0);
        let name = |line| format!("; the comment on line {line} stood by what went, and stays");
        let named: String = lines.iter().map(name).collect();
        let said = format!("foo-1.2.ebuild: {number} fixed{named}\n{number} fixed, 0 left\n");
        assert!(done.stdout.ends_with(&said), "{said}: {}", done.stdout);
        assert_eq!(rest(&place), prepare(new));
    };
    let (gamma, beta) = ("\tsed -i 's/gamma/x/' a.txt || die", "\tsed -i 's/beta/b/' a.txt || die\n");
    said(&format!("\t# about\n{gamma}\n{beta}"), &format!("\t# about\n{beta}"), 1, &[14]);
    said(&format!("{gamma} # bug 1\n{beta}"), &format!("\t# bug 1\n{beta}"), 1, &[14]);
    said(&format!("\t# a\n{gamma} # bug 1\n{beta}"), &format!("\t# a\n\t# bug 1\n{beta}"), 1, &[14, 15]);
    let long = "\tsed -i \\\n\t\t-e 's/gamma/x/' \\\n\t\ta.txt || die # bug 1\n";
    said(&format!("{long}{beta}"), &format!("\t# bug 1\n{beta}"), 1, &[14]);
}

#[test]
fn a_comment_is_named_where_a_later_round_moves_it() {
    // the call above is known to have nothing to do once the pattern below is put right
    let text = |second: &str, dead: &str, case: &str| {
        let helper = format!("later() {{\n{second}\t:\n}}\n\n");
        helper + &prepare(&format!("{dead}# bug 1\n\tsed -i 's/{case}/b/' a.txt || die\n\tlater\n"))
    };
    let second = "\tsed -i \\\n\t\t's/Beta/b/' a.txt || die\n";
    let place = with_foo(&text(second, "\tsed -i 's/gamma/x/' a.txt ", "BETA"));
    let done = audited(&place, &["--fix", "--unsafe-fixes"]).exits(0);
    assert_eq!(rest(&place), text("", "\t", "beta"));
    let said = "foo-1.2.ebuild: 4 fixed; the comment on line 18 stood by what went, and stays\n4 fixed, 0 left\n";
    assert!(done.stdout.ends_with(said), "{}", done.stdout);
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
fn a_loop_that_reads_its_files_from_a_list_goes_with_its_only_call() {
    let lines = "\twhile IFS= read -r -d '' f; do\n\t\tsed -i 's/gamma/x/' \"${f}\" || die\n\
                 \tdone < <(find . -name '*.txt' -print0)\n";
    becomes(lines, "");
    becomes(&lines.replace("find . -name '*.txt' -print0", "printf 'a.txt\\0' | tee list"), &{
        lines.replace("find . -name '*.txt' -print0", "printf 'a.txt\\0' | tee list")
    });
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

#[test]
fn what_asks_for_the_status_of_a_call_keeps_it() {
    becomes("\tsed -i 's/gamma/x/' a.txt; rc=$?\n", "\tsed -i 's/gamma/x/' a.txt; rc=$?\n");
}
