//! Searching the tree for files that a command would change: a literal first, then the real sed on what is left.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memchr::memmem;

use super::shelf::Shelf;
use crate::tree::is_binary;

/// Bytes; larger files are not tried.
const LARGE: usize = 4 << 20;
/// Wall time of one search.
const TIME: Duration = Duration::from_millis(1500);
/// Files that are enough for an answer.
const ENOUGH: usize = 12;
/// Files that one sed is given.
const BATCH: usize = 64;

/// The first line (from 1) of each content on which a script has an effect; none where it is refused.
pub type Run<'a> = dyn Fn(&[&[u8]]) -> Option<Vec<Option<u32>>> + 'a;

/// What is looked for.
pub struct Query<'a> {
    pub run: &'a Run<'a>,
    /// Texts that a file must hold for the script to do anything.
    pub literals: &'a [Vec<u8>],
    pub ignore_case: bool,
    /// Relative to WORKDIR; left out, and the measure of what is near.
    pub own: &'a [PathBuf],
    pub moment: u64,
    /// Only files with one of these base names.
    pub named: Option<&'a [PathBuf]>,
    /// The files of the call itself count, too, and one is enough.
    pub anywhere: bool,
}

/// A file that the script would change, with the first line that it would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub path: PathBuf,
    /// From 1.
    pub line: u32,
    pub text: Vec<u8>,
    /// How near its name is to that of the file that was meant: the same, the same suffix, another.
    pub rank: u8,
}

/// What a search came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The nearest first.
    pub hits: Vec<Hit>,
    pub unseen: Unseen,
}

/// What a search did not look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Candidates that were not tried any more when the time was over.
    untried: usize,
    large: usize,
    /// Binary files that hold the literals.
    binary: usize,
}

impl Unseen {
    /// Whether there was no time for all candidates.
    pub fn ended_early(&self) -> bool {
        self.untried > 0
    }

    /// In one sentence; none where everything was seen.
    pub fn sentence(&self) -> Option<String> {
        let files = |n: usize, what: &str, rest: &str| match n {
            1 => format!("1 {what} was {rest}"),
            n => format!("{n} {} were {rest}", what.replacen("file", "files", 1)),
        };
        let mut parts = Vec::new();
        if self.untried > 0 {
            let untried = files(self.untried, "file that may hold its text", "tried");
            parts.push(format!("the search ended before {untried}"));
        }
        if self.large > 0 {
            parts.push(files(self.large, "file too large for it", "not searched"));
        }
        if self.binary > 0 {
            parts.push(files(self.binary, "binary file with its text", "not tried"));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The files that `query` would change, and what was not looked at.
pub fn search(shelf: &Shelf, query: &Query) -> Found {
    let began = Instant::now();
    let mut found = Found { unseen: Unseen { large: shelf.skipped, ..Unseen::default() }, ..Found::default() };
    let finders: Vec<memmem::Finder> = query.literals.iter().map(memmem::Finder::new).collect();
    let holds = |data: &[u8]| {
        if query.ignore_case {
            let lower = data.to_ascii_lowercase();
            query.literals.iter().all(|l| memmem::find(&lower, &l.to_ascii_lowercase()).is_some())
        } else {
            finders.iter().all(|f| f.find(data).is_some())
        }
    };
    let mut candidates: Vec<(u8, &Path, &[u8])> = Vec::new();
    for (path, data) in shelf.at(query.moment) {
        let named = query.named.is_none_or(|n| n.iter().any(|n| n.file_name() == path.file_name()));
        if data.is_empty() || !named || !query.anywhere && query.own.iter().any(|o| o == path) {
            continue;
        }
        if data.len() > LARGE {
            found.unseen.large += 1;
        } else if holds(data) && (counts(path) || query.own.iter().any(|o| !counts(o))) {
            if is_binary(data) {
                found.unseen.binary += usize::from(!query.literals.is_empty());
            } else {
                candidates.push((rank(path, query.own), path, data));
            }
        }
    }
    candidates.sort_by_key(|(rank, path, _)| (*rank, path.components().count(), path.to_path_buf()));
    let mut left = candidates.len();
    for batch in candidates.chunks(BATCH) {
        if found.hits.len() >= if query.anywhere { 1 } else { ENOUGH } {
            break;
        }
        if began.elapsed() > TIME {
            found.unseen.untried = left;
            break;
        }
        left -= batch.len();
        let contents: Vec<&[u8]> = batch.iter().map(|c| c.2).collect();
        let Some(lines) = (query.run)(&contents) else { continue };
        for ((rank, path, data), line) in batch.iter().zip(lines) {
            if let Some(line) = line {
                found.hits.push(Hit { path: path.to_path_buf(), line, text: text_of(data, line), rank: *rank });
            }
        }
    }
    found.hits.sort_by_key(|h| h.rank);
    found
}

/// The number of the first line of `old` that `new` has otherwise. What is added behind the end counts for the last.
pub fn first_change(old: &[u8], new: &[u8]) -> Option<u32> {
    if old == new {
        return None;
    }
    let mut news = new.split(|b| *b == b'\n');
    let same = old.split(|b| *b == b'\n').take_while(|line| news.next() == Some(*line)).count();
    let lines = old.split(|b| *b == b'\n').count() - usize::from(old.ends_with(b"\n"));
    Some((same + 1).min(lines) as u32)
}

/// [`first_change`] of each content.
pub fn changes(old: &[&[u8]], new: &[Vec<u8>]) -> Vec<Option<u32>> {
    old.iter().zip(new).map(|(old, new)| first_change(old, new)).collect()
}

/// The text of a line (from 1).
pub fn text_of(content: &[u8], line: u32) -> Vec<u8> {
    content.split(|b| *b == b'\n').nth((line as usize).saturating_sub(1)).unwrap_or_default().to_vec()
}

fn rank(path: &Path, own: &[PathBuf]) -> u8 {
    if own.iter().any(|o| o.file_name() == path.file_name()) {
        0
    } else if own.iter().any(|o| o.extension().is_some() && o.extension() == path.extension()) {
        1
    } else {
        2
    }
}

/// Whether a file is more than a text about the program.
pub fn counts(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    const NAMES: &[&str] = &[
        "copying",
        "news",
        "readme",
        "changelog",
        "changes",
        "authors",
        "license",
        "licence",
        "hacking",
        "todo",
        "thanks",
        "history",
        "contributing",
        "release",
        "maintainers",
        "credits",
        "notice",
        "faq",
    ];
    const SUFFIXES: &[&str] = &["md", "rst", "html", "texi", "texinfo", "tex", "pod", "adoc", "asciidoc", "svg", "pdf"];
    let stem = name.split(['.', '-', '_']).next().unwrap_or_default();
    let suffix = name.rsplit('.').next().unwrap_or_default();
    let in_docs = path.parent().is_some_and(|p| {
        p.components().any(|c| {
            let part = c.as_os_str().to_string_lossy().to_ascii_lowercase();
            matches!(part.as_str(), "doc" | "docs" | "documentation" | "man" | "changelogs" | "changelog.d")
        })
    });
    if of_others(&name) || path.components().any(|c| in_others(&c.as_os_str().to_string_lossy())) {
        return false;
    }
    // a build description of the documentation is one
    let builds = name == "cmakelists.txt" || name.starts_with("makefile") || name == "meson.build" || name == "conf.py";
    builds || !(in_docs || NAMES.contains(&stem) || SUFFIXES.contains(&suffix))
}

/// Files that build the program elsewhere, or that are made from it.
fn of_others(name: &str) -> bool {
    const NAMES: &[&str] = &["appveyor.yml", "azure-pipelines.yml", "pkg-info", "install", "install.txt"];
    NAMES.contains(&name) || name.starts_with("dockerfile") || name.ends_with(".lsm")
}

/// Folders and files that such files lie in.
fn in_others(part: &str) -> bool {
    const BEGINNINGS: &[&str] = &[".github", ".gitlab", ".circleci", ".travis", ".cirrus", ".drone"];
    let ends = [".egg-info", ".dist-info"].iter().any(|end| part.ends_with(end));
    ends || BEGINNINGS.iter().any(|beginning| part.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_about_the_program_do_not_count() {
        for name in
            ["README.md", "COPYING", "a/docs/x.c", "NEWS.2020", "ChangeLog-1", "PKG-INFO", "x.egg-info/requires.txt"]
        {
            assert!(!counts(Path::new(name)), "{name}");
        }
        for name in ["CMakeLists.txt", "docs/CMakeLists.txt", "install.sh.in", "src/a.c", "doc/Makefile.am"] {
            assert!(counts(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn what_was_not_looked_at_is_said() {
        let said = |untried, large, binary| Unseen { untried, large, binary }.sentence();
        assert_eq!(said(0, 0, 0), None);
        assert_eq!(said(0, 1, 0).as_deref(), Some("1 file too large for it was not searched"));
        assert_eq!(
            said(64, 2, 1).as_deref(),
            Some(
                "the search ended before 64 files that may hold its text were tried, \
                 2 files too large for it were not searched, 1 binary file with its text was not tried"
            )
        );
    }

    #[test]
    fn the_first_changed_line_is_told() {
        assert_eq!(first_change(b"a\nb\n", b"a\nc\n"), Some(2));
        assert_eq!(first_change(b"a\n", b"a\n"), None);
        assert_eq!(first_change(b"a\n", b"a\nb\n"), Some(1), "no line stands behind the last one");
        assert_eq!(first_change(b"a", b"a\nb"), Some(1));
        assert_eq!(text_of(b"a\nb\n", 2), b"b");
    }
}
