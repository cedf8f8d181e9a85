//! A text that every match of a regular expression must contain, so that most files need not be tried.

/// The longest plain run of characters that any match of `regex` holds; none where there is no such run.
///
/// Reads POSIX basic (or, with `extended`, extended) syntax as GNU sed has it. In doubt a run is cut short.
pub fn required(regex: &[u8], extended: bool) -> Option<Vec<u8>> {
    let mut runs = Vec::new();
    let mut run: Vec<u8> = Vec::new();
    let mut depth = 0usize;
    let mut at = 0;
    let end = |run: &mut Vec<u8>, runs: &mut Vec<Vec<u8>>| {
        if !run.is_empty() {
            runs.push(std::mem::take(run));
        }
    };
    while let Some(&byte) = regex.get(at) {
        at += 1;
        let (operator, literal) = match byte {
            b'\\' => {
                let Some(&next) = regex.get(at) else { break };
                at += 1;
                match next {
                    b'(' | b')' | b'{' | b'}' | b'|' | b'+' | b'?' if !extended => (Some(next), None),
                    b'n' => (None, Some(b'\n')),
                    b't' => (None, Some(b'\t')),
                    // the digits of a byte by its number, the letter of a control character
                    b'x' | b'd' | b'o' | b'c' => {
                        let most = match next {
                            b'x' => 2,
                            b'c' => 1,
                            _ => 3,
                        };
                        let own = |b: &&u8| next == b'c' || b.is_ascii_hexdigit();
                        at += regex[at..].iter().take(most).take_while(own).count();
                        (Some(b'.'), None)
                    }
                    c if c.is_ascii_alphanumeric() || matches!(c, b'<' | b'>' | b'`' | b'\'') => (Some(b'.'), None),
                    c => (None, Some(c)),
                }
            }
            b'[' => {
                at = bracket_end(regex, at);
                (Some(b'.'), None)
            }
            b'.' | b'*' | b'^' | b'$' => (Some(byte), None),
            b'(' | b')' | b'{' | b'}' | b'|' | b'+' | b'?' if extended => (Some(byte), None),
            c => (None, Some(c)),
        };
        if let Some(c) = literal {
            if depth == 0 {
                run.push(c);
            }
            continue;
        }
        match operator {
            // an alternative may leave out anything else
            Some(b'|') if depth == 0 => return None,
            Some(b'*' | b'?') => {
                pop(&mut run);
                end(&mut run, &mut runs);
            }
            Some(b'{') => {
                pop(&mut run);
                end(&mut run, &mut runs);
                while let Some(&c) = regex.get(at) {
                    at += 1;
                    if c == b'}' {
                        break;
                    }
                }
            }
            Some(b'(') => {
                end(&mut run, &mut runs);
                depth += 1;
            }
            Some(b')') => {
                end(&mut run, &mut runs);
                depth = depth.saturating_sub(1);
            }
            // an anchor in the middle of a basic expression is a character, the run may go on without it
            _ => end(&mut run, &mut runs),
        }
    }
    end(&mut run, &mut runs);
    runs.into_iter().max_by_key(Vec::len)
}

/// Takes the last character away, of several bytes or of one.
fn pop(run: &mut Vec<u8>) {
    while run.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
}

/// Behind a bracket expression that was opened before `at`.
pub fn bracket_end(regex: &[u8], mut at: usize) -> usize {
    if regex.get(at) == Some(&b'^') {
        at += 1;
    }
    if regex.get(at) == Some(&b']') {
        at += 1;
    }
    while let Some(&byte) = regex.get(at) {
        match byte {
            b']' => return at + 1,
            b'[' if matches!(regex.get(at + 1), Some(b':' | b'.' | b'=')) => {
                let kind = regex[at + 1];
                let rest = &regex[at + 2..];
                match rest.windows(2).position(|w| w == [kind, b']']) {
                    Some(n) => at += n + 4,
                    None => return regex.len(),
                }
            }
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn basic(regex: &str) -> Option<String> {
        required(regex.as_bytes(), false).map(|r| String::from_utf8(r).unwrap())
    }

    fn extended(regex: &str) -> Option<String> {
        required(regex.as_bytes(), true).map(|r| String::from_utf8(r).unwrap())
    }

    #[test]
    fn finds_what_a_match_must_hold() {
        assert_eq!(basic("get_version ( \"1.0.0\" )").as_deref(), Some(" )").map(|_| "get_version ( \"1"));
        assert_eq!(basic("^CFLAGS *= *-O3$").as_deref(), Some("CFLAGS"));
        assert_eq!(basic("a\\|b"), None);
        assert_eq!(basic("\\(foo\\|bar\\)baz").as_deref(), Some("baz"));
        assert_eq!(basic("fo*"), Some("f".into()));
        assert_eq!(basic("xé*"), Some("x".into()));
        assert_eq!(basic("x[]a[:space:]]yy").as_deref(), Some("yy"));
        assert_eq!(basic("a+b").as_deref(), Some("a+b"));
        assert_eq!(extended("a+bc").as_deref(), Some("bc"));
        assert_eq!(extended("(abc)+d?e").as_deref(), Some("e"));
        assert_eq!(extended("a{2}bb").as_deref(), Some("bb"));
        assert_eq!(basic("\\.called_once").as_deref(), Some(".called_once"));
        assert_eq!(basic("\\x27foo\\d065b").as_deref(), Some("foo"));
        assert_eq!(basic(""), None);
        for odd in ["[", "\\", "[[:", "a\\{", "[]"] {
            required(odd.as_bytes(), false);
            required(odd.as_bytes(), true);
        }
    }
}
