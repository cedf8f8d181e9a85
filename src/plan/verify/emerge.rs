//! Starting emerge and reading what it would do.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::VerifyError;
use crate::phase::portage::name_of;
use crate::plan::Action;

/// How long emerge may think, in seconds: it is slow where it backtracks.
const TIMEOUT: u64 = 900;

/// Portage's emerge.
pub struct Program {
    /// The interpreter where it is not emerge's own, and emerge.
    words: Vec<PathBuf>,
    share: PathBuf,
}

/// What emerge printed.
#[derive(Debug, Default)]
pub struct Said {
    pub version: String,
    pub exit: i32,
    pub backtracks: Option<u32>,
    pub merges: Vec<Merge>,
    pub uninstalls: Vec<String>,
    pub tail: Vec<String>,
}

/// A line of what it would merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merge {
    /// `category/package-version`
    pub cpv: String,
    pub action: Action,
    pub repository: Option<String>,
    /// The flags that it shows, with those of USE_EXPAND by their whole names.
    pub flags: Vec<(String, bool)>,
}

impl Program {
    /// That of a virtual environment, or the one on PATH.
    pub fn find(venv: Option<&Path>) -> Result<Program, VerifyError> {
        if let Some(venv) = venv {
            let venv = std::path::absolute(venv).unwrap_or_else(|_| venv.to_owned());
            let emerge = venv.join("bin/emerge");
            if !emerge.exists() {
                return Err(VerifyError::NoVenv(venv));
            }
            return Ok(Program { words: vec![venv.join("bin/python"), emerge], share: venv.join("share/portage") });
        }
        let emerge = crate::phase::job::find_program("emerge").ok_or(VerifyError::NoEmerge)?;
        Ok(Program { words: vec![emerge], share: PathBuf::from("/usr/share/portage") })
    }

    /// Where its own configuration is.
    pub fn share(&self) -> &Path {
        &self.share
    }

    /// `emerge --pretend` below a scratch prefix.
    pub fn pretend(&self, prefix: &Path, command: &[String]) -> Result<Said, VerifyError> {
        let own = |words: &[&str]| {
            let mut emerge = Command::new(&self.words[0]);
            emerge.args(&self.words[1..]).args(words);
            emerge.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
            // a prefix of its own makes Portage look nowhere else; it has to run as whoever runs this
            emerge
                .env("HOME", prefix)
                .env("LC_ALL", "C.UTF-8")
                .env("PYTHONUTF8", "1")
                .env("TERM", "dumb")
                .env("COLUMNS", "200")
                .env("PORTAGE_OVERRIDE_EPREFIX", prefix)
                .env("PORTAGE_USERNAME", name_of("passwd", rustix::process::geteuid().as_raw()))
                .env("PORTAGE_GRPNAME", name_of("group", rustix::process::getegid().as_raw()))
                .stdin(Stdio::null())
                .stderr(Stdio::piped())
                .stdout(Stdio::piped());
            emerge
        };
        let (_, version) = run(own(&["--version"]))?;
        let mut emerge = own(&["--ignore-default-opts", "--pretend", "--verbose", "--color=n"]);
        emerge.args(command.iter().skip(1).filter(|word| !matches!(word.as_str(), "--ask" | "--verbose")));
        let (exit, text) = run(emerge)?;
        let mut said = read(&text);
        said.exit = exit;
        let version = version.lines().find_map(|line| line.strip_prefix("Portage ")).unwrap_or("");
        said.version = version.split_whitespace().next().unwrap_or("").to_owned();
        Ok(said)
    }
}

fn run(mut command: Command) -> Result<(i32, String), VerifyError> {
    let mut child = command.spawn().map_err(VerifyError::Run)?;
    let readers = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>),
    ];
    let readers: Vec<_> = readers
        .into_iter()
        .flatten()
        .map(|mut stream| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = stream.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        })
        .collect();
    let deadline = Instant::now() + Duration::from_secs(TIMEOUT);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(VerifyError::Run)? {
            break status;
        }
        if Instant::now() >= deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(VerifyError::Timeout(TIMEOUT));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text: String = readers.into_iter().filter_map(|reader| reader.join().ok()).collect();
    Ok((status.code().unwrap_or(-1), text))
}

/// Reads the lines `[ebuild  r  U ] cat/pkg-1:0/1::repo …`, `[uninstall ] …` and the count of tries.
fn read(text: &str) -> Said {
    let mut said = Said::default();
    for line in text.lines() {
        if let Some(rest) = line.split("backtrack: ").nth(1) {
            said.backtracks = rest.split('/').next().and_then(|number| number.trim().parse().ok()).or(said.backtracks);
        }
        let Some((mark, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else { continue };
        let what = rest.split_whitespace().next().unwrap_or("");
        let (place, repository) = what.split_once("::").map_or((what, None), |(place, name)| (place, Some(name)));
        let cpv = place.split(':').next().unwrap_or(place).to_owned();
        let (kind, flags) = mark.split_once(char::is_whitespace).unwrap_or((mark, ""));
        match kind {
            "ebuild" | "binary" => {
                let action = if flags.contains("UD") {
                    Action::Downgrade
                } else if flags.contains('U') {
                    Action::Upgrade
                } else if flags.contains('R') {
                    Action::Rebuild
                } else {
                    Action::Install
                };
                let repository = repository.map(str::to_owned);
                said.merges.push(Merge { cpv, action, repository, flags: shown(rest) });
            }
            "uninstall" => said.uninstalls.push(cpv),
            _ => {}
        }
    }
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    said.tail = lines[lines.len().saturating_sub(30)..].iter().map(|line| (*line).to_owned()).collect();
    said
}

/// The flags in `USE="x -y* (-z)" ABI_X86="64 (-32)"`.
fn shown(line: &str) -> Vec<(String, bool)> {
    let mut out = Vec::new();
    let mut parts = line.split('"');
    while let (Some(before), Some(words)) = (parts.next(), parts.next()) {
        let Some(variable) = before.trim_end().strip_suffix('=').and_then(|text| text.split_whitespace().next_back())
        else {
            continue;
        };
        let prefix = if variable == "USE" { String::new() } else { format!("{}_", variable.to_lowercase()) };
        for word in words.split_whitespace() {
            let word = word.trim_matches(['(', ')', '{', '}', '*', '%']);
            let (on, flag) = word.strip_prefix('-').map_or((true, word), |flag| (false, flag));
            out.push((format!("{prefix}{flag}"), on));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_emerge() {
        let said = read(
            "Dependency resolution took 0.20 s (backtrack: 0/20).\n\n\
             [ebuild     U  ~] dev-libs/foo-2:0/2::gentoo [1:0/1::gentoo] 0 KiB\n\
             [ebuild  rR    ] app-misc/c-1::guru  USE=\"x -y* (-z%)\" ABI_X86=\"64 (-32)\" 0 KiB\n\
             [ebuild     UD ] app-misc/d-0.9::guru [1] 0 KiB\n\
             [ebuild  NS    ] llvm-core/llvm-23.1.0:23/23.1::gentoo 0 KiB\n\
             [uninstall     ] dev-libs/thunk-7:0/7::gentoo\n\
             [blocks b      ] dev-libs/thunk (\"dev-libs/thunk\" is soft blocking dev-libs/runtime-10)\n",
        );
        let expected = [
            ("dev-libs/foo-2", Action::Upgrade),
            ("app-misc/c-1", Action::Rebuild),
            ("app-misc/d-0.9", Action::Downgrade),
            ("llvm-core/llvm-23.1.0", Action::Install),
        ];
        let found: Vec<_> = said.merges.iter().map(|merge| (merge.cpv.as_str(), merge.action)).collect();
        assert_eq!(found, expected);
        assert_eq!(said.merges[1].repository.as_deref(), Some("guru"));
        let flags = [("x", true), ("y", false), ("z", false), ("abi_x86_64", true), ("abi_x86_32", false)];
        assert_eq!(said.merges[1].flags, flags.map(|(flag, on)| (flag.to_owned(), on)));
        assert_eq!((said.backtracks, said.uninstalls), (Some(0), vec!["dev-libs/thunk-7".to_owned()]));
    }
}
