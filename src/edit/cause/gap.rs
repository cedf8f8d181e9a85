//! Near misses by one word: a line that has all that a pattern wants but a word, as `foo = bar2` for `foo = bar1`.

use memchr::memmem;

use super::fitted::{Atom, atoms};
use super::words;

/// Lines of a file that may be alike; more, and the rest of the pattern tells nothing.
const MOST: usize = 3;

/// A pattern of plain text, cut around one of its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// What a line must hold before the word, and behind it.
    head: Vec<u8>,
    tail: Vec<u8>,
    word: Vec<u8>,
    /// The expression with anything in the place of the word.
    pub open: Vec<u8>,
}

impl Gap {
    /// One for each word, the last first. None where the pattern is more than plain text between its anchors; a word
    /// without which nothing is said is left out.
    pub fn all(regex: &[u8], extended: bool) -> Vec<Gap> {
        let atoms = atoms(regex, extended).unwrap_or_default();
        let word =
            |atom: &Atom| matches!(atom, Atom::Plain(text, _) if text[0].is_ascii_alphanumeric() || text[0] == b'_');
        let places = (0..atoms.len()).rev().filter(|at| word(&atoms[*at]));
        places.filter_map(|at| Gap::at(&atoms, at)).collect()
    }

    fn at(atoms: &[Atom], at: usize) -> Option<Gap> {
        let (mut head, mut tail, mut open) = (Vec::new(), Vec::new(), Vec::new());
        for (index, atom) in atoms.iter().enumerate() {
            match atom {
                Atom::Plain(_, _) if index == at => open.extend_from_slice(b".*"),
                Atom::Plain(text, written) => {
                    open.extend_from_slice(written);
                    if index < at { &mut head } else { &mut tail }.extend_from_slice(text);
                }
                Atom::Other(written) if matches!(written.as_slice(), b"^" | b"$") => open.extend_from_slice(written),
                Atom::Other(_) => return None,
            }
        }
        let gap = Gap { head, tail, word: atoms[at].plain()?.to_vec(), open };
        (gap.tells() || gap.assigns()).then_some(gap)
    }

    /// Whether what is left of the pattern says something.
    fn tells(&self) -> bool {
        let words = words_of;
        // what stands before the last word is the name of something more often than not
        let ends = !self.tail.iter().any(u8::is_ascii_alphanumeric);
        words(&self.head) > 0 && ends || words(&self.head) + words(&self.tail) >= self.word.len().max(4)
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
        let (head, tail) = (memmem::Finder::new(&self.head), memmem::Finder::new(&self.tail));
        let wants_tail = self.tail.iter().any(u8::is_ascii_alphanumeric);
        let lines = (1u32..).zip(content.split(|b| *b == b'\n'));
        // between head and tail stands another word; what a last word's tail is (a bracket) may be further on
        let alike = |(number, line): (u32, &'_ [u8])| {
            let at = head.find(line)?;
            let to = tail.find(&line[at + self.head.len()..]);
            (to.is_some() || !wants_tail).then_some((number, at, to))
        };
        let found: Vec<_> = lines.clone().filter_map(alike).take(MOST + 1).collect();
        let line_of = |number: u32| lines.clone().nth(number as usize - 1).map_or(&b""[..], |(_, line)| line);
        let near = |(number, at, to): &&(u32, usize, Option<usize>)| {
            let line = line_of(*number);
            let rest = &line[at + self.head.len()..];
            let named = self.assigns() && line[..*at].trim_ascii().is_empty() && !rest.trim_ascii().is_empty();
            named || self.is_like(rest) || self.is_value(rest) || to.is_some_and(|to| self.ends_alike(&rest[..to]))
        };
        found.iter().filter(|_| found.len() <= MOST).find(near).map(|(number, ..)| (*number, line_of(*number).to_vec()))
    }

    /// Whether it is an option with another value.
    fn is_value(&self, rest: &[u8]) -> bool {
        let option = self.head.strip_suffix(b"=").and_then(|head| head.strip_prefix(b"-")).unwrap_or_default();
        let is_name = option.len() > 2 && option.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        is_name && rest.first().is_some_and(u8::is_ascii_alphanumeric)
    }

    /// Whether another word stands before a tail that tells more than the word does, as of a path that was moved.
    fn ends_alike(&self, before: &[u8]) -> bool {
        let told: usize = words_of(&self.tail);
        self.head.is_empty() && told > self.word.len() && before.last().is_some_and(u8::is_ascii_alphanumeric)
    }

    /// Whether a text begins with half of the word, or with a number where that is one.
    fn is_like(&self, rest: &[u8]) -> bool {
        let same = self.word.iter().zip(rest).take_while(|(a, b)| a == b).count();
        let number = self.word.iter().all(u8::is_ascii_digit) && rest.first().is_some_and(u8::is_ascii_digit);
        number || same * 2 >= self.word.len()
    }
}

/// Letters of the words that tell something.
fn words_of(text: &[u8]) -> usize {
    let words = text.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_'));
    words.filter(|w| w.len() > 1 && words::tells(w)).map(<[u8]>::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(regex: &str, content: &str) -> Option<u32> {
        Gap::all(regex.as_bytes(), false).iter().find_map(|gap| gap.nearest(content.as_bytes())).map(|n| n.0)
    }

    #[test]
    fn another_last_word_is_a_near_miss() {
        assert_eq!(near("foo = bar1", "x\nfoo = bar2\n"), Some(2));
        assert_eq!(near("^CFLAGS = -O2$", "x\nCFLAGS = -O3\n"), Some(2));
        assert_eq!(near("^prefix=yes$", "prefix=no\n"), Some(1));
        assert_eq!(near("set(FOO 1)", "set(FOO 2)\n"), Some(1));
        assert_eq!(near("lib/foo1", "lib/foo2"), Some(1));
        assert_eq!(Gap::all(b"set(FOO 1)", false)[0].open, b"set(FOO .*)");
        assert_eq!(near("CFLAGS = -O2 -g", "x\nCFLAGS = -O3 -g\n"), Some(2));
        assert_eq!(near("-O2 -Wall -pipe", "flags = -Os -Wall -pipe\n"), Some(1));
        assert_eq!(near("-march=native", "x\nset(FLAGS -march=znver2)\n"), Some(2));
        let many = "def test_a():\n".repeat(9);
        assert_eq!(near("def test_no(tmp_path):", &(many + "def test_no_bare(tmp_path):\n")), Some(10));
        assert_eq!(near("modules\\/oniguruma", "a\n\tvendor/oniguruma/x \\\n\tvendor/oniguruma/y\n"), Some(2));
    }

    #[test]
    fn what_merely_begins_alike_is_none() {
        assert_eq!(near("lib/foo", "lib/other"), None);
        assert_eq!(near("find_package(Git", "find_package(Gtk)\n"), None);
        assert_eq!(near("use_it foo1", &"use_it foo2\n".repeat(4)), None);
        assert_eq!(near("foo=bar", "my_foo=\n"), None);
        assert_eq!(near("modules\\/oniguruma", "### Build oniguruma\n"), None);
        assert_eq!(near("longer_word/foo", "other/foo"), None);
        assert_eq!(near("foo.*bar1", "foo bar2"), None);
        for odd in ["", "^$", "\\", "[", "a"] {
            assert_eq!(near(odd, "a\n"), None);
        }
    }
}
