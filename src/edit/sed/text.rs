//! What GNU sed makes of `\n`, `\t`, `\xHH` and their kin outside regular expressions (`normalize_text` of sed 4.9).

/// Where the text stands: a replacement keeps its other backslashes, plain text (`a i c`, `y`) drops them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Plain,
    Replacement,
}

/// The bytes that `raw` stands for. None: sed refuses it (`\c\` without a second backslash).
pub fn unescape(raw: &[u8], place: Place) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(&byte) = raw.get(at) {
        let Some(&next) = raw.get(at + 1).filter(|_| byte == b'\\') else {
            out.push(byte);
            at += 1;
            continue;
        };
        at += 2;
        match next {
            b'a' => out.push(7),
            b'f' => out.push(12),
            b'n' | b'\n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'd' | b'x' | b'o' => {
                let base = match next {
                    b'd' => 10,
                    b'x' => 16,
                    _ => 8,
                };
                let (value, length) = number(&raw[at..], base);
                let value = if length == 0 { next } else { value };
                if place == Place::Replacement && matches!(value, b'&' | b'\\') {
                    out.push(b'\\');
                }
                out.push(value);
                at += length;
            }
            b'c' => match raw.get(at) {
                Some(&control) => {
                    out.push(control.to_ascii_uppercase() ^ 0x40);
                    at += 1;
                    if control == b'\\' {
                        if raw.get(at).is_some_and(|&b| b != b'\\') {
                            return None;
                        }
                        at += 1;
                    }
                }
                None => {
                    if place == Place::Replacement {
                        out.push(b'\\');
                    }
                    out.push(b'c');
                }
            },
            _ => {
                if place == Place::Replacement {
                    out.push(b'\\');
                }
                out.push(next);
            }
        }
    }
    Some(out)
}

/// The number at the start of `digits`, as many digits as fit a byte, and how many they are.
fn number(digits: &[u8], base: u32) -> (u8, usize) {
    let most = match base {
        16 => 2,
        _ => 3,
    };
    let mut value = 0u32;
    let mut length = 0;
    for &byte in digits.iter().take(most) {
        let Some(digit) = (byte as char).to_digit(base) else {
            break;
        };
        value = value * base + digit;
        length += 1;
    }
    (value as u8, length)
}

/// Takes the backslash from an escaped delimiter, as sed does while it reads.
pub fn without_escaped(raw: &[u8], delimiter: u8) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut bytes = raw.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, (byte == b'\\').then(|| bytes.next()).flatten()) {
            (b'\\', Some(next)) => {
                if next != b'\n' && (next != delimiter || next == b'&') {
                    out.push(b'\\');
                }
                out.push(next);
            }
            _ => out.push(byte),
        }
    }
    out
}

/// Splits into characters as sed counts them for `y`: in a multibyte (UTF-8) locale by character, a byte that
/// belongs to none alone.
pub fn characters(text: &[u8], multibyte: bool) -> Vec<Vec<u8>> {
    if !multibyte {
        return text.iter().map(|&b| vec![b]).collect();
    }
    let mut out = Vec::new();
    for chunk in text.utf8_chunks() {
        out.extend(chunk.valid().chars().map(|c| c.to_string().into_bytes()));
        out.extend(chunk.invalid().iter().map(|&b| vec![b]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_drops_backslashes() {
        let plain = |raw: &[u8]| unescape(raw, Place::Plain).expect("sed accepts it");
        assert_eq!(plain(b"a\\tb\\qc\\\nd\\\\e\\"), b"a\tbqc\nd\\e\\");
        assert_eq!(plain(b"\\x41\\d066\\o103\\cA\\xg"), b"ABC\x01xg");
        assert_eq!(unescape(b"\\c\\d", Place::Plain), None);
    }

    #[test]
    fn replacement_keeps_them() {
        let kept = |raw: &[u8]| unescape(raw, Place::Replacement).expect("sed accepts it");
        assert_eq!(kept(b"\\1\\&\\n\\x26\\u"), b"\\1\\&\n\\&\\u");
    }

    #[test]
    fn characters_of_a_locale() {
        assert_eq!(characters("aé".as_bytes(), true).len(), 2);
        assert_eq!(characters("aé".as_bytes(), false).len(), 3);
        assert_eq!(characters(b"a\xff\xfe", true).len(), 3);
    }
}
