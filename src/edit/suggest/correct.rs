//! Corrections of a call: another path, an option in its place.

use std::path::{Component, Path, PathBuf};

use super::call::CallPlan;
use super::range::{self, Change};
use super::shell::{Quote, quoted};

/// Where a call ran and what it is to edit; both absolute.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    pub cwd: &'a Path,
    pub to: &'a Path,
}

impl CallPlan {
    /// The argument `argument` made to name another file.
    pub fn path(&self, argument: usize, to: &Move) -> Option<Change> {
        let (old, word) = self.argument(argument)?;
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

    /// An option behind the tool's name.
    pub fn option(&self, option: &str) -> Option<Change> {
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
}

/// `to` as seen from `from`.
pub fn relative(to: &Path, from: &Path) -> PathBuf {
    let (to, from): (Vec<Component>, Vec<Component>) = (to.components().collect(), from.components().collect());
    let same = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - same);
    up.chain(to[same..].iter().copied()).collect()
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
}
