//! Near misses by the end: a line that has all that a pattern wants but its last word, as `foo = bar2` for `foo = bar1`.

use super::fitted::{Atom, atoms};
use super::words;

/// Lines of a file that may begin alike; more, and the beginning tells nothing.
const MOST: usize = 3;

/// A pattern of plain text, cut before its last word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What a line must hold.
    head: Vec<u8>,
    last: Vec<u8>,
    /// The expression with anything in the place of the last word.
    pub open: Vec<u8>,
}

impl Ending {
    /// None where the pattern is more than plain text between its anchors, or where what stands before its last word
    /// says nothing.
    pub fn of(regex: &[u8], extended: bool) -> Option<Ending> {
        let atoms = atoms(regex, extended)?;
        let word =
            |atom: &Atom| matches!(atom, Atom::Plain(text, _) if text[0].is_ascii_alphanumeric() || text[0] == b'_');
        let at = atoms.iter().rposition(word)?;
        let (mut head, mut open) = (Vec::new(), Vec::new());
        for (index, atom) in atoms.iter().enumerate() {
            match atom {
                Atom::Plain(_, _) if index == at => open.extend_from_slice(b".*"),
                Atom::Plain(text, written) => {
                    open.extend_from_slice(written);
                    head.extend_from_slice(if index < at { text } else { b"" });
                }
                Atom::Other(written) if matches!(written.as_slice(), b"^" | b"$") => open.extend_from_slice(written),
                Atom::Other(_) => return None,
            }
        }
        let last = atoms[at].plain()?.to_vec();
        let ending = Ending { head, last, open };
        let telling =
            ending.head.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).any(|w| w.len() > 1 && words::tells(w));
        (telling || ending.assigns()).then_some(ending)
    }

    /// Whether it is a value's name and sign, and nothing else.
    fn assigns(&self) -> bool {
        // the value may begin with a sign
        let sign = |b: &u8| matches!(b, b'"' | b'\'' | b'-') || b.is_ascii_whitespace();
        let head = &self.head[..self.head.iter().rposition(|b| !sign(b)).map_or(0, |at| at + 1)];
        let Some(name) = head.strip_suffix(b"=") else { return false };
        let name = name.strip_suffix(b":").or(name.strip_suffix(b"+")).unwrap_or(name).trim_ascii();
        name.len() > 1 && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
    }

    /// The line (from 1) that has another word there, of the same kind or for the same name.
    pub fn nearest(&self, content: &[u8]) -> Option<(u32, Vec<u8>)> {
        let finder = memchr::memmem::Finder::new(&self.head);
        let lines = (1u32..).zip(content.split(|b| *b == b'\n'));
        let found: Vec<(u32, &[u8], usize)> =
            lines.filter_map(|(number, line)| Some((number, line, finder.find(line)?))).take(MOST + 1).collect();
        let near = |(_, line, at): &&(u32, &[u8], usize)| {
            let rest = &line[at + self.head.len()..];
            let named = self.assigns() && line[..*at].trim_ascii().is_empty() && !rest.trim_ascii().is_empty();
            named || self.is_like(rest)
        };
        found.iter().filter(|_| found.len() <= MOST).find(near).map(|(number, line, _)| (*number, line.to_vec()))
    }

    /// Whether a text begins with half of the last word, or with a number where that is one.
    fn is_like(&self, rest: &[u8]) -> bool {
        let same = self.last.iter().zip(rest).take_while(|(a, b)| a == b).count();
        let number = self.last.iter().all(u8::is_ascii_digit) && rest.first().is_some_and(u8::is_ascii_digit);
        number || same * 2 >= self.last.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(regex: &str, content: &str) -> Option<u32> {
        Ending::of(regex.as_bytes(), false)?.nearest(content.as_bytes()).map(|n| n.0)
    }

    #[test]
    fn another_last_word_is_a_near_miss() {
        assert_eq!(near("foo = bar1", "x\nfoo = bar2\n"), Some(2));
        assert_eq!(near("^CFLAGS = -O2$", "x\nCFLAGS = -O3\n"), Some(2));
        assert_eq!(near("^prefix=yes$", "prefix=no\n"), Some(1));
        assert_eq!(near("set(FOO 1)", "set(FOO 2)\n"), Some(1));
        assert_eq!(near("lib/foo1", "lib/foo2"), Some(1));
        assert_eq!(Ending::of(b"set(FOO 1)", false).unwrap().open, b"set(FOO .*)");
    }

    #[test]
    fn what_merely_begins_alike_is_none() {
        assert_eq!(near("lib/foo", "lib/other"), None);
        assert_eq!(near("find_package(Git", "find_package(Gtk)\n"), None);
        assert_eq!(near("use_it foo1", &"use_it foo2\n".repeat(4)), None);
        assert_eq!(near("foo=bar", "my_foo=\n"), None);
        assert_eq!(near("foo.*bar1", "foo bar2"), None);
        for odd in ["", "^$", "\\", "[", "a"] {
            assert_eq!(near(odd, "a\n"), None);
        }
    }
}
