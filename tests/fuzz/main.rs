//! Every reader of strangers' bytes, given bytes that nobody wrote: it may refuse them, and may not panic, hang or
//! overflow the stack. What it takes in it must give back alike.
//!
//! `cargo test --test fuzz` is a short run on stable: first the seeds of `__fuzz__/TARGET/corpus`, then random inputs;
//! `BOLERO_RANDOM_TEST_TIME_MS` makes it longer. `cargo bolero test --test fuzz TARGET` searches by coverage, where that tool is.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bolero::check;
use ebaudit::edit::inventory::Inventory;
use ebaudit::edit::sed::argv::Invocation;
use ebaudit::edit::sed::script::{Locale, Script};
use ebaudit::gentoo::atom::TargetAtom;
use ebaudit::gentoo::cpv::Cpv;
use ebaudit::gentoo::depstring::DepString;
use ebaudit::gentoo::layout::Layout;
use ebaudit::gentoo::manifest::Manifest;
use ebaudit::gentoo::metadata::Metadata;
use ebaudit::gentoo::repos_conf::ReposConf;
use ebaudit::gentoo::src_uri;
use ebaudit::gentoo::version::Version;
use ebaudit::phase::trace::TraceDir;
use ebaudit::source::unpack::{Limits, unpack};

/// Bytes as they are, or (first bit) each as a word of the format: random bytes alone never get far into a grammar.
fn text(input: &[u8], words: &[&str]) -> Vec<u8> {
    match input.split_first() {
        Some((head, rest)) if head & 1 == 1 => {
            let word = |byte: &u8| match words.get(usize::from(*byte) % (words.len() * 5 / 4)) {
                Some(word) => word.as_bytes().to_vec(),
                None => vec![*byte],
            };
            rest.iter().flat_map(word).collect()
        }
        Some((_, rest)) => rest.to_vec(),
        None => Vec::new(),
    }
}

fn words(input: &[u8], words: &[&str]) -> String {
    String::from_utf8_lossy(&text(input, words)).into_owned()
}

const SED: &[&str] = &[
    "s/a/b/",
    "s,",
    "/",
    "\\",
    "{",
    "}",
    ";",
    "\n",
    "y/ab/cd/",
    "1,$",
    "$!N",
    "a\\\n",
    "i text",
    "c",
    "r f",
    "w f",
    "e",
    ":l",
    "b l",
    "t",
    "g",
    "I",
    "M",
    "2",
    "[[:alpha:]",
    "]",
    "\\(",
    "\\)",
    "\\1",
    "&",
    "#n",
    "0~3",
    "/x/,+2",
    "!",
    "=",
    "\\cx",
    "\\d065",
    "\\n",
    "*",
    "\\{2,\\}",
    " ",
];

const DEPEND: &[&str] = &[
    "( ",
    ") ",
    "|| ( ",
    "^^ ( ",
    "?? ( ",
    "flag? ( ",
    "!flag? ( ",
    "dev-libs/foo ",
    ">=",
    "=",
    "~",
    "!!",
    "-1.2",
    "-r3",
    "*",
    ":0",
    ":0/2=",
    ":=",
    "[ssl(+)]",
    "[-x?]",
    "::repo ",
    "https://e.org/a.tar.gz ",
    "-> ",
    "b.tgz ",
    " ",
    "\n",
];

/// A target without seeds would be run with nothing but noise, and nobody would see it.
#[test]
fn every_target_has_seeds() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz");
    let text = std::fs::read_to_string(dir.join("main.rs")).unwrap();
    let targets = text.split("#[test]\nfn ").skip(1).filter(|test| test.contains("check!()."));
    for name in targets.filter_map(|test| test.split('(').next()).filter(|name| *name != "every_target_has_seeds") {
        let seeds = std::fs::read_dir(dir.join("__fuzz__").join(name).join("corpus"));
        assert!(seeds.is_ok_and(|seeds| seeds.count() > 0), "{name} has no seeds");
    }
}

#[test]
fn sed_scripts() {
    check!().for_each(|input| {
        for extended in [false, true] {
            let mut argv = vec![b"sed".to_vec()];
            argv.extend(extended.then(|| b"-E".to_vec()));
            argv.extend([b"-e".to_vec(), text(input, SED), b"file".to_vec()]);
            let Ok(call) = Invocation::parse(&argv, false) else { continue };
            for locale in [false, true].map(|utf8| Locale { utf8, posixly_correct: false }) {
                let Ok(script) = Script::cut(&call, &HashMap::new(), locale) else { continue };
                for command in &script.commands {
                    script.source(&command.span);
                }
            }
        }
    });
}

#[test]
fn sed_words() {
    const WORDS: &[&str] =
        &["-", "n", "i", "e", "E", "r", "s", "z", "f", "--expression=", "--in-place", "--", ".bak", "s/a/b/", "\0"];
    check!().for_each(|input| {
        let text = text(input, WORDS);
        let argv: Vec<Vec<u8>> =
            [b"sed".to_vec()].into_iter().chain(text.split(|b| *b == 0).map(<[u8]>::to_vec)).collect();
        for posix in [false, true] {
            let _ = Invocation::parse(&argv, posix);
        }
    });
}

#[test]
fn ebuild_texts() {
    const WORDS: &[&str] = &[
        "src_prepare() {\n",
        "}\n",
        "sed -i ",
        "-e 's/a/b/' ",
        "\"$(",
        ")\" ",
        "'",
        "\"",
        "if use x; then\n",
        "fi\n",
        "for f in *; do\n",
        "done\n",
        "<<EOF\n",
        "EOF\n",
        "\\\n",
        "|| die\n",
        "PATCHES=( ",
        ")\n",
        "${P}",
        "$((",
        "case x in\n",
        "esac\n",
        "\n",
    ];
    check!().for_each(|input| drop(Inventory::read(&words(input, WORDS))));
}

#[test]
fn manifests() {
    const WORDS: &[&str] = &[
        "DIST ",
        "EBUILD ",
        "a.tar.gz ",
        "10 ",
        "BLAKE2B ",
        "SHA512 ",
        "00ff ",
        "-1 ",
        "99999999999999999999 ",
        "\n",
        " ",
        "\t",
    ];
    check!().for_each(|input| drop(Manifest::parse(&text(input, WORDS), Path::new("Manifest"))));
}

#[test]
fn atoms_and_versions() {
    check!().for_each(|input| {
        let text = words(input, DEPEND);
        if let Ok(atom) = TargetAtom::parse(&text) {
            assert_eq!(TargetAtom::parse(&atom.to_string()).map(|a| a.to_string()).ok(), Some(atom.to_string()));
        }
        if let Ok(cpv) = Cpv::parse(&text) {
            assert_eq!(Cpv::parse(&cpv.to_string()).ok(), Some(cpv));
        }
        if let Ok(version) = Version::parse(&text) {
            assert_eq!(version.cmp(&version), std::cmp::Ordering::Equal);
        }
    });
}

#[test]
fn dependencies() {
    check!().for_each(|input| {
        let text = words(input, DEPEND);
        if let Ok(parsed) = DepString::parse(&text) {
            parsed.evaluate(&|_| true);
            parsed.all_words();
            parsed.flags();
            parsed.is_satisfied(&|_| false);
        }
        let _ = src_uri::all_fetchables(&text, "8");
    });
}

#[test]
fn nesting_without_end() {
    for open in ["( ", "|| ( ", "a? ( ", "^^ ( "] {
        let deep = open.repeat(200_000);
        let _ = DepString::parse(&deep);
        let _ = DepString::parse(&(deep + &") ".repeat(200_000)));
    }
    for open in ["{", "$(", "\"$(", "if x; then ", "(("] {
        drop(Inventory::read(&format!("src_prepare() {{\n{}\n}}\n", open.repeat(3_000))));
    }
    let argv = ["sed".to_owned(), "{".repeat(200_000), "f".to_owned()].map(String::into_bytes);
    if let Ok(call) = Invocation::parse(&argv, false) {
        let _ = Script::cut(&call, &HashMap::new(), Locale { utf8: true, posixly_correct: false });
    }
}

#[test]
fn caches() {
    const WORDS: &[&str] = &[
        "EAPI=8\n",
        "SLOT=0/1\n",
        "IUSE=+a -b\n",
        "INHERITED=",
        "_eclasses_=a\t",
        "DEFINED_PHASES=prepare\n",
        "=",
        "\n",
        " ",
    ];
    check!().for_each(|input| {
        let text = words(input, WORDS);
        let pairs = text.lines().filter_map(|l| l.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned()));
        drop(Metadata::from_map(&pairs.collect()));
    });
}

#[test]
fn settings() {
    const WORDS: &[&str] = &[
        "[DEFAULT]\n",
        "[gentoo]\n",
        "location = /x\n",
        "masters = ",
        "%(x)s",
        "${A}",
        "priority = 9\n",
        "[",
        "]",
        "\n",
        " ",
        "=",
        "#",
        ";",
    ];
    check!().for_each(|input| {
        let text = words(input, WORDS);
        drop(Layout::parse(&text));
        let _ = ReposConf::parse(&text, Path::new("repos.conf"), &Default::default());
    });
}

/// Archives under each name that `unpack` knows: contents and magic numbers, and a real head before rubbish.
#[test]
fn archives() {
    const NAMES: &[&str] = &[
        "a.tar",
        "a.tar.gz",
        "a.tar.xz",
        "a.tar.bz2",
        "a.tar.zst",
        "a.tar.Z",
        "a.zip",
        "a.7z",
        "a.deb",
        "a.a",
        "a.gz",
        "a.xz",
        "a.bz2",
        "a.zst",
        "a.lzma",
        "a.rar",
    ];
    const HEADS: &[&[u8]] = &[
        b"",
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03",
        b"\xfd7zXZ\0\0\x04",
        b"BZh9",
        b"\x28\xb5\x2f\xfd",
        b"\x1f\x9d\x90",
        b"PK\x03\x04\x14\0\0\0\x08\0",
        b"7z\xbc\xaf\x27\x1c\0\x04",
        b"!<arch>\n",
        b"\x5d\0\0\x80\0",
    ];
    let limits = Limits { max_bytes: 1 << 20, max_files: 100, ..Limits::default() };
    check!().for_each(|input: &[u8]| {
        let [name, head, rest @ ..] = input else { return };
        let dir = tempfile::tempdir().unwrap();
        let (into, outside) = (dir.path().join("in"), dir.path().join("out"));
        std::fs::create_dir_all(&into).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        let archive = outside.join("archive");
        std::fs::write(&archive, [HEADS[usize::from(*head) % HEADS.len()], rest].concat()).unwrap();
        let name = NAMES[usize::from(*name) % NAMES.len()];
        let _ = unpack(&archive, OsStr::from_bytes(name.as_bytes()), &into, "8", &limits);
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    });
}

#[test]
fn records() {
    const WORDS: &[&str] = &[
        "{",
        "}",
        "\"tool\":\"sed\",",
        "\"argv\":[",
        "]",
        "\"s\\\\x\"",
        ",",
        ":",
        "1",
        "null",
        "\n",
        "\\",
        "\"",
        "[",
        "-1e999",
    ];
    check!().for_each(|input| {
        let dir = tempfile::tempdir().unwrap();
        let trace = TraceDir::create(dir.path()).unwrap();
        std::fs::write(dir.path().join("log"), text(input, WORDS)).unwrap();
        trace.records().unwrap();
        let at = text(input, &["\x1f", "\x1d", "12", "a.ebuild", "src_prepare"]);
        ebaudit::phase::stack::parse(&at);
        ebaudit::escape::unescape(&String::from_utf8_lossy(&at));
    });
}
