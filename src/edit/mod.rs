//! What an edit is and what it did.

pub mod sed;
