//! Which files a patch changes, by its headers.

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
        let words: Vec<Vec<u8>> = ["patch", "-p2", "-d", "sub"].map(|w| w.as_bytes().to_vec()).to_vec();
        assert_eq!(options(&words), (2, Some(PathBuf::from("sub"))));
    }
}
