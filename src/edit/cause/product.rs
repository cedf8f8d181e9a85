//! What a command would have produced, as a pattern to look for.

use crate::edit::sed::script::{Detail, Script, ScriptCommand};

/// Separates the parts of a made-up `s`: no file has it.
const MARK: u8 = 0x01;

/// A script that changes exactly the lines which already are as `command` would have made them; none where it
/// deletes, or where its product can't be told from any other text.
pub fn finder(script: &Script, command: &ScriptCommand, extended: bool) -> Option<Vec<u8>> {
    let pattern = match &command.detail {
        // what it becomes the command says that it runs
        Detail::Substitute(s) if s.evaluate => return None,
        Detail::Substitute(s) => {
            substituted(script.source(&s.regex.span), script.source(&s.replacement), s.regex.delimiter, extended)?
        }
        Detail::Text(text) => {
            let line = text.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).find(|l| l.len() >= 4)?;
            quoted(line, extended)
        }
        _ => return None,
    };
    let mut out = Vec::new();
    // a pattern that picks the line must still pick it
    if let (Some(first), None, false, Detail::Substitute(_)) =
        (&command.addresses.first, &command.addresses.second, command.addresses.negated, &command.detail)
    {
        out.extend_from_slice(script.source(&first.span));
    }
    out.extend_from_slice(&[b's', MARK]);
    out.extend_from_slice(&pattern);
    out.extend_from_slice(&[MARK, 0x02, MARK]);
    Some(out)
}

/// The regular expression of what `s/regex/replacement/` leaves behind.
fn substituted(regex: &[u8], replacement: &[u8], delimiter: u8, extended: bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut literal = Vec::new();
    let mut at = 0;
    let whole = bare(regex);
    while let Some(&byte) = replacement.get(at) {
        at += 1;
        match byte {
            b'&' => {
                out.extend(group(&whole, extended));
            }
            b'\\' => {
                let next = *replacement.get(at)?;
                at += 1;
                match next {
                    b'1'..=b'9' => out.extend(group(&bare(&nth(regex, next - b'0', extended)?), extended)),
                    b'0' => out.extend(group(&whole, extended)),
                    // `\n`: the product spans lines
                    b'n' | b'\n' => break,
                    b't' => push(b'\t', &mut out, &mut literal, extended),
                    b'L' | b'U' | b'l' | b'u' | b'E' => return None,
                    c => push(c, &mut out, &mut literal, extended),
                }
            }
            c => push(c, &mut out, &mut literal, extended),
        }
    }
    let _ = delimiter;
    let solid: Vec<u8> = literal.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    let refers = out.len() > quoted(&literal, extended).len();
    if solid.is_empty() || (!refers && solid.len() < 3) {
        return None;
    }
    if !refers {
        match proof(regex, &literal) {
            Proof::None => return None,
            Proof::Line => {
                let (blanks, end) = (&b"^[[:space:]]*"[..], &b"[[:space:]]*$"[..]);
                return Some([blanks, out.trim_ascii(), end].concat());
            }
            Proof::Start => return Some([b"^", out.as_slice()].concat()),
            Proof::End => return Some([out.as_slice(), b"$"].concat()),
            Proof::Text => {}
        }
    }
    let word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut bounded = Vec::new();
    if word(replacement.first()) {
        bounded.extend_from_slice(b"\\b");
    }
    bounded.extend(&out);
    if word(literal.last()) && word(replacement.last()) && !ends_in_reference(replacement) {
        bounded.extend_from_slice(b"\\b");
    }
    Some(bounded)
}

/// How much of a line must be as a product without references, so that it shows where the product came from.
#[derive(Debug, PartialEq, Eq)]
enum Proof {
    Text,
    Start,
    End,
    Line,
    None,
}

/// A product that is a part of what it replaces may have stood there by itself all along, and so may a short word.
fn proof(regex: &[u8], product: &[u8]) -> Proof {
    let text = product.trim_ascii();
    let plain: Vec<u8> = bare(regex).into_iter().filter(|b| *b != b'\\').collect();
    let (starts, ends) = (regex.starts_with(b"^"), regex.ends_with(b"$") && !regex.ends_with(b"\\$"));
    let words = text.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).filter(|w| !w.is_empty()).count();
    let telling = words > 1 || text.len() >= 6;
    if memchr::memmem::find(&plain, text).is_none() {
        let common = text.len() < 4 && text.iter().all(u8::is_ascii_alphabetic);
        return if common && !(starts && ends) { Proof::None } else { Proof::Text };
    }
    // the name that a longer one ends in
    if !starts && words == 1 && plain.ends_with(product) && is_name(text) {
        return Proof::Text;
    }
    match (starts && plain.ends_with(product), ends && plain.starts_with(product)) {
        (true, _) if telling => Proof::Start,
        (_, true) if telling => Proof::End,
        _ if words > 1 => Proof::Line,
        _ => Proof::None,
    }
}

/// Whether a word is one that nobody writes but for the thing of that name.
fn is_name(word: &[u8]) -> bool {
    let inner = word.iter().skip(1).any(|b| b.is_ascii_uppercase() || *b == b'_');
    word.len() >= 8 && inner && word.iter().any(u8::is_ascii_lowercase)
}

fn ends_in_reference(replacement: &[u8]) -> bool {
    matches!(replacement, [.., b'\\', b'0'..=b'9'] | [.., b'&'])
}

fn push(byte: u8, out: &mut Vec<u8>, literal: &mut Vec<u8>, extended: bool) {
    literal.push(byte);
    out.extend(quoted(&[byte], extended));
}

/// A regular expression without the anchors at its ends.
fn bare(regex: &[u8]) -> Vec<u8> {
    let regex = regex.strip_prefix(b"^").unwrap_or(regex);
    match regex.strip_suffix(b"$") {
        Some(rest) if !rest.ends_with(b"\\") => rest.to_vec(),
        _ => regex.to_vec(),
    }
}

fn group(regex: &[u8], extended: bool) -> Vec<u8> {
    let (open, close): (&[u8], &[u8]) = if extended { (b"(", b")") } else { (b"\\(", b"\\)") };
    [open, regex, close].concat()
}

/// The text of the `n`th group.
fn nth(regex: &[u8], n: u8, extended: bool) -> Option<Vec<u8>> {
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut count = 0;
    let mut at = 0;
    while let Some(&byte) = regex.get(at) {
        let escaped = byte == b'\\';
        let symbol = if escaped { regex.get(at + 1).copied()? } else { byte };
        let width = if escaped { 2 } else { 1 };
        if escaped != extended {
            match symbol {
                b'(' => {
                    count += 1;
                    open.push((count, at + width));
                }
                b')' => {
                    let (number, start) = open.pop()?;
                    if number == n {
                        return Some(regex.get(start..at)?.to_vec());
                    }
                }
                _ => {}
            }
        }
        at += width;
    }
    None
}

/// `text` as a regular expression that matches just it.
pub fn quoted(text: &[u8], extended: bool) -> Vec<u8> {
    let special: &[u8] = if extended { b".[]*^$\\+?(){}|" } else { b".[]*^$\\" };
    text.iter().flat_map(|b| if special.contains(b) { vec![b'\\', *b] } else { vec![*b] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(regex: &str, replacement: &str) -> Option<String> {
        let made = substituted(regex.as_bytes(), replacement.as_bytes(), b'/', false)?;
        Some(String::from_utf8(made).unwrap())
    }

    #[test]
    fn tells_what_would_stand_there() {
        assert_eq!(made("ar rs", "$(AR) rs").as_deref(), Some("\\$(AR) rs\\b"));
        assert_eq!(made("\\(foo\\)-lib", "\\1-lib64").as_deref(), Some("\\(foo\\)-lib64\\b"));
        assert_eq!(made("^tests$", "#&").as_deref(), Some("#\\(tests\\)"));
        assert_eq!(made("x", ""), None);
        assert_eq!(made("x", "1"), None);
        assert_eq!(made("x", "\\U&"), None);
    }

    #[test]
    fn a_part_of_the_pattern_shows_nothing_by_itself() {
        assert_eq!(made("target doc", "target"), None);
        assert_eq!(made("foo-static", "foo"), None);
        assert_eq!(made("libs", "lib"), None);
        assert_eq!(made("DESTINATION lib", "DESTINATION "), None);
        let name = made("Driver::GetResourcesPath", "GetResourcesPath");
        assert_eq!(name.as_deref(), Some("\\bGetResourcesPath\\b"));
        assert_eq!(made("foo", "bar"), None);
        assert_eq!(made("^#use_strict", "use_strict").as_deref(), Some("^use_strict"));
        let line = made("all: foo doc", "all: foo");
        assert_eq!(line.as_deref(), Some("^[[:space:]]*all: foo[[:space:]]*$"));
        assert_eq!(made("echo -n", "printf").as_deref(), Some("\\bprintf\\b"));
    }
}
