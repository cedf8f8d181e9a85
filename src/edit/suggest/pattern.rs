//! Corrections of a command's pattern: as the source has it now.

use std::ops::Range;

use super::call::{CallPlan, Ran};
use super::range::{self, Change};
use super::shell::{Bound, quoted};
use crate::edit::sed::literal::bracket_end;
use crate::edit::sed::script::{Detail, Regex, ScriptCommand};

/// What a found line has otherwise than the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    Blanks,
    Quotes,
    Case,
    Version,
    Anchor,
    Dialect,
    LineEnding,
}

impl Drift {
    /// By the note of the evidence.
    pub fn of(note: &str) -> Option<Drift> {
        match note {
            "blanks" => Some(Drift::Blanks),
            "quotes" => Some(Drift::Quotes),
            "case" => Some(Drift::Case),
            "words" => Some(Drift::Version),
            "anchor" => Some(Drift::Anchor),
            "regex-dialect" => Some(Drift::Dialect),
            "line-ending" => Some(Drift::LineEnding),
            _ => None,
        }
    }

    /// What the correction does, in words.
    pub fn advice(self) -> &'static str {
        match self {
            Drift::Blanks | Drift::Quotes | Drift::Case => "match the text as it is now",
            Drift::Version => "match the version that stands there now",
            Drift::Anchor => "drop the anchor, which does not hold there",
            Drift::Dialect => "write the expression in the dialect that sed reads here",
            Drift::LineEnding => "heed the carriage returns of the file",
        }
    }

    /// The byte as it is compared; none where it does not count.
    fn seen(self, byte: u8) -> Option<u8> {
        match self {
            Drift::Blanks => (!matches!(byte, b' ' | b'\t')).then_some(byte),
            Drift::Quotes => Some(if byte == b'\'' { b'"' } else { byte }),
            Drift::Case => Some(byte.to_ascii_lowercase()),
            _ => Some(byte),
        }
    }
}

/// A command with the word of the text that made it.
pub struct Placed<'a> {
    pub ran: &'a Ran,
    pub command: &'a ScriptCommand,
    pub word: &'a Bound,
    pub extended: bool,
    /// Place in the argument of the script's first byte of this piece, and that byte's place in the script.
    offset: usize,
    start: usize,
}

impl Placed<'_> {
    fn source(&self, span: &Range<usize>) -> &[u8] {
        self.ran.script.source(span)
    }

    /// The place in the argument of a place in the script.
    pub fn at(&self, place: usize) -> usize {
        self.offset + place - self.start
    }

    /// New text for a stretch of the script; none where an expansion made a part of it.
    fn change(&self, span: Range<usize>, text: &str) -> Option<Change> {
        let place = self.at(span.start)..self.at(span.end);
        self.word.is_written(&place).then_some(())?;
        let quote = self.word.quote(place.start)?;
        Some(Change { span: self.word.source(place)?, text: quoted(text, quote) })
    }

    /// New text behind a byte of the script.
    fn insertion(&self, behind: usize, text: &str) -> Option<Change> {
        let place = self.at(behind)..self.at(behind) + 1;
        let end = self.word.is_written(&place).then(|| self.word.source(place.clone()))??.end;
        Some(Change { span: end..end, text: quoted(text, self.word.quote(place.start)?) })
    }
}

impl CallPlan {
    /// The changes by which the command `id` matches `line`.
    pub fn pattern(&self, id: usize, line: &str, drift: Drift) -> Option<Vec<Change>> {
        let placed = self.placed(id)?;
        let mut changes = match drift {
            Drift::Blanks | Drift::Quotes | Drift::Case => placed.as_the_line_has_it(line, drift)?,
            Drift::Version => vec![placed.version(line)?],
            Drift::Anchor => placed.without_anchors(line)?,
            Drift::Dialect if placed.ran.script.commands.len() == 1 && !placed.extended => vec![self.option("-E")?],
            Drift::Dialect => placed.other_dialect()?,
            Drift::LineEnding => placed.carriage_return()?,
        };
        (range::sort(&mut changes) && !changes.is_empty()).then_some(changes)
    }

    /// The command `id`, where one script ran and its text is the call's.
    pub fn placed(&self, id: usize) -> Option<Placed<'_>> {
        let [(ran, bound)] = &self.runs[..] else { return None };
        let index = ran.ids.iter().position(|i| *i == id)?;
        let command = ran.script.commands.get(index)?;
        let place = ran.script.pieces.get(command.piece)?;
        let piece = ran.invocation.pieces.get(command.piece)?;
        (piece.kind != crate::edit::sed::argv::PieceKind::File).then_some(())?;
        let (_, word) = bound.get(piece.index)?.as_ref()?;
        let extended = place.flags.extended;
        Some(Placed { ran, command, word, extended, offset: piece.offset, start: place.span.start })
    }
}

impl Placed<'_> {
    /// The one expression of the command, and those of the blocks around it, which the line must match as well.
    fn as_the_line_has_it(&self, line: &str, drift: Drift) -> Option<Vec<Change>> {
        let around = self.around()?;
        let mut changes = Vec::new();
        for regex in around.into_iter().chain([deciding(self.command)?]) {
            let old = self.source(&regex.span);
            let new = as_the_line_has_it(old, line, drift, self.extended, regex.delimiter);
            if let Some(new) = new.filter(|new| new.as_bytes() != old) {
                changes.push(self.change(regex.span.clone(), &new)?);
            }
        }
        Some(changes)
    }

    /// The expressions of the blocks that hold the command; none where that is one of what does not match.
    fn around(&self) -> Option<Vec<&Regex>> {
        let blocks = self.ran.script.blocks.iter().filter(|b| b.commands.contains(&self.command.index));
        let mut found = Vec::new();
        for block in blocks {
            (!block.addresses.negated && block.piece == self.command.piece).then_some(())?;
            found.extend(block.addresses.regexes().filter(|r| !r.is_last_used()));
        }
        Some(found)
    }

    /// The one version in the pattern, as the line has it.
    fn version(&self, line: &str) -> Option<Change> {
        let Detail::Substitute(substitute) = &self.command.detail else { return None };
        let regex = &substitute.regex;
        let source = std::str::from_utf8(self.source(&regex.span)).ok()?;
        let (at, old) = only(versions(source, true))?;
        let context = |text: &str| text.trim_matches('^').trim_matches('$').replace('\\', "");
        let (before, after) = (context(&source[..at.start]), context(&source[at.end..]));
        let same_form = |found: &&(Range<usize>, Vec<&str>)| {
            let fits = line[..found.0.start].ends_with(&before) && line[found.0.end..].starts_with(&after);
            fits && (!(before.is_empty() && after.is_empty()) || found.1.len() == old.len())
        };
        let found = versions(line, false);
        let (_, numbers) = only(found.iter().filter(same_form).collect::<Vec<_>>())?;
        let dot = if source[at.clone()].contains('\\') { "\\." } else { "." };
        let start = regex.span.start + at.start;
        (*numbers != old).then(|| self.change(start..start + at.len(), &numbers.join(dot)))?
    }

    fn without_anchors(&self, line: &str) -> Option<Vec<Change>> {
        let mut changes = Vec::new();
        for regex in self.command.regexes() {
            let (begins, rest, ends) = anchors(self.source(&regex.span));
            let text = literal(rest, self.extended, regex.delimiter);
            let holds = |yes: fn(&[u8], &[u8]) -> bool| text.as_ref().is_some_and(|t| yes(line.as_bytes(), t));
            if begins && !holds(|line, text| line.starts_with(text)) {
                changes.push(self.change(regex.span.start..regex.span.start + 1, "")?);
            }
            if ends && !holds(|line, text| line.ends_with(text)) {
                changes.push(self.change(regex.span.end - 1..regex.span.end, "")?);
            }
        }
        Some(changes)
    }

    /// The signs that are operators in one dialect and characters in the other, each as the other has it.
    fn other_dialect(&self) -> Option<Vec<Change>> {
        let mut changes = Vec::new();
        for regex in self.command.regexes() {
            let source = self.source(&regex.span);
            let mut at = 0;
            while let Some(&first) = source.get(at) {
                let start = at;
                let escaped = first == b'\\';
                let byte = *source.get(at + usize::from(escaped))?;
                at += 1 + usize::from(escaped);
                if byte == b'[' && !escaped {
                    at = bracket_end(source, at);
                }
                if matches!(byte, b'(' | b')' | b'{' | b'}' | b'|' | b'+' | b'?') && byte != regex.delimiter {
                    let new = format!("{}{}", if escaped { "" } else { "\\" }, char::from(byte));
                    changes.push(self.change(regex.span.start + start..regex.span.start + at, &new)?);
                }
            }
        }
        Some(changes)
    }

    /// `\r` before the end of the line, in the pattern and in what takes its place.
    fn carriage_return(&self) -> Option<Vec<Change>> {
        let regex = deciding(self.command)?;
        let (_, rest, ends) = anchors(self.source(&regex.span));
        (ends && !rest.is_empty()).then_some(())?;
        let mut changes = vec![self.insertion(regex.span.end - 2, "\\r")?];
        if let Detail::Substitute(substitute) = &self.command.detail {
            // behind the replacement, which may be empty
            changes.push(self.insertion(substitute.replacement.end - 1, "\\r")?);
        }
        Some(changes)
    }
}

/// An expression of plain text, with the text as `line` has it.
pub fn as_the_line_has_it(source: &[u8], line: &str, drift: Drift, extended: bool, delimiter: u8) -> Option<String> {
    let (begins, rest, ends) = anchors(source);
    let wanted = literal(rest, extended, delimiter)?;
    let found = nearly(&wanted, line.as_bytes(), drift)?;
    // blanks at the ends of the line are what its anchors missed
    let (begins, ends) = (begins && found.start == 0, ends && found.end == line.len());
    let mut new = if begins { "^".to_owned() } else { String::new() };
    // a pattern in another encoding may be found within a character
    new.push_str(&pattern_of(line.get(found)?, extended, delimiter)?);
    new.push_str(if ends { "$" } else { "" });
    Some(new)
}

fn only<T>(found: Vec<T>) -> Option<T> {
    let mut found = found.into_iter();
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The versions in a text, with their numbers: two or more, parted by dots (`escaped`: or by `\.`).
fn versions(text: &str, escaped: bool) -> Vec<(Range<usize>, Vec<&str>)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let own = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        if !bytes[at].is_ascii_digit() || own {
            at += 1;
            continue;
        }
        let (start, mut numbers) = (at, Vec::new());
        loop {
            let length = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
            numbers.push(&text[at..at + length]);
            at += length;
            let dot = match &bytes[at..] {
                [b'.', b'0'..=b'9', ..] => 1,
                [b'\\', b'.', b'0'..=b'9', ..] if escaped => 2,
                _ => break,
            };
            at += dot;
        }
        if numbers.len() > 1 {
            found.push((start..at, numbers));
        }
    }
    found
}

/// Whether an expression has an anchor at its start and at its end, and what stands between them.
fn anchors(source: &[u8]) -> (bool, &[u8], bool) {
    let (begins, rest) = source.strip_prefix(b"^").map_or((false, source), |rest| (true, rest));
    match rest.strip_suffix(b"$") {
        Some(rest) if !rest.ends_with(b"\\") => (begins, rest, true),
        _ => (begins, rest, false),
    }
}

/// The one regular expression of a command: that of its `s`, or that of its address.
fn deciding(command: &ScriptCommand) -> Option<&Regex> {
    let mut all = command.regexes();
    let (first, None) = (all.next()?, all.next()) else { return None };
    (!first.is_last_used() && !command.addresses.negated).then_some(first)
}

/// What a regular expression without anything special in it matches.
fn literal(pattern: &[u8], extended: bool, delimiter: u8) -> Option<Vec<u8>> {
    let special: &[u8] = if extended { b"*[+?(){}|^$" } else { b"*[^$" };
    let mut out = Vec::new();
    let mut bytes = pattern.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\\' => match *bytes.next()? {
                b'.' => out.push(b'.'),
                b if b == delimiter || special.contains(&b) || matches!(b, b']' | b'\\') => out.push(b),
                _ => return None,
            },
            b if special.contains(&b) => return None,
            b => out.push(b),
        }
    }
    (out.iter().filter(|b| !b.is_ascii_whitespace()).count() >= 3).then_some(out)
}

/// A regular expression that matches just `text`.
fn pattern_of(text: &str, extended: bool, delimiter: u8) -> Option<String> {
    let special = if extended { "\\.*[^$+?(){}|" } else { "\\.*[^$" };
    let mut out = String::new();
    for c in text.chars() {
        if special.contains(c) && c == char::from(delimiter) {
            return None;
        }
        if special.contains(c) || c == char::from(delimiter) {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}

/// The one place in `line` that is `wanted` but for the drift.
fn nearly(wanted: &[u8], line: &[u8], drift: Drift) -> Option<std::ops::Range<usize>> {
    let seen: Vec<(usize, u8)> = line.iter().enumerate().filter_map(|(i, b)| Some((i, drift.seen(*b)?))).collect();
    let bytes: Vec<u8> = seen.iter().map(|s| s.1).collect();
    let wanted: Vec<u8> = wanted.iter().filter_map(|b| drift.seen(*b)).collect();
    let mut found = memchr::memmem::find_iter(&bytes, &wanted);
    let (first, None) = (found.next()?, found.next()) else { return None };
    Some(seen[first].0..seen[first + wanted.len() - 1].0 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drifted_pattern_takes_the_text_of_the_line() {
        let line = "get_version ( \"1.0.0\" )";
        let wanted = literal(b"get_version(\"1.0.0\")", false, b'/').unwrap();
        let found = nearly(&wanted, line.as_bytes(), Drift::Blanks).unwrap();
        assert_eq!(pattern_of(&line[found], false, b'/').unwrap(), "get_version ( \"1\\.0\\.0\" )");
        assert_eq!(nearly(b"abc", b"ABC abc", Drift::Case), None);
        assert_eq!(literal(b"a.*b", false, b'/'), None);
        assert_eq!(literal(b"\\(abc\\)", false, b'/'), None);
        assert_eq!(pattern_of("a/b", false, b'/').unwrap(), "a\\/b");
        let new = |source: &[u8]| as_the_line_has_it(source, "foo  bar\u{e9}", Drift::Blanks, false, b'/');
        assert_eq!(new("foo bar\u{e9}".as_bytes()).unwrap(), "foo  bar\u{e9}");
        assert_eq!(new(b"o bar\xc3").as_deref(), None, "half a character");
    }

    #[test]
    fn versions_are_told_from_other_numbers() {
        let found = |text: &str| -> Vec<String> { versions(text, true).into_iter().map(|v| v.1.join("_")).collect() };
        assert_eq!(found("v1.2 lib64 1\\.10\\.3, 7 (2.0)"), ["1_10_3", "2_0"]);
        assert!(found("1.x 64").is_empty());
    }
}
