//! Patterns that want text of two lines, where perl reads one at a time.

use super::argv::Invocation;
use super::script::{Act, Script, Statement};
use crate::edit::sed::literal;

/// Whether `statement` can match in no file: each line that it sees ends at its newline, and it wants more behind one.
/// A no may be wrong, a yes never is.
pub fn never(script: &Script, statement: &Statement, call: &Invocation) -> bool {
    let wants = |regex: &&super::script::Regex| !script.has_flag(regex, b'x') && wants_more(script.source(&regex.span));
    // what the statement itself would put there it can't before it matches
    let others = || script.statements.iter().filter(|s| s.span != statement.span);
    by_line(call) && !others().any(|s| may_join(script, s)) && statement.deciding().iter().any(wants)
}

/// Whether perl reads one line at a time.
pub fn by_line(call: &Invocation) -> bool {
    !call.switches.iter().any(|s| s.starts_with(b"-0"))
}

/// Whether a pattern speaks of a newline that is not its end.
pub fn spans_lines(regex: &[u8]) -> bool {
    let plain = regex.strip_suffix(b"$").unwrap_or(regex);
    let plain = plain.strip_suffix(b"\\n").unwrap_or(plain);
    plain.contains(&b'\n') || memchr::memmem::find(plain, b"\\n").is_some()
}

/// Whether a statement may put a newline into the line.
fn may_join(script: &Script, statement: &Statement) -> bool {
    let odd = |text: &[u8]| text.iter().any(|b| matches!(b, b'$' | b'@' | b'\\' | b'\n'));
    match &statement.act {
        Act::Substitute { replacement, .. } => odd(script.source(replacement)),
        Act::Transliterate { to, .. } => odd(script.source(to)) || script.source(to).contains(&b'-'),
        Act::Print => false,
    }
}

/// Whether a plain newline stands outside of alternatives, and plain text must follow it.
fn wants_more(regex: &[u8]) -> bool {
    let Some(regex) = without_groups(regex) else { return false };
    let mut at = 0;
    while at < regex.len() {
        let escaped = regex[at] == b'\\' && at + 1 < regex.len();
        let newline = if escaped { regex[at + 1] == b'n' } else { regex[at] == b'\n' };
        at += 1 + usize::from(escaped);
        if newline && !matches!(regex.get(at), Some(b'*' | b'?' | b'{')) {
            return literal::required(&regex[at..], true).is_some();
        }
    }
    false
}

/// A pattern without the parentheses of groups that are there once, and with what it looks behind at its beginning
/// and ahead at its end as if that were of it. None where it is anything else.
fn without_groups(regex: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(regex.len());
    let mut ahead = false;
    let mut at = 0;
    while let Some(&byte) = regex.get(at) {
        let rest = &regex[at..];
        let skipped = match byte {
            b'\\' => {
                out.extend(rest.iter().take(2));
                at += 2;
                continue;
            }
            b'|' | b'[' => return None,
            b'(' if rest.starts_with(b"(?<=") && at == 0 => 4,
            b'(' if rest.starts_with(b"(?=") => {
                ahead = true;
                3
            }
            b'(' if rest.starts_with(b"(?:") => 3,
            b'(' if rest.starts_with(b"(?") => return None,
            b'(' => 1,
            b')' if matches!(rest.get(1), Some(b'*' | b'?' | b'{')) => return None,
            b')' if ahead && rest.len() > 1 => return None,
            b')' => 1,
            _ => 0,
        };
        if skipped == 0 {
            out.push(byte);
        }
        at += skipped.max(1);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wants_two_lines_of_one_never_matches() {
        let is_never = |script: &str, switch: &str| {
            let words: Vec<Vec<u8>> =
                ["perl", "-pi", switch, "-e", script, "f"].map(|w| w.as_bytes().to_vec()).to_vec();
            let call = Invocation::parse(&words);
            let script = Script::cut(&call.pieces).unwrap();
            never(&script, script.statements.last().unwrap(), &call)
        };
        assert!(is_never("s/a\\nb/c/", "-w"));
        assert!(is_never("s/x/y/; s/a\\n +b/c/", "-w"));
        for script in ["s/alpha\\n(?=beta)/x/", "s/\\n\\n/\\n/", "s/(?<=alpha\\n)beta/x/", "s/(a\\n)(b)/$2$1/"] {
            assert!(is_never(script, "-w"), "{script}");
        }
        assert!(!is_never("s/a\\nb/c/", "-0777"));
        for script in ["s/(?=.*\\n)b/c/", "s/a\\n(?!b)/c/", "s/a\\n(b)?/c/", "s/a(?<=\\na)b/c/"] {
            assert!(!is_never(script, "-w"), "{script}");
        }
        for script in ["s/a\\n/c/", "s/a\\n$/c/", "s/a\\n?b/c/", "s/a|x\\ny/c/", "s/;/\\n/; s/a\\nb/c/", "s/a\\nb*/c/"]
        {
            assert!(!is_never(script, "-w"), "{script}");
        }
    }
}
