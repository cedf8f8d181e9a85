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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::sed::argv::{Invocation, words};
    use crate::edit::sed::never::never as other;

    /// What this says of the last command, and what the judge of single commands says.
    fn both(argv: &[&str]) -> (bool, bool) {
        let argv: Vec<&str> = std::iter::once("sed").chain(argv.iter().copied()).collect();
        let invocation = Invocation::parse(&words(&argv), false).unwrap();
        let script = Script::cut(&invocation, &Default::default(), Default::default()).unwrap();
        let command = script.commands.last().unwrap();
        let null_data = script.pieces[command.piece].flags.null_data;
        (never(&script, command, null_data), other(&script, command.index))
    }

    #[test]
    fn the_two_differ_in_these() {
        // alike
        for alike in ["s/usr/usr/", "s/x/&/", "y/ab/ab/", "/a\\nb/d"] {
            assert_eq!(both(&[alike]), (true, true), "{alike}");
        }
        for alike in ["s/a/b/", "s/a\\n*/b/", "s/a.b/a.b/", "s/;/\\n/;/a\\nb/d", "N;s/a\\nb/c/"] {
            assert_eq!(both(&[alike]), (false, false), "{alike}");
        }
        // it prints, writes or runs what it matches
        assert_eq!(both(&["s/x/&/p"]), (true, false));
        assert_eq!(both(&["s/x/&/e"]), (true, false));
        // the text is literal, though not without a backslash
        assert_eq!(both(&["s/a\\.b/a.b/"]), (false, true));
        assert_eq!(both(&["s/^x$/x/"]), (false, true));
        // these bring a second line into the pattern space, too
        assert_eq!(both(&["H;x;s/a\\nb/c/"]), (true, false));
        // the address of a block
        assert_eq!(both(&["/a\\nb/{s/c/d/}"]), (false, true));
        // -z holds from its place on for what is compiled, but for all that is read
        assert_eq!(both(&["-e", "s/a\\nb/c/", "-z"]), (true, false));
        // a group that need not match
        assert_eq!(both(&["-E", "s/(a\\nb)?c/d/"]), (true, false));
        assert_eq!(both(&["-E", "s/a\\n?b/d/"]), (false, false));
    }
}
