#[derive(Debug)]
pub struct Distfile { pub name: String, pub size: Option<u64>, pub hashes: std::collections::BTreeMap<String, String>, pub uris: Vec<String>, pub restrict_fetch: bool }
