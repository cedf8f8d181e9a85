//! REQUIRED_USE as clauses.

use crate::gentoo::depstring::{GroupKind, Node};

use super::solver::{Lit, Solver};

/// A literal for a part of REQUIRED_USE (PMS 7.3.4).
pub fn required(solver: &mut Solver, node: &Node, flag: &dyn Fn(&str) -> Lit) -> Lit {
    let (kind, inner) = match node {
        Node::Word(word) => {
            return match word.strip_prefix('!') {
                Some(name) => !flag(name),
                None => flag(word),
            };
        }
        Node::Group(kind, inner) => (kind, inner),
    };
    let lits: Vec<Lit> = inner.iter().map(|node| required(solver, node, flag)).collect();
    match kind {
        GroupKind::All => solver.and(&lits),
        // an empty group holds (PMS 8.2)
        _ if lits.is_empty() => solver.yes(),
        GroupKind::AnyOf => solver.or(&lits),
        GroupKind::Use { flag: name, enabled } => {
            let on = flag(name);
            let then = solver.and(&lits);
            solver.or(&[if *enabled { !on } else { on }, then])
        }
        GroupKind::ExactlyOne | GroupKind::AtMostOne => {
            // one after the other, as pairs of thousands of flags would be too many
            let (mut some, mut two) = (solver.no(), Vec::new());
            for lit in lits {
                two.push(!solver.and(&[some, lit]));
                some = solver.or(&[some, lit]);
            }
            if *kind == GroupKind::ExactlyOne {
                two.push(some);
            }
            solver.and(&two)
        }
    }
}
