//! Why a command is dead, proved on the tree by the real sed.

mod alone;
mod bench;
mod effect;
mod fitted;
mod gap;
mod gone;
pub mod perl;
mod product;
mod relax;
mod search;
mod shelf;
mod words;

use std::path::PathBuf;

use crate::edit::budget::OVER;
use crate::edit::sed::argv::Invocation;
use crate::edit::sed::literal;
use crate::edit::sed::never::never;
use crate::edit::sed::script::{AddressKind, Detail, Regex, Script, ScriptCommand};
use crate::escape::{escape_path, show};
use crate::report::model::{Cause, Evidence};
pub use alone::{reaches_out, whole};
pub use bench::{Bench, Switches};
use effect::Effect;
use gap::Gap;
use relax::Relax;
use search::{Found, Hit, Query, Unseen, changes, text_of};
pub use shelf::{Event, Shelf};

/// A file that the command was to change.
#[derive(Clone, Debug)]
pub struct Own {
    /// Relative to WORKDIR; none outside of it.
    pub path: PathBuf,
    /// As reports name it.
    pub shown: String,
    /// Before the call.
    pub content: Vec<u8>,
    /// As it was unpacked, where that differs.
    pub pristine: Option<Vec<u8>>,
}

/// A dead command.
#[derive(Debug)]
pub struct Dead<'a> {
    pub invocation: &'a Invocation,
    pub script: &'a Script,
    pub command: usize,
    pub own: &'a [Own],
    /// When the call began, by the trace's clock.
    pub moment: u64,
    /// The command reads a file that is not there.
    pub unread: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub cause: Cause,
    pub evidence: Vec<Evidence>,
    /// What the answer could not take into account, or why there is none.
    pub reason: Option<String>,
}

/// The first cause, in the contract's order, that holds.
pub fn explain(dead: &Dead, shelf: &Shelf, bench: &Bench) -> Explained {
    let explained = tried(dead, shelf, bench);
    // trials that were not run any more show nothing
    if bench.is_over() { unknown(OVER) } else { explained }
}

/// No cause, and why.
pub fn unknown(why: &str) -> Explained {
    Explained { reason: Some(why.to_owned()), ..of(Cause::Unknown) }
}

fn tried(dead: &Dead, shelf: &Shelf, bench: &Bench) -> Explained {
    let Some(command) = dead.script.commands.get(dead.command) else { return unknown("its script is not known") };
    let piece = dead.script.pieces.get(command.piece).map(|p| p.flags).unwrap_or_default();
    let switches = Switches::of(piece, false);
    let Some(effect) = Effect::of(dead.script, command, &[]) else {
        return unknown("it can't be tried by itself");
    };
    let case = Case { dead, command, switches, effect, shelf, bench };
    let early = None
        .or_else(|| case.option_order())
        .or_else(|| never(dead.script, dead.command).then(|| of(Cause::Never)))
        .or_else(|| dead.unread.then(unread))
        .or_else(|| case.superseded())
        .or_else(|| case.upstreamed());
    if let Some(explained) = early {
        return explained;
    }
    let (elsewhere, unseen) = case.wrong_file();
    let common = elsewhere.as_ref().is_some_and(|e| !e.counts);
    if let Some(Elsewhere { explained, rank, .. }) = elsewhere.filter(|e| e.counts) {
        // a near miss in the file that is meant shows more than a text in a file of quite another name
        let near = match rank {
            0 => &[][..],
            1 => &[Relax::LineEnding][..],
            _ => &[Relax::LineEnding, Relax::Blanks, Relax::Quotes, Relax::Case][..],
        };
        return case.relaxed(near).unwrap_or(explained);
    }
    let here = || case.removed_here().filter(|_| common);
    let explained = case.drifted().or_else(here).unwrap_or_else(|| case.removed());
    Explained { reason: unseen.sentence().or(explained.reason), ..explained }
}

fn unread() -> Explained {
    Explained { reason: Some("the file that it reads is not there".to_owned()), ..of(Cause::BadScript) }
}

/// Whether the last line of a range around `command` (its own, or that of a block) matches any line of `content`.
///
/// The last section of a file may well run to its end; a range whose end the file does not know at all has lost it.
pub fn range_can_end(script: &Script, command: usize, content: &[u8], bench: &Bench) -> bool {
    let Some(command) = script.commands.get(command) else { return true };
    let flags = script.pieces.get(command.piece).map(|p| p.flags).unwrap_or_default();
    let switches = Switches::of(flags, false);
    let around = script.blocks.iter().filter(|b| b.commands.contains(&command.index)).map(|b| &b.addresses);
    let ends = around.chain([&command.addresses]).filter_map(|a| a.second.as_ref());
    let ends: Vec<_> = ends.filter(|a| matches!(a.kind, AddressKind::Regex(_))).collect();
    ends.iter().all(|end| {
        let mut test = script.source(&end.span).to_vec();
        test.extend_from_slice(b"s/^/\x02/");
        bench.run(&test, &switches, &[content]).is_some_and(|after| after[0] != content)
    })
}

/// Where a script that found none of its files would do something: files of the same name, elsewhere.
pub fn moved(dead: &Dead, gone: &[PathBuf], shelf: &Shelf, bench: &Bench) -> Explained {
    let Some(script) = whole(dead.script) else { return unknown("its script does more than edit") };
    let switches = Switches::of(dead.invocation.flags, dead.invocation.quiet);
    let query = Query {
        run: &|contents| Some(changes(contents, &bench.run(&script, &switches, contents)?)),
        literals: &[],
        ignore_case: false,
        own: gone,
        moment: dead.moment,
        named: Some(gone),
        anywhere: false,
    };
    let found = search::search(shelf, &query);
    if bench.is_over() {
        return unknown(OVER);
    }
    match found {
        Found { hits, unseen } if hits.is_empty() => Explained { reason: unseen.sentence(), ..of(Cause::Removed) },
        Found { hits, .. } => with(Cause::Moved, evidence(&hits, "a file of that name, with matching text")),
    }
}

fn of(cause: Cause) -> Explained {
    with(cause, Vec::new())
}

fn with(cause: Cause, evidence: Vec<Evidence>) -> Explained {
    Explained { cause, evidence, reason: None }
}

fn evidence(hits: &[Hit], note: &str) -> Vec<Evidence> {
    let one = |hit: &Hit| Evidence {
        path: escape_path(&hit.path),
        line: Some(hit.line),
        text: Some(show(&hit.text)),
        note: Some(note.to_owned()),
    };
    hits.iter().map(one).collect()
}

/// Files of the same suffix that have a short text for a reason.
const FEW: usize = 3;

/// Other files with the text.
struct Elsewhere {
    explained: Explained,
    /// That of the nearest.
    rank: u8,
    /// Whether the text is more than one that is in some file of any tree.
    counts: bool,
}

/// Whether a text is found in a file for more than being short.
fn tells(literals: &[(Vec<u8>, bool)]) -> bool {
    let words = |text: &[u8]| text.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).map(<[u8]>::len).max();
    let letters: usize = literals.iter().map(|(l, _)| l.iter().filter(|b| b.is_ascii_alphanumeric()).count()).sum();
    letters >= 6 || literals.iter().any(|(text, _)| words(text).unwrap_or(0) >= 5)
}

/// The other files of the tree that a script changes, as a cause, and what the search did not see. `literals`: what a
/// file must hold for it, and whether case does not count. A short text is in some file of any tree: it counts in
/// files of the same name, and in a few of the same suffix.
fn elsewhere(
    run: &search::Run,
    literals: &[(Vec<u8>, bool)],
    own: &[Own],
    moment: u64,
    shelf: &Shelf,
) -> (Option<Elsewhere>, Unseen) {
    let query = Query {
        run,
        literals: &literals.iter().map(|l| l.0.clone()).collect::<Vec<_>>(),
        ignore_case: literals.iter().any(|l| l.1),
        own: &own.iter().map(|o| o.path.clone()).collect::<Vec<_>>(),
        moment,
        named: None,
        anywhere: false,
    };
    let Found { hits, unseen } = search::search(shelf, &query);
    let beside = |hit: &Hit| {
        own.iter().any(|o| o.path.parent() == hit.path.parent() && o.path.extension() == hit.path.extension())
    };
    let most = match hits.first() {
        Some(hit) if hit.rank == 0 || tells(literals) => usize::MAX,
        // an expression may have no text that it can't do without
        Some(hit) if hit.rank == 1 || beside(hit) || literals.is_empty() => FEW,
        _ => 0,
    };
    let rank = hits.first().map_or(0, |h| h.rank);
    let found = (!hits.is_empty()).then(|| Elsewhere {
        explained: with(Cause::WrongFile, evidence(&hits, "matches here")),
        rank,
        counts: hits.len() <= most,
    });
    (found, unseen)
}

/// Of a text across lines the longest that stands on one.
fn within_a_line(literal: Vec<u8>) -> Option<Vec<u8>> {
    literal.split(|b| *b == b'\n').max_by_key(|part| part.len()).filter(|part| !part.is_empty()).map(<[u8]>::to_vec)
}

struct Case<'a> {
    dead: &'a Dead<'a>,
    command: &'a ScriptCommand,
    switches: Switches,
    /// What the command does by itself.
    effect: Effect,
    shelf: &'a Shelf,
    bench: &'a Bench,
}

impl Case<'_> {
    /// The first file of `contents` on which `effect` shows, as evidence. Its text is that of `shown`.
    fn first_hit(
        &self,
        effect: &Effect,
        switches: &Switches,
        contents: &[Vec<u8>],
        shown: &[Vec<u8>],
        note: &str,
    ) -> Option<Vec<Evidence>> {
        let slices: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        let lines = effect.lines(self.bench, switches, &slices)?;
        let (index, line) = lines.iter().enumerate().find_map(|(index, line)| Some((index, (*line)?)))?;
        Some(vec![Evidence {
            path: self.dead.own.get(index)?.shown.clone(),
            line: Some(line),
            text: Some(show(&text_of(shown.get(index)?, line))),
            note: Some(note.to_owned()),
        }])
    }

    fn contents(&self) -> Vec<Vec<u8>> {
        self.dead.own.iter().map(|o| o.content.clone()).collect()
    }

    fn pristine(&self) -> Vec<Vec<u8>> {
        self.dead.own.iter().map(|o| o.pristine.clone().unwrap_or_else(|| o.content.clone())).collect()
    }

    fn option_order(&self) -> Option<Explained> {
        let last = self.dead.invocation.flags;
        if self.switches.extended == last.extended && self.switches.null_data == last.null_data {
            return None;
        }
        let meant = Switches { extended: last.extended, null_data: last.null_data, ..self.switches.clone() };
        let contents = self.contents();
        let note = "matches once the option stands first";
        let evidence = self.first_hit(&self.effect, &meant, &contents, &contents, note)?;
        Some(with(Cause::OptionOrder, evidence))
    }

    /// An earlier step (a patch, another edit, an earlier command of this call) took away what it would have matched.
    fn superseded(&self) -> Option<Explained> {
        let hit = |contents: &[Vec<u8>], note| self.first_hit(&self.effect, &self.switches, contents, contents, note);
        let edited = || self.dead.own.iter().any(|own| own.pristine.is_some());
        let before = || edited().then(|| self.pristine());
        let found = hit(&self.contents(), "an earlier command of this call takes it away")
            .or_else(|| hit(&before()?, "stood here before an earlier step of the phase"))?;
        Some(with(Cause::Superseded, found))
    }

    fn upstreamed(&self) -> Option<Explained> {
        let finder = Effect::plain(product::finder(self.dead.script, self.command, self.switches.extended)?);
        // in the source as it came: what this phase itself wrote is no doing of upstream
        let pristine = self.pristine();
        let evidence = self.first_hit(&finder, &self.switches, &pristine, &pristine, "already so")?;
        Some(with(Cause::Upstreamed, evidence))
    }

    /// The cause, and what the search for it did not see.
    fn wrong_file(&self) -> (Option<Elsewhere>, Unseen) {
        let regexes = self.deciding();
        let literals = regexes.iter().filter_map(|r| Some((self.literal(r)?, r.ignore_case))).collect::<Vec<_>>();
        let run = |contents: &[&[u8]]| self.effect.lines(self.bench, &self.switches, contents);
        elsewhere(&run, &literals, self.dead.own, self.dead.moment, self.shelf)
    }

    /// The regular expressions without whose match the command does nothing.
    fn deciding(&self) -> Vec<Regex> {
        let script = self.dead.script;
        let mut found = Vec::new();
        if let Detail::Substitute(s) = &self.command.detail {
            found.push(s.regex.clone());
        }
        let mut add = |addresses: &crate::edit::sed::script::Addresses| {
            if addresses.negated {
                return;
            }
            if let Some(AddressKind::Regex(regex)) = addresses.first.as_ref().map(|a| &a.kind) {
                found.push(regex.clone());
            }
        };
        add(&self.command.addresses);
        for around in script.blocks.iter().filter(|b| b.commands.contains(&self.command.index)) {
            add(&around.addresses);
        }
        found.retain(|r| !r.is_last_used());
        found
    }

    /// A text that each line must have that a regular expression matches.
    fn literal(&self, regex: &Regex) -> Option<Vec<u8>> {
        within_a_line(literal::required(self.dead.script.source(&regex.span), self.switches.extended)?)
    }

    fn drifted(&self) -> Option<Explained> {
        self.relaxed(&Relax::ALL).or_else(|| self.near_version()).or_else(|| self.near_words())
    }

    /// A near miss by the first of `kinds` by which there is one.
    fn relaxed(&self, kinds: &[Relax]) -> Option<Explained> {
        let own = self.contents();
        for relax in kinds {
            let Some(patches) = relax.patches(self.dead.script, self.command) else { continue };
            let Some(effect) = Effect::of(self.dead.script, self.command, &patches) else { continue };
            let mut switches = self.switches.clone();
            if *relax == Relax::RegexDialect {
                // --posix has less of the same dialect
                switches.extended ^= !switches.posix;
                switches.posix = false;
            }
            let contents: Vec<Vec<u8>> = self.dead.own.iter().map(|o| relax.content(&o.content)).collect();
            if let Some(evidence) = self.first_hit(&effect, &switches, &contents, &own, relax.note()) {
                let line = evidence.first().and_then(|e| e.text.as_deref()).unwrap_or_default();
                if *relax == Relax::RegexDialect
                    && relax::is_text_here(self.dead.script, self.command, self.switches.extended, line.as_bytes())
                {
                    continue;
                }
                return Some(with(Cause::Drifted, evidence));
            }
        }
        None
    }

    /// A version that stands there with other numbers.
    fn near_version(&self) -> Option<Explained> {
        let Detail::Substitute(s) = &self.command.detail else { return None };
        let pattern = relax::any_version(self.dead.script.source(&s.regex.span))?;
        let effect = Effect::of(self.dead.script, self.command, &[(s.regex.span.clone(), pattern)])?;
        let contents = self.contents();
        let evidence = self.first_hit(&effect, &self.switches, &contents, &contents, "words")?;
        Some(with(Cause::Drifted, evidence))
    }

    /// The line that shares most words with the longest expression, or has all of it but one word, where the
    /// command would change it if what the line has otherwise did not count.
    fn near_words(&self) -> Option<Explained> {
        let deciding = self.deciding();
        let longest = deciding.iter().max_by_key(|r| r.span.len())?;
        let pattern = self.dead.script.source(&longest.span);
        let by_words = self.dead.own.iter().find_map(|own| {
            let (number, line) = words::nearest(pattern, &own.content)?;
            let fit = |regex: &Regex| {
                let source = self.dead.script.source(&regex.span);
                Some((regex.span.clone(), fitted::fitted(source, self.switches.extended, &line)?))
            };
            let patches: Vec<alone::Patch> = deciding.iter().filter_map(fit).collect();
            self.changes_if(&patches, own, number, &line).then_some((own, number, line))
        });
        let by_gap = || {
            let gaps = Gap::all(pattern, self.switches.extended);
            gaps.iter().find_map(|gap| {
                let patch = [(longest.span.clone(), gap.open.clone())];
                self.dead.own.iter().find_map(|own| {
                    let (number, line) = gap.nearest(&own.content)?;
                    self.changes_if(&patch, own, number, &line).then_some((own, number, line))
                })
            })
        };
        let (own, line, text) = by_words.or_else(by_gap)?;
        let evidence = Evidence {
            path: own.shown.clone(),
            line: Some(line),
            text: Some(show(&text)),
            note: Some("words".to_owned()),
        };
        Some(with(Cause::Drifted, vec![evidence]))
    }

    /// Whether the command with other expressions changes line `number` of a file.
    fn changes_if(&self, patches: &[alone::Patch], own: &Own, number: u32, line: &[u8]) -> bool {
        let Some(effect) = Effect::of(self.dead.script, self.command, patches).filter(|_| !patches.is_empty()) else {
            return false;
        };
        // the line by itself first: in the file another may be changed before it
        let alone = [line, b"\n"].concat();
        let Some(lines) = effect.lines(self.bench, &self.switches, &[&alone, &own.content]) else { return false };
        lines[0].is_some() || lines[1] == Some(number)
    }
}
