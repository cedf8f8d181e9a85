//! Commands that changed something, in files that are as before: did they undo each other? Leaving them out tells. What
//! takes lines apart and puts them together again (`$!N;P;D`, `H;$!d;x`) undoes nothing: without it the file would be
//! another.

use super::bench::Bench;
use super::leave_out::output;
use super::script::Script;

/// Which of the commands undid each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undone {
    By(Vec<usize>),
    Untold,
}

/// `live`: the commands that did something in `targets`, which the call left as they were.
pub(super) fn undone(bench: &Bench, script: &Script, live: &[usize], targets: &[usize]) -> Undone {
    let without = |left_out: &[usize]| {
        let gone: Vec<bool> = (0..script.commands.len()).map(|index| left_out.contains(&index)).collect();
        output(bench, script, &gone, targets)?.ok()
    };
    let prints = |index: &&usize| b"pPdqQ".contains(&script.commands[**index].name);
    let edits: Vec<usize> = live.iter().copied().filter(|index| !prints(&index)).collect();
    // the same ones would give the same answer
    let others: &[usize] = if edits.len() < live.len() { &edits } else { &[] };
    let Some(whole) = without(&[]) else { return Undone::Untold };
    for candidates in [live, others] {
        if candidates.is_empty() {
            continue;
        }
        match without(candidates) {
            Some(rest) if rest == whole => return Undone::By(candidates.to_vec()),
            Some(_) => {}
            None => return Undone::Untold,
        }
    }
    Undone::By(Vec::new())
}
