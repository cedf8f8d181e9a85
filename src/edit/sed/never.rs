//! Commands that cannot change anything, whatever the file.

use super::script::*;
use super::text::{self, Place};

/// Does `command` of `script` change nothing in any file: `s/a/a/`, `s/x/&/`, `y/ab/ab/`, or a regex that wants a
/// newline where no command ever joins two lines, or what an address around it excludes?
pub fn never(script: &Script, command: usize) -> bool {
    let Some(command) = script.commands.get(command) else {
        return false;
    };
    let same = match &command.detail {
        Detail::Substitute(substitute) => gives_itself(script, command, substitute),
        Detail::Transliterate { from, to } => from == to,
        _ => false,
    };
    same || wants_newline(script, command) || wants_what_is_excluded(script, command)
}

fn extended(script: &Script, command: &ScriptCommand) -> bool {
    script.pieces.get(command.piece).is_some_and(|piece| piece.flags.extended)
}

fn gives_itself(script: &Script, command: &ScriptCommand, substitute: &Substitute) -> bool {
    if substitute.evaluate || substitute.print || substitute.write.is_some() {
        return false;
    }
    let replacement = script.source(&substitute.replacement);
    if matches!(replacement, b"&" | b"\\0") && substitute.regex.delimiter != b'&' {
        return true;
    }
    let regex = script.source(&substitute.regex.span);
    let delimiter = substitute.regex.delimiter;
    !substitute.regex.ignore_case
        && !regex.is_empty()
        && literal_regex(regex, delimiter, extended(script, command))
            .is_some_and(|wanted| literal_replacement(replacement, delimiter).is_some_and(|new| wanted == new))
}

/// The only text that a regex matches, if it is but one.
fn literal_regex(regex: &[u8], delimiter: u8, extended: bool) -> Option<Vec<u8>> {
    let mut rest = regex.strip_prefix(b"^").unwrap_or(regex);
    let anchored = rest.ends_with(b"$") && !rest.ends_with(b"\\$");
    if anchored {
        rest = &rest[..rest.len() - 1];
    }
    let mut out = Vec::with_capacity(rest.len());
    let mut bytes = rest.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => match bytes.next()? {
                // sed takes the backslash away, and what is left may be special
                next if next == delimiter => out.push(Some(next).filter(|b| !is_special(*b, extended))?),
                next @ (b'.' | b'*' | b'[' | b']' | b'^' | b'$' | b'/' | b'\\' | b'-' | b'"' | b'#') => out.push(next),
                next if extended && is_special(next, true) => out.push(next),
                _ => return None,
            },
            _ if is_special(byte, extended) => return None,
            _ => out.push(byte),
        }
    }
    Some(out)
}

fn is_special(byte: u8, extended: bool) -> bool {
    matches!(byte, b'.' | b'*' | b'[' | b']' | b'^' | b'$' | b'\\')
        || (extended && matches!(byte, b'+' | b'?' | b'(' | b')' | b'{' | b'}' | b'|'))
}

/// The text of a replacement without references and case escapes.
fn literal_replacement(raw: &[u8], delimiter: u8) -> Option<Vec<u8>> {
    let raw = text::without_escaped(raw, delimiter);
    let plain = text::unescape(&raw, Place::Replacement)?;
    let mut out = Vec::with_capacity(plain.len());
    let mut bytes = plain.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'&' => return None,
            b'\\' => match bytes.next() {
                Some(b'0'..=b'9' | b'L' | b'U' | b'E' | b'l' | b'u') => return None,
                next => out.push(next.unwrap_or(b'\\')),
            },
            _ => out.push(byte),
        }
    }
    Some(out)
}

/// `/x/!s/x/y/`: it runs only on lines that it can't match.
fn wants_what_is_excluded(script: &Script, command: &ScriptCommand) -> bool {
    let Detail::Substitute(substitute) = &command.detail else { return false };
    // nothing may have changed the line since a block was entered
    let blocks =
        script.blocks.iter().filter(|b| b.commands.contains(&command.index) && b.commands.start == command.index);
    let same = |regex: &Regex| {
        let options = |r: &Regex| (r.ignore_case, r.multiline);
        let alike = script.source(&regex.span) == script.source(&substitute.regex.span);
        // between other delimiters the same letters may mean something else
        (alike && regex.delimiter == substitute.regex.delimiter && options(regex) == options(&substitute.regex))
            || substitute.regex.is_last_used()
    };
    blocks.map(|block| &block.addresses).chain([&command.addresses]).any(|addresses| {
        match (&addresses.first, &addresses.second, addresses.negated) {
            (Some(Address { kind: AddressKind::Regex(regex), .. }), None, true) => !regex.is_last_used() && same(regex),
            _ => false,
        }
    })
}

/// Must a line hold a newline for the command to run or match, though none ever does?
fn wants_newline(script: &Script, command: &ScriptCommand) -> bool {
    if may_join_lines(script) {
        return false;
    }
    let blocks = script.blocks.iter().filter(|block| block.commands.contains(&command.index));
    let addresses = blocks.map(|block| &block.addresses).chain([&command.addresses]);
    let starts = addresses.filter(|a| !a.negated).filter_map(|a| match &a.first.as_ref()?.kind {
        AddressKind::Regex(regex) => Some(regex),
        _ => None,
    });
    let own = match &command.detail {
        Detail::Substitute(substitute) => Some(&substitute.regex),
        _ => None,
    };
    starts
        .chain(own)
        .any(|regex| regex.delimiter != b'n' && needs_newline(script.source(&regex.span), extended(script, command)))
}

/// May the pattern space ever hold a newline?
fn may_join_lines(script: &Script) -> bool {
    script.null_data
        || script.commands.iter().any(|command| match &command.detail {
            Detail::Substitute(substitute) => {
                let raw = text::without_escaped(script.source(&substitute.replacement), substitute.regex.delimiter);
                substitute.evaluate
                    || text::unescape(&raw, Place::Replacement).is_none_or(|plain| plain.contains(&b'\n'))
            }
            Detail::Transliterate { to, .. } => to.iter().any(|letter| letter == b"\n"),
            _ => matches!(command.name, b'N' | b'G' | b'H' | b'x' | b'g' | b'e'),
        })
}

/// Does every match of the regex hold a newline? A no may be wrong, a yes never is.
fn needs_newline(regex: &[u8], extended: bool) -> bool {
    let special = |escaped: bool, byte: u8| escaped != extended && matches!(byte, b'(' | b')' | b'{' | b'|' | b'?');
    // what each open group holds so far; the first stands for the whole
    let mut groups = vec![false];
    let mut at = 0;
    while at < regex.len() {
        let escaped = regex[at] == b'\\' && at + 1 < regex.len();
        let byte = regex[at + usize::from(escaped)];
        at += 1 + usize::from(escaped);
        let mut atom = false;
        if special(escaped, byte) {
            match byte {
                b'|' => return false,
                b'(' => {
                    groups.push(false);
                    continue;
                }
                b')' if groups.len() > 1 => atom = groups.pop().unwrap_or(false),
                b'{' => {
                    let close = memchr::memchr(b'}', &regex[at..]);
                    at = close.map_or(regex.len(), |close| at + close + 1);
                }
                _ => {}
            }
        } else if !escaped && byte == b'[' {
            at = bracket_end(regex, at);
        } else {
            atom = (escaped && matches!(byte, b'n' | b'\n')) || byte == b'\n';
        }
        let optional = match regex.get(at) {
            Some(b'*') => true,
            Some(b'?' | b'{') => extended,
            Some(b'\\') => !extended && matches!(regex.get(at + 1), Some(b'?' | b'{')),
            _ => false,
        };
        if atom
            && !optional
            && let Some(last) = groups.last_mut()
        {
            *last = true;
        }
    }
    groups.len() == 1 && groups[0]
}

/// Behind a bracket expression that begins before `at`.
fn bracket_end(regex: &[u8], mut at: usize) -> usize {
    at += usize::from(regex.get(at) == Some(&b'^'));
    at += usize::from(regex.get(at) == Some(&b']'));
    while let Some(&byte) = regex.get(at) {
        at += 1;
        match (byte, regex.get(at)) {
            (b']', _) => return at,
            (b'[', Some(&kind @ (b':' | b'.' | b'='))) => {
                let end = memchr::memmem::find(&regex[at + 1..], &[kind, b']']);
                at = end.map_or(regex.len(), |end| at + 1 + end + 2);
            }
            _ => {}
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::sed::argv::{Invocation, words};

    /// Whether the last command can never change anything.
    fn last(argv: &[&str]) -> bool {
        let argv: Vec<&str> = std::iter::once("sed").chain(argv.iter().copied()).collect();
        let invocation = Invocation::parse(&words(&argv), false).unwrap();
        let script = Script::cut(&invocation, &Default::default(), Default::default()).unwrap();
        never(&script, script.commands.len() - 1)
    }

    #[test]
    fn what_gives_itself_or_wants_two_lines_of_one_never_changes() {
        for argv in [
            &["s/usr/usr/"][..],
            &["s/x/&/"],
            &["s/a\\.b/a.b/"],
            &["s/^x$/x/"],
            &["y/ab/ab/"],
            &["/a\\nb/d"],
            // the address of a block
            &["/a\\nb/{s/c/d/}"],
            &["/x/!s/x/y/"],
            &["/x/!s//y/"],
            &["2,3{/x/!{s/x/y/2}}"],
        ] {
            assert!(last(argv), "{argv:?}");
        }
        for argv in [
            &["s/a/b/"][..],
            &["/x/!s/X/y/I"],
            &["/x/,/z/!s/x/y/"],
            &["/x/!{s/$/x/;s/x/y/}"],
            &["s/a\\n*/b/"],
            &["s/a.b/a.b/"],
            // it prints, or runs, what it matches
            &["s/x/&/p"],
            &["s/x/&/e"],
            // lines are joined before
            &["s/;/\\n/;/a\\nb/d"],
            &["N;s/a\\nb/c/"],
            &["H;x;s/a\\nb/c/"],
            // -z holds for all that is read, wherever it stands
            &["-e", "s/a\\nb/c/", "-z"],
            &["-E", "s/(a\\nb)?c/d/"],
            &["-E", "s/a\\n?b/d/"],
        ] {
            assert!(!last(argv), "{argv:?}");
        }
    }
}
