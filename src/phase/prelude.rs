//! The prelude's files, which are part of the program and are laid out for each run.

use std::fs;
use std::io;
use std::path::Path;

macro_rules! files {
    ($($name:literal),*) => { &[$(($name, include_str!(concat!("prelude/", $name)))),*] };
}

const FILES: &[(&str, &str)] = files![
    "main.bash",
    "trap.bash",
    "output.bash",
    "query.bash",
    "version.bash",
    "inherit.bash",
    "unpack.bash",
    "patch.bash",
    "helpers.bash",
    "stubs.bash",
    "portage.bash",
    "hooks.bash",
    "defaults.bash",
    "state.bash"
];

/// The file that bash starts with.
pub const MAIN: &str = "main.bash";

/// Writes the prelude to `dir`.
pub fn lay_out(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, text) in FILES {
        fs::write(dir.join(name), text)?;
    }
    Ok(())
}
