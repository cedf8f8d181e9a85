//! What an edit is, and what it did.

mod asides;
pub mod asked;
pub mod budget;
pub mod cause;
pub mod fate;
pub mod inventory;
pub mod lines;
pub mod outcome;
pub mod patch;
pub mod perl;
pub mod place;
pub mod question;
pub mod run;
pub mod scope;
pub mod scratch;
pub mod sed;
pub mod site;
pub mod suggest;
mod syntax;
pub mod trial;
