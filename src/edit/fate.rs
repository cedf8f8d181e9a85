//! What became of a live edit by the end of the phase: did a later step undo or replace all of it?

use std::collections::BTreeSet;

use crate::phase::trace::{Record, TargetRecord};

/// A call that named the file after the edit in question.
pub struct Later<'a> {
    pub record: &'a Record,
    pub target: &'a TargetRecord,
    /// Whether it edits in place; it only reads otherwise.
    pub edits: bool,
}

/// What a later call makes of another input: the file, or its output where it only reads.
pub type Replay<'a> = dyn Fn(&Later, &[u8]) -> Option<Vec<u8>> + 'a;

/// What the decision needs to know.
pub struct Known<'a> {
    /// Contents by md5, as far as they were kept.
    pub contents: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// Whether a file with this md5 lies elsewhere in the tree or in FILESDIR, so that it may have been copied.
    pub elsewhere: &'a dyn Fn(&str) -> bool,
    /// The output of a later call for another input; none where it can't be told.
    pub replay: &'a Replay<'a>,
}

/// Whether the edit from `before` to `after` (md5s) is overwritten: without it the file would end as it does
/// (`end`), and nothing that it wrote is left. In doubt it is not.
pub fn overwritten(before: &str, after: &str, later: &[Later], end: Option<&str>, known: &Known) -> bool {
    let Some(end) = end else { return false };
    // the usual case first: nothing touched the file again
    if end == after {
        return false;
    }
    if end == before {
        // what printed something else for it has used it
        let used = |call: &Later| {
            let output = |md5: &str| (known.contents)(md5).and_then(|content| (known.replay)(call, &content));
            let outputs = call.target.before.md5().and_then(output).zip(output(before));
            !call.edits && outputs.is_some_and(|(with, without)| with != without)
        };
        return !later.iter().any(used);
    }
    // the file as it would be without the edit, followed through the later steps
    let (mut current, mut without, mut replaced) = (after.to_owned(), None, false);
    let step = |from: &str, to: &str, without: &mut Option<Vec<u8>>, replaced: &mut bool| -> bool {
        if from == to {
            return true;
        }
        if to != before && !(known.elsewhere)(to) {
            return false;
        }
        *without = (known.contents)(to);
        *replaced = true;
        without.is_some()
    };
    let Some(old) = (known.contents)(before) else { return false };
    without.get_or_insert(old.clone());
    for call in later {
        let (Some(from), Some(to)) = (call.target.before.md5(), call.target.after.md5()) else { return false };
        if !step(&current, from, &mut without, &mut replaced) {
            return false;
        }
        let Some(input) = without.take() else { return false };
        if from == to && !call.edits {
            // what only reads it is no step, unless it saw the edit
            let seen = (known.contents)(from).and_then(|actual| (known.replay)(call, &actual));
            if seen.is_none() || seen != (known.replay)(call, &input) {
                return false;
            }
            without = Some(input);
            to.clone_into(&mut current);
            continue;
        }
        without = if from == to && replaced { Some(input) } else { (known.replay)(call, &input) };
        if without.is_none() {
            return false;
        }
        to.clone_into(&mut current);
    }
    if !step(&current, end, &mut without, &mut replaced) {
        return false;
    }
    let (Some(without), Some(new), Some(last)) = (without, (known.contents)(after), (known.contents)(end)) else {
        return false;
    };
    without == last && nothing_left(&old, &new, &last, replaced)
}

/// Whether `last` has none of the lines that the edit wrote, and lines that it took away stand there again.
fn nothing_left(old: &[u8], new: &[u8], last: &[u8], replaced: bool) -> bool {
    if old == last {
        return true;
    }
    let set = |data: &[u8]| data.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect::<BTreeSet<_>>();
    let (old, new, last) = (set(old), set(new), set(last));
    let mut written = new.difference(&old).peekable();
    if written.peek().is_some() {
        return !written.any(|line| last.contains(line));
    }
    replaced || old.difference(&new).any(|line| last.contains(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(before: &str, after: &str, end: &str, elsewhere: &[&str]) -> bool {
        let known = Known {
            contents: &|name| Some(name.as_bytes().to_vec()),
            elsewhere: &|name| elsewhere.contains(&name),
            replay: &|_, _| None,
        };
        overwritten(before, after, &[], Some(end), &known)
    }

    #[test]
    fn an_edit_is_overwritten_only_where_nothing_of_it_is_left() {
        assert!(!judge("a\n", "b\n", "b\n", &[]), "it stands");
        assert!(judge("a\n", "b\n", "a\n", &[]), "put back");
        assert!(judge("a\n", "b\n", "c\n", &["c\n"]), "replaced by a copy");
        assert!(!judge("a\n", "b\n", "c\n", &[]), "something unknown came of it");
        assert!(!judge("a\n", "b\n", "b\nc\n", &["b\nc\n"]), "the copy has its line");
    }
}
