//! Reading configuration files: what can't be used becomes a problem, the rest is taken.

use std::path::Path;

use super::super::text::{self, Line};
use super::super::varfile::{self, Variables};
use super::atom::{Allowed, ConfigAtom};
use super::problem::Problems;
use super::table::AtomTable;

/// Reads files for one kind of place: the user's, or a profile's with its EAPI.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub problems: &'a Problems,
    pub allowed: Allowed,
    /// Whether a directory may stand in the place of a file (PMS 5.2.1, `profile-formats` of layout.conf).
    pub directories: bool,
}

impl<'a> Reader<'a> {
    /// The reader of the user's own files.
    pub fn user(problems: &'a Problems) -> Reader<'a> {
        Reader { problems, allowed: Allowed::USER, directories: true }
    }

    /// The lines of a file or, where that is allowed, of all files below a directory.
    pub fn lines(&self, path: &Path) -> Vec<Line> {
        if !self.directories && path.is_dir() {
            self.problems.add(path, None, "is a directory, which this repository's profile-formats do not allow");
            return Vec::new();
        }
        text::lines_sound(path, &mut |error| self.problems.unreadable(&error))
    }

    /// The atom that a line begins with.
    pub fn atom(&self, line: &Line, word: &str) -> Option<ConfigAtom> {
        let atom = ConfigAtom::parse(word, self.allowed);
        if atom.is_none() {
            let word = crate::escape::show(word.as_bytes());
            self.problems.line(line, format!("`{word}` is no atom that may stand here; mend or remove the line"));
        }
        atom
    }

    /// A line with nothing behind its atom, where that says nothing: Portage takes it without a word.
    pub fn says_nothing(&self, line: &Line, what: &str) {
        let atom = crate::escape::show(line.text.split(' ').next().unwrap_or_default().as_bytes());
        let message = format!("`{atom}` alone changes nothing here; write a {what} behind it, or remove the line");
        self.problems.line(line, message);
    }

    /// A file of `atom word …` lines. `word`: what has to stand behind an atom, if that alone says nothing.
    pub fn table(&self, path: &Path, word: Option<&str>) -> AtomTable<Vec<String>> {
        let mut table: AtomTable<Vec<String>> = AtomTable::default();
        for line in self.lines(path) {
            let mut words = line.text.split(' ');
            let Some(atom) = self.atom(&line, words.next().unwrap_or_default()) else { continue };
            let words: Vec<String> = words.map(str::to_owned).collect();
            if let (true, Some(word)) = (words.is_empty(), word) {
                self.says_nothing(&line, word);
            }
            table.entry(atom).extend(words);
        }
        table
    }

    /// A file of variables; what can't be read ends it.
    pub fn variables(&self, path: &Path, known: &mut Variables, sourcing: bool) -> Variables {
        if !self.directories && path.is_dir() {
            self.problems.add(path, None, "is a directory, which this repository's profile-formats do not allow");
            return Variables::new();
        }
        varfile::read_sound(path, known, sourcing, &mut |error| self.problems.variables(&error))
    }
}
