//! A perl script that does no more than edit the line at hand, as data. Anything else is refused, so that what is
//! accepted can be run again: no code but `s`, `y`, `tr`, `print` and a match as their condition, and no text in
//! which code may stand.

use std::ops::Range;

pub type Span = Range<usize>;

/// A script, cut into statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    pub text: Vec<u8>,
    pub statements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// With its condition.
    pub span: Span,
    pub act: Act,
    pub condition: Option<Condition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    Substitute {
        regex: Regex,
        replacement: Span,
    },
    /// `y`, `tr`
    Transliterate {
        from: Span,
        to: Span,
    },
    /// The whole line, under `-n`.
    Print,
}

/// A match that decides whether a statement runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub regex: Regex,
    pub negated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regex {
    /// Between the delimiters.
    pub span: Span,
    /// Those of the whole operator.
    pub flags: Span,
    /// The opening one.
    pub delimiter: u8,
}

impl Script {
    /// Cuts the `-e` of a call, or says what keeps them from being run again.
    pub fn cut(pieces: &[Vec<u8>]) -> Result<Script, String> {
        let text = pieces.join(&b'\n');
        if text.starts_with(b"#!") {
            return Err("its first line has options".to_owned());
        }
        let mut cutter = Cutter { text: &text, at: 0 };
        let mut statements = Vec::new();
        while cutter.next_statement() {
            statements.push(cutter.statement()?);
        }
        if statements.is_empty() {
            return Err("its script is empty".to_owned());
        }
        Ok(Script { statements, text })
    }

    pub fn source(&self, span: &Span) -> &[u8] {
        self.text.get(span.clone()).unwrap_or_default()
    }

    pub fn has_flag(&self, regex: &Regex, flag: u8) -> bool {
        self.source(&regex.flags).contains(&flag)
    }
}

impl Statement {
    /// The regular expressions without whose match the statement does nothing.
    pub fn deciding(&self) -> Vec<&Regex> {
        let own = match &self.act {
            Act::Substitute { regex, .. } => Some(regex),
            _ => None,
        };
        let print = self.act == Act::Print;
        // `print unless /x/` takes away what matches
        let condition = self.condition.as_ref().filter(|c| c.negated == print).map(|c| &c.regex);
        own.into_iter().chain(condition).collect()
    }
}

struct Cutter<'a> {
    text: &'a [u8],
    at: usize,
}

const OTHER: &str = "its script does more than edit the line";

impl Cutter<'_> {
    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        while self.rest().first().is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Passes blanks, semicolons and comments by; whether anything is left.
    fn next_statement(&mut self) -> bool {
        loop {
            self.blanks();
            match self.rest().first() {
                Some(b';') => self.at += 1,
                Some(b'#') => self.at += self.rest().iter().take_while(|b| **b != b'\n').count(),
                other => return other.is_some(),
            }
        }
    }

    /// Takes `word` where it stands as one.
    fn word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let alone = !word.ends_with(|c: char| c.is_ascii_alphanumeric()) || !rest.get(word.len()).is_some_and(is_word);
        let found = rest.starts_with(word.as_bytes()) && alone;
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn statement(&mut self) -> Result<Statement, String> {
        let start = self.at;
        let mut condition = None;
        if matches!(self.rest(), [b'/', ..] | [b'!', b'/', ..]) || self.rest().starts_with(b"m{") {
            let found = self.condition()?;
            self.blanks();
            let negated = match () {
                () if self.word("and") || self.word("&&") => found.negated,
                () if self.word("or") || self.word("||") => !found.negated,
                () => return Err(OTHER.to_owned()),
            };
            condition = Some(Condition { negated, ..found });
            self.blanks();
        }
        let act = self.act()?;
        let mut end = self.at;
        self.blanks();
        let unless = self.word("unless");
        if unless || self.word("if") {
            self.blanks();
            let open = self.word("(");
            self.blanks();
            let found = self.condition()?;
            self.blanks();
            if condition.is_some() || open != self.word(")") {
                return Err(OTHER.to_owned());
            }
            condition = Some(Condition { negated: found.negated != unless, ..found });
            end = self.text[..self.at].trim_ascii_end().len();
            self.blanks();
        }
        match self.rest().first() {
            None | Some(b';') => Ok(Statement { span: start..end, act, condition }),
            Some(_) => Err(OTHER.to_owned()),
        }
    }

    fn condition(&mut self) -> Result<Condition, String> {
        let negated = self.word("!");
        self.blanks();
        if !self.rest().starts_with(b"/") && !self.word("m") {
            return Err(OTHER.to_owned());
        }
        let (span, delimiter) = self.quoted(None)?;
        let flags = self.flags(b"imsxnpaul")?;
        let regex = Regex { span, flags, delimiter };
        plain(&self.text[regex.span.clone()], true, delimiter)?;
        Ok(Condition { regex, negated })
    }

    fn act(&mut self) -> Result<Act, String> {
        if self.word("print") {
            return Ok(Act::Print);
        }
        if self.word("s") {
            let (span, delimiter) = self.quoted(None)?;
            let (replacement, second) = self.quoted(Some(delimiter))?;
            let flags = self.flags(b"gimsxnpaulo")?;
            plain(&self.text[span.clone()], true, delimiter)?;
            plain(&self.text[replacement.clone()], false, second)?;
            return Ok(Act::Substitute { regex: Regex { span, flags, delimiter }, replacement });
        }
        if self.word("tr") || self.word("y") {
            let (from, delimiter) = self.quoted(None)?;
            let (to, _) = self.quoted(Some(delimiter))?;
            self.flags(b"cds")?;
            return Ok(Act::Transliterate { from, to });
        }
        Err(OTHER.to_owned())
    }

    /// Text between delimiters; `first` is the opening delimiter of the part before.
    fn quoted(&mut self, first: Option<u8>) -> Result<(Span, u8), String> {
        let paired = first.is_none_or(|open| closing(open) != open);
        if paired && first.is_some() {
            self.blanks();
        }
        let open = match first.filter(|_| !paired) {
            Some(open) => open,
            None => {
                let open = *self.rest().first().ok_or(OTHER)?;
                self.at += 1;
                open
            }
        };
        // `s = …`, `s, …`: a name, not an operator, is refused as such
        if open.is_ascii_alphanumeric() || open.is_ascii_whitespace() || open == b'_' {
            return Err(OTHER.to_owned());
        }
        let (close, start, mut depth) = (closing(open), self.at, 1);
        while let Some(&byte) = self.rest().first() {
            self.at += 1;
            match byte {
                b'\\' => self.at = (self.at + 1).min(self.text.len()),
                _ if byte == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok((start..self.at - 1, open));
                    }
                }
                _ if byte == open => depth += 1,
                _ => {}
            }
        }
        Err("its script is not whole".to_owned())
    }

    fn flags(&mut self, known: &[u8]) -> Result<Span, String> {
        let start = self.at;
        while let Some(flag) = self.rest().first().filter(|b| b.is_ascii_alphanumeric()) {
            if !known.contains(flag) {
                return Err(match flag {
                    b'e' => "its replacement is code (flag e)".to_owned(),
                    flag => format!("it has the flag {}", char::from(*flag)),
                });
            }
            self.at += 1;
        }
        Ok(start..self.at)
    }
}

fn closing(open: u8) -> u8 {
    match open {
        b'(' => b')',
        b'[' => b']',
        b'{' => b'}',
        b'<' => b'>',
        open => open,
    }
}

/// Whether no code can stand in a text that perl interpolates: plain variables only, without an index.
fn plain(text: &[u8], regex: bool, delimiter: u8) -> Result<(), String> {
    let code = || Err("its text may hold code".to_owned());
    let opens_code =
        |at: usize| [&b"(?{"[..], b"(??{", b"(?p{", b"(*{", b"(**{"].iter().any(|c| text[at..].starts_with(c));
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'(' if regex && opens_code(at - 1) => return code(),
            // the blanks of the flag x may part what is one
            b'(' if regex && text[at..].trim_ascii_start().starts_with(b"?{") => return code(),
            b'$' | b'@' if delimiter != b'\'' => {
                let name =
                    text[at..].iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':')).count();
                match text.get(at) {
                    _ if name > 0 => at += name,
                    Some(b'{') => {
                        let inner =
                            text[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
                        if inner == 0 || text.get(at + 1 + inner) != Some(&b'}') {
                            return code();
                        }
                        at += inner + 2;
                    }
                    Some(b'&') if byte == b'$' => at += 1,
                    // an anchor; perl takes no variable for these in a regular expression
                    None | Some(b'|' | b'(' | b')' | b' ' | b'\t' | b'\r' | b'\n') if byte == b'$' && regex => continue,
                    None => return code(),
                    // a sign by itself
                    Some(b'$' | b'\'' | b'-' | b'+') if byte == b'@' => return code(),
                    Some(_) if byte == b'@' => continue,
                    Some(_) => return code(),
                }
                // `'` parts the names of packages, too
                if matches!(text.get(at), Some(b'[' | b'{' | b'\'')) || text[at..].starts_with(b"->") {
                    return Err("it reads the element of a variable".to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(script: &str) -> Result<Script, String> {
        Script::cut(&[script.as_bytes().to_vec()])
    }

    #[test]
    fn cuts_what_only_edits() {
        let script = cut("s/a\\/b/c$1/g; s{x{2}} {y}i if /z/; # why\n y/ab/cd/;/q/ and s,r,t,;").unwrap();
        let texts: Vec<_> =
            script.statements.iter().map(|s| String::from_utf8_lossy(script.source(&s.span)).into_owned()).collect();
        assert_eq!(texts, ["s/a\\/b/c$1/g", "s{x{2}} {y}i if /z/", "y/ab/cd/", "/q/ and s,r,t,"]);
        assert_eq!(script.statements[1].deciding().len(), 2);
        let print = cut("print unless m{^x}").unwrap();
        assert_eq!(print.statements[0].deciding().len(), 1);
        for fine in ["s/a$/b/", "s/^(a|b$)/x/", "s/a@ /b/", "s/a/\\$(AR)/", "s'$x[0]'@y[1]'", "s/$x/${y}z/", "s/a/$&b/"]
        {
            assert!(cut(fine).is_ok(), "{fine}: {:?}", cut(fine));
        }
    }

    #[test]
    fn refuses_all_that_could_do_more() {
        for beyond in [
            "system('x')",
            "s/a/system('x')/e",
            "s/a/b/ee",
            "s/(?{system('x')})a/b/",
            "s/( ?{system('x')})a/b/x",
            "s/a/@{[system('x')]}/",
            "s/a/${\\system('x')}/",
            "s/a/$x{system('x')}/",
            "s/a/$x[`x`]/",
            "s/a/$x->[`x`]/",
            "s/a/$$x/",
            "BEGIN{unlink 'x'} s/a/b/",
            "s/a/b/; unlink 'x'",
            "s/a/b/ if unlink 'x'",
            "s/a/b/ for `x`",
            "`x`; s/a/b/",
            "open F, '>x'; s/a/b/",
            "require 'x'; s/a/b/",
            "s/a/b/ or die",
            "/a/ and unlink 'x'",
            "$_ = `x` if /a/",
            "s/a",
            "s",
            "",
            "print `x`",
            "y/a/b/ && system 'x'",
            "s/a/b/\n__END__",
            "#!perl -s\ns/a/b/",
            "s/a/$x'y[`x`]/",
            "s/a/$ x[`x`]/",
            "s/a/$)[`x`]/",
            "s/a/@'x/",
            "s/a/@{x}[`x`]/",
            "s/$#{[`x`]}/b/",
        ] {
            assert!(cut(beyond).is_err(), "{beyond}");
        }
    }
}
