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

/// The file that patch reads, by its words; none where it is its standard input.
pub fn input(argv: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut operands = Vec::new();
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        if word == b"-i" || word == b"--input" {
            return words.next().cloned();
        } else if let Some(name) = word.strip_prefix(b"-i").or_else(|| word.strip_prefix(b"--input=")) {
            return Some(name.to_vec());
        } else if matches!(
            word.as_slice(),
            b"-d" | b"-p" | b"-F" | b"-D" | b"-B" | b"-Y" | b"-z" | b"-o" | b"-r" | b"-V" | b"-g"
        ) {
            words.next();
        } else if !word.starts_with(b"-") {
            operands.push(word);
        }
    }
    operands.get(1).map(|w| (*w).clone())
}

/// The `-pN` and `-d DIR` of patch's words; without `-p` patch takes the base name, which is as good as one folder.
pub fn options(argv: &[Vec<u8>]) -> (usize, Option<PathBuf>) {
    let (mut strip, mut dir) = (1, None);
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        let number = |w: &[u8]| std::str::from_utf8(w).ok().and_then(|w| w.parse().ok());
        if let Some(n) = word.strip_prefix(b"-p").or_else(|| word.strip_prefix(b"--strip=")) {
            strip = if n.is_empty() { words.next().and_then(|w| number(w)) } else { number(n) }.unwrap_or(strip);
        } else if word == b"-d" {
            dir = words.next().map(|w| PathBuf::from(std::ffi::OsStr::from_bytes(w)));
        }
    }
    (strip, dir)
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
        let read = |words: &[&str]| input(&words.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>());
        assert_eq!(read(&["patch", "-p1", "-i", "x"]), Some(b"x".to_vec()));
        assert_eq!(read(&["patch", "-p", "1", "f", "x"]), Some(b"x".to_vec()));
        assert_eq!(read(&["patch", "-p1"]), None);
        let words: Vec<Vec<u8>> = ["patch", "-p2", "-d", "sub"].map(|w| w.as_bytes().to_vec()).to_vec();
        assert_eq!(options(&words), (2, Some(PathBuf::from("sub"))));
    }
}
