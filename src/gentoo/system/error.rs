//! What stops the reading of a machine.

use std::path::PathBuf;

use super::super::text::ReadError;

/// Why a machine can't be read at all. All else is a [`Problem`](super::Problem).
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    #[error(
        "{}: no repository is there; name one in etc/portage/repos.conf with its `location`, or say where the machine's files are",
        .0.display()
    )]
    NoRepositories(PathBuf),
    #[error("{0}")]
    Repository(String),
    #[error(
        "{}: there is no profile; make it a link to one, as `eselect profile set` does, or a directory with a file `parent`",
        .0.display()
    )]
    NoProfile(PathBuf),
    #[error("the profile can't be used: {0}")]
    Profile(String),
    #[error("{}: there are no records of installed packages; the machine's var/db/pkg has to be there", .0.display())]
    NoRecords(PathBuf),
    #[error("the records of installed packages can't be read: {0}")]
    Records(#[from] ReadError),
}
