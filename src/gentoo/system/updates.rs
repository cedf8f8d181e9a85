//! profiles/updates: packages that got another name or slot (PMS 4.4.4), and what follows for records and atoms.
//!
//! Portage applies them to the machine's files when it is next run as root; a copy of a machine may be older.

use std::collections::HashMap;

use super::super::text;
use super::atom::{Allowed, ConfigAtom, Subject};
use super::problem::Problems;
use super::repositories::Repositories;

/// The syntax that move and slotmove entries may have: names, for slotmove with a version.
const ALLOWED: Allowed =
    Allowed { wildcards: false, repository: false, slot: false, slot_operator: false, use_flags: false };

/// One update.
#[derive(Debug)]
pub(super) enum Update {
    Move(String),
    Slot { atom: Box<ConfigAtom>, from: String, to: String },
}

/// The updates of one repository, by the name that they speak of, in their order.
#[derive(Debug, Default)]
pub(super) struct List(HashMap<String, Vec<(usize, Update)>>);

/// The updates of all repositories.
#[derive(Debug, Default)]
pub(super) struct Updates {
    /// By the name of the repository, the highest priority first; only those that have a directory of updates.
    lists: Vec<(String, List)>,
    main: Option<usize>,
}

impl Updates {
    pub fn read(repositories: &Repositories, problems: &Problems) -> Updates {
        let mut out = Updates::default();
        for (index, repo) in repositories.all.iter().enumerate().rev() {
            let dir = repo.repository.location.join("profiles/updates");
            if !dir.is_dir() {
                continue;
            }
            let mut files = problems.read(text::files(&dir));
            files.sort_by_cached_key(|path| quarter(&path.file_name().unwrap_or_default().to_string_lossy()));
            let (mut list, mut time) = (List::default(), 0);
            for file in files {
                let text = problems.read(text::read(&file)).unwrap_or_default();
                for (number, line) in text.lines().enumerate() {
                    time += 1;
                    match parse(line) {
                        Some(Some((name, update))) => list.0.entry(name).or_default().push((time, update)),
                        Some(None) => problems.add(
                            &file,
                            Some(number + 1),
                            "is neither `move OLD NEW` nor `slotmove ATOM SLOT SLOT` (PMS 4.4.4); mend the line",
                        ),
                        None => {}
                    }
                }
            }
            if Some(index) == repositories.main {
                out.main = Some(out.lists.len());
            }
            out.lists.push((repo.repository.name.clone(), list));
        }
        out
    }

    /// The index of the updates that hold for a package that came from this repository: its own ones, else the main
    /// repository's (portage's _do_global_updates).
    pub fn of(&self, repository: &str) -> Option<usize> {
        self.lists.iter().position(|(name, _)| name == repository).or(self.main)
    }

    /// All updates, in the order of the repositories.
    pub fn lists(&self) -> impl Iterator<Item = &List> {
        self.lists.iter().map(|(_, list)| list)
    }

    /// The name that a package has today, whatever repository it came from; the main one's word goes first.
    pub fn any_name<'a>(&'a self, name: &'a str) -> &'a str {
        let main = self.main.map(|index| &self.lists[index].1);
        let mut moved = main.into_iter().chain(self.lists.iter().map(|(_, list)| list)).map(|list| list.moved(name));
        moved.find(|moved| *moved != name).unwrap_or(name)
    }

    /// A dependency text with the names and slots of today. `parent` is the package that it belongs to: a blocker that
    /// would come to block it stays as it is.
    pub fn dependencies(&self, text: &str, repository: &str, parent: Option<Subject<'_>>) -> String {
        let list = self.of(repository).map(|index| &self.lists[index].1);
        let Some(list) = list.filter(|list| !list.0.is_empty() && !text.is_empty()) else {
            return text.to_owned();
        };
        let mut out = String::with_capacity(text.len());
        for (index, token) in text.split(' ').enumerate() {
            if index > 0 {
                out.push(' ');
            }
            match list.atom(token, parent) {
                Some(new) => out.push_str(&new),
                None => out.push_str(token),
            }
        }
        out
    }
}

impl List {
    fn moved<'a>(&'a self, name: &'a str) -> &'a str {
        let (mut name, mut time) = (name, 0);
        while let Some((when, new)) = self.next_move(name, time) {
            (name, time) = (new, when);
        }
        name
    }

    fn next_move(&self, name: &str, after: usize) -> Option<(usize, &str)> {
        self.0.get(name)?.iter().find_map(|(time, update)| match update {
            Update::Move(new) if *time > after => Some((*time, new.as_str())),
            _ => None,
        })
    }

    /// The next update after a time that speaks of a name.
    pub fn next(&self, name: &str, after: usize) -> Option<&(usize, Update)> {
        self.0.get(name)?.iter().find(|(time, _)| *time > after)
    }

    /// The atom of today, if any update speaks of it.
    fn atom(&self, token: &str, parent: Option<Subject<'_>>) -> Option<String> {
        let mut time = 0;
        let mut token = token.to_owned();
        let mut changed = false;
        while let Some((when, new)) = self.step(&token, time, parent) {
            time = when;
            if let Some(new) = new {
                token = new;
                changed = true;
            }
        }
        changed.then_some(token)
    }

    /// The next update after a time that speaks of an atom's name: its time, and the new atom if it changes that.
    pub fn step(&self, token: &str, after: usize, parent: Option<Subject<'_>>) -> Option<(usize, Option<String>)> {
        let name = name_of(token)?;
        let (when, update) = self.next(name, after)?;
        let new = match update {
            Update::Move(new) => Some(token.replacen(name, new, 1)).filter(|new| !blocks(new, parent)),
            Update::Slot { atom, from, to } if !atom.has_version() => with_slot(token, from, to),
            Update::Slot { .. } => None,
        };
        Some((*when, new))
    }
}

/// `1Q-2024` sorts by year, then quarter; other names stand as they are (EAPI 8 and later sort by name).
fn quarter(name: &str) -> String {
    match name.split_once("Q-") {
        Some((quarter @ ("1" | "2" | "3" | "4"), year)) if year.len() == 4 => format!("{year}-Q{quarter}"),
        _ => name.to_owned(),
    }
}

/// A line; none for one that says nothing, none within for one that is wrong.
fn parse(line: &str) -> Option<Option<(String, Update)>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let plain = |text: &str| ConfigAtom::parse(text, ALLOWED).is_some_and(|atom| atom.is_plain());
    let update = match words.as_slice() {
        [] => return None,
        ["move", old, new] if plain(old) && plain(new) => ((*old).to_owned(), Update::Move((*new).to_owned())),
        ["slotmove", atom, from, to] if super::super::names::is_slot(from) && super::super::names::is_slot(to) => {
            let Some(atom) = ConfigAtom::parse(atom, ALLOWED) else { return Some(None) };
            let Some(name) = atom.exact_name().map(str::to_owned) else { return Some(None) };
            let atom = Box::new(atom);
            (name, Update::Slot { atom, from: (*from).to_owned(), to: (*to).to_owned() })
        }
        _ => return Some(None),
    };
    Some(Some(update))
}

/// The `category/package` within a dependency atom.
fn name_of(token: &str) -> Option<&str> {
    let rest = token.trim_start_matches('!');
    let bare = rest.trim_start_matches(['<', '>', '=', '~']);
    let end = bare.find([':', '[']).unwrap_or(bare.len());
    let (versioned, bare) = (bare.len() < rest.len(), &bare[..end]);
    let (category, package) = bare.split_once('/')?;
    if !versioned {
        return Some(bare);
    }
    let (package, _) = super::super::cpv::split_pf(package.trim_end_matches('*'))?;
    Some(&bare[..category.len() + 1 + package.len()])
}

/// Whether a token is a blocker that matches the package itself.
fn blocks(token: &str, parent: Option<Subject<'_>>) -> bool {
    let (Some(parent), true) = (parent, token.starts_with('!')) else {
        return false;
    };
    let atom = ConfigAtom::parse(token.trim_start_matches('!'), Allowed::USER);
    atom.is_some_and(|atom| atom.matches(parent))
}

/// The token with `to` for the slot `from`; none if it has another slot.
fn with_slot(token: &str, from: &str, to: &str) -> Option<String> {
    let (before, rest) = token.split_once(':')?;
    let end = rest.find([':', '[']).unwrap_or(rest.len());
    let (slot, after) = rest.split_at(end);
    let (slot, operator) = slot.strip_suffix('=').map_or((slot, ""), |slot| (slot, "="));
    let (slot, subslot) = slot.split_once('/').map_or((slot, None), |(slot, subslot)| (slot, Some(subslot)));
    if slot != from {
        return None;
    }
    let subslot = subslot.map(|subslot| if subslot == from { to } else { subslot });
    let subslot = subslot.map_or(String::new(), |subslot| format!("/{subslot}"));
    Some(format!("{before}:{to}{subslot}{operator}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updates(lines: &[&str]) -> Updates {
        let mut list = List::default();
        for (time, line) in lines.iter().enumerate() {
            let (name, update) = parse(line).unwrap().unwrap();
            list.0.entry(name).or_default().push((time + 1, update));
        }
        Updates { lists: vec![("main".to_owned(), list)], main: Some(0) }
    }

    #[test]
    fn moves_follow_each_other() {
        let updates = updates(&["move a/b c/d", "slotmove c/d 0 2", "move c/d e/f", "move x/y a/b"]);
        assert_eq!(updates.any_name("a/b"), "e/f");
        // the move from a/b is older than the one that leads there
        assert_eq!((updates.any_name("x/y"), updates.any_name("q/q")), ("a/b", "q/q"));
        let text = "|| ( >=a/b-1:0/5=[x?] !<a/b-2 ) a/bc =a/b-1* c/d:0=";
        assert_eq!(updates.dependencies(text, "main", None), "|| ( >=e/f-1:2/5=[x?] !<e/f-2 ) a/bc =e/f-1* e/f:2=");
    }

    #[test]
    fn a_package_does_not_come_to_block_itself() {
        let updates = updates(&["move a/b c/d"]);
        let version = super::super::super::version::Version::parse("2").unwrap();
        let parent = Subject { name: "c/d", version: &version, slot: "0", subslot: "0", repository: "x" };
        let text = "!a/b !<a/b-2 !!<a/b-3 !a/b:1";
        assert_eq!(updates.dependencies(text, "x", Some(parent)), "!a/b !<c/d-2 !!<a/b-3 !c/d:1");
    }

    #[test]
    fn slots_move() {
        let updates = updates(&["slotmove >=a/b-2 0 2", "slotmove a/c 0 1"]);
        assert_eq!(updates.dependencies("a/b:0 a/c:0/0 a/c a/c:=", "main", None), "a/b:0 a/c:1/1 a/c a/c:=");
    }

    #[test]
    fn quarters_are_in_time() {
        let mut names = ["1Q-2024", "4Q-2009", "2Q-2023", "2024-02"];
        names.sort_by_key(|name| quarter(name));
        assert_eq!(names, ["4Q-2009", "2Q-2023", "2024-02", "1Q-2024"]);
        for bad in ["move a/b", "move a/b c/d-1 ", "move =a/b-1 c/d", "slotmove a/b 0", "slotmove a/b 0/1 2", "what"] {
            assert!(parse(bad).is_none_or(|line| line.is_none()), "{bad}");
        }
        assert!(parse("  ").is_none());
    }
}
