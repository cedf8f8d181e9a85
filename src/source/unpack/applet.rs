//! `unpack` as a command: what the phase's shell function of that name runs.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::error::shown;
use super::{Clock, Kind, Limits, UnpackError, unpack_as};

/// Unpacks each argument into the current directory, the way PMS's `unpack` does; gives the exit status, 0 or 1.
///
/// A name without a slash is one of `DISTDIR`; `./name`, absolute and (from EAPI 6 on) other relative paths stand as they
/// are. A file that is missing, empty, or no regular file is an error; the first error ends the run. The environment
/// gives `EB_EAPI` (default 8), `EB_LIMITS` (default: [`Limits`]'s own) and `DISTDIR`. Says what it does on
/// standard output as Portage does, and errors on standard error.
pub fn applet(args: impl Iterator<Item = OsString>) -> i32 {
    let call = Call {
        eapi: std::env::var("EB_EAPI").unwrap_or_else(|_| "8".into()),
        distdir: std::env::var_os("DISTDIR").unwrap_or_default(),
        limits: match std::env::var("EB_LIMITS").map(|v| v.parse()) {
            Ok(Ok(limits)) => limits,
            Ok(Err(_)) => return complain("EB_LIMITS are no numbers"),
            Err(_) => Limits::default(),
        },
    };
    let into = match std::env::current_dir() {
        Ok(into) => into,
        Err(error) => return complain(&format!("current directory: {error}")),
    };
    let mut args = args.peekable();
    if args.peek().is_none() {
        return complain("too few arguments (got 0; expected at least 1)");
    }
    for arg in args {
        if let Err(text) = call.one(&arg, &into, &mut std::io::stdout()) {
            return complain(&text);
        }
    }
    0
}

fn complain(text: &str) -> i32 {
    // A closed standard error is no reason to stop.
    let _ = writeln!(std::io::stderr(), "unpack: {text}");
    1
}

struct Call {
    eapi: String,
    distdir: OsString,
    limits: Limits,
}

impl Call {
    fn one(&self, arg: &OsStr, into: &Path, out: &mut impl Write) -> Result<(), String> {
        let path = self.path(arg)?;
        let name = shown(arg.as_bytes());
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_file() && meta.len() > 0 => {}
            Ok(meta) if meta.is_file() => {
                return Err(format!("{name}: cannot be unpacked, the file is empty"));
            }
            Ok(_) => return Err(format!("{name}: is not a regular file")),
            Err(error) => return Err(format!("{name}: does not exist: {error}")),
        }
        let Some(kind) = Kind::by_name(arg, &self.eapi) else {
            let _ = writeln!(out, "=== Skipping unpack of {name}");
            return Ok(());
        };
        let to = shown(into.as_os_str().as_bytes());
        let _ = writeln!(out, ">>> Unpacking {name} to {to}");
        // whoever runs the phase ends it
        let clock = Clock::default();
        // "." rather than the name of the directory, which may have gone by it.
        let unpacked = unpack_as(kind, &path, arg, Path::new("."), &self.limits, &clock).map_err(|error| {
            if let (UnpackError::TooLarge { .. }, Some(ctl)) = (&error, std::env::var_os("EB_CTL")) {
                // the runner tells this apart from other failures
                let _ = std::fs::write(Path::new(&ctl).join("too-large"), error.to_string());
            }
            error.to_string()
        })?;
        for remark in unpacked.remarks {
            let _ = writeln!(out, "{name}: {remark}");
        }
        Ok(())
    }

    /// PMS, `unpack`: where an argument's file lies.
    fn path(&self, arg: &OsStr) -> Result<PathBuf, String> {
        let bytes = arg.as_bytes();
        let old = self.eapi.parse::<u32>().is_ok_and(|eapi| eapi < 6);
        match bytes {
            _ if !bytes.contains(&b'/') => Ok(Path::new(&self.distdir).join(arg)),
            [b'.', b'/', ..] => Ok(PathBuf::from(arg)),
            _ if old => Err(format!("{}: a path must begin with './' in EAPI {}", shown(bytes), self.eapi)),
            _ => Ok(PathBuf::from(arg)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(eapi: &str, distdir: &Path) -> Call {
        Call { eapi: eapi.into(), distdir: distdir.into(), limits: Limits::default() }
    }

    #[test]
    fn names_are_looked_for_where_pms_says() {
        let path = |eapi: &str, arg: &str| call(eapi, Path::new("/d")).path(OsStr::new(arg));
        assert_eq!(path("8", "-x.tar.gz").unwrap(), Path::new("/d/-x.tar.gz"));
        assert_eq!(path("5", "./x.tar").unwrap(), Path::new("./x.tar"));
        assert_eq!(path("8", "/a/x.tar").unwrap(), Path::new("/a/x.tar"));
        assert_eq!(path("8", "a/x.tar").unwrap(), Path::new("a/x.tar"));
        assert!(path("5", "/a/x.tar").is_err());
    }

    #[test]
    fn missing_empty_and_odd_files_are_errors() {
        let temp = tempfile::tempdir().unwrap();
        let call = call("8", temp.path());
        std::fs::write(temp.path().join("empty.tar"), "").unwrap();
        std::fs::create_dir(temp.path().join("dir.tar")).unwrap();
        std::fs::write(temp.path().join("README"), "x").unwrap();
        let mut out = Vec::new();
        let mut one = |name: &str| call.one(OsStr::new(name), temp.path(), &mut out);
        assert!(one("gone.tar").unwrap_err().contains("does not exist"));
        assert!(one("empty.tar").unwrap_err().contains("empty"));
        assert!(one("dir.tar").unwrap_err().contains("not a regular file"));
        one("README").unwrap();
        assert_eq!(out, b"=== Skipping unpack of README\n");
    }
}
