//! What a perl statement would have produced, as a pattern to look for.

use super::script::{Act, Script, Statement};

/// A script that changes just the lines which already are as `statement` would have made them; none where its
/// product can't be told from any other text.
pub fn finder(script: &Script, statement: &Statement) -> Option<Vec<u8>> {
    let Act::Substitute { regex, replacement } = &statement.act else { return None };
    if regex.delimiter == b'\'' || script.has_flag(regex, b'x') {
        return None;
    }
    let pattern = substituted(script.source(&regex.span), script.source(replacement))?;
    let mut out = [&b"s\x01"[..], &pattern, b"\x01\x02\x01"].concat();
    if let Some(condition) = statement.condition.as_ref().filter(|c| !c.negated && c.regex.delimiter == b'/') {
        let regex = [b"/", script.source(&condition.regex.span), b"/", script.source(&condition.regex.flags)].concat();
        out.extend_from_slice(b" if ");
        out.extend(regex);
    }
    Some(out)
}

fn substituted(regex: &[u8], replacement: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut literal, mut refers) = (Vec::new(), Vec::new(), false);
    let mut at = 0;
    while let Some(&byte) = replacement.get(at) {
        at += 1;
        let group = |number: &[u8]| -> Option<Vec<u8>> {
            let number: usize = std::str::from_utf8(number).ok()?.parse().ok()?;
            Some([b"(?:", &nth(regex, number)?[..], b")"].concat())
        };
        let digits = |at: usize| replacement[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        match byte {
            b'$' if replacement.get(at) == Some(&b'&') => {
                at += 1;
                refers = true;
                out.extend([b"(?:", bare(regex), b")"].concat());
            }
            b'$' | b'\\' if digits(at) > 0 => {
                let length = digits(at);
                out.extend(group(&replacement[at..at + length])?);
                (at, refers) = (at + length, true);
            }
            b'$' if replacement.get(at) == Some(&b'{') && digits(at + 1) > 0 => {
                let length = digits(at + 1);
                out.extend(group(&replacement[at + 1..at + 1 + length])?);
                (at, refers) = (at + length + 2, true);
            }
            b'$' | b'@' if replacement.get(at).is_some() => return None,
            b'\\' => {
                let next = *replacement.get(at)?;
                at += 1;
                match next {
                    // the line ends here
                    b'n' => break,
                    b't' => quote(b'\t', &mut out, &mut literal),
                    c if c.is_ascii_alphanumeric() => return None,
                    c => quote(c, &mut out, &mut literal),
                }
            }
            b'\n' => break,
            c => quote(c, &mut out, &mut literal),
        }
    }
    let solid = literal.iter().filter(|b| !b.is_ascii_whitespace()).count();
    if solid == 0 || (!refers && solid < 3) {
        return None;
    }
    let word = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let mut bounded = if word(replacement.first()) { b"\\b".to_vec() } else { Vec::new() };
    bounded.extend(out);
    if !refers && word(literal.last()) {
        bounded.extend_from_slice(b"\\b");
    }
    Some(bounded)
}

fn quote(byte: u8, out: &mut Vec<u8>, literal: &mut Vec<u8>) {
    literal.push(byte);
    if !byte.is_ascii_alphanumeric() && byte.is_ascii() && byte != b'_' {
        out.push(b'\\');
    }
    out.push(byte);
}

/// A regular expression without the anchors at its ends.
pub fn bare(regex: &[u8]) -> &[u8] {
    let regex = regex.strip_prefix(b"^").unwrap_or(regex);
    match regex.strip_suffix(b"$") {
        Some(rest) if !rest.ends_with(b"\\") => rest,
        _ => regex,
    }
}

/// The text of the `n`th group.
fn nth(regex: &[u8], n: usize) -> Option<Vec<u8>> {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let (mut count, mut at) = (0, 0);
    while let Some(&byte) = regex.get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'[' => at = crate::edit::sed::literal::bracket_end(regex, at),
            // a named group would count, too; the rest of `(?` groups nothing
            b'(' if regex.get(at) == Some(&b'?') => {
                let named = matches!(regex.get(at + 1), Some(b'<' | b'P' | b'\''));
                (!named).then_some(())?;
                open.push((0, at));
            }
            b'(' => {
                count += 1;
                open.push((count, at));
            }
            b')' => {
                let (number, start) = open.pop()?;
                if number == n {
                    return Some(regex[start..at - 1].to_vec());
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(script: &str) -> Option<String> {
        let script = Script::cut(&[script.as_bytes().to_vec()]).unwrap();
        finder(&script, &script.statements[0]).map(|f| String::from_utf8(f).unwrap())
    }

    #[test]
    fn tells_what_would_stand_there() {
        assert_eq!(made("s/ar rs/\\$(AR) rs/").as_deref(), Some("s\x01\\$\\(AR\\)\\ rs\\b\x01\x02\x01"));
        assert_eq!(made("s/(foo)-lib/$1-lib64/ if /q/").as_deref(), Some("s\x01(?:foo)\\-lib64\x01\x02\x01 if /q/"));
        assert_eq!(made("s/^tests$/#$&/").as_deref(), Some("s\x01\\#(?:tests)\x01\x02\x01"));
        assert_eq!(made("s/x/1/"), None);
        assert_eq!(made("s/x/long $name/"), None);
        assert_eq!(made("y/abc/def/"), None);
    }
}
