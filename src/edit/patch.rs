//! Which files a patch changes, by its headers.

use std::collections::BTreeSet;
use std::path::PathBuf;

use std::os::unix::ffi::OsStrExt;

/// The files that `text` names, `strip` leading folders taken off, each once.
pub fn files(text: &[u8], strip: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut old: Option<&[u8]> = None;
    for line in text.split(|b| *b == b'\n') {
        if let Some(name) = line.strip_prefix(b"--- ") {
            old = Some(name);
        } else if let (Some(name), Some(before)) = (line.strip_prefix(b"+++ "), old.take()) {
            let name = if name.starts_with(b"/dev/null") { before } else { name };
            let name = name.split(|b| *b == b'\t').next().unwrap_or(name);
            let name = name.strip_suffix(b"\r").unwrap_or(name);
            let parts: Vec<&[u8]> = name.split(|b| *b == b'/').filter(|p| !p.is_empty()).collect();
            let path: PathBuf = parts.iter().skip(strip).map(|p| std::ffi::OsStr::from_bytes(p)).collect();
            if !path.as_os_str().is_empty() && !found.contains(&path) {
                found.push(path);
            }
        } else {
            old = None;
        }
    }
    found
}

/// The files that a patch may change, whatever is taken off its names: each name of its headers, and each end of it.
/// Names that lead outside are left out, as patch leaves them.
pub fn candidates(text: &[u8]) -> Vec<PathBuf> {
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    for line in text.split(|b| *b == b'\n') {
        let heads = [&b"--- "[..], b"+++ ", b"*** ", b"Index: ", b"rename to ", b"copy to "];
        let Some(name) = heads.iter().find_map(|head| line.strip_prefix(*head)) else { continue };
        let name = name.split(|b| *b == b'\t').next().unwrap_or(name).trim_ascii_end();
        let parts: Vec<&[u8]> = name.split(|b| *b == b'/').filter(|p| !p.is_empty() && *p != b".").collect();
        if parts.contains(&&b".."[..]) || name == b"/dev/null" {
            continue;
        }
        for strip in 0..parts.len() {
            found.insert(parts[strip..].iter().map(|p| std::ffi::OsStr::from_bytes(p)).collect());
        }
        if found.len() > MOST {
            break;
        }
    }
    found.into_iter().collect()
}

/// Names of a patch that are looked at.
const MOST: usize = 20_000;

/// Short options that take an argument, in their word or as the next one.
const WITH_ARGUMENT: &[u8] = b"BDFVYdgioprz";
/// The long options that take one, and the short ones that they are.
const LONG: &[(&str, u8)] = &[
    ("basename-prefix", b'Y'),
    ("directory", b'd'),
    ("fuzz", b'F'),
    ("get", b'g'),
    ("ifdef", b'D'),
    ("input", b'i'),
    ("output", b'o'),
    ("prefix", b'B'),
    ("quoting-style", b'-'),
    ("read-only", b'-'),
    ("reject-file", b'r'),
    ("reject-format", b'-'),
    ("strip", b'p'),
    ("suffix", b'z'),
    ("version-control", b'V'),
];

/// An option by its letter, with its argument.
type Given = (u8, Vec<u8>);

/// Patch's words, sorted: options with their arguments, and operands.
fn sorted(argv: &[Vec<u8>]) -> (Vec<Given>, Vec<&Vec<u8>>) {
    let (mut options, mut operands) = (Vec::new(), Vec::new());
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        if word == b"--" {
            operands.extend(words.by_ref());
        } else if let Some(name) = word.strip_prefix(b"--") {
            let equals = name.iter().position(|b| *b == b'=');
            let (name, value) = (&name[..equals.unwrap_or(name.len())], equals.map(|at| name[at + 1..].to_vec()));
            // a name may be cut short
            let known = LONG.iter().find(|(long, _)| !name.is_empty() && long.as_bytes().starts_with(name));
            if let Some((_, letter)) = known {
                options.extend(value.or_else(|| words.next().cloned()).map(|value| (*letter, value)));
            }
        } else if let Some(letters) = word.strip_prefix(b"-").filter(|l| !l.is_empty()) {
            let Some(at) = letters.iter().position(|l| WITH_ARGUMENT.contains(l)) else { continue };
            let rest = letters[at + 1..].to_vec();
            let value = if rest.is_empty() { words.next().cloned() } else { Some(rest) };
            options.extend(value.map(|value| (letters[at], value)));
        } else {
            operands.push(word);
        }
    }
    (options, operands)
}

/// The last argument that an option was given.
fn last(options: &[Given], letter: u8) -> Option<&Vec<u8>> {
    options.iter().rev().find(|(l, _)| *l == letter).map(|(_, value)| value)
}

/// The file that patch reads, by its words; none where it is its standard input.
pub fn input(argv: &[Vec<u8>]) -> Option<Vec<u8>> {
    let (options, operands) = sorted(argv);
    let name = last(&options, b'i').or_else(|| operands.get(1).copied())?;
    (name != b"-").then(|| name.clone())
}

/// The `-pN` and `-d DIR` of patch's words; without `-p` patch takes the base name, which is as good as one folder.
pub fn options(argv: &[Vec<u8>]) -> (usize, Option<PathBuf>) {
    let (options, _) = sorted(argv);
    let number = |w: &Vec<u8>| std::str::from_utf8(w).ok()?.parse().ok();
    let dir = last(&options, b'd').map(|d| PathBuf::from(std::ffi::OsStr::from_bytes(d)));
    (last(&options, b'p').and_then(number).unwrap_or(1), dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_headers_of_a_patch() {
        let text = b"diff\n--- a/src/x.c\t2020\n+++ b/src/x.c\t2021\n@@ -1 +1 @@\n-a\n+b\n--- a/gone\n+++ /dev/null\n";
        assert_eq!(files(text, 1), [PathBuf::from("src/x.c"), PathBuf::from("gone")]);
        let ends: Vec<_> = candidates(b"--- a/src/x.c\n+++ /dev/null\n--- ../../etc/x\n");
        assert_eq!(ends, ["a/src/x.c", "src/x.c", "x.c"].map(PathBuf::from));
    }

    #[test]
    fn reads_options_in_all_their_forms() {
        let words = |line: &str| line.split(' ').map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>();
        for (line, name) in [
            ("patch -p1 -i x", Some("x")),
            ("patch -p 1 f x", Some("x")),
            ("patch -Np1 -ix", Some("x")),
            ("patch -Npi1 --input=x", Some("x")),
            ("patch --input x -p1", Some("x")),
            ("patch --strip 1 f x", Some("x")),
            ("patch --dry-run -z .orig f -- x", Some("x")),
            ("patch -p1 f", None),
            ("patch -p1 -i -", None),
        ] {
            assert_eq!(input(&words(line)), name.map(|n| n.as_bytes().to_vec()), "{line}");
        }
        for (line, strip, dir) in [
            ("patch", 1, None),
            ("patch -p2 -d sub", 2, Some("sub")),
            ("patch -Np0 -dsub", 0, Some("sub")),
            ("patch -p 3 --directory=sub", 3, Some("sub")),
            ("patch --strip 2 --directory sub", 2, Some("sub")),
            ("patch --strip=0 --dir=sub", 0, Some("sub")),
            ("patch -fsNp2 -r - -d sub", 2, Some("sub")),
        ] {
            assert_eq!(options(&words(line)), (strip, dir.map(PathBuf::from)), "{line}");
        }
    }
}
