//! Overlooking one thing: the forms of a command that would match where it narrowly does not.

use super::alone::Patch;
use crate::edit::sed::literal::bracket_end;
use crate::edit::sed::script::{Detail, Regex, Script, ScriptCommand, Span};

/// What is overlooked; the name is the note of the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relax {
    LineEnding,
    RegexDialect,
    Blanks,
    Quotes,
    Case,
    Anchor,
}

impl Relax {
    /// In the order in which they are tried: what overlooks least first.
    pub const ALL: [Relax; 6] =
        [Relax::LineEnding, Relax::RegexDialect, Relax::Blanks, Relax::Quotes, Relax::Case, Relax::Anchor];

    pub fn note(self) -> &'static str {
        match self {
            Relax::LineEnding => "line-ending",
            Relax::RegexDialect => "regex-dialect",
            Relax::Blanks => "blanks",
            Relax::Quotes => "quotes",
            Relax::Case => "case",
            Relax::Anchor => "anchor",
        }
    }

    /// A content as the relaxed form sees it; none where it changes no line.
    pub fn content(self, data: &[u8]) -> Vec<u8> {
        match self {
            Relax::LineEnding => data.iter().copied().filter(|b| *b != b'\r').collect(),
            Relax::Blanks => data.iter().copied().filter(|b| !matches!(b, b' ' | b'\t')).collect(),
            Relax::Quotes => data.iter().map(|b| if *b == b'\'' { b'"' } else { *b }).collect(),
            Relax::RegexDialect | Relax::Case | Relax::Anchor => data.to_vec(),
        }
    }

    /// The changes to the script that overlook it in `command` and the blocks around it; none where there is nothing
    /// to overlook.
    pub fn patches(self, script: &Script, command: &ScriptCommand) -> Option<Vec<Patch>> {
        if self == Relax::LineEnding || self == Relax::RegexDialect {
            return Some(Vec::new());
        }
        let mut patches: Vec<Patch> = Vec::new();
        for regex in regexes(script, command) {
            let text = script.source(&regex.span);
            let relaxed = match self {
                Relax::Blanks => without_blanks(text),
                Relax::Quotes => text.iter().map(|b| if *b == b'\'' { b'"' } else { *b }).collect(),
                Relax::Anchor => without_anchors(text),
                _ => text.to_vec(),
            };
            if relaxed.is_empty() {
                return None;
            }
            if self == Relax::Case {
                patches.push(case(script, command, regex));
            } else if relaxed != text {
                patches.push((regex.span.clone(), relaxed));
            }
        }
        // blanks and quotes are taken out of the content as well, so an unchanged pattern can match anew
        let content_too = matches!(self, Relax::Blanks | Relax::Quotes);
        (content_too || !patches.is_empty()).then_some(patches)
    }
}

/// Whether signs of `command` that mean something in the other dialect only are text. `line`: what that dialect would
/// change. A replacement that has such a sign repeats it; a group that nothing repeats, chooses within or refers to groups
/// nothing, and stands for the parentheses that are in the line, too.
pub fn is_text_here(script: &Script, command: &ScriptCommand, extended: bool, line: &[u8]) -> bool {
    let signs: Vec<u8> =
        regexes(script, command).iter().flat_map(|r| signs(script.source(&r.span), !extended)).collect();
    let replacement = match &command.detail {
        Detail::Substitute(s) => script.source(&s.replacement),
        _ => b"",
    };
    let refers = replacement.windows(2).any(|w| w[0] == b'\\' && w[1].is_ascii_digit());
    let repeats = signs.iter().any(|sign| replacement.contains(sign));
    let groups = signs.contains(&b'(');
    let useful = refers || signs.iter().any(|sign| b"|?+*{".contains(sign));
    !refers && repeats || groups && !useful && line.iter().any(|b| b"()".contains(b))
}

/// What a regular expression has of the signs that mean something in one dialect and are text in the other, as they
/// are to be read in the dialect `extended`; with a star behind a group, which repeats it.
fn signs(regex: &[u8], extended: bool) -> Vec<u8> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(&byte) = regex.get(at) {
        let escaped = byte == b'\\';
        let sign = if escaped { regex.get(at + 1).copied().unwrap_or(byte) } else { byte };
        at += 1 + usize::from(escaped);
        if !escaped && byte == b'[' {
            at = bracket_end(regex, at);
        } else if escaped != extended && b"(){}|+?".contains(&sign) {
            found.push(sign);
            found.extend(regex.get(at).filter(|next| sign == b')' && **next == b'*'));
        }
    }
    found
}

/// The regular expressions that decide whether `command` does anything: its own, and those of the blocks around it.
pub fn regexes<'a>(script: &'a Script, command: &'a ScriptCommand) -> Vec<&'a Regex> {
    let mut found: Vec<&Regex> = command.regexes().collect();
    for around in script.blocks.iter().filter(|b| b.commands.contains(&command.index)) {
        found.extend(around.addresses.regexes());
    }
    found.retain(|r| !r.is_last_used());
    found
}

/// The `I` behind a regular expression.
fn case(script: &Script, command: &ScriptCommand, regex: &Regex) -> Patch {
    if let Detail::Substitute(s) = &command.detail
        && s.regex.span == regex.span
    {
        let mut flags = b"I".to_vec();
        flags.extend_from_slice(script.source(&s.flags));
        return (s.flags.clone(), flags);
    }
    let end: Span = regex.span.end..regex.span.end + 1;
    let mut closing = script.source(&end).to_vec();
    closing.push(b'I');
    (end, closing)
}

pub fn without_blanks(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for (name, with) in
        [(&b"[[:space:]]"[..], &b""[..]), (b"[[:blank:]]", b""), (b"\\s", b""), (b"\\t", b""), (b"[ \t]", b"")]
    {
        while let Some(at) = memchr::memmem::find(&text, name) {
            // what repeats a blank goes with it
            let mut end = at + name.len();
            while matches!(text.get(end), Some(b'*' | b'+' | b'?')) {
                end += 1;
            }
            if text.get(end) == Some(&b'\\') && matches!(text.get(end + 1), Some(b'+' | b'?')) {
                end += 2;
            }
            text.splice(at..end, with.iter().copied());
        }
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if matches!(text[at], b' ' | b'\t') {
            at += 1;
            while matches!(text.get(at), Some(b'*')) {
                at += 1;
            }
            continue;
        }
        out.push(text[at]);
        at += 1;
    }
    out
}

/// A pattern with a version in it, with any numbers in the version's place.
pub fn any_version(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut at, mut runs, mut dots) = (0, 0, 0);
    while at < text.len() {
        if text[at].is_ascii_digit() && (at == 0 || !text[at - 1].is_ascii_alphanumeric()) {
            while at < text.len() && text[at].is_ascii_digit() {
                at += 1;
            }
            runs += 1;
            out.extend_from_slice(b"[0-9][0-9]*");
            if text.get(at) == Some(&b'.') && text.get(at + 1).is_some_and(u8::is_ascii_digit) {
                dots += 1;
                out.extend_from_slice(b"\\.");
                at += 1;
            } else if text[at..].starts_with(b"\\.") && text.get(at + 2).is_some_and(u8::is_ascii_digit) {
                dots += 1;
                out.extend_from_slice(b"\\.");
                at += 2;
            }
            continue;
        }
        out.push(text[at]);
        at += 1;
    }
    (runs >= 2 && dots >= 1).then_some(out)
}

pub fn without_anchors(text: &[u8]) -> Vec<u8> {
    let text = text.strip_prefix(b"^").unwrap_or(text);
    match text.strip_suffix(b"$") {
        Some(rest) if !rest.ends_with(b"\\") => rest.to_vec(),
        _ => text.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_blanks_and_anchors_out() {
        assert_eq!(without_blanks(b"^a *= [[:space:]]*b\\s\\+c"), b"^a=bc");
        assert_eq!(without_anchors(b"^a$"), b"a");
        assert_eq!(without_anchors(b"a\\$"), b"a\\$");
        assert_eq!(any_version(b"\"1.7.0\"").as_deref(), Some(&b"\"[0-9][0-9]*\\.[0-9][0-9]*\\.[0-9][0-9]*\""[..]));
        assert_eq!(any_version(b"lib64"), None);
    }
}
