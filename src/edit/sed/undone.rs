//! Commands that changed something, in files that are as before: did they undo each other? Leaving them out tells. What
//! takes lines apart and puts them together again (`$!N;P;D`, `H;$!d;x`) undoes nothing: without it the file would be
//! another.

use super::bench::Bench;
use super::leave_out::output;
use super::script::Script;

/// Which of the commands undid each other; none where it can't be told. `live`: those that did something in `targets`, which
/// the call left as they were.
pub(super) fn undone(bench: &Bench, script: &Script, live: &[usize], targets: &[usize]) -> Option<Vec<usize>> {
    let without = |left_out: &[usize]| {
        let gone: Vec<bool> = (0..script.commands.len()).map(|index| left_out.contains(&index)).collect();
        output(bench, script, &gone, targets)?.ok()
    };
    let prints = |index: &&usize| b"pPdqQ".contains(&script.commands[**index].name);
    let edits: Vec<usize> = live.iter().copied().filter(|index| !prints(&index)).collect();
    // the same ones would give the same answer
    let others: &[usize] = if edits.len() < live.len() { &edits } else { &[] };
    let whole = without(&[])?;
    for candidates in [live, others].into_iter().filter(|candidates| !candidates.is_empty()) {
        if without(candidates)? == whole {
            return Some(candidates.to_vec());
        }
    }
    Some(Vec::new())
}
