use std::path::PathBuf;
#[derive(Debug)]
pub struct DistfileStore { pub dirs: Vec<PathBuf> }
#[derive(Debug, thiserror::Error)]
pub enum ObtainError { #[error("{0}")] BadDigest(String), #[error("{0}")] Fetch(String) }
impl DistfileStore { pub fn obtain(&self, d: &super::distfile::Distfile) -> Result<PathBuf, ObtainError> {
    self.dirs.iter().map(|x| x.join(&d.name)).find(|p| p.exists()).ok_or_else(|| ObtainError::Fetch(format!("{} is not here", d.name)))
} }
