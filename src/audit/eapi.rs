//! The EAPI of an ebuild, read before bash sees it (PMS 7.3.1).

use std::sync::OnceLock;

use super::failure::Failure;

/// The EAPI that the first line which is neither blank nor a comment assigns; `0` where it assigns none.
pub fn declared(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|l| !l.is_empty() && !l.starts_with('#')).unwrap_or_default();
    let value = line.strip_prefix("EAPI=").unwrap_or("0");
    let value = value.split('#').next().unwrap_or_default().trim();
    value.trim_matches(|c| c == '"' || c == '\'').to_owned()
}

/// Whether this run can audit an ebuild of `eapi`.
pub fn supported(eapi: &str) -> Result<(), Failure> {
    match eapi {
        "7" | "8" => Ok(()),
        "9" => match bash_version() {
            Some(version) if version >= (5, 3) => Ok(()),
            Some((major, minor)) => {
                Err(Failure::unsupported(format!("EAPI 9 needs bash 5.3, and the bash here is {major}.{minor}")))
            }
            None => Err(Failure::unsupported("EAPI 9 needs bash 5.3, and the bash here does not say its version")),
        },
        other => Err(Failure::unsupported(format!("EAPI {other} is none of 7, 8 and 9"))),
    }
}

fn bash_version() -> Option<(u32, u32)> {
    static VERSION: OnceLock<Option<(u32, u32)>> = OnceLock::new();
    *VERSION.get_or_init(|| {
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c", "echo ${BASH_VERSINFO[0]} ${BASH_VERSINFO[1]}"])
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let (major, minor) = text.trim().split_once(' ')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_declared_eapi() {
        assert_eq!(declared("# Copyright\n\nEAPI=8\n"), "8");
        assert_eq!(declared("EAPI=\"7\" # why\n"), "7");
        assert_eq!(declared("DESCRIPTION=x\nEAPI=8\n"), "0");
        assert_eq!(declared(""), "0");
        assert!(supported("8").is_ok());
        assert!(supported("6").unwrap_err().reason.contains("EAPI 6"));
    }
}
