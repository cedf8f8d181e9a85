//! Commands that cannot change anything, whatever the file.

use crate::edit::sed::script::{Detail, Script, ScriptCommand};

/// Whether `command` can never change a byte: it writes what it matched, or it wants a newline inside one line.
pub fn never(script: &Script, command: &ScriptCommand, null_data: bool) -> bool {
    let same = match &command.detail {
        Detail::Substitute(s) => {
            let (regex, to) = (script.source(&s.regex.span), script.source(&s.replacement));
            let plain = regex.iter().all(|b| b.is_ascii_alphanumeric() || b" _-/:;,=<>@%\"'#~!".contains(b));
            to == b"&" || (plain && !s.regex.ignore_case && regex == to && !regex.is_empty())
        }
        Detail::Transliterate { from, to } => from == to,
        _ => false,
    };
    // only these bring a second line into the pattern space
    let joins = script.commands.iter().any(|c| matches!(c.name, b'N' | b'G' | b'H' | b'g' | b'x' | b's' | b'y'))
        && script.commands.iter().any(|c| {
            matches!(c.name, b'N' | b'G')
                || matches!(&c.detail, Detail::Substitute(s) if holds_newline(script.source(&s.replacement)))
                || matches!(&c.detail, Detail::Transliterate { to, .. } if to.iter().any(|t| t == b"\n"))
        });
    let wants = |regex: &crate::edit::sed::script::Regex| holds_newline(script.source(&regex.span));
    let first = command.addresses.first.iter().filter_map(|a| match &a.kind {
        crate::edit::sed::script::AddressKind::Regex(r) => Some(r),
        _ => None,
    });
    let own = match &command.detail {
        Detail::Substitute(s) => Some(&s.regex),
        _ => None,
    };
    let multi_line = !command.addresses.negated && first.chain(own).any(wants);
    same || (multi_line && !joins && !null_data)
}

/// Whether a text has `\n`, or a newline itself.
fn holds_newline(text: &[u8]) -> bool {
    let mut at = 0;
    let mut in_class = false;
    while at < text.len() {
        match text[at] {
            b'\n' => return true,
            // `[^\n]` is any character of a line
            b'[' => in_class = true,
            b']' => in_class = false,
            b'\\' if text.get(at + 1) == Some(&b'n') => {
                // `\n*` and `\n\?` need none
                let optional = matches!(text.get(at + 2), Some(b'*' | b'?' | b'{'))
                    || (text.get(at + 2) == Some(&b'\\') && matches!(text.get(at + 3), Some(b'?' | b'{' | b'|')));
                if !in_class && !optional {
                    return true;
                }
                at += 1;
            }
            b'\\' => at += 1,
            b'|' => return false,
            _ => {}
        }
        at += 1;
    }
    false
}
