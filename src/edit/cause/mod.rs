//! Why a command is dead, proved on the tree by the real sed.

mod alone;
mod bench;
mod ending;
mod fitted;
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
pub use alone::reaches_out;
pub use bench::{Bench, Switches};
use ending::Ending;
use relax::Relax;
use search::{Found, Hit, Query, Unseen, first_change};
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
    let Some(command) = dead.script.commands.get(dead.command) else { return of(Cause::Unknown) };
    let piece = dead.script.pieces.get(command.piece).map(|p| p.flags).unwrap_or_default();
    let switches = Switches { extended: piece.extended, quiet: false, null_data: piece.null_data };
    let Some(script) = alone::alone(dead.script, dead.command, &[]) else { return of(Cause::Unknown) };
    let case = Case { dead, command, switches, script, shelf, bench };
    let early = None
        .or_else(|| case.option_order())
        .or_else(|| never(dead.script, dead.command).then(|| of(Cause::Never)))
        .or_else(|| case.superseded())
        .or_else(|| case.upstreamed());
    if let Some(explained) = early {
        return explained;
    }
    let (elsewhere, unseen) = case.wrong_file();
    if let Some(explained) = elsewhere {
        return explained;
    }
    let explained = case.drifted().unwrap_or_else(|| of(Cause::Removed));
    Explained { reason: unseen.sentence(), ..explained }
}

/// The whole script as one text; none where it would write or run something.
pub fn whole(script: &Script) -> Option<Vec<u8>> {
    alone::with(script, |_| true, &[])
}

/// Whether the last line of a range around `command` (its own, or that of a block) matches any line of `content`.
///
/// The last section of a file may well run to its end; a range whose end the file does not know at all has lost it.
pub fn range_can_end(script: &Script, command: usize, content: &[u8], bench: &Bench) -> bool {
    let Some(command) = script.commands.get(command) else { return true };
    let flags = script.pieces.get(command.piece).map(|p| p.flags).unwrap_or_default();
    let switches = Switches { extended: flags.extended, quiet: false, null_data: flags.null_data };
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
    let Some(script) = alone::with(dead.script, |_| true, &[]) else { return of(Cause::Unknown) };
    let extended = dead.invocation.flags.extended;
    let switches = Switches { extended, quiet: dead.invocation.quiet, null_data: dead.invocation.flags.null_data };
    let query = Query {
        run: &|contents| bench.run(&script, &switches, contents),
        literals: &[],
        ignore_case: false,
        own: gone,
        moment: dead.moment,
        named: Some(gone),
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

/// The other files of the tree that a script changes, as a cause, and what the search did not see. `literals`: what a
/// file must hold for it, and whether case does not count.
fn elsewhere(
    run: &search::Run,
    literals: &[(Vec<u8>, bool)],
    own: &[Own],
    moment: u64,
    shelf: &Shelf,
) -> (Option<Explained>, Unseen) {
    let query = Query {
        run,
        literals: &literals.iter().map(|l| l.0.clone()).collect::<Vec<_>>(),
        ignore_case: literals.iter().any(|l| l.1),
        own: &own.iter().map(|o| o.path.clone()).collect::<Vec<_>>(),
        moment,
        named: None,
    };
    let Found { hits, unseen } = search::search(shelf, &query);
    let found = (!hits.is_empty()).then(|| with(Cause::WrongFile, evidence(&hits, "matches here")));
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
    /// The command alone.
    script: Vec<u8>,
    shelf: &'a Shelf,
    bench: &'a Bench,
}

impl Case<'_> {
    /// The first file of `contents` that the script changes, as evidence.
    fn first_hit(&self, script: &[u8], switches: &Switches, contents: &[Vec<u8>], note: &str) -> Option<Vec<Evidence>> {
        let slices: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        let after = self.bench.run(script, switches, &slices)?;
        let found = self.dead.own.iter().zip(contents.iter().zip(&after)).find_map(|(own, (old, new))| {
            let (line, _) = first_change(old, new)?;
            let text = own.content.split(|b| *b == b'\n').nth(line as usize - 1).unwrap_or_default();
            Some(Evidence {
                path: own.shown.clone(),
                line: Some(line),
                text: Some(show(text)),
                note: Some(note.to_owned()),
            })
        })?;
        Some(vec![found])
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
        let evidence =
            self.first_hit(&self.script, &meant, &self.contents(), "matches once the option stands first")?;
        Some(with(Cause::OptionOrder, evidence))
    }

    /// An earlier step (a patch, another edit, an earlier command of this call) took away what it would have matched.
    fn superseded(&self) -> Option<Explained> {
        let evidence = |contents: &[Vec<u8>], note: &str| self.first_hit(&self.script, &self.switches, contents, note);
        let found = evidence(&self.contents(), "an earlier command of this call takes it away")
            .or_else(|| evidence(&self.pristine(), "stood here before an earlier step of the phase"))?;
        let mut found = found;
        if let Some(first) = found.first_mut()
            && let Some(own) = self.dead.own.iter().find(|o| o.shown == first.path)
            && let Some(old) = own.pristine.as_ref()
            && let Some(line) = first.line
        {
            first.text = old.split(|b| *b == b'\n').nth(line as usize - 1).map(show);
        }
        Some(with(Cause::Superseded, found))
    }

    fn upstreamed(&self) -> Option<Explained> {
        let finder = product::finder(self.dead.script, self.command, self.switches.extended)?;
        // in the source as it came: what this phase itself wrote is no doing of upstream
        let evidence = self.first_hit(&finder, &self.switches, &self.pristine(), "already so")?;
        Some(with(Cause::Upstreamed, evidence))
    }

    /// The cause, and what the search for it did not see.
    fn wrong_file(&self) -> (Option<Explained>, Unseen) {
        let regexes = self.deciding();
        if regexes.is_empty() {
            return (None, Unseen::default());
        }
        let literals = regexes.iter().filter_map(|r| Some((self.literal(r)?, r.ignore_case))).collect::<Vec<_>>();
        let run = |contents: &[&[u8]]| self.bench.run(&self.script, &self.switches, contents);
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
        for relax in Relax::ALL {
            let Some(patches) = relax.patches(self.dead.script, self.command) else { continue };
            let Some(script) = alone::alone(self.dead.script, self.dead.command, &patches) else { continue };
            let mut switches = self.switches.clone();
            if relax == Relax::RegexDialect {
                switches.extended = !switches.extended;
            }
            let contents: Vec<Vec<u8>> = self.dead.own.iter().map(|o| relax.content(&o.content)).collect();
            if let Some(evidence) = self.first_hit(&script, &switches, &contents, relax.note()) {
                return Some(with(Cause::Drifted, evidence));
            }
        }
        self.near_version().or_else(|| self.near_words())
    }

    /// A version that stands there with other numbers.
    fn near_version(&self) -> Option<Explained> {
        let Detail::Substitute(s) = &self.command.detail else { return None };
        let pattern = relax::any_version(self.dead.script.source(&s.regex.span))?;
        let script = alone::alone(self.dead.script, self.dead.command, &[(s.regex.span.clone(), pattern)])?;
        let evidence = self.first_hit(&script, &self.switches, &self.contents(), "words")?;
        Some(with(Cause::Drifted, evidence))
    }

    /// The line that shares most words with the longest expression, or has all of it but its last token, where the
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
        let by_ending = || {
            let ending = Ending::of(pattern, self.switches.extended)?;
            let patch = [(longest.span.clone(), ending.open.clone())];
            self.dead.own.iter().find_map(|own| {
                let (number, line) = ending.nearest(&own.content)?;
                self.changes_if(&patch, own, number, &line).then_some((own, number, line))
            })
        };
        let (own, line, text) = by_words.or_else(by_ending)?;
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
        let Some(script) = alone::alone(self.dead.script, self.dead.command, patches).filter(|_| !patches.is_empty())
        else {
            return false;
        };
        // the line by itself first: in the file another may be changed before it
        let alone = [line, b"\n"].concat();
        let Some(after) = self.bench.run(&script, &self.switches, &[&alone, &own.content]) else { return false };
        after[0] != alone || first_change(&own.content, &after[1]).is_some_and(|(first, _)| first == number)
    }
}
