//! Portage's ebuild(1), by which `--backend portage` runs the phases.

use std::fs;
use std::path::{Path, PathBuf};

use super::job::find_program;

/// The program, and what it needs to read beside the toolchain.
#[derive(Clone, Debug)]
pub struct Portage {
    /// The interpreter where it is not ebuild's own, and ebuild.
    pub words: Vec<PathBuf>,
    pub read: Vec<PathBuf>,
}

/// There is no Portage.
#[derive(Debug, thiserror::Error)]
pub enum NoPortage {
    #[error("{0} has no bin/ebuild: it is no virtual environment with Portage")]
    NoVenv(PathBuf),
    #[error(
        "`ebuild` is not on PATH; give a virtual environment that has it with --portage VENV \
         (python3 -m venv VENV && VENV/bin/pip install portage), or leave --backend at own"
    )]
    NotOnPath,
}

impl Portage {
    /// That of a virtual environment, or the one on PATH.
    pub fn find(venv: Option<&Path>) -> Result<Portage, NoPortage> {
        let Some(venv) = venv else {
            let ebuild = find_program("ebuild").ok_or(NoPortage::NotOnPath)?;
            return Ok(Portage { words: vec![ebuild], read: Vec::new() });
        };
        let Ok(venv) = fs::canonicalize(venv) else { return Err(NoPortage::NoVenv(venv.to_owned())) };
        let (python, ebuild) = (venv.join("bin/python"), venv.join("bin/ebuild"));
        if !ebuild.exists() || !python.exists() {
            return Err(NoPortage::NoVenv(venv));
        }
        // the interpreter has its library beside its folder
        let base = fs::canonicalize(&python).ok().and_then(|p| Some(p.parent()?.parent()?.to_owned()));
        let read = [Some(venv), base].into_iter().flatten().filter(|dir| dir.parent().is_some()).collect();
        Ok(Portage { words: vec![python, ebuild], read })
    }

    pub fn is_venv(&self) -> bool {
        self.words.len() > 1
    }
}

/// The name of an id in /etc/passwd or /etc/group; the number itself where it has none.
pub fn name_of(file: &str, id: u32) -> String {
    let text = fs::read_to_string(Path::new("/etc").join(file)).unwrap_or_default();
    let name = text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_ebuild_is_no_venv() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(Portage::find(Some(dir.path())), Err(NoPortage::NoVenv(_))));
        assert!(Portage::find(Some(&dir.path().join("none"))).is_err());
    }
}
