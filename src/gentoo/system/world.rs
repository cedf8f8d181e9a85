//! What the machine wants installed: world, the sets it names, the profile's `packages`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::text::Line;
use super::atom::Allowed;
use super::lines::Reader;
use super::model::WorldAtom;
use super::node::Node;
use super::problem::Problems;

/// The sets that are all or part of world anyway.
const WITHIN_WORLD: [&str; 6] = ["profile", "selected", "selected-packages", "selected-sets", "system", "world"];

/// Reads var/lib/portage/world and world_sets below `root`, and the sets of etc/portage/sets.
pub(super) fn read(root: &Path, problems: &Problems) -> Vec<WorldAtom> {
    // wildcards can't be installed
    let reader = Reader { allowed: Allowed { wildcards: false, ..Allowed::USER }, ..Reader::user(problems) };
    let mut sets = Sets { root, reader, out: Vec::new(), seen: BTreeSet::new() };
    sets.file(&root.join("var/lib/portage/world"));
    sets.file(&root.join("var/lib/portage/world_sets"));
    sets.out
}

struct Sets<'a> {
    root: &'a Path,
    reader: Reader<'a>,
    out: Vec<WorldAtom>,
    /// The sets that have been read.
    seen: BTreeSet<String>,
}

impl Sets<'_> {
    fn file(&mut self, path: &Path) {
        self.lines(self.reader.lines(path));
    }

    /// Takes lines, and those of a set in the place of the line that names it.
    fn lines(&mut self, lines: Vec<Line>) {
        // no recursion: a chain of sets may be as long as it likes
        let mut open = vec![lines.into_iter()];
        while let Some(top) = open.last_mut() {
            match top.next() {
                Some(line) => open.extend(self.line(&line).map(|file| self.reader.lines(&file).into_iter())),
                None => drop(open.pop()),
            }
        }
    }

    /// Takes an atom, or gives the file of the set that the line names.
    fn line(&mut self, line: &Line) -> Option<PathBuf> {
        let word = line.text.split(' ').next().unwrap_or_default();
        let Some(set) = word.strip_prefix('@') else {
            if self.reader.atom(line, word).is_some() {
                let path = line.path.strip_prefix(self.root).unwrap_or(&line.path);
                let origin = format!("{}:{}", path.display(), line.number);
                self.out.push(WorldAtom { atom: word.to_owned(), origin });
            }
            return None;
        };
        if WITHIN_WORLD.contains(&set) || !self.seen.insert(set.to_owned()) {
            return None;
        }
        let file = self.root.join("etc/portage/sets").join(set);
        let within = !set.split('/').any(|part| part.is_empty() || part.starts_with('.'));
        if within && file.is_file() {
            return Some(file);
        }
        let message = format!("@{set} is no file of etc/portage/sets; its packages are not counted as wanted");
        self.reader.problems.line(line, message);
        None
    }
}

/// @system: the lines of `packages` with a star. @profile: those without, of directories with the format profile-set.
pub(super) fn of_profile(nodes: &[Node]) -> Vec<WorldAtom> {
    let system = stacked(nodes.iter()).into_iter().filter_map(|line| Some(("@system", line.strip_prefix('*')?)));
    let profile = stacked(nodes.iter().filter(|node| node.profile_set)).into_iter();
    let profile = profile.filter(|line| !line.starts_with('*')).map(|line| ("@profile", line));
    let both = system.chain(profile);
    both.map(|(origin, atom)| WorldAtom { atom: atom.to_owned(), origin: origin.to_owned() }).collect()
}

fn stacked<'a>(nodes: impl Iterator<Item = &'a Node>) -> Vec<&'a str> {
    let mut out: Vec<&str> = Vec::new();
    for line in nodes.flat_map(|node| &node.packages) {
        match line.strip_prefix('-') {
            Some("*") => out.clear(),
            Some(text) => out.retain(|known| *known != text),
            None if out.contains(&line.as_str()) => {}
            None => out.push(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn sets_may_name_sets_however_deep() {
        let dir = tempfile::tempdir().unwrap();
        let sets = dir.path().join("etc/portage/sets");
        fs::create_dir_all(&sets).unwrap();
        fs::create_dir_all(dir.path().join("var/lib/portage")).unwrap();
        fs::write(dir.path().join("var/lib/portage/world_sets"), "@s0\n").unwrap();
        let last = 5_000;
        for number in 0..=last {
            fs::write(sets.join(format!("s{number}")), format!("a/x{number}\n@s{}\na/y{number}\n", number + 1))
                .unwrap();
        }
        let problems = Problems::default();
        let root = dir.path().to_owned();
        // a small stack: a call for each set would not fit
        let thread = std::thread::Builder::new().stack_size(128 << 10);
        let (world, problems) = thread.spawn(move || (read(&root, &problems), problems.all())).unwrap().join().unwrap();
        assert_eq!(world.len(), 2 * (last + 1));
        assert_eq!((world[1].atom.as_str(), world[last + 1].atom.as_str()), ("a/x1", &*format!("a/y{last}")));
        assert_eq!(world.last().unwrap().origin, "etc/portage/sets/s0:3");
        assert!(problems.len() == 1 && problems[0].message.starts_with("@s5001 is no file"), "{problems:?}");
    }
}
