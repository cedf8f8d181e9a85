//! The stack of the phase's shell, as the prelude's DEBUG trap writes it:
//! `'file' 'file'…|LINE LINE…|FUNCTION FUNCTION…`, innermost first.

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A place in a file that was being executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub file: PathBuf,
    pub line: u32,
    pub function: String,
}

/// The frames of `at`, innermost first; what can't be read is left out.
pub fn parse(at: &[u8]) -> Vec<Frame> {
    let (files, rest) = words(at);
    let Some(rest) = rest.strip_prefix(b"|") else { return Vec::new() };
    let rest = String::from_utf8_lossy(rest);
    let Some((lines, functions)) = rest.split_once('|') else { return Vec::new() };
    let lines = lines.split(' ').map(|l| l.parse().unwrap_or(0));
    let functions = functions.split(' ');
    files
        .into_iter()
        .zip(lines)
        .zip(functions)
        .map(|((file, line), function)| Frame {
            file: PathBuf::from(std::ffi::OsString::from_vec(file)),
            line,
            function: function.to_owned(),
        })
        .collect()
}

/// Bash's `@Q` words up to the first thing that is none, and the rest.
fn words(mut text: &[u8]) -> (Vec<Vec<u8>>, &[u8]) {
    let mut found = Vec::new();
    loop {
        let mut word = Vec::new();
        let mut any = false;
        loop {
            match text {
                // `$'…'` stands for names with control characters
                [b'$', b'\'', rest @ ..] => (text, any) = (ansi(rest, &mut word), true),
                [b'\'', rest @ ..] => {
                    let end = memchr::memchr(b'\'', rest).unwrap_or(rest.len());
                    word.extend_from_slice(&rest[..end]);
                    (text, any) = (rest.get(end + 1..).unwrap_or(&[]), true);
                }
                [b'\\', c, rest @ ..] => {
                    word.push(*c);
                    (text, any) = (rest, true);
                }
                _ => break,
            }
        }
        if !any {
            return (found, text);
        }
        found.push(word);
        text = text.strip_prefix(b" ").unwrap_or(text);
    }
}

/// Reads an ANSI-C quoted string up to its end quote.
fn ansi<'a>(mut text: &'a [u8], word: &mut Vec<u8>) -> &'a [u8] {
    loop {
        match text {
            [] => return text,
            [b'\'', rest @ ..] => return rest,
            [b'\\', digits @ ..] if digits.len() >= 3 && digits[..3].iter().all(|d| (b'0'..=b'7').contains(d)) => {
                let value = digits[..3].iter().fold(0u32, |v, d| v * 8 + u32::from(d - b'0'));
                word.push(value as u8);
                text = &digits[3..];
            }
            [b'\\', c, rest @ ..] => {
                word.push(match c {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'E' | b'e' => 27,
                    other => *other,
                });
                text = rest;
            }
            [c, rest @ ..] => {
                word.push(*c);
                text = rest;
            }
        }
    }
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

    #[test]
    fn reads_what_bash_writes() {
        let frames = parse(b"'/r/a b.ebuild' '/p/main.bash'|12 40 0|src_prepare eb_phase main");
        assert_eq!(frames, [frame("/r/a b.ebuild", 12, "src_prepare"), frame("/p/main.bash", 40, "eb_phase")]);
        assert_eq!(innermost(&frames, Path::new("/p")), Some(&frames[0]));
        assert_eq!(innermost(&frames[1..], Path::new("/p")), None);
    }

    #[test]
    fn reads_odd_names() {
        assert_eq!(parse(b"'/r/it'\\''s' $'/x\\ny'|1 2|f g")[0].file, Path::new("/r/it's"));
        assert_eq!(parse(b"'/r/it'\\''s' $'/x\\ny'|1 2|f g")[1].file, Path::new("/x\ny"));
        for junk in [&b""[..], b"'", b"$'\\", b"'a'", b"'a'|", b"'a'|x|f", b"\\"] {
            parse(junk);
        }
    }
}
