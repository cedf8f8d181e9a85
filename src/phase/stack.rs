//! The stack of the phase's shell, as the prelude's DEBUG trap writes it: files, lines and functions, innermost
//! first; each item ends with the byte 0x1f, the lists are parted by 0x1d. Between items bash puts the first
//! character of IFS, which is the ebuild's to choose.

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

const ITEM: u8 = 0x1f;
const LIST: u8 = 0x1d;

/// A place in a file that was being executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub file: PathBuf,
    pub line: u32,
    pub function: String,
}

/// The frames of `at`, innermost first; what can't be read is left out.
pub fn parse(at: &[u8]) -> Vec<Frame> {
    let lists: Vec<Vec<&[u8]>> = at.split(|b| *b == LIST).map(items).collect();
    let [files, lines, functions] = &lists[..] else { return Vec::new() };
    // files are absolute: what stands before the second one's slash is what bash put between
    let joint = files.get(1).and_then(|f| f.iter().position(|b| *b == b'/')).unwrap_or(1);
    let cut = |item: &[u8], first: bool| item.get(if first { 0 } else { joint }..).unwrap_or_default().to_vec();
    let count = files.len().min(lines.len()).min(functions.len());
    let frame = |index: usize| {
        // LINENO stands by itself before the first of BASH_LINENO
        let line = String::from_utf8(cut(lines[index], index < 2)).ok();
        Frame {
            file: PathBuf::from(std::ffi::OsString::from_vec(cut(files[index], index == 0))),
            line: line.and_then(|l| l.parse().ok()).unwrap_or(0),
            function: String::from_utf8_lossy(&cut(functions[index], index == 0)).into_owned(),
        }
    };
    (0..count).map(frame).collect()
}

fn items(list: &[u8]) -> Vec<&[u8]> {
    let mut found: Vec<&[u8]> = list.split(|b| *b == ITEM).collect();
    found.pop();
    found
}

/// The innermost frame that is not of the prelude in `prelude`.
pub fn innermost<'a>(frames: &'a [Frame], prelude: &Path) -> Option<&'a Frame> {
    frames.iter().find(|f| !f.file.starts_with(prelude))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, line: u32, function: &str) -> Frame {
        Frame { file: file.into(), line, function: function.into() }
    }

    fn written(joint: &str) -> Vec<u8> {
        let list = |items: &[&str]| items.iter().map(|i| format!("{i}\x1f")).collect::<Vec<_>>().join(joint);
        let lines = format!("12\x1f{}", list(&["40", "0"]));
        let files = list(&["/r/a b.ebuild", "/p/it's.bash"]);
        [files, lines, list(&["src_prepare", "eb_phase"])].join("\x1d").into_bytes()
    }

    #[test]
    fn reads_what_bash_writes_whatever_ifs_is() {
        let want = [frame("/r/a b.ebuild", 12, "src_prepare"), frame("/p/it's.bash", 40, "eb_phase")];
        for joint in [" ", "\n", ",", ""] {
            let frames = parse(&written(joint));
            assert_eq!(frames, want, "{joint:?}");
            assert_eq!(innermost(&frames, Path::new("/p")), Some(&frames[0]));
            assert_eq!(innermost(&frames[1..], Path::new("/p")), None);
        }
    }

    #[test]
    fn survives_rubbish() {
        for junk in [&b""[..], b"'", b"\x1d", b"\x1d\x1d", b"\x1f\x1d\x1f\x1d\x1f", b"a\x1f\x1d1\x1f\x1df"] {
            parse(junk);
        }
    }
}
