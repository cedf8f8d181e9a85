//! The real sed: which one it is, and what it says of a script that it refuses.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::argv::{Invocation, PieceKind};
use crate::edit::run;
pub use crate::edit::run::{End, Finished, Limits};

/// GNU sed, found once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sed {
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
#[error("no GNU sed on PATH")]
pub struct NoSed;

impl Sed {
    /// Looks for GNU sed (`sed` or `gsed`) in the directories of `path`, a PATH.
    pub fn locate(path: &OsStr) -> Result<Sed, NoSed> {
        for name in ["sed", "gsed"] {
            for dir in std::env::split_paths(path).filter(|dir| dir.is_absolute()) {
                let file = dir.join(name);
                if !file.is_file() {
                    continue;
                }
                let version = Command::new(&file).arg("--version").stdin(Stdio::null()).output();
                if version.is_ok_and(|out| out.stdout.windows(7).take(64).any(|word| word == b"GNU sed")) {
                    return Ok(Sed { path: file });
                }
            }
        }
        Err(NoSed)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What sed says of the script of a call, where it refuses it; none where that hangs on a script file.
    pub fn refusal(&self, call: &Invocation) -> Option<String> {
        let mut arguments: Vec<OsString> = vec!["--sandbox".into(), "-n".into()];
        arguments.extend(call.flags.posix.then(|| "--posix".into()));
        let mut extended = false;
        for piece in &call.pieces {
            (piece.kind != PieceKind::File).then_some(())?;
            if piece.flags.extended && !extended {
                extended = true;
                arguments.push("-E".into());
            }
            arguments.extend(["-e".into(), OsString::from_vec(piece.text.clone())]);
        }
        arguments.push("/dev/null".into());
        let dir = crate::edit::scratch::dir().ok()?;
        let run = self.run(dir.path(), &arguments, &[], Limits::default(), |_| {}).ok()?;
        let words = run.errors.split(|b| *b == b'\n').next()?;
        let words = String::from_utf8_lossy(words);
        // sed: -e expression #1, char 9: unterminated `s' command
        let place = words.find("expression #").filter(|_| run.end == End::Exit(1) && !words.contains("sandbox"))?;
        Some(words[place..].to_owned())
    }

    /// Runs sed in `dir` with nothing but `variables` in its environment; `sink` is given its output as it comes.
    pub fn run(
        &self,
        dir: &Path,
        arguments: &[OsString],
        variables: &[(&str, OsString)],
        limits: Limits,
        sink: impl FnMut(&[u8]),
    ) -> io::Result<Finished> {
        run::run(&self.path, dir, arguments, variables, limits, sink)
    }
}

impl Finished {
    /// sed's own words about a script that it refused, without the place.
    pub fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.errors);
        let line = text.lines().next().unwrap_or_default();
        let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
        let placed = line.starts_with("file ") || line.starts_with("-e ");
        match line.split_once(": ").filter(|_| placed) {
            Some((_, rest)) => rest.to_string(),
            None => line.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sed() -> Option<Sed> {
        Sed::locate(&std::env::var_os("PATH")?).ok()
    }

    #[test]
    fn bounds() {
        let Some(sed) = sed() else { return };
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("f"), "x\n").expect("written");
        let run = |script: &str, limits: Limits| {
            let arguments = [script, "f"].map(OsString::from);
            let mut out = Vec::new();
            let end = sed.run(dir.path(), &arguments, &[], limits, |chunk| out.extend_from_slice(chunk));
            (end.expect("sed starts"), out)
        };
        let short = Limits { time: Duration::from_millis(200), ..Limits::default() };
        assert_eq!(run("s/x/y/", short).1, b"y\n");
        assert_eq!(run(":a;ba", short).0.end, End::OutOfTime);
        assert_eq!(run(":a;p;ba", Limits { output: 1000, ..short }).0.end, End::TooMuchOutput);
        assert_ne!(run(":a;s/.*/&&/;ta", Limits { memory: 1 << 26, ..Limits::default() }).0.end, End::Exit(0));
        assert_eq!(run("s/(/", short).0.complaint(), "unterminated `s' command");
    }
}
