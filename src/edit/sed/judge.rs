//! The verdict on every command of a call in every file, found by running a [probe](super::probe) of the script on
//! the files as they were.

use std::collections::BTreeMap;

use super::bench::{self, Bench};
use super::call::{Call, Target};
use super::leave_out;
use super::never;
use super::probe::Owner;
use super::quick;
use super::run::{Limits, Sed};
use super::script::*;
use super::tally::Tallies;
use super::undone;
use crate::report::model::Verdict;

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallJudgement {
    /// One for every command of the script; none where it can't be cut.
    pub commands: Vec<CommandJudgement>,
    /// One for every target of the call.
    pub targets: Vec<Verdict>,
    /// Why everything is [`Verdict::Unknown`].
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandJudgement {
    pub index: usize,
    /// The command as it stands in the script, with its own address.
    pub text: Vec<u8>,
    pub verdict: Verdict,
    /// Why it is unknown, or another word on the verdict.
    pub reason: Option<String>,
    /// In the order of the call's targets.
    pub targets: Vec<Verdict>,
    /// The targets in which its range, or that of a block around it, ran to the end for want of its last line, and
    /// in which it changed something there.
    pub unclosed: Vec<usize>,
    /// It can't change anything, whatever the file.
    pub never: bool,
    /// It is dead, and would have matched had sed known `-E` or `-z` when it compiled it.
    pub option_order: bool,
}

/// Judges `call` with the default [`Limits`] for each run of sed.
pub fn judge(call: &Call, sed: &Sed) -> CallJudgement {
    judge_within(call, sed, Limits::default())
}

pub fn judge_within(call: &Call, sed: &Sed, limits: Limits) -> CallJudgement {
    let unknown = |reason: String| CallJudgement {
        commands: Vec::new(),
        targets: vec![Verdict::Unknown; call.targets.len()],
        reason: Some(reason),
    };
    let script = match Script::cut(call.invocation, &call.script_files, call.environment.locale()) {
        Ok(script) => script,
        Err(error) => return unknown(format!("sed refuses the script: {error}")),
    };
    if quick::nothing_matches(call, &script) {
        let targets = vec![Verdict::Dead; call.targets.len()];
        let dead = |command| CommandJudgement { targets: targets.clone(), ..blank(&script, command) };
        return CallJudgement { commands: script.commands.iter().map(dead).collect(), targets, reason: None };
    }
    let bench = match Bench::new(call, &script, sed, limits) {
        Ok(bench) => bench,
        Err(error) => return unknown(format!("the files of the call can't be laid out: {error}")),
    };
    match bench.probe(&script) {
        Ok(tallies) => Judge { call, script: &script, bench: &bench, tallies }.commands(),
        Err(reason) => {
            let mut judgement = unknown(reason);
            judgement.commands = script
                .commands
                .iter()
                .map(|command| CommandJudgement {
                    verdict: Verdict::Unknown,
                    reason: judgement.reason.clone(),
                    targets: judgement.targets.clone(),
                    ..blank(&script, command)
                })
                .collect();
            judgement
        }
    }
}

fn blank(script: &Script, command: &ScriptCommand) -> CommandJudgement {
    CommandJudgement {
        index: command.index,
        text: script.source(&command.span).to_vec(),
        verdict: Verdict::Dead,
        reason: None,
        targets: Vec::new(),
        unclosed: Vec::new(),
        never: never::never(script, command.index),
        option_order: false,
    }
}

struct Judge<'a> {
    call: &'a Call<'a>,
    script: &'a Script,
    bench: &'a Bench<'a>,
    tallies: Tallies<'a>,
}

const NOT_RUN: &str = "the script runs a command (e), which a replay does not";

impl Judge<'_> {
    fn commands(&self) -> CallJudgement {
        let mut commands: Vec<CommandJudgement> = self
            .script
            .commands
            .iter()
            .map(|command| {
                let mut judgement = blank(self.script, command);
                for target in 0..self.call.targets.len() {
                    let (verdict, reason) = self.verdict(command, target);
                    judgement.targets.push(verdict);
                    judgement.reason = judgement.reason.or(reason);
                }
                judgement
            })
            .collect();
        let unchanged: Vec<usize> =
            (0..self.call.targets.len()).filter(|target| self.settle(&mut commands, *target)).collect();
        self.undone(&mut commands, &unchanged);
        for command in &mut commands {
            command.verdict = union(&command.targets).unwrap_or(match self.kind(command.index) {
                Kind::Fixed(verdict) => verdict,
                Kind::Asks => Verdict::Control,
                _ => Verdict::Dead,
            });
        }
        leave_out::find_steering(self.bench, self.script, &mut commands);
        self.unclosed(&mut commands);
        self.option_order(&mut commands);
        let targets = (0..self.call.targets.len()).map(|target| self.target(&commands, target)).collect();
        CallJudgement { commands, targets, reason: None }
    }

    fn kind(&self, index: usize) -> Kind {
        let command = &self.script.commands[index];
        match (command.name, &command.detail) {
            (b'b' | b't' | b'T' | b'n' | b'N' | b'D' | b'h' | b'H' | b'g' | b'G' | b'x' | b'v', _) => {
                Kind::Fixed(Verdict::Control)
            }
            (b'p' | b'P', _) if self.bench.quiet => Kind::Fixed(Verdict::Control),
            (b'a' | b'i', Detail::Text(text)) if text.is_empty() => Kind::Fixed(Verdict::Guard),
            _ if command.status().is_some() => Kind::Asks,
            (b'r' | b'R', _) => Kind::Reads,
            (b'w' | b'W', _) => Kind::Writes,
            (b'e', _) => Kind::Executes,
            (_, Detail::Substitute(substitute)) if substitute.evaluate => Kind::Executes,
            (_, Detail::Substitute(substitute)) if substitute.print => Kind::Prints,
            _ => Kind::Edits,
        }
    }

    fn verdict(&self, command: &ScriptCommand, target: usize) -> (Verdict, Option<String>) {
        if self.call.targets[target].before.is_missing() {
            return (Verdict::PathGone, None);
        }
        let tally = self.tallies.of(command.index, target);
        let kind = self.kind(command.index);
        if let Kind::Fixed(verdict) = kind {
            return (verdict, None);
        }
        if command.name == b'L' {
            return (Verdict::Unknown, Some("sed no longer knows the command L".to_string()));
        }
        let executed = kind == Kind::Executes && tally.matched;
        if executed || (self.tallies.is_tainted(target) && !tally.changed) {
            return (Verdict::Unknown, Some(NOT_RUN.to_string()));
        }
        if self.adds_newline(command, target) {
            return (Verdict::Live, Some("it adds the newline that the last line lacks".to_string()));
        }
        match kind {
            // Q does not even print the line at hand
            _ if command.name == b'Q' && tally.ran && !self.bench.quiet => (Verdict::Live, None),
            // it keeps sed from the files behind
            _ if matches!(command.name, b'q' | b'Q') && tally.ran && !tally.changed && self.is_followed(target) => {
                (Verdict::Control, None)
            }
            Kind::Reads if tally.ran => self.read(command),
            Kind::Writes if tally.ran => (Verdict::Live, Some("it writes another file".to_string())),
            _ if tally.changed => (Verdict::Live, None),
            // its status answers a question, whether it ran or not
            Kind::Asks => (Verdict::Control, None),
            Kind::Prints if tally.matched && self.bench.quiet => (Verdict::Control, None),
            Kind::Prints if tally.matched => (Verdict::Live, None),
            _ if tally.matched => (Verdict::Identity, None),
            _ => (Verdict::Dead, None),
        }
    }

    /// `c`, `r`, `R` and `q` on a last line without its newline write that at least; the latter three where the
    /// line is printed.
    fn adds_newline(&self, command: &ScriptCommand, target: usize) -> bool {
        let Target { before, changed } = &self.call.targets[target];
        let prints = |command: &ScriptCommand| match &command.detail {
            Detail::Substitute(substitute) => substitute.print,
            _ => matches!(command.name, b'p' | b'P'),
        };
        let printed = !self.bench.quiet || self.script.commands.iter().any(prints);
        (command.name == b'c' || (printed && matches!(command.name, b'r' | b'R' | b'q')))
            && self.tallies.of(command.index, target).late
            && *changed != Some(false)
            && before.is_cut_off(bench::delimiter(self.call))
    }

    /// Is there another input file behind?
    fn is_followed(&self, target: usize) -> bool {
        self.call.targets[target + 1..].iter().any(|target| !target.before.is_missing())
    }

    fn read(&self, command: &ScriptCommand) -> (Verdict, Option<String>) {
        let Detail::File(name) = &command.detail else {
            return (Verdict::Unknown, None);
        };
        match self.call.read_files.get(name) {
            Some(Some(content)) if content.is_empty() => (Verdict::Identity, None),
            Some(Some(_)) => (Verdict::Live, None),
            Some(None) => (Verdict::Dead, Some("the file that it reads is not there".to_string())),
            None => (Verdict::Unknown, Some("what the file that it reads held is not known".to_string())),
        }
    }

    /// The commands that have this verdict on what becomes of a target.
    fn edits(&self, commands: &[CommandJudgement], target: usize, verdict: Verdict) -> Vec<usize> {
        let found = commands.iter().filter(|c| c.targets[target] == verdict).map(|c| c.index);
        found.filter(|&index| self.kind(index) != Kind::Writes).collect()
    }

    /// Heeds what the call left of a target as a whole. Whether its commands changed something, and the call nothing.
    fn settle(&self, commands: &mut [CommandJudgement], target: usize) -> bool {
        let Target { before, changed } = &self.call.targets[target];
        let Some(changed) = changed.filter(|_| !before.is_missing()) else {
            return false;
        };
        let live = self.edits(commands, target, Verdict::Live);
        let unknown = self.edits(commands, target, Verdict::Unknown);
        if changed {
            let steered = self.bench.quiet || commands.iter().any(|c| is_fixed(self.kind(c.index)));
            match (live.as_slice(), unknown.as_slice()) {
                ([], [only]) if !steered => {
                    commands[*only].targets[target] = Verdict::Live;
                    commands[*only].reason = None;
                }
                ([], []) if !steered => {
                    for command in commands.iter_mut().filter(|c| self.kind(c.index) != Kind::Writes) {
                        command.targets[target] = Verdict::Unknown;
                        command.reason = Some("the replay does not show what the call changed".to_string());
                    }
                }
                _ => {}
            }
            return false;
        }
        if self.failed() {
            for index in live {
                commands[index].targets[target] = Verdict::Unknown;
                commands[index].reason = Some("sed failed before it wrote the file".to_string());
            }
            return false;
        }
        match live.as_slice() {
            [only] if self.script.commands[*only].name == b'c' => {
                commands[*only].targets[target] = Verdict::Identity;
                false
            }
            _ => !live.is_empty(),
        }
    }

    /// Tells what undid itself from what only took lines apart and put them together again. Files in which the same
    /// commands did something are tried as one.
    fn undone(&self, commands: &mut [CommandJudgement], unchanged: &[usize]) {
        let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
        for &target in unchanged {
            groups.entry(self.edits(commands, target, Verdict::Live)).or_default().push(target);
        }
        for (live, targets) in groups {
            let undone = undone::undone(self.bench, self.script, &live, &targets);
            for &index in &live {
                let verdict = match &undone {
                    Some(found) if found.contains(&index) => Verdict::NetZero,
                    Some(_) => Verdict::Control,
                    None => Verdict::Unknown,
                };
                targets.iter().for_each(|&target| commands[index].targets[target] = verdict);
                if verdict == Verdict::Unknown {
                    commands[index].reason = Some("whether another command undid it could not be tried".to_string());
                }
            }
        }
    }

    /// Did sed give up? 1: a bad script; 4: it could not read or write. A script may choose these itself by `q`.
    fn failed(&self) -> bool {
        let chosen = |status: i32| self.script.commands.iter().any(|c| c.status() == Some(status as u64));
        matches!(self.call.exit, Some(status @ (1 | 4)) if !chosen(status))
    }

    fn target(&self, commands: &[CommandJudgement], target: usize) -> Verdict {
        if self.call.targets[target].before.is_missing() {
            return Verdict::PathGone;
        }
        if self.call.targets[target].changed == Some(true) {
            return Verdict::Live;
        }
        let edits = commands.iter().filter(|c| self.kind(c.index) != Kind::Writes).map(|c| c.targets[target]);
        let (steering, edits): (Vec<Verdict>, Vec<Verdict>) =
            edits.partition(|verdict| matches!(verdict, Verdict::Control | Verdict::Guard));
        let asks = || commands.iter().any(|c| self.kind(c.index) == Kind::Asks);
        match union(&edits) {
            Some(verdict) => verdict,
            None if steering.contains(&Verdict::Guard) || asks() => Verdict::Guard,
            // whether it changes anything only its result can tell
            None if !steering.is_empty() && self.call.targets[target].changed.is_none() => Verdict::Unknown,
            None => Verdict::Dead,
        }
    }

    fn unclosed(&self, commands: &mut [CommandJudgement]) {
        for unclosed in self.tallies.unclosed() {
            let within = match unclosed.owner {
                Owner::Command(index) => index..index + 1,
                Owner::Block(index) => self.script.blocks[index].commands.clone(),
            };
            let live = commands[within].iter_mut().find(|c| c.targets[unclosed.target] == Verdict::Live);
            if let Some(command) = live.filter(|c| !c.unclosed.contains(&unclosed.target)) {
                command.unclosed.push(unclosed.target);
            }
        }
    }

    fn option_order(&self, commands: &mut [CommandJudgement]) {
        let last = self.call.invocation.flags;
        let late = |index: usize| self.script.pieces[self.script.commands[index].piece].flags != last;
        if !commands.iter().any(|c| c.verdict == Verdict::Dead && late(c.index)) {
            return;
        }
        let mut early = self.script.clone();
        for piece in &mut early.pieces {
            piece.flags = last;
        }
        let Ok(tallies) = self.bench.probe(&early) else {
            return;
        };
        for command in commands.iter_mut().filter(|c| c.verdict == Verdict::Dead) {
            let matched = (0..self.call.targets.len()).any(|target| tallies.of(command.index, target).matched);
            command.option_order = matched && late(command.index);
        }
    }
}

/// How a command is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// By what it is.
    Fixed(Verdict),
    Edits,
    /// `s` with the flag `p`: what matches is printed, which is an effect even where nothing changed.
    Prints,
    /// `q` and `Q` with a status of their own.
    Asks,
    Reads,
    Writes,
    Executes,
}

fn is_fixed(kind: Kind) -> bool {
    matches!(kind, Kind::Fixed(_))
}

/// The verdict over several files; None where none of them is there.
fn union(verdicts: &[Verdict]) -> Option<Verdict> {
    use Verdict::*;
    [Live, Unknown, NetZero, Control, Identity, Dead, Guard, PathGone]
        .into_iter()
        .find(|verdict| verdicts.contains(verdict))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
