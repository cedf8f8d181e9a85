//! Why a perl call is dead, proved on the tree by the real perl.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use super::gap::Gap;
use super::search::{Unseen, changes, first_change, text_of};
use super::{Elsewhere, Explained, Own, Shelf, elsewhere, fitted, of, relax, unknown, with, within_a_line, words};
use crate::edit::budget::{Budget, OVER};
use crate::edit::cause::relax::Relax;
use crate::edit::perl::argv::Invocation;
use crate::edit::perl::script::{Act, Regex, Script, Span, Statement};
use crate::edit::perl::{across, product};
use crate::edit::sed::literal;
use crate::edit::trial::Trial;
use crate::escape::show;
use crate::report::model::{Cause, Evidence, Verdict};

/// Runs perl scripts that do no more than edit.
#[derive(Debug)]
pub struct Bench {
    trial: Trial,
}

impl Bench {
    /// `perl` is the real one.
    pub fn new(perl: &Path, locale: &str, budget: Budget) -> io::Result<Bench> {
        Ok(Bench { trial: Trial::new(perl, locale, budget)? })
    }

    /// Whether the time for trials is over.
    pub fn is_over(&self) -> bool {
        self.trial.is_over()
    }

    /// What a script makes of each content. None where perl refuses it, where it does not end in time, or where it
    /// could do anything else.
    fn run(&self, script: &[u8], call: &Invocation, contents: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        // what was changed about a script may have made code of it
        Script::cut(&[script.to_vec()]).ok()?;
        let mut words: Vec<OsString> = call.switches.iter().cloned().map(OsString::from_vec).collect();
        words.push(if call.prints { "-pi" } else { "-ni" }.into());
        words.extend(["-e".into(), OsString::from_vec(script.to_vec()), "--".into()]);
        self.trial.run(&words, &[], contents)
    }
}

/// A call that changed none of its files.
#[derive(Debug)]
pub struct Dead<'a> {
    pub call: &'a Invocation,
    pub own: &'a [Own],
    /// When it began, by the trace's clock.
    pub moment: u64,
}

/// The script of a call, or why it can't be run again.
fn script(call: &Invocation) -> Result<Script, String> {
    if let Some(beyond) = &call.beyond {
        return Err(beyond.clone());
    }
    let script = Script::cut(&call.pieces)?;
    let prints = script.statements.iter().any(|s| s.act == Act::Print);
    match (call.prints, call.reads) {
        (true, _) if !prints => Ok(script),
        (false, true) if prints && script.statements.len() == 1 => Ok(script),
        _ => Err("its script prints by itself".to_owned()),
    }
}

/// The verdicts on the files of a call that left them as they were: a match that gives the same text is no dead one,
/// nor are statements that undo each other. None where it can't be told.
pub fn verdicts(call: &Invocation, contents: &[&[u8]], bench: &Bench) -> Option<Vec<Verdict>> {
    let script = script(call).ok()?;
    let mut found = vec![Verdict::Dead; contents.len()];
    for statement in &script.statements {
        let after = bench.run(script.source(&statement.span), call, contents)?;
        let marked = marked(&script, statement).and_then(|marked| bench.run(&marked, call, contents));
        for (index, verdict) in found.iter_mut().enumerate() {
            if after[index] != contents[index] {
                *verdict = Verdict::NetZero;
            } else if *verdict == Verdict::Dead && marked.as_ref().is_some_and(|m| m[index] != contents[index]) {
                *verdict = Verdict::Identity;
            }
        }
    }
    Some(found)
}

/// A statement that leaves a mark where it matches.
fn marked(script: &Script, statement: &Statement) -> Option<Vec<u8>> {
    let Act::Substitute { replacement, .. } = &statement.act else { return None };
    Some(patched(script, statement, &[(replacement.clone(), vec![2])]))
}

/// The text of a statement with other texts at some places.
fn patched(script: &Script, statement: &Statement, patches: &[(Span, Vec<u8>)]) -> Vec<u8> {
    let mut patches: Vec<&(Span, Vec<u8>)> = patches.iter().collect();
    patches.sort_by_key(|(span, _)| span.start);
    let (mut out, mut at) = (Vec::new(), statement.span.start);
    for (span, text) in patches {
        out.extend_from_slice(script.source(&(at..span.start)));
        out.extend_from_slice(text);
        at = span.end;
    }
    out.extend_from_slice(script.source(&(at..statement.span.end)));
    out
}

/// For each statement the first cause, in the contract's order, that holds; where the script is not run again one answer
/// for all.
pub fn explain(dead: &Dead, shelf: &Shelf, bench: &Bench) -> Vec<Explained> {
    let explained = tried(dead, shelf, bench).unwrap_or_else(|why| vec![unknown(&why)]);
    // trials that were not run any more show nothing
    if bench.is_over() { vec![unknown(OVER)] } else { explained }
}

fn tried(dead: &Dead, shelf: &Shelf, bench: &Bench) -> Result<Vec<Explained>, String> {
    let script = script(dead.call).map_err(|why| format!("{why}, so it was not run again"))?;
    let contents: Vec<&[u8]> = dead.own.iter().map(|o| o.content.as_slice()).collect();
    if bench.run(&script.text, dead.call, &contents).is_none_or(|after| after != contents) {
        return Err("run again it did otherwise".to_owned());
    }
    let case = |statement| Case { dead, script: &script, statement, shelf, bench };
    Ok(script.statements.iter().map(|statement| case(statement).explain()).collect())
}

struct Case<'a> {
    dead: &'a Dead<'a>,
    script: &'a Script,
    statement: &'a Statement,
    shelf: &'a Shelf,
    bench: &'a Bench,
}

impl Case<'_> {
    fn explain(&self) -> Explained {
        let early = None.or_else(|| self.never()).or_else(|| self.superseded()).or_else(|| self.upstreamed());
        if let Some(explained) = early {
            return explained;
        }
        let (elsewhere, unseen) = self.wrong_file();
        if let Some(Elsewhere { explained, rank, .. }) = elsewhere.filter(|e| e.counts) {
            // its file's lines end otherwise: that shows more than a text in a file of another name
            let near = if rank > 0 { self.near_miss(&[Relax::LineEnding]) } else { None };
            return near.unwrap_or(explained);
        }
        let explained = self.drifted().unwrap_or_else(|| self.removed());
        Explained { reason: unseen.sentence().or(explained.reason), ..explained }
    }

    fn run(&self, script: &[u8], contents: &[&[u8]]) -> Option<Vec<Vec<u8>>> {
        self.bench.run(script, self.dead.call, contents)
    }

    fn text(&self) -> &[u8] {
        self.script.source(&self.statement.span)
    }

    fn never(&self) -> Option<Explained> {
        let same = match &self.statement.act {
            Act::Substitute { replacement, .. } => self.script.source(replacement) == b"$&",
            Act::Transliterate { from, to } => self.script.source(from) == self.script.source(to),
            Act::Print => false,
        };
        (same || across::never(self.script, self.statement, self.dead.call)).then(|| of(Cause::Never))
    }

    /// The first of `contents` that a script changes, as evidence.
    fn first_hit(&self, script: &[u8], contents: &[Vec<u8>], note: &str) -> Option<Vec<Evidence>> {
        let slices: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        let after = self.run(script, &slices)?;
        self.dead.own.iter().zip(contents.iter().zip(&after)).find_map(|(own, (old, new))| {
            let line = first_change(old, new)?;
            let is_pristine = own.pristine.as_ref().is_some_and(|p| p == old);
            // where the content is not the file's own, its line is
            let text = text_of(if is_pristine { old } else { &own.content }, line);
            Some(vec![line_of(own, line, &text, note)])
        })
    }

    fn superseded(&self) -> Option<Explained> {
        let pristine = self.pristine();
        let found = self.first_hit(self.text(), &pristine, "stood here before an earlier step of the phase")?;
        Some(with(Cause::Superseded, found))
    }

    fn pristine(&self) -> Vec<Vec<u8>> {
        self.dead.own.iter().map(|o| o.pristine.clone().unwrap_or_else(|| o.content.clone())).collect()
    }

    fn upstreamed(&self) -> Option<Explained> {
        let finder = product::finder(self.script, self.statement)?;
        // in the source as it came: what this phase itself wrote is no doing of upstream
        Some(with(Cause::Upstreamed, self.first_hit(&finder, &self.pristine(), "already so")?))
    }

    /// A literal of each expression that has one, and whether its case does not count.
    fn literals(&self) -> Vec<(Vec<u8>, bool)> {
        let of = |regex: &&Regex| {
            let text = self.script.source(&regex.span);
            // variables, blanks that do not count, flags in the midst: its text is not what it says
            let plain = !text.iter().any(|b| matches!(b, b'$' | b'@') && !text.ends_with(&[*b]))
                && !self.script.has_flag(regex, b'x')
                && memchr::memmem::find(text, b"(?").is_none();
            let literal = plain.then(|| within_a_line(literal::required(text, true)?)).flatten()?;
            Some((literal, self.script.has_flag(regex, b'i')))
        };
        self.statement.deciding().iter().filter_map(of).collect()
    }

    /// The cause, and what the search for it did not see.
    fn wrong_file(&self) -> (Option<Elsewhere>, Unseen) {
        if self.statement.deciding().is_empty() {
            return (None, Unseen::default());
        }
        let run = |contents: &[&[u8]]| Some(changes(contents, &self.run(self.text(), contents)?));
        elsewhere(&run, &self.literals(), self.dead.own, self.dead.moment, self.shelf)
    }

    fn drifted(&self) -> Option<Explained> {
        self.near_miss(&Relax::ALL).or_else(|| self.near_words(&self.statement.deciding()))
    }

    fn near_miss(&self, kinds: &[Relax]) -> Option<Explained> {
        let deciding = self.statement.deciding();
        for relax in kinds.iter().copied().filter(|r| *r != Relax::RegexDialect) {
            let patches: Vec<(Span, Vec<u8>)> = deciding.iter().filter_map(|r| self.relaxed(relax, r)).collect();
            let content_too = matches!(relax, Relax::LineEnding | Relax::Blanks | Relax::Quotes);
            if patches.is_empty() && !content_too {
                continue;
            }
            let contents: Vec<Vec<u8>> = self.dead.own.iter().map(|o| relax.content(&o.content)).collect();
            let script = patched(self.script, self.statement, &patches);
            if let Some(found) = self.first_hit(&script, &contents, relax.note()) {
                return Some(with(Cause::Drifted, found));
            }
        }
        None
    }

    fn relaxed(&self, relax: Relax, regex: &Regex) -> Option<(Span, Vec<u8>)> {
        let text = self.script.source(&regex.span);
        let relaxed = match relax {
            Relax::Blanks if !self.script.has_flag(regex, b'x') => relax::without_blanks(text),
            Relax::Quotes => text.iter().map(|b| if *b == b'\'' { b'"' } else { *b }).collect(),
            Relax::Anchor => relax::without_anchors(text),
            Relax::Case if !self.script.has_flag(regex, b'i') => {
                return Some((regex.flags.clone(), [b"i", self.script.source(&regex.flags)].concat()));
            }
            _ => return None,
        };
        (relaxed != text && !relaxed.is_empty()).then(|| (regex.span.clone(), relaxed))
    }

    /// A version with other numbers, or the line that shares most words, where the statement changes it once what
    /// the line has otherwise does not count.
    fn near_words(&self, deciding: &[&Regex]) -> Option<Explained> {
        let source = |regex: &Regex| self.script.source(&regex.span);
        let versions = deciding.iter().filter_map(|r| Some((r.span.clone(), relax::any_version(source(r))?)));
        let versions: Vec<(Span, Vec<u8>)> = versions.collect();
        if !versions.is_empty() {
            let contents: Vec<Vec<u8>> = self.dead.own.iter().map(|o| o.content.clone()).collect();
            let script = patched(self.script, self.statement, &versions);
            if let Some(found) = self.first_hit(&script, &contents, "words") {
                return Some(with(Cause::Drifted, found));
            }
        }
        let longest = deciding.iter().max_by_key(|r| r.span.len())?;
        let by_words = |own: &Own| {
            let (number, line) = words::nearest(source(longest), &own.content)?;
            let fit = |r: &&Regex| Some((r.span.clone(), fitted::fitted(source(r), true, &line)?));
            let patches: Vec<(Span, Vec<u8>)> = deciding.iter().filter_map(fit).collect();
            self.changes_if(&patches, own, number, line)
        };
        let gaps = if self.script.has_flag(longest, b'x') { Vec::new() } else { Gap::all(source(longest), true) };
        let by_gap = |own: &Own| {
            gaps.iter().find_map(|gap| {
                let (number, line) = gap.nearest(&own.content)?;
                self.changes_if(&[(longest.span.clone(), gap.open.clone())], own, number, line)
            })
        };
        self.dead.own.iter().find_map(by_words).or_else(|| self.dead.own.iter().find_map(by_gap))
    }

    /// A line that the statement with other expressions changes, by itself or in its file.
    fn changes_if(&self, patches: &[(Span, Vec<u8>)], own: &Own, number: u32, line: Vec<u8>) -> Option<Explained> {
        let alone = [line.as_slice(), b"\n"].concat();
        let script = patched(self.script, self.statement, patches);
        let after = self.run(&script, &[&alone, &own.content]).filter(|_| !patches.is_empty())?;
        let changed = after[0] != alone || first_change(&own.content, &after[1]) == Some(number);
        changed.then(|| with(Cause::Drifted, vec![line_of(own, number, &line, "words")]))
    }

    /// Where a text that every match holds is in the tree, something not seen keeps it from matching; where there is no
    /// such text, the search has tried all files.
    fn removed(&self) -> Explained {
        let literals = self.literals();
        let gone = |(text, ignore_case): &(Vec<u8>, bool)| !self.shelf.holds(self.dead.moment, text, *ignore_case);
        if self.statement.deciding().is_empty() {
            return unknown("it has no pattern to look for");
        }
        let spans = |r: &&Regex| across::spans_lines(self.script.source(&r.span));
        if across::by_line(self.dead.call) && self.statement.deciding().iter().any(spans) {
            return unknown("it wants text across lines, and perl reads one at a time");
        }
        match literals.is_empty() || literals.iter().any(gone) {
            true => of(Cause::Removed),
            false => unknown("its text is in the source, yet nothing shows why it does not match"),
        }
    }
}

fn line_of(own: &Own, line: u32, text: &[u8], note: &str) -> Evidence {
    Evidence { path: own.shown.clone(), line: Some(line), text: Some(show(text)), note: Some(note.to_owned()) }
}

#[cfg(test)]
#[path = "perl_tests.rs"]
mod tests;
