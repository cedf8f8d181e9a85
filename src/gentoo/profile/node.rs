//! The files of one profile directory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::super::atom::TargetAtom;
use super::super::cpv::Cpv;
use super::super::text::ReadError;
use super::super::varfile::{self, VarFileError, Variables};
use super::super::within::Within;

/// The flags of a package.use or its kin, by `category/package`.
#[derive(Clone, Debug, Default)]
pub(super) struct PackageFlags(HashMap<String, Vec<(TargetAtom, Vec<String>)>>);

/// One of the kinds of flag lists that a directory has.
#[derive(Clone, Debug, Default)]
pub(super) struct FlagLists {
    always: Vec<String>,
    stable: Vec<String>,
    package: PackageFlags,
    package_stable: PackageFlags,
}

/// One profile directory. The `profiles` directory of a repository is one too (Portage's extension).
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub dir: PathBuf,
    pub make_defaults: Variables,
    pub mask: FlagLists,
    pub force: FlagLists,
    /// use.stable, package.use and package.use.stable; the flags of make.defaults are not among them.
    pub use_flags: FlagLists,
}

/// The package that flags are asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub cpv: &'a Cpv,
    /// `slot/subslot`.
    pub slot: &'a str,
    pub repository: &'a str,
    /// Whether it counts as stable, so that the lists for stable packages hold.
    pub stable: bool,
}

impl Node {
    /// Reads a directory. `known` are the variables of the directories before it and learns this one's.
    pub fn read(dir: &Path, default_eapi: &str, known: &mut Variables, within: &Within) -> Result<Node, VarFileError> {
        let eapi = within.first_line(&dir.join("eapi"))?.unwrap_or_else(|| default_eapi.to_owned());
        // an EAPI that is no number is newer than these
        let has = |since: u32| eapi.parse::<u32>().map_or(true, |eapi| eapi >= since);
        // USE="${USE} …" at the top of a file must not repeat the flags of its parents (Portage)
        known.remove("USE");
        let make_defaults = varfile::read(&dir.join("make.defaults"), known, false, within)?.unwrap_or_default();
        let lists = |kind: &str| -> Result<FlagLists, ReadError> {
            let (always, stable, since) = match kind {
                "" => (None, "use.stable".to_owned(), 9),
                _ => (Some(format!("use{kind}")), format!("use.stable{kind}"), 5),
            };
            Ok(FlagLists {
                always: always.map_or(Ok(Vec::new()), |name| flags(&dir.join(name), within))?,
                stable: if has(since) { flags(&dir.join(&stable), within)? } else { Vec::new() },
                package: PackageFlags::read(&dir.join(format!("package.use{kind}")), within)?,
                package_stable: match has(since) {
                    true => PackageFlags::read(&dir.join(format!("package.{stable}")), within)?,
                    false => PackageFlags::default(),
                },
            })
        };
        Ok(Node {
            mask: lists(".mask")?,
            force: lists(".force")?,
            use_flags: lists("")?,
            make_defaults,
            dir: dir.to_owned(),
        })
    }
}

fn flags(path: &Path, within: &Within) -> Result<Vec<String>, ReadError> {
    let lines = within.lines(path)?;
    Ok(lines.iter().flat_map(|line| line.text.split(' ')).map(str::to_owned).collect())
}

impl FlagLists {
    /// The flags for a package, weakest first, with a `-` before those taken away again.
    pub fn of<'a>(&'a self, asked: Asked<'_>) -> impl Iterator<Item = &'a str> {
        let mut out: Vec<&str> = self.always.iter().map(String::as_str).collect();
        if asked.stable {
            out.extend(self.stable.iter().map(String::as_str));
        }
        out.extend(self.package.of(asked));
        if asked.stable {
            out.extend(self.package_stable.of(asked));
        }
        out.into_iter()
    }
}

impl PackageFlags {
    /// Reads a file or directory. A line whose atom can't be read is passed over, as by Portage.
    fn read(path: &Path, within: &Within) -> Result<PackageFlags, ReadError> {
        let mut out: HashMap<String, Vec<(TargetAtom, Vec<String>)>> = HashMap::new();
        for line in within.lines(path)? {
            let mut words = line.text.split(' ');
            let Some(Ok(atom)) = words.next().map(TargetAtom::parse) else {
                continue;
            };
            let Some(name) = atom.exact_name() else {
                continue;
            };
            let entries = out.entry(name).or_default();
            let flags = words.map(str::to_owned);
            match entries.iter_mut().find(|(known, _)| *known == atom) {
                Some((_, known)) => known.extend(flags),
                None => entries.push((atom, flags.collect())),
            }
        }
        Ok(PackageFlags(out))
    }

    /// The flags of all atoms that match, those of the most specific atom last.
    fn of(&self, asked: Asked<'_>) -> Vec<&str> {
        let Some(entries) = self.0.get(&asked.cpv.cp()) else {
            return Vec::new();
        };
        let matches = |atom: &TargetAtom| atom.matches(asked.cpv, Some(asked.slot), asked.repository);
        let mut left: Vec<_> = entries.iter().filter(|(atom, _)| matches(atom)).collect();
        let mut ordered = Vec::new();
        while !left.is_empty() {
            ordered.push(left.remove(best(&left, asked.cpv)));
        }
        ordered.into_iter().rev().flat_map(|(_, flags)| flags.iter().map(String::as_str)).collect()
    }
}

/// The most specific of some atoms that match: portage.dep.best_match_to_list.
fn best(atoms: &[&(TargetAtom, Vec<String>)], cpv: &Cpv) -> usize {
    let mut best = 0;
    for (index, (atom, _)) in atoms.iter().enumerate().skip(1) {
        let (held, rank) = (&atoms[best].0, atom.specificity());
        if rank > held.specificity() || (rank == 2 && held.specificity() == 2 && is_closer(atom, held, cpv)) {
            best = index;
        }
    }
    best
}

/// Of two bounds (`<`, `>=`, …) on the same side, whether the first is nearer to the package's version.
fn is_closer(atom: &TargetAtom, held: &TargetAtom, cpv: &Cpv) -> bool {
    let (Some(atom), Some(held)) = (atom.version(), held.version()) else {
        return false;
    };
    let own = &cpv.version;
    if held == own || held == atom {
        return false;
    }
    atom == own || (own < atom && atom < held) || (own > atom && atom > held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn node(files: &[(&str, &str)]) -> Node {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        Node::read(dir.path(), "0", &mut Variables::new(), &Within::anywhere()).unwrap()
    }

    fn of(lists: &FlagLists, cpv: &str, stable: bool) -> Vec<String> {
        let cpv = Cpv::parse(cpv).unwrap();
        lists.of(Asked { cpv: &cpv, slot: "0/1", repository: "r", stable }).map(str::to_owned).collect()
    }

    #[test]
    fn the_most_specific_atom_comes_last() {
        let node = node(&[(
            "package.use",
            "=a/b-2 exact\na/b any\n>=a/b-1.5 near\n>=a/b-1 far\na/b:0 slot\n~a/b-2 same\n=a/b-2* star\n\
             a/c no\nodd!/x y\n*/b wild\na/b more\n<a/b-2 below\n",
        )]);
        let got = of(&node.use_flags, "a/b-2", false);
        assert_eq!(got, ["any", "more", "far", "near", "slot", "star", "same", "exact"]);
        assert_eq!(of(&node.use_flags, "a/b-1", false), ["any", "more", "below", "far", "slot"]);
    }

    #[test]
    fn lists_for_stable_packages_need_their_eapi() {
        let files = [("use.mask", "m\n-n # x\n"), ("use.stable.mask", "s\n"), ("package.use.stable.mask", "a/b p\n")];
        let old = node(&files);
        assert_eq!(of(&old.mask, "a/b-1", true), ["m", "-n"]);
        let new = node(&[&files[..], &[("eapi", "5\n")]].concat());
        assert_eq!(of(&new.mask, "a/b-1", true), ["m", "-n", "s", "p"]);
        assert_eq!(of(&new.mask, "a/b-1", false), ["m", "-n"]);
    }
}
