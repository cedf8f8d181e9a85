//! A regular expression fitted to a line that it narrowly misses: what the line has otherwise may be anything.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::words;
use crate::edit::sed::literal::bracket_end;

/// Bytes; in longer expressions and lines nobody looks for what is nearly the same, since the time for it grows with both.
const LONGEST_REGEX: usize = 4 << 10;
const LONGEST_LINE: usize = 16 << 10;

/// A part of a regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    /// Plain text: what it stands for, and how it is written.
    Plain(Vec<u8>, Vec<u8>),
    /// Anything else, as it is written.
    Other(Vec<u8>),
}

/// The form of `regex` that may match `line`: each word, sign or stretch of blanks that the line lacks may be
/// anything, and so may what the line has in between. None where less than half of the telling letters would be
/// left, or where the expression is one of several alternatives.
pub fn fitted(regex: &[u8], extended: bool, line: &[u8]) -> Option<Vec<u8>> {
    let atoms = atoms(regex, extended).filter(|_| line.len() <= LONGEST_LINE)?;
    let plain: Vec<&[u8]> = atoms.iter().filter_map(Atom::plain).collect();
    let there = tokens(line);
    // for each plain atom the token of the line that it is
    let mut fits: Vec<Option<usize>> = vec![None; plain.len()];
    for op in capture_diff_slices(Algorithm::Myers, &plain, &there) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            (0..len).for_each(|i| fits[old_index + i] = Some(new_index + i));
        }
    }
    let weight = |kept: bool| -> usize {
        let counted = plain.iter().zip(&fits).filter(|(_, fit)| !kept || fit.is_some());
        counted.filter(|(text, _)| words::tells(text)).map(|(text, _)| text.len()).sum()
    };
    let solid = plain.iter().zip(&fits).any(|(text, fit)| fit.is_some() && !text.trim_ascii().is_empty());
    (solid && weight(true) * 2 >= weight(false)).then_some(())?;
    let mut out: Vec<u8> = Vec::new();
    let any = |out: &mut Vec<u8>| {
        if !out.ends_with(b".*") {
            out.extend_from_slice(b".*");
        }
    };
    let mut fits = fits.into_iter();
    let mut last: Option<usize> = None;
    for atom in &atoms {
        match atom {
            Atom::Other(text) => {
                // what follows a group or a class need not follow it at once
                last = None;
                out.extend_from_slice(text);
            }
            Atom::Plain(_, written) => match fits.next().flatten() {
                Some(at) => {
                    if last.is_some_and(|before| before + 1 != at) {
                        any(&mut out);
                    }
                    out.extend_from_slice(written);
                    last = Some(at);
                }
                None => any(&mut out),
            },
        }
    }
    (out != regex).then_some(out)
}

impl Atom {
    pub fn plain(&self) -> Option<&[u8]> {
        match self {
            Atom::Plain(text, _) => Some(text),
            Atom::Other(_) => None,
        }
    }
}

/// What `regex` is made of, plain text cut into words, signs and stretches of blanks; none where it has alternatives
/// outside of groups, or is too long.
pub fn atoms(regex: &[u8], extended: bool) -> Option<Vec<Atom>> {
    if regex.len() > LONGEST_REGEX {
        return None;
    }
    let mut found: Vec<Atom> = Vec::new();
    let mut at = 0;
    while let Some(&first) = regex.get(at) {
        let start = at;
        let escaped = first == b'\\';
        let byte = if escaped { *regex.get(at + 1)? } else { first };
        at += 1 + usize::from(escaped);
        let operator = escaped != extended && matches!(byte, b'(' | b')' | b'{' | b'}' | b'|' | b'+' | b'?');
        let plain = match byte {
            b'|' if operator => return None,
            b'(' if operator => {
                // alternatives in a group stay as they are
                if let Some(end) = group_with_alternatives(regex, at, extended) {
                    at = end;
                }
                false
            }
            _ if operator => false,
            b'[' if !escaped => {
                at = bracket_end(regex, at);
                false
            }
            b'.' | b'*' | b'^' | b'$' => escaped || (matches!(byte, b'^' | b'$') && !is_anchor(regex, start, extended)),
            _ if escaped => !byte.is_ascii_alphanumeric() && !matches!(byte, b'<' | b'>' | b'`' | b'\''),
            _ => true,
        };
        let quantified = quantifier(regex, at, extended);
        at += quantified;
        let written = regex[start..at].to_vec();
        found.push(if plain && quantified == 0 { Atom::Plain(vec![byte], written) } else { Atom::Other(written) });
    }
    let mut joined: Vec<Atom> = Vec::new();
    for atom in found {
        if let (Atom::Plain(text, written), Some(Atom::Plain(before, all))) = (&atom, joined.last_mut())
            && together(before[before.len() - 1], text[0])
        {
            before.extend_from_slice(text);
            all.extend_from_slice(written);
            continue;
        }
        joined.push(atom);
    }
    Some(joined)
}

/// Behind the group that was opened before `at`, where it holds alternatives.
fn group_with_alternatives(regex: &[u8], mut at: usize, extended: bool) -> Option<usize> {
    let (mut depth, mut several) = (1, false);
    while let Some(&first) = regex.get(at) {
        let escaped = first == b'\\';
        let byte = if escaped { *regex.get(at + 1)? } else { first };
        at += 1 + usize::from(escaped);
        match byte {
            b'[' if !escaped => at = bracket_end(regex, at),
            b'|' if escaped != extended => several = true,
            b'(' if escaped != extended => depth += 1,
            b')' if escaped != extended => {
                depth -= 1;
                if depth == 0 {
                    return several.then_some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The length of what repeats the atom before `at`.
fn quantifier(regex: &[u8], at: usize, extended: bool) -> usize {
    let braces = |open: usize| regex[open..].iter().position(|b| *b == b'}').map_or(0, |n| open + n + 1 - at);
    match (regex.get(at), regex.get(at + 1)) {
        (Some(b'*'), _) => 1,
        (Some(b'+' | b'?'), _) if extended => 1,
        (Some(b'{'), _) if extended => braces(at),
        (Some(b'\\'), Some(b'+' | b'?')) if !extended => 2,
        (Some(b'\\'), Some(b'{')) if !extended => braces(at),
        _ => 0,
    }
}

fn is_anchor(regex: &[u8], at: usize, extended: bool) -> bool {
    let before = &regex[..at];
    let after = &regex[at + 1..];
    match regex[at] {
        _ if extended => true,
        b'^' => before.is_empty() || before.ends_with(b"\\(") || before.ends_with(b"\\|"),
        _ => after.is_empty() || after.starts_with(b"\\)") || after.starts_with(b"\\|"),
    }
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128
}

fn together(a: u8, b: u8) -> bool {
    (word(a) && word(b)) || (a.is_ascii_whitespace() && b.is_ascii_whitespace())
}

/// Words, signs and stretches of blanks.
fn tokens(text: &[u8]) -> Vec<&[u8]> {
    text.chunk_by(|a, b| together(*a, *b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(regex: &str, line: &str) -> Option<String> {
        fitted(regex.as_bytes(), false, line.as_bytes()).map(|f| String::from_utf8(f).unwrap())
    }

    #[test]
    fn what_the_line_has_otherwise_may_be_anything() {
        assert_eq!(fit("PATCH_VERSION 5", "set(PATCH_VERSION 0)").as_deref(), Some("PATCH_VERSION .*"));
        assert_eq!(fit("0,0,0", "x[\"0.0.0\"]").as_deref(), Some("0.*0.*0"));
        assert_eq!(
            fit("find(Clang HINTS ${A}/llvm ${B}/llvm )", "find(Clang HINTS ${B}/llvm )").as_deref(),
            Some("find(Clang HINTS ${.*B}/llvm )")
        );
        assert_eq!(fit("^ *install_me(\\(.*\\))$", "install_me(FILES x)"), None, "it is so already");
        assert_eq!(fit("install_me(a)", "install_me(FILES a)").as_deref(), Some("install_me(.*a)"));
        assert_eq!(
            fit("a \\(foo\\|barbar\\) setting", "my setting foo").as_deref(),
            Some(".*\\(foo\\|barbar\\) setting")
        );
    }

    #[test]
    fn too_little_is_left() {
        assert_eq!(fit("one_thing other_thing", "nothing of it"), None);
        assert_eq!(fit("install_me\\|take_me", "install_me"), None);
        assert_eq!(fit("something_long_here x", "x"), None);
        for odd in ["", "[", "\\", "\\(", "a\\{", "*", "[[:"] {
            fitted(odd.as_bytes(), false, b"abc [");
            fitted(odd.as_bytes(), true, b"abc [");
        }
    }
}
