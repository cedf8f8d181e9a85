//! A word of bash as the bytes that it stands for, each with the place in the text from which it comes.

use std::ops::Range;

/// How a stretch of a word is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    Bare,
    Single,
    Double,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// `stretch` counts the changes of quoting before it.
    Byte { byte: u8, span: Range<usize>, stretch: usize },
    /// An expansion, whose value the text does not say.
    Hole { span: Range<usize>, stretch: usize },
}

/// A word, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    pub span: Range<usize>,
    pub parts: Vec<Part>,
    pub quotes: Vec<Quote>,
    /// Whether it may come out as several words or as none.
    pub splits: bool,
}

/// A word with the argument that it became.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    pub word: Decoded,
    /// For each byte of the argument the part that made it.
    from: Vec<usize>,
}

impl Part {
    pub fn span(&self) -> &Range<usize> {
        match self {
            Part::Byte { span, .. } | Part::Hole { span, .. } => span,
        }
    }

    pub fn stretch(&self) -> usize {
        match self {
            Part::Byte { stretch, .. } | Part::Hole { stretch, .. } => *stretch,
        }
    }
}

impl Decoded {
    /// Reads `word`, which begins at `start` of its text. Globs and braces are taken as they stand.
    pub fn read(word: &str, start: usize) -> Decoded {
        let mut reader = Reader { text: word.as_bytes(), at: 0, start, word: Decoded::default() };
        reader.word.span = start..start + word.len();
        reader.bare();
        reader.word
    }

    /// The parts that made each byte of `argument`; none where this word can't have become it.
    pub fn bind(&self, argument: &[u8]) -> Option<Bound> {
        let mut from = Vec::with_capacity(argument.len());
        let mut part = 0;
        while let Some(here) = self.parts.get(part) {
            match here {
                Part::Byte { byte, .. } => {
                    if argument.get(from.len()) != Some(byte) {
                        return None;
                    }
                    from.push(part);
                    part += 1;
                }
                Part::Hole { .. } => {
                    let run: Vec<u8> = self.parts[part + 1..].iter().map_while(Part::byte).collect();
                    let rest = &argument[from.len()..];
                    let last = part + 1 + run.len() == self.parts.len();
                    let length = match last {
                        true => rest.len().checked_sub(run.len()).filter(|at| rest[*at..] == run[..])?,
                        false if run.is_empty() => 0,
                        false => memchr::memmem::find(rest, &run)?,
                    };
                    from.extend(std::iter::repeat_n(part, length));
                    part += 1;
                }
            }
        }
        (from.len() == argument.len()).then(|| Bound { word: self.clone(), from })
    }

    /// Whether no expansion is in it.
    pub fn is_literal(&self) -> bool {
        !self.parts.iter().any(|p| matches!(p, Part::Hole { .. }))
    }
}

impl Part {
    fn byte(&self) -> Option<u8> {
        match self {
            Part::Byte { byte, .. } => Some(*byte),
            Part::Hole { .. } => None,
        }
    }
}

impl Bound {
    /// The text that made these bytes of the argument, where that is one stretch of one quoting.
    pub fn source(&self, bytes: Range<usize>) -> Option<Range<usize>> {
        let (first, last) = (*self.from.get(bytes.start)?, *self.from.get(bytes.end.checked_sub(1)?)?);
        let (a, b) = (&self.word.parts[first], &self.word.parts[last]);
        // an expansion is taken whole or not at all
        let torn = |part: usize, at: Option<usize>| {
            matches!(self.word.parts[part], Part::Hole { .. })
                && at.and_then(|at| self.from.get(at)).is_some_and(|p| *p == part)
        };
        if a.stretch() != b.stretch() || torn(first, bytes.start.checked_sub(1)) || torn(last, Some(bytes.end)) {
            return None;
        }
        Some(a.span().start..b.span().end)
    }

    /// Whether the text has these bytes as they are, none of them from an expansion.
    pub fn is_written(&self, bytes: &Range<usize>) -> bool {
        let from = self.from.get(bytes.clone());
        from.is_some_and(|parts| parts.iter().all(|p| matches!(self.word.parts[*p], Part::Byte { .. })))
    }

    /// The quoting of the byte at `at`.
    pub fn quote(&self, at: usize) -> Option<Quote> {
        self.word.quotes.get(self.word.parts.get(*self.from.get(at)?)?.stretch()).copied()
    }

    /// Where the last expansion of the word ends in the argument.
    pub fn after_holes(&self) -> usize {
        let hole = |part: &usize| matches!(self.word.parts[*part], Part::Hole { .. });
        self.from.iter().rposition(hole).map_or(0, |at| at + 1)
    }
}

/// `text` as it is to be written within `quote`.
pub fn quoted(text: &str, quote: Quote) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ',' | ':' | '+' | '@' | '%' | '=');
    match quote {
        Quote::Single => text.replace('\'', "'\\''"),
        Quote::Double => escaped(text, |c| matches!(c, '"' | '$' | '`' | '\\')),
        Quote::Bare => escaped(text, |c| !plain(c)),
    }
}

fn escaped(text: &str, special: impl Fn(char) -> bool) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if special(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    start: usize,
    word: Decoded,
}

impl Reader<'_> {
    fn bare(&mut self) {
        self.word.quotes.push(Quote::Bare);
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\'' => self.single(),
                b'"' => self.double(1),
                b'$' if self.next() == Some(b'"') => self.double(2),
                b'$' if self.next() == Some(b'\'') => {
                    // its escapes are not worth reading
                    let end = self.skip_ansi(self.at + 2);
                    self.hole(end);
                }
                b'\\' if self.next() == Some(b'\n') => self.at += 2,
                b'\\' if self.next().is_some() => self.byte(2),
                b'$' | b'`' => self.expansion(true),
                _ => self.byte(1),
            }
        }
    }

    fn next(&self) -> Option<u8> {
        self.text.get(self.at + 1).copied()
    }

    fn single(&mut self) {
        self.word.quotes.push(Quote::Single);
        self.at += 1;
        while self.text.get(self.at).is_some_and(|b| *b != b'\'') {
            self.byte(1);
        }
        self.at += 1;
        self.word.quotes.push(Quote::Bare);
    }

    fn double(&mut self, opening: usize) {
        self.word.quotes.push(Quote::Double);
        self.at += opening;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' if self.next() == Some(b'\n') => self.at += 2,
                b'\\' if matches!(self.next(), Some(b'"' | b'$' | b'`' | b'\\')) => self.byte(2),
                b'$' | b'`' => self.expansion(false),
                _ => self.byte(1),
            }
        }
        self.at += 1;
        self.word.quotes.push(Quote::Bare);
    }

    /// The last of `length` bytes is what they stand for.
    fn byte(&mut self, length: usize) {
        let Some(&byte) = self.text.get(self.at + length - 1) else { return self.at += length };
        let span = self.start + self.at..self.start + self.at + length;
        self.word.parts.push(Part::Byte { byte, span, stretch: self.word.quotes.len() - 1 });
        self.at += length;
    }

    fn hole(&mut self, end: usize) {
        let span = self.start + self.at..self.start + end;
        self.word.parts.push(Part::Hole { span, stretch: self.word.quotes.len() - 1 });
        self.at = end;
    }

    fn expansion(&mut self, bare: bool) {
        let end = match (self.text[self.at], self.next()) {
            (b'`', _) => self.skip(self.at + 1, b'`', b'`'),
            (_, Some(b'{')) => self.skip(self.at + 2, b'{', b'}'),
            (_, Some(b'(')) => self.skip(self.at + 2, b'(', b')'),
            (_, Some(b)) if b.is_ascii_alphabetic() || b == b'_' => {
                let name = self.text[self.at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_');
                self.at + 1 + name.count()
            }
            (_, Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' | b'0'..=b'9')) => self.at + 2,
            // a dollar sign that is one
            _ => return self.byte(1),
        };
        let text = &self.text[self.at..end.min(self.text.len())];
        self.word.splits |= bare || text == b"$@" || memchr::memmem::find(text, b"@").is_some();
        self.hole(end.min(self.text.len()));
    }

    /// The end of what was opened before `at`, quotes skipped.
    fn skip(&self, mut at: usize, open: u8, close: u8) -> usize {
        let mut depth = 1;
        while let Some(&byte) = self.text.get(at) {
            at += 1;
            match byte {
                b'\\' => at += 1,
                b'\'' if open == b'(' => {
                    at += self.text[at.min(self.text.len())..].iter().position(|b| *b == b'\'').map_or(0, |n| n + 1);
                }
                b if b == close => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                b if b == open => depth += 1,
                _ => {}
            }
        }
        at
    }

    fn skip_ansi(&self, mut at: usize) -> usize {
        while let Some(&byte) = self.text.get(at) {
            at += 1;
            match byte {
                b'\\' => at += 1,
                b'\'' => break,
                _ => {}
            }
        }
        at.min(self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(word: &str) -> Vec<u8> {
        Decoded::read(word, 0).parts.iter().map(|p| p.byte().unwrap_or(b'?')).collect()
    }

    #[test]
    fn reads_quotes_and_expansions() {
        for (word, wanted) in [
            ("plain", "plain"),
            ("'s/a/\\b/'", "s/a/\\b/"),
            (r#""s/\$x/\"y\\n/""#, r#"s/$x/"y\n/"#),
            (r"s/a\ b/c/", "s/a b/c/"),
            (r#""s/${PV}/$x/""#, "s/?/?/"),
            (r#""a$(echo ')' "x")b""#, "a?b"),
            ("a'b'\"c\"", "abc"),
            ("s/a$/b/", "s/a$/b/"),
            ("\"a\\\nb\"", "ab"),
        ] {
            assert_eq!(String::from_utf8_lossy(&bytes(word)), wanted, "{word}");
        }
        assert!(Decoded::read("${x}", 0).splits && Decoded::read("\"${x[@]}\"", 0).splits);
        assert!(!Decoded::read("\"${x}\"", 0).splits);
    }

    #[test]
    fn says_where_a_byte_comes_from() {
        let word = Decoded::read(r#""s/${PV}/2/; s/c/d/""#, 10);
        let bound = word.bind(b"s/1.0/2/; s/c/d/").unwrap();
        assert_eq!(bound.source(10..16), Some(23..29));
        // the whole expansion, or nothing of it
        assert_eq!(bound.source(2..5), Some(13..18));
        assert_eq!(bound.source(2..4), None);
        assert!(word.bind(b"p/1.0/2/; s/c/d/").is_none());
        // two quotings make no one stretch
        let word = Decoded::read(r#"'s/a'"/b/""#, 0);
        assert_eq!(word.bind(b"s/a/b/").unwrap().source(0..6), None);
    }
}
