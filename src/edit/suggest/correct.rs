//! Corrections of a call: another path, an option in its place, the pattern as the source has it now.

use std::path::{Component, Path, PathBuf};

use super::call::{CallPlan, Ran};
use super::range::{self, Change};
use super::shell::{Quote, quoted};
use crate::edit::sed::script::{Regex, ScriptCommand};

/// Where a call ran and what it is to edit; both absolute.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    pub cwd: &'a Path,
    pub to: &'a Path,
}

/// What a found line has otherwise than the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    Blanks,
    Quotes,
    Case,
}

impl Drift {
    pub fn of(note: &str) -> Option<Drift> {
        match note {
            "blanks" => Some(Drift::Blanks),
            "quotes" => Some(Drift::Quotes),
            "case" => Some(Drift::Case),
            _ => None,
        }
    }

    /// The byte as it is compared; none where it does not count.
    fn seen(self, byte: u8) -> Option<u8> {
        match self {
            Drift::Blanks => (!matches!(byte, b' ' | b'\t')).then_some(byte),
            Drift::Quotes => Some(if byte == b'\'' { b'"' } else { byte }),
            Drift::Case => Some(byte.to_ascii_lowercase()),
        }
    }
}

impl CallPlan {
    /// The argument `argument` made to name another file.
    pub fn path(&self, argument: usize, to: &Move) -> Option<Change> {
        let (ran, bound) = self.runs.first()?;
        let (_, word) = bound.get(argument)?.as_ref()?;
        let old = ran.argv.get(argument)?;
        let new = if old.starts_with(b"/") { to.to.to_path_buf() } else { relative(to.to, to.cwd) };
        let new = new.to_str()?;
        let head = word.after_holes();
        if head == 0 {
            if old.starts_with(b"/") {
                return None;
            }
            return Some(match word.source(0..old.len()) {
                Some(span) => Change { span, text: quoted(new, word.quote(0)?) },
                None => Change { span: word.word.span.clone(), text: quoted(new, Quote::Bare) },
            });
        }
        // what expansions gave stays, as far as the new path begins with it
        let tail = new.as_bytes().strip_prefix(&old[..head])?;
        let open = old[..head].ends_with(b"/") || tail.starts_with(b"/");
        let span = word.source(head..old.len()).filter(|_| open)?;
        Some(Change { span, text: quoted(std::str::from_utf8(tail).ok()?, word.quote(head)?) })
    }

    /// `-i`, which is missing.
    pub fn in_place(&self) -> Option<Change> {
        self.option("-i")
    }

    fn option(&self, option: &str) -> Option<Change> {
        let tool = self.words.first().filter(|w| w.is_literal())?;
        Some(Change { span: tool.span.end..tool.span.end, text: format!(" {option}") })
    }

    /// `-E` and `-z` put before the expressions that need them.
    pub fn option_order(&self, text: &str) -> Option<Vec<Change>> {
        let (ran, bound) = self.runs.first()?;
        let last = ran.invocation.flags;
        let first = ran.invocation.pieces.first()?;
        let mut changes = Vec::new();
        for (late, letters, option) in [
            (last.extended && !first.flags.extended, &["-E", "-r", "--regexp-extended"][..], "-E"),
            (last.null_data && !first.flags.null_data, &["-z", "--null-data", "--zero-terminated"][..], "-z"),
        ] {
            if !late {
                continue;
            }
            let alone = ran.argv.iter().position(|a| letters.iter().any(|l| l.as_bytes() == a));
            let word = alone.and_then(|at| bound.get(at)?.as_ref());
            let written = alone.and_then(|at| std::str::from_utf8(&ran.argv[at]).ok()).unwrap_or(option);
            changes.push(self.option(written)?);
            // in a cluster (`-Ei`) it may stand twice
            changes.extend(word.map(|(_, w)| Change::removal(range::words(text, &w.word.span))));
        }
        (range::sort(&mut changes) && !changes.is_empty()).then_some(changes)
    }

    /// The pattern of the command `id` as `line` has it.
    pub fn pattern(&self, id: usize, line: &str, drift: Drift) -> Option<Change> {
        let [(ran, bound)] = &self.runs[..] else { return None };
        let index = ran.ids.iter().position(|i| *i == id)?;
        let command = ran.script.commands.get(index)?;
        let regex = deciding(command)?;
        let place = ran.script.pieces.get(command.piece)?;
        let piece = ran.invocation.pieces.get(command.piece)?;
        let span = &regex.span;
        let extended = place.flags.extended;
        let source = ran.script.source(span);
        let (begins, rest) = source.strip_prefix(b"^").map_or((false, source), |rest| (true, rest));
        let (ends, rest) = match rest.strip_suffix(b"$") {
            Some(rest) if !rest.ends_with(b"\\") => (true, rest),
            _ => (false, rest),
        };
        let wanted = literal(rest, extended, regex.delimiter)?;
        let found = nearly(&wanted, line.as_bytes(), drift)?;
        let mut new = if begins { "^".to_owned() } else { String::new() };
        new.push_str(&pattern_of(&line[found], extended, regex.delimiter)?);
        new.push_str(if ends { "$" } else { "" });
        let (_, word) = bound.get(piece.index)?.as_ref()?;
        let start = piece.offset + span.start - place.span.start;
        let source = word.source(start..piece.offset + span.end - place.span.start)?;
        Some(Change { span: source, text: quoted(&new, word.quote(start)?) })
    }

    /// The calls that ran, where it was one only.
    pub fn only(&self) -> Option<&Ran> {
        match &self.runs[..] {
            [(ran, _)] => Some(ran),
            _ => None,
        }
    }
}

/// The one regular expression of a command: that of its `s`, or that of its address.
fn deciding(command: &ScriptCommand) -> Option<&Regex> {
    let mut all = command.regexes();
    let (first, None) = (all.next()?, all.next()) else { return None };
    (!first.is_last_used() && !command.addresses.negated).then_some(first)
}

/// `to` as seen from `from`.
fn relative(to: &Path, from: &Path) -> PathBuf {
    let (to, from): (Vec<Component>, Vec<Component>) = (to.components().collect(), from.components().collect());
    let same = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - same);
    up.chain(to[same..].iter().copied()).collect()
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
    fn paths_are_seen_from_the_folder_of_the_call() {
        let from = |to: &str, from: &str| relative(Path::new(to), Path::new(from)).to_str().unwrap().to_owned();
        assert_eq!(from("/w/s/lib/CMakeLists.txt", "/w/s"), "lib/CMakeLists.txt");
        assert_eq!(from("/w/other/a", "/w/s/lib"), "../../other/a");
    }

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
    }
}
