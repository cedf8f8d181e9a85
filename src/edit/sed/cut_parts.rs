//! The parts that commands are made of: addresses, delimited texts, flags, labels, names, texts.

use super::*;

impl Cutter<'_> {
    pub(super) fn addresses(&mut self) -> Result<Addresses, CutError> {
        let mut result = Addresses { first: self.address()?, ..Addresses::default() };
        if let Some(first) = &result.first {
            if matches!(first.kind, AddressKind::Plus(_) | AddressKind::Multiple(_)) {
                return self.fail("invalid usage of +N or ~N as first address");
            }
            let zero = first.kind == AddressKind::Line(0);
            self.skip_blanks();
            if self.peek() == Some(b',') {
                self.at += 1;
                self.skip_blanks();
                result.second = self.address()?;
                if result.second.is_none() {
                    return self.fail("unexpected `,'");
                }
                self.skip_blanks();
            }
            let allowed = match &result.second {
                None => self.peek() == Some(b'r'),
                Some(second) => matches!(second.kind, AddressKind::Regex(_)),
            };
            if zero && (!allowed || self.dialect == Dialect::Basic) {
                return self.fail("invalid usage of line address 0");
            }
        }
        if self.peek() == Some(b'!') {
            self.at += 1;
            result.negated = true;
            self.skip_blanks();
            if self.peek() == Some(b'!') {
                return self.fail("multiple `!'s");
            }
        }
        Ok(result)
    }

    fn address(&mut self) -> Result<Option<Address>, CutError> {
        let start = self.at;
        let extended = self.dialect != Dialect::Basic;
        let mut end = None;
        let kind = match self.peek() {
            Some(b'/' | b'\\') => {
                let mut delimiter = self.next();
                if delimiter == Some(b'\\') {
                    delimiter = self.next();
                }
                let (delimiter, span) = match delimiter {
                    Some(byte) => (byte, self.delimited(byte, true)?),
                    None => (0, None),
                };
                let Some(span) = span else {
                    return self.fail("unterminated address regex");
                };
                let mut regex = Regex { span, delimiter, ignore_case: false, multiline: false };
                end = Some(self.at);
                if extended {
                    end = Some(self.regex_flags(&mut regex));
                }
                self.check_modifiers(&regex)?;
                AddressKind::Regex(regex)
            }
            Some(byte) if byte.is_ascii_digit() => {
                let first = self.integer();
                end = Some(self.at);
                self.skip_blanks();
                if extended && self.peek() == Some(b'~') {
                    self.at += 1;
                    end = Some(self.at);
                    self.skip_blanks();
                    if self.peek().is_some_and(|b| b.is_ascii_digit()) {
                        let step = self.integer();
                        end = Some(self.at);
                        match step {
                            0 => AddressKind::Line(first),
                            step => AddressKind::Step { first, step },
                        }
                    } else {
                        AddressKind::Line(first)
                    }
                } else {
                    AddressKind::Line(first)
                }
            }
            Some(sign @ (b'+' | b'~')) if extended => {
                self.at += 1;
                end = Some(self.at);
                self.skip_blanks();
                let mut number = 0;
                if self.peek().is_some_and(|b| b.is_ascii_digit()) {
                    number = self.integer();
                    end = Some(self.at);
                }
                match (number, sign) {
                    (0, _) => AddressKind::Any,
                    (n, b'+') => AddressKind::Plus(n),
                    (n, _) => AddressKind::Multiple(n),
                }
            }
            Some(b'$') => {
                self.at += 1;
                AddressKind::Last
            }
            _ => return Ok(None),
        };
        Ok(Some(Address { span: start..end.unwrap_or(self.at), kind }))
    }

    /// Passes `I` and `M` behind an address; where the last of them ends.
    fn regex_flags(&mut self, regex: &mut Regex) -> usize {
        let mut end = self.at;
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'I') => regex.ignore_case = true,
                Some(b'M') => regex.multiline = true,
                _ => return end,
            }
            self.at += 1;
            end = self.at;
        }
    }

    fn check_modifiers(&self, regex: &Regex) -> Result<(), CutError> {
        if regex.is_last_used() && (regex.ignore_case || regex.multiline) {
            return self.fail("cannot specify modifiers on empty regexp");
        }
        // the message sed gives when it unfolds the escapes of a regex
        if !regex.is_last_used() && self.bad_control_escape(&regex.span, regex.delimiter) {
            return self.fail(RECURSIVE);
        }
        Ok(())
    }

    fn bad_control_escape(&self, span: &Span, delimiter: u8) -> bool {
        let raw = text::without_escaped(&self.text[span.clone()], delimiter);
        text::unescape(&raw, Place::Replacement).is_none()
    }

    /// The digits at hand as sed's unsigned long, which wraps around.
    pub(super) fn integer(&mut self) -> u64 {
        let mut number = 0u64;
        while let Some(byte) = self.peek().filter(u8::is_ascii_digit) {
            number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        number
    }

    /// The text up to `delimiter`, which is taken too. None: the line or the piece ends before it. Inside
    /// brackets a regex may hold its delimiter.
    fn delimited(&mut self, delimiter: u8, regex: bool) -> Result<Option<Span>, CutError> {
        if delimiter == 0 || (self.locale.utf8 && matches!(delimiter, 0xc2..=0xf4)) {
            return self.fail("delimiter character is not a single-byte character");
        }
        let start = self.at;
        while let Some(byte) = self.next() {
            let whole = match byte {
                b'\n' => false,
                _ if byte == delimiter => return Ok(Some(start..self.at - 1)),
                b'\\' => self.next().is_some(),
                b'[' if regex => self.bracket(),
                _ => true,
            };
            if !whole {
                break;
            }
        }
        Ok(None)
    }

    /// Behind a `[`: passes the bracket expression. False: it isn't closed on its line.
    fn bracket(&mut self) -> bool {
        if self.peek() == Some(b'^') {
            self.at += 1;
        }
        if self.peek() == Some(b']') {
            self.at += 1;
        }
        // as sed counts: 1 behind a `[`, 2 within `[:…:]` and its kin, 3 behind the second `:`
        let mut state = 0;
        let mut kind = 0;
        while let Some(byte) = self.next() {
            match byte {
                b'\n' => return false,
                b'.' | b':' | b'=' if state == 1 => {
                    kind = byte;
                    state = 2;
                }
                b'.' | b':' | b'=' if state == 2 && byte == kind => state = 3,
                b'[' if state == 0 => state = 1,
                b'[' => {}
                b']' if state < 2 => return true,
                b']' if state == 3 => state = 0,
                _ => state &= !1,
            }
        }
        false
    }

    pub(super) fn substitute(&mut self) -> Result<Substitute, CutError> {
        const UNTERMINATED: &str = "unterminated `s' command";
        let Some(delimiter) = self.next() else {
            return self.fail(UNTERMINATED);
        };
        let Some(span) = self.delimited(delimiter, true)? else {
            return self.fail(UNTERMINATED);
        };
        let Some(replacement) = self.delimited(delimiter, false)? else {
            return self.fail(UNTERMINATED);
        };
        if self.bad_control_escape(&replacement, delimiter) {
            return self.fail(RECURSIVE);
        }
        let mut result = Substitute {
            regex: Regex { span, delimiter, ignore_case: false, multiline: false },
            replacement,
            flags: self.at..self.at,
            global: false,
            print: false,
            number: None,
            evaluate: false,
            write: None,
        };
        self.substitute_flags(&mut result)?;
        self.check_modifiers(&result.regex)?;
        if result.evaluate && self.sandbox {
            return self.fail(SANDBOX);
        }
        Ok(result)
    }

    fn substitute_flags(&mut self, result: &mut Substitute) -> Result<(), CutError> {
        const UNKNOWN: &str = "unknown option to `s'";
        let basic = self.dialect == Dialect::Basic;
        loop {
            self.skip_blanks();
            let Some(byte) = self.peek() else {
                return Ok(());
            };
            match byte {
                b'}' | b'#' => return Ok(()),
                b'\n' | b';' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\r' if self.text[..self.end].get(self.at + 1) == Some(&b'\n') => {
                    self.at += 2;
                    return Ok(());
                }
                b'i' | b'I' | b'm' | b'M' | b'e' if basic => return self.fail(UNKNOWN),
                b'i' | b'I' => result.regex.ignore_case = true,
                b'm' | b'M' => result.regex.multiline = true,
                b'e' => result.evaluate = true,
                b'p' if result.print => return self.fail("multiple `p' options to `s' command"),
                b'p' => result.print = true,
                b'g' if result.global => return self.fail("multiple `g' options to `s' command"),
                b'g' => result.global = true,
                b'0'..=b'9' => {
                    if result.number.is_some() {
                        return self.fail("multiple number options to `s' command");
                    }
                    match self.integer() {
                        0 => return self.fail("number option to `s' command may not be zero"),
                        number => result.number = Some(number),
                    }
                    result.flags.end = self.at;
                    continue;
                }
                b'w' => {
                    self.at += 1;
                    result.write = Some(self.file_name()?);
                    result.flags.end = self.at;
                    return Ok(());
                }
                _ => return self.fail(UNKNOWN),
            }
            self.at += 1;
            result.flags.end = self.at;
        }
    }

    pub(super) fn transliterate(&mut self) -> Result<Detail, CutError> {
        const UNTERMINATED: &str = "unterminated `y' command";
        let Some(delimiter) = self.next() else {
            return self.fail(UNTERMINATED);
        };
        let mut lists = [Vec::new(), Vec::new()];
        for list in &mut lists {
            let Some(span) = self.delimited(delimiter, false)? else {
                return self.fail(UNTERMINATED);
            };
            let raw = text::without_escaped(&self.text[span], delimiter);
            let Some(plain) = text::unescape(&raw, Place::Plain) else {
                return self.fail(RECURSIVE);
            };
            *list = text::characters(&plain, self.locale.utf8);
        }
        let [from, to] = lists;
        if from.len() != to.len() {
            return self.fail("strings for `y' command are different lengths");
        }
        Ok(Detail::Transliterate { from, to })
    }

    /// A label and where it ends; none is empty.
    pub(super) fn label(&mut self) -> (Vec<u8>, usize) {
        let before = self.at;
        self.skip_blanks();
        let start = self.at;
        while self.peek().is_some_and(|b| !matches!(b, b'\n' | b' ' | b'\t' | b';' | b'}' | b'#')) {
            self.at += 1;
        }
        let end = if start == self.at { before } else { self.at };
        (self.text[start..self.at].to_vec(), end)
    }

    pub(super) fn file_name(&mut self) -> Result<Vec<u8>, CutError> {
        if self.sandbox {
            return self.fail(SANDBOX);
        }
        self.skip_blanks();
        let start = self.at;
        self.skip_line();
        if start == self.at {
            return self.fail("missing filename in r/R/w/W commands");
        }
        Ok(self.text[start..self.at].to_vec())
    }

    pub(super) fn skip_line(&mut self) {
        let rest = &self.text[self.at..self.end];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// Passes what may stand behind a command.
    pub(super) fn command_end(&mut self) -> Result<(), CutError> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'}' | b'#') => Ok(()),
            Some(b'\n' | b';') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => {
                self.at += 1;
                self.fail("extra characters after command")
            }
        }
    }

    /// The text of `a i c e`, from its first byte that is no blank.
    pub(super) fn leading_text(&mut self, index: usize) -> Result<(), CutError> {
        let mut raw = Vec::new();
        match self.peek() {
            None => return self.fail("expected \\ after `a', `c' or `i'"),
            Some(b'\\') => {
                self.at += 1;
                match self.next() {
                    None => {
                        self.script.commands[index].span.end = self.at;
                        self.script.commands[index].detail = Detail::Text(Vec::new());
                        self.pending = Some(Pending { command: index, raw });
                        return Ok(());
                    }
                    Some(b'\n') => {}
                    Some(byte) => raw.push(byte),
                }
            }
            Some(_) => {}
        }
        self.read_text(index, raw)
    }

    /// Reads the rest of a text up to a newline that no backslash guards.
    pub(super) fn read_text(&mut self, index: usize, mut raw: Vec<u8>) -> Result<(), CutError> {
        let mut pending = false;
        while let Some(byte) = self.peek().filter(|&b| b != b'\n') {
            self.at += 1;
            if byte == b'\\' {
                match self.next() {
                    None => {
                        pending = true;
                        break;
                    }
                    Some(next) => raw.extend([b'\\', next]),
                }
            } else {
                raw.push(byte);
            }
        }
        raw.push(b'\n');
        let end = self.at;
        if pending {
            self.set(index, Detail::Text(raw.clone()), end);
            self.pending = Some(Pending { command: index, raw });
        } else {
            let Some(plain) = text::unescape(&raw, Place::Plain) else {
                return self.fail(RECURSIVE);
            };
            self.set(index, Detail::Text(plain), end);
        }
        Ok(())
    }
}

const RECURSIVE: &str = "recursive escaping after \\c not allowed";
