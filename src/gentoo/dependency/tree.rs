//! Dependency texts as trees.

use std::collections::BTreeSet;

use super::super::depstring::{DepString, DepStringError, GroupKind, Node};
use super::atom::{Atom, AtomError};

/// Why a text is no dependency.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DepError {
    #[error(transparent)]
    Syntax(#[from] DepStringError),
    #[error(transparent)]
    Atom(#[from] AtomError),
    #[error("`{0} ( … )` does not belong into a dependency on packages")]
    Group(&'static str),
}

/// A dependency on packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dep {
    Atom(Box<Atom>),
    All(Vec<Dep>),
    AnyOf(Vec<Dep>),
    /// `flag? ( … )`, or `!flag? ( … )` with `enabled` false.
    Use {
        flag: String,
        enabled: bool,
        then: Vec<Dep>,
    },
}

impl Dep {
    /// Reads what an ebuild says; an atom bound to a sub-slot is an error there.
    pub fn parse_in_ebuild(text: &str) -> Result<Vec<Dep>, DepError> {
        DepString::parse(text)?.nodes.into_iter().map(|node| read(node, &Atom::parse_in_ebuild)).collect()
    }

    /// Reads what the record of an installed package says.
    pub fn parse_in_record(text: &str) -> Result<Vec<Dep>, DepError> {
        DepString::parse(text)?.nodes.into_iter().map(|node| read(node, &Atom::parse)).collect()
    }

    /// What remains with these flags: no conditional is left.
    pub fn evaluate(deps: Vec<Dep>, enabled: &dyn Fn(&str) -> bool) -> Vec<Dep> {
        let mut out = Vec::with_capacity(deps.len());
        for dep in deps {
            match dep {
                Dep::Atom(_) => out.push(dep),
                Dep::All(inner) => out.push(Dep::All(Dep::evaluate(inner, enabled))),
                Dep::AnyOf(inner) => out.push(Dep::AnyOf(Dep::evaluate(inner, enabled))),
                Dep::Use { flag, enabled: wanted, then } => {
                    if enabled(&flag) == wanted {
                        out.push(Dep::All(Dep::evaluate(then, enabled)));
                    }
                }
            }
        }
        out
    }

    /// All its atoms, whatever the flags, in order.
    pub fn atoms<'a>(&'a self, into: &mut Vec<&'a Atom>) {
        match self {
            Dep::Atom(atom) => into.push(atom),
            Dep::All(inner) | Dep::AnyOf(inner) | Dep::Use { then: inner, .. } => {
                inner.iter().for_each(|dep| dep.atoms(into));
            }
        }
    }

    /// The flags that its conditionals ask for.
    pub fn flags<'a>(&'a self, into: &mut BTreeSet<&'a str>) {
        match self {
            Dep::Atom(_) => {}
            Dep::All(inner) | Dep::AnyOf(inner) => inner.iter().for_each(|dep| dep.flags(into)),
            Dep::Use { flag, then, .. } => {
                into.insert(flag);
                then.iter().for_each(|dep| dep.flags(into));
            }
        }
    }
}

fn read(node: Node, atom: &dyn Fn(&str) -> Result<Atom, AtomError>) -> Result<Dep, DepError> {
    let (kind, inner) = match node {
        Node::Word(word) => return Ok(Dep::Atom(Box::new(atom(&word)?))),
        Node::Group(kind, inner) => (kind, inner),
    };
    let inner = inner.into_iter().map(|node| read(node, atom)).collect::<Result<Vec<_>, _>>()?;
    match kind {
        GroupKind::All => Ok(Dep::All(inner)),
        GroupKind::AnyOf => Ok(Dep::AnyOf(inner)),
        GroupKind::Use { flag, enabled } => Ok(Dep::Use { flag, enabled, then: inner }),
        GroupKind::ExactlyOne => Err(DepError::Group("^^")),
        GroupKind::AtMostOne => Err(DepError::Group("??")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_conditionals() {
        let deps = Dep::parse_in_ebuild("a/b x? ( || ( a/c !y? ( a/d:= ) ) ) ( a/e )").unwrap();
        let mut atoms = Vec::new();
        deps.iter().for_each(|dep| dep.atoms(&mut atoms));
        assert_eq!(atoms.iter().map(|atom| atom.as_str()).collect::<Vec<_>>(), ["a/b", "a/c", "a/d:=", "a/e"]);
        let mut flags = BTreeSet::new();
        deps.iter().for_each(|dep| dep.flags(&mut flags));
        assert_eq!(flags.into_iter().collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(Dep::evaluate(deps, &|_| false).len(), 2);
    }

    #[test]
    fn only_records_are_bound() {
        assert!(Dep::parse_in_record("a/b:0/1=").is_ok());
        assert!(matches!(Dep::parse_in_ebuild("a/b:0/1="), Err(DepError::Atom(AtomError::Built(_)))));
        assert!(matches!(Dep::parse_in_ebuild("^^ ( a/b a/c )"), Err(DepError::Group("^^"))));
        assert!(matches!(Dep::parse_in_ebuild("( a/b"), Err(DepError::Syntax(_))));
    }
}
