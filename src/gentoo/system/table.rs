//! The lines of a package.* file by the package that they speak of.

use std::collections::HashMap;

use super::atom::{self, ConfigAtom, Subject};

/// Values by atom, found by name first. Lines with one and the same atom are one entry.
#[derive(Clone, Debug)]
pub(super) struct AtomTable<T> {
    exact: HashMap<String, Vec<(ConfigAtom, T)>>,
    /// By the name with its stars, in the order of their first mention (portage.dep.ExtendedAtomDict).
    patterns: Vec<(String, Vec<(ConfigAtom, T)>)>,
}

impl<T> Default for AtomTable<T> {
    fn default() -> AtomTable<T> {
        AtomTable { exact: HashMap::new(), patterns: Vec::new() }
    }
}

impl<T: Default> AtomTable<T> {
    /// The value of an atom, made if it is not there yet.
    pub fn entry(&mut self, atom: ConfigAtom) -> &mut T {
        let entries = match atom.exact_name() {
            Some(name) if self.exact.contains_key(name) => self.exact.get_mut(name).unwrap_or_else(|| unreachable!()),
            Some(name) => self.exact.entry(name.to_owned()).or_default(),
            None => {
                let name = atom.written_name();
                let index = match self.patterns.iter().position(|(known, _)| *known == name) {
                    Some(index) => index,
                    None => {
                        self.patterns.push((name, Vec::new()));
                        self.patterns.len() - 1
                    }
                };
                &mut self.patterns[index].1
            }
        };
        let index = match entries.iter().position(|(known, _)| known.as_str() == atom.as_str()) {
            Some(index) => index,
            None => {
                entries.push((atom, T::default()));
                entries.len() - 1
            }
        };
        &mut entries[index].1
    }

    /// Puts the values of another table behind these.
    pub fn extend<V>(&mut self, other: AtomTable<T>)
    where
        T: IntoIterator<Item = V> + Extend<V>,
    {
        let exact = other.exact.into_values().flatten();
        let patterns = other.patterns.into_iter().flat_map(|(_, entries)| entries);
        for (atom, values) in exact.chain(patterns) {
            self.entry(atom).extend(values);
        }
    }

    /// Takes an entry out, by the atom's text.
    pub fn remove(&mut self, text: &str) -> Option<T> {
        for (_, entries) in &mut self.patterns {
            if let Some(index) = entries.iter().position(|(atom, _)| atom.as_str() == text) {
                return Some(entries.remove(index).1);
            }
        }
        None
    }
}

impl<T> AtomTable<T> {
    /// The entries that match, the most specific last.
    pub fn matching(&self, subject: Subject<'_>) -> Vec<&T> {
        self.matching_atoms(subject).into_iter().map(|(_, value)| value).collect()
    }

    /// [`AtomTable::matching`] with the atoms.
    pub fn matching_atoms(&self, subject: Subject<'_>) -> Vec<&(ConfigAtom, T)> {
        let exact = self.exact.get(subject.name);
        if exact.is_none() && self.patterns.is_empty() {
            return Vec::new();
        }
        atom::by_specificity(self.entries(subject.name), subject)
    }

    /// The entries that may match a package of this name, in their order.
    pub fn entries<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a (ConfigAtom, T)> {
        let patterns = self.patterns.iter().flat_map(|(_, entries)| entries);
        self.exact.get(name).into_iter().flatten().chain(patterns)
    }

    /// Whether an entry may match a package of this name.
    pub fn speaks_of(&self, name: &str) -> bool {
        !self.patterns.is_empty() || self.exact.contains_key(name)
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let patterns = self.patterns.iter_mut().flat_map(|(_, entries)| entries);
        self.exact.values_mut().flatten().chain(patterns).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::version::Version;
    use super::super::atom::Allowed;
    use super::*;

    #[test]
    fn merges_and_orders() {
        let mut table: AtomTable<Vec<u8>> = AtomTable::default();
        for (index, text) in ["*/*", "a/b", "=a/b-1", "a/b", "a/c", "*/b"].into_iter().enumerate() {
            table.entry(ConfigAtom::parse(text, Allowed::USER).unwrap()).push(index as u8);
        }
        let version = Version::parse("1").unwrap();
        let subject = Subject { name: "a/b", version: &version, slot: "0", subslot: "0", repository: "r" };
        let got: Vec<_> = table.matching(subject).into_iter().cloned().collect();
        assert_eq!(got, [vec![5], vec![0], vec![1, 3], vec![2]]);
        assert_eq!(table.remove("*/*"), Some(vec![0]));
        assert_eq!(table.remove("*/*"), None);
        assert!(table.speaks_of("x/y") && table.matching(Subject { name: "x/y", ..subject }).is_empty());
    }
}
