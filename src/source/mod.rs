pub mod distfile; pub mod store; pub mod unpack;
