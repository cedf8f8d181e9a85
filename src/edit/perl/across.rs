//! Patterns that want text of two lines, where perl reads one at a time.

use super::argv::Invocation;
use super::script::{Act, Script, Statement};
use crate::edit::sed::literal;

/// Whether `statement` can match in no file: each line that it sees ends at its newline, and it wants more behind one.
/// A no may be wrong, a yes never is.
pub fn never(script: &Script, statement: &Statement, call: &Invocation) -> bool {
    let by_line = !call.switches.iter().any(|s| s.starts_with(b"-0"));
    let wants = |regex: &&super::script::Regex| !script.has_flag(regex, b'x') && wants_more(script.source(&regex.span));
    by_line && !script.statements.iter().any(|s| may_join(script, s)) && statement.deciding().iter().any(wants)
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

/// Whether a plain newline stands outside of groups and alternatives, and plain text must follow it.
fn wants_more(regex: &[u8]) -> bool {
    if regex.iter().any(|b| matches!(b, b'(' | b'|' | b'[')) {
        return false;
    }
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
        assert!(!is_never("s/a\\nb/c/", "-0777"));
        for script in ["s/a\\n/c/", "s/a\\n$/c/", "s/a\\n?b/c/", "s/a|x\\ny/c/", "s/;/\\n/; s/a\\nb/c/", "s/a\\nb*/c/"]
        {
            assert!(!is_never(script, "-w"), "{script}");
        }
    }
}
