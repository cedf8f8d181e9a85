//! Package dependencies: atoms as PMS 8.3 has them, and the trees that they stand in (PMS 8.2).

mod atom;
mod tree;

pub use atom::{Atom, AtomError, Blocker, Package, SlotOperator, UseDep, UseDepKind};
pub use tree::{Dep, DepError};
