//! What the text of an ebuild should be instead: fixes as changes of the text.

mod align;
mod call;
mod comment;
pub mod correct;
pub mod layout;
pub mod pattern;
mod perl;
pub mod range;
mod script;
mod shell;
mod split;
pub mod steady;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub use call::{CallPlan, Ran};
use layout::{Cut, Layout};
use range::Change;

/// How a fix changes the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// A call goes, an index into [`Plans::calls`].
    Call(usize),
    /// Commands (indices into the edit's commands) go from a call.
    Commands(usize, BTreeSet<usize>),
    /// Something is put right.
    Correction(Vec<Change>),
}

/// The fixes of one ebuild's text, which may be applied together.
#[derive(Debug)]
pub struct Plans {
    pub layout: Layout,
    pub calls: Vec<CallPlan>,
    pub plans: Vec<Plan>,
    /// Whether a src_prepare of which only `default` is left may go.
    pub drop_prepare: bool,
}

/// The lines that changes touch, and their new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub line: u32,
    pub end_line: u32,
    pub text: String,
}

impl Plans {
    /// The changes of the chosen plans together, in order, and which of the plans they carry out: one that does not
    /// go with the others is left out.
    pub fn changes(&self, chosen: &[usize]) -> (Vec<Change>, Vec<usize>) {
        let (whole, Cut { mut changes, .. }, goes) = self.whole(chosen);
        let gone: Vec<usize> = whole.iter().zip(goes).filter(|(_, goes)| *goes).map(|(call, _)| *call).collect();
        let goes = |plan: &&usize| match &self.plans[**plan] {
            Plan::Call(call) | Plan::Commands(call, _) => gone.contains(call),
            Plan::Correction(_) => false,
        };
        let mut done: Vec<usize> = chosen.iter().filter(goes).copied().collect();
        let mut by_call: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for plan in chosen {
            if let Plan::Commands(call, _) = &self.plans[*plan]
                && !gone.contains(call)
            {
                by_call.entry(*call).or_default().push(*plan);
            }
        }
        for (call, plans) in by_call {
            let (mut set, mut best) = (BTreeSet::new(), None);
            for plan in plans {
                let Plan::Commands(_, commands) = &self.plans[plan] else { continue };
                let more: BTreeSet<usize> = set.union(commands).copied().collect();
                if let Some(new) = self.calls[call].without(&self.layout.text, &more) {
                    (set, best) = (more, Some(new));
                    done.push(plan);
                }
            }
            changes.extend(best.into_iter().flatten());
        }
        for plan in chosen {
            if let Plan::Correction(own) = &self.plans[*plan] {
                let mut with: Vec<Change> = changes.iter().chain(own).cloned().collect();
                if range::sort(&mut with) {
                    changes = with;
                    done.push(*plan);
                }
            }
        }
        if !range::sort(&mut changes) {
            return (Vec::new(), Vec::new());
        }
        done.sort_unstable();
        (changes, done)
    }

    /// The calls that the chosen plans want gone as a whole, what takes them away, and which of them go.
    fn whole(&self, chosen: &[usize]) -> (Vec<usize>, Cut, Vec<bool>) {
        let mut whole: BTreeSet<usize> = chosen.iter().filter_map(|p| self.call(*p)).collect();
        whole.extend(self.taken(chosen));
        let whole: Vec<usize> = whole.into_iter().collect();
        let spans: Vec<Range<usize>> = whole.iter().map(|c| self.calls[*c].span.clone()).collect();
        let (cut, goes) = self.layout.without(&spans, self.drop_prepare);
        (whole, cut, goes)
    }

    /// Where the comments begin that stood by what the chosen plans take away.
    pub fn comments(&self, chosen: &[usize]) -> Vec<usize> {
        self.whole(chosen).1.comments
    }

    /// The calls of which the chosen plans together take all commands.
    fn taken(&self, chosen: &[usize]) -> Vec<usize> {
        let mut by_call: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for plan in chosen {
            if let Some(Plan::Commands(call, commands)) = self.plans.get(*plan) {
                by_call.entry(*call).or_default().extend(commands);
            }
        }
        by_call.into_iter().filter(|(call, gone)| self.calls[*call].has_no_other(gone)).map(|(call, _)| call).collect()
    }

    fn call(&self, plan: usize) -> Option<usize> {
        match self.plans.get(plan)? {
            Plan::Call(call) => Some(*call),
            _ => None,
        }
    }

    /// What one plan does to the lines that it touches, at least `lines`. None where it can't be carried out, or
    /// where those lines have bytes that no text can show.
    pub fn replacement(&self, plan: usize, lines: (u32, u32)) -> Option<Replacement> {
        let text = &self.layout.text;
        let (changes, _) = self.changes(&[plan]);
        let (first, last) = (changes.first()?, changes.last()?);
        // the last byte that changes may be within a character
        let number = |at: usize| text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() as u32 + 1;
        let end = last.span.end.max(last.span.start + 1) - 1;
        let (line, end_line) = (number(first.span.start).min(lines.0), number(end.min(text.len())).max(lines.1));
        let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let start = starts.nth(line as usize - 1)?;
        let end = starts.nth((end_line - line) as usize).unwrap_or(text.len());
        let inner: Vec<Change> = changes
            .iter()
            .map(|c| Change { span: c.span.start - start..c.span.end - start, text: c.text.clone() })
            .collect();
        let old = &text[start..end];
        (!old.contains('\u{fffd}')).then(|| Replacement { line, end_line, text: range::applied(old, &inner) })
    }

    /// The ebuild's bytes with the chosen plans carried out, and which of them are. None where `bytes` are not those
    /// of the text, or nothing changes.
    pub fn apply(&self, bytes: &[u8], chosen: &[usize]) -> Option<(Vec<u8>, Vec<usize>)> {
        if String::from_utf8_lossy(bytes) != self.layout.text {
            return None;
        }
        let (changes, done) = self.tidied(chosen);
        (!changes.is_empty()).then(|| (range::applied_to_bytes(bytes, &changes), done))
    }

    /// The line on which what stands on `line` stands once the chosen plans are carried out.
    pub fn line_after(&self, chosen: &[usize], line: u32) -> u32 {
        let text = &self.layout.text;
        let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let start = starts.nth(line.saturating_sub(1) as usize).unwrap_or(text.len());
        let newlines = |text: &str| text.matches('\n').count() as i64;
        let before = |c: &&Change| c.span.end <= start;
        let moved = |c: &Change| newlines(&c.text) - newlines(&text[c.span.clone()]);
        let shift: i64 = self.tidied(chosen).0.iter().filter(before).map(moved).sum();
        u32::try_from(i64::from(line) + shift).unwrap_or(line)
    }

    /// The place of what begins at `at` once the chosen plans are carried out. None where they take it away.
    pub fn place_after(&self, chosen: &[usize], at: usize) -> Option<usize> {
        let changes = self.tidied(chosen).0;
        let before = || changes.iter().take_while(|change| change.span.start <= at);
        before().all(|change| change.span.end <= at).then(|| {
            let gone: usize = before().map(|change| change.span.len()).sum();
            at - gone + before().map(|change| change.text.len()).sum::<usize>()
        })
    }

    fn tidied(&self, chosen: &[usize]) -> (Vec<Change>, Vec<usize>) {
        let (mut changes, done) = self.changes(chosen);
        range::tidy(&self.layout.text, &mut changes);
        // what is tidied away may be two changes' own
        for at in 1..changes.len() {
            changes[at].span.start = changes[at].span.start.max(changes[at - 1].span.end);
            changes[at].span.end = changes[at].span.end.max(changes[at].span.start);
        }
        (changes, done)
    }
}
