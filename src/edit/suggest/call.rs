//! A call's words in the text, laid against what it ran with: which text made which command.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::align::{Laid, align};
use super::range::{self, Change};
use super::script::{self, Cut};
use super::shell::{Bound, Decoded};
use crate::edit::inventory::{Call, Inventory};
use crate::edit::lines;
use crate::edit::sed::argv::{Invocation, Piece, PieceKind};
use crate::edit::sed::script::{Locale, Script};
use crate::escape::show;

/// What a call ran with, once.
#[derive(Clone, Debug)]
pub struct Ran {
    pub argv: Vec<Vec<u8>>,
    pub invocation: Invocation,
    pub script: Script,
    pub files: HashMap<Vec<u8>, Vec<u8>>,
    pub locale: Locale,
    /// For each command of the script its index in the edit.
    pub ids: Vec<usize>,
}

/// A call of the text.
#[derive(Debug)]
pub struct CallPlan {
    pub span: Range<usize>,
    /// Of the tool's own words, those of arrays put in.
    pub words: Vec<Decoded>,
    home: Vec<Home>,
    pub runs: Vec<(Ran, Laid)>,
    /// The words of the only call, and how they were laid.
    lone: Option<(Vec<Vec<u8>>, Laid)>,
    /// The commands of the edit that may go.
    pub removable: BTreeSet<usize>,
    /// Whether its words are its own, and not those of a function's callers.
    own: bool,
}

/// Where a word of a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Call,
    Array,
    /// The value of a variable that only this call uses.
    Variable,
}

impl CallPlan {
    /// `lone`: the words, where but one call was made.
    pub fn new(
        call: &Call,
        inventory: &Inventory,
        runs: Vec<Ran>,
        removable: BTreeSet<usize>,
        lone: Option<Vec<Vec<u8>>>,
    ) -> CallPlan {
        let mut words = Vec::new();
        let mut home = Vec::new();
        for word in &call.words[call.tool_word..] {
            if let Some(elements) = array(inventory, &word.text, call.function.as_deref()) {
                home.extend(elements.iter().map(|_| Home::Array));
                words.extend(elements);
            } else if let Some(value) = variable(inventory, &word.text, call.function.as_deref()) {
                home.push(Home::Variable);
                words.push(value);
            } else {
                home.push(Home::Call);
                words.push(Decoded::read(&word.text, word.span.start));
            }
        }
        let appended = call.tool_word > 0;
        let aligned = |ran: Ran| {
            let bound = align(&words, &ran.argv, appended);
            (ran, bound)
        };
        let runs = runs.into_iter().map(aligned).collect();
        let lone = lone.map(|argv| {
            let laid = align(&words, &argv, appended);
            (argv, laid)
        });
        CallPlan { span: call.span.clone(), words, home, runs, lone, removable, own: !lines::takes(call) }
    }

    /// The changes that take away the commands `gone`; none where their text can't be told, or is that of a command
    /// that has to stay.
    pub fn without(&self, text: &str, gone: &BTreeSet<usize>) -> Option<Vec<Change>> {
        let places: Vec<Range<usize>> = self
            .runs
            .iter()
            .flat_map(|(ran, bound)| places(ran, bound, |id| gone.contains(&id)))
            .map(|p| p.1)
            .collect();
        let mut changes: Option<Vec<Change>> = None;
        for (ran, bound) in &self.runs {
            let mut own: BTreeSet<usize> = (0..ran.ids.len()).filter(|i| gone.contains(&ran.ids[*i])).collect();
            for (index, place) in places_of(ran, bound) {
                // the same text, with other values in it
                if places.contains(&place) {
                    self.removable.contains(&ran.ids[index]).then_some(())?;
                    own.insert(index);
                }
            }
            let new = self.of_run(text, ran, bound, &own)?;
            if changes.as_ref().is_some_and(|old| *old != new) {
                return None;
            }
            changes = Some(new);
        }
        changes.filter(|c| !c.is_empty())
    }

    /// Where the text has the command `id`.
    pub fn place(&self, id: usize) -> Option<Range<usize>> {
        let (ran, bound) = self.runs.first()?;
        places(ran, bound, |own| own == id).into_iter().map(|(_, place)| place).find(|place| !place.is_empty())
    }

    /// Whether it edits in place and has no command but these.
    pub fn has_no_other(&self, gone: &BTreeSet<usize>) -> bool {
        let all =
            |(ran, _): &(Ran, Laid)| ran.invocation.in_place.is_some() && ran.ids.iter().all(|id| gone.contains(id));
        self.own && !self.runs.is_empty() && self.runs.iter().all(all)
    }

    /// The words that hold only commands beside these.
    pub fn of_others(&self, gone: &BTreeSet<usize>) -> Vec<Range<usize>> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (ran, bound) in &self.runs {
            for (index, piece) in ran.invocation.pieces.iter().enumerate() {
                let Some(Some((_, word))) = bound.get(piece.index) else { continue };
                let mut commands = ran.script.commands.iter().zip(&ran.ids).filter(|(c, _)| c.piece == index);
                let goes = commands.any(|(_, id)| gone.contains(id));
                if goes { &mut own } else { &mut others }.push(word.word.span.clone());
            }
        }
        others.retain(|span| !own.contains(span));
        others
    }

    fn of_run(
        &self,
        text: &str,
        ran: &Ran,
        bound: &[Option<(usize, Bound)>],
        gone: &BTreeSet<usize>,
    ) -> Option<Vec<Change>> {
        let cuts = script::without(&ran.invocation, &ran.script, &ran.files, ran.locale, gone)?;
        let mut changes = Vec::new();
        for (piece, cut) in cuts {
            let piece = ran.invocation.pieces.get(piece)?;
            match cut {
                Cut::Whole => changes.push(Change::removal(self.piece(text, ran, bound, piece)?)),
                Cut::Parts(parts) => {
                    (piece.kind != PieceKind::File).then_some(())?;
                    let (_, word) = bound.get(piece.index)?.as_ref()?;
                    for part in parts {
                        let place = word.source(piece.offset + part.start..piece.offset + part.end)?;
                        changes.push(Change::removal(place));
                    }
                }
            }
        }
        range::sort(&mut changes).then_some(changes)
    }

    /// The text of an `-e EXPRESSION`, with what goes along.
    fn piece(&self, text: &str, ran: &Ran, bound: &[Option<(usize, Bound)>], piece: &Piece) -> Option<Range<usize>> {
        (piece.kind == PieceKind::Expression).then_some(())?;
        let (index, word) = bound.get(piece.index)?.as_ref()?;
        let argument = ran.argv.get(piece.index)?;
        let mut span = word.word.span.clone();
        // its assignment would be left without a value
        (self.home[*index] != Home::Variable).then_some(())?;
        if piece.offset == 0 {
            let (option, before) = bound.get(piece.index.checked_sub(1)?)?.as_ref()?;
            let option_text = ran.argv.get(piece.index - 1)?;
            let is_option = option_text == b"-e" || option_text == b"--expression";
            (is_option && option + 1 == *index && self.home[*option] == self.home[*index]).then_some(())?;
            span.start = before.word.span.start;
        } else {
            let own = (piece.offset == 2 && argument.starts_with(b"-e")) || argument.starts_with(b"--expression=");
            own.then_some(())?;
        }
        (span.start < span.end).then(|| match self.home[*index] {
            Home::Array => range::element(text, &span),
            _ => range::words(text, &span),
        })
    }
}

impl CallPlan {
    /// The argument `index` of the only call, and the word that made it.
    pub fn argument(&self, index: usize) -> Option<(&[u8], &Bound)> {
        let (argv, laid) = self.lone.as_ref()?;
        Some((argv.get(index)?, &laid.get(index)?.as_ref()?.1))
    }

    /// The word that made the argument `text` of the only call.
    pub fn word_of(&self, text: &[u8]) -> Option<&Bound> {
        let (argv, _) = self.lone.as_ref()?;
        Some(self.argument(argv.iter().position(|a| a == text)?)?.1)
    }

    /// Why the command `id` can't be taken out of the text by a program, where that is for the place it stands in.
    pub fn kept_by(&self, id: usize) -> Option<String> {
        let (ran, bound) = self.runs.first()?;
        let command = ran.script.commands.get(ran.ids.iter().position(|i| *i == id)?)?;
        let piece = ran.invocation.pieces.get(command.piece)?;
        if piece.kind == PieceKind::File {
            return Some(format!("it stands in the script file {}", show(&piece.text)));
        }
        let (index, word) = bound.get(piece.index)?.as_ref()?;
        let start = ran.script.pieces.get(command.piece)?.span.start;
        let place = piece.offset + command.span.start - start..piece.offset + command.span.end - start;
        match self.home[*index] {
            _ if place.end > piece.offset + piece.text.len() => Some("another expression goes on with it".to_owned()),
            Home::Variable => Some("nothing else is in the variable that holds it".to_owned()),
            _ if !word.is_written(&place) => Some("an expansion of the shell makes it".to_owned()),
            _ => None,
        }
    }
}

fn places_of(ran: &Ran, bound: &[Option<(usize, Bound)>]) -> Vec<(usize, Range<usize>)> {
    places(ran, bound, |_| true)
}

/// The commands of a run whose text is known, with its place.
fn places(ran: &Ran, bound: &[Option<(usize, Bound)>], wanted: impl Fn(usize) -> bool) -> Vec<(usize, Range<usize>)> {
    let place = |command: &crate::edit::sed::script::ScriptCommand| {
        let piece = ran.invocation.pieces.get(command.piece)?;
        let start = ran.script.pieces.get(command.piece)?.span.start;
        (piece.kind != PieceKind::File).then_some(())?;
        let (_, word) = bound.get(piece.index)?.as_ref()?;
        word.source(piece.offset + command.span.start - start..piece.offset + command.span.end - start)
    };
    let commands =
        ran.script.commands.iter().enumerate().filter(|(i, _)| ran.ids.get(*i).is_some_and(|id| wanted(*id)));
    commands.filter_map(|(i, command)| Some((i, place(command)?))).collect()
}

/// The elements of the array that `word` expands, where nothing else is in it.
fn array(inventory: &Inventory, word: &str, function: Option<&str>) -> Option<Vec<Decoded>> {
    let name = word.trim_matches('"').strip_prefix("${")?.strip_suffix("[@]}")?;
    let visible = |f: &Option<String>| f.is_none() || f.as_deref() == function;
    let assignments: Vec<_> = inventory.assignments.iter().filter(|a| a.name == name && visible(&a.function)).collect();
    let elements = assignments.iter().flat_map(|a| &a.elements);
    let found: Vec<Decoded> = elements.map(|w| Decoded::read(&w.text, w.span.start)).collect();
    (!found.is_empty()).then_some(found)
}

/// The value of the variable that `word` expands, quoted or in one word, where the text assigns it once and uses it here
/// only.
fn variable(inventory: &Inventory, word: &str, function: Option<&str>) -> Option<Decoded> {
    let inner = word.strip_prefix('"').and_then(|w| w.strip_suffix('"')).unwrap_or(word);
    let name = inner.strip_prefix('$')?;
    let name = name.strip_prefix('{').map_or(Some(name), |n| n.strip_suffix('}'))?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(())?;
    let mut assigned = inventory.assignments.iter().filter(|a| a.name == name);
    let (assignment, None) = (assigned.next()?, assigned.next()) else { return None };
    let visible = assignment.function.is_none() || assignment.function.as_deref() == function;
    let [value] = &assignment.elements[..] else { return None };
    let used = inventory.text.match_indices(name).filter(|(at, _)| {
        let whole = !inventory.text[at + name.len()..].starts_with(is_name);
        inventory.text[..*at].trim_end_matches('{').ends_with('$') && whole
    });
    // `x+=` goes on with what is there, `( )` is an array
    let before = &inventory.text[..value.span.start];
    let plain = before.strip_suffix('=').is_some_and(|b| b.ends_with(name)) && !value.text.starts_with('(');
    (visible && plain && used.count() == 1).then(|| Decoded::read(&value.text, value.span.start))
}
