//! What a shell is but for its files, as the prelude tells it (`eb_tell_state`), and how to bring another one there.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::tree::untrusted;

/// Files below the job's `ctl`. The runner wants the shell to tell what it is.
pub const KEEP: &str = "keep";
/// What the shell is to source in the place of src_unpack.
pub const KNOWN: &str = "known";
/// What the shell reads while it waits.
pub const ANSWER: &str = "answer";
/// What the shell was before src_unpack.
pub const BEFORE: &str = "before";
/// What the shell was after it.
pub const AFTER: &str = "after";

/// Bytes; no shell of a real ebuild has as much to tell.
const LIMIT: u64 = 8 << 20;

/// Variables that bash makes up when they are read or sets by itself, and ours that are of this process alone.
const OF_THE_PROCESS: [&str; 28] = [
    "BASHPID",
    "BASH_ALIASES",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_CMDS",
    "BASH_COMMAND",
    "BASH_LINENO",
    "BASH_MONOSECONDS",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "DIRSTACK",
    "EB_AT",
    "EB_OUTPUT",
    "EB_PID",
    "EB_SHELL",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "FUNCNAME",
    "HISTCMD",
    "LINENO",
    "OLDPWD",
    "PIPESTATUS",
    "PPID",
    "PWD",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
];

/// A shell between two phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    /// Options, traps, aliases, builtins, the stack of folders, functions.
    rest: Vec<u8>,
    cwd: Vec<u8>,
    variables: BTreeMap<Vec<u8>, Variable>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Variable {
    /// The attributes, as `declare` has them.
    flags: Vec<u8>,
    /// The command that declares it.
    text: Vec<u8>,
}

impl Variable {
    fn has(&self, flag: u8) -> bool {
        self.flags.contains(&flag)
    }
}

impl Shell {
    /// What the shell said of itself in `file`.
    pub fn read(file: &Path) -> io::Result<Shell> {
        Shell::parse(&untrusted::read(file, LIMIT)?).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn parse(data: &[u8]) -> Option<Shell> {
        let mut parts = data.splitn(4, |b| *b == 0);
        let (rest, stack, cwd, declared) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // the first of them is the current one, which may be another
        let rest = [rest, stack.strip_prefix(cwd).unwrap_or(stack)].concat();
        Some(Shell { rest, cwd: cwd.to_vec(), variables: variables(declared)? })
    }

    /// The current directory.
    pub fn cwd(&self) -> &[u8] {
        &self.cwd
    }

    /// All that a phase that begins now can see, but for what is of this process or this machine's name alone.
    pub fn visible(&self) -> impl Iterator<Item = &[u8]> {
        let variables = self.variables.iter().filter(|(name, _)| *name != b"HOSTNAME");
        [&self.rest[..], &self.cwd].into_iter().chain(variables.map(|(_, variable)| &variable.text[..]))
    }

    /// The commands that make a shell like `before` one like this; none where commands can't do that, or not for sure.
    pub fn from(&self, before: &Shell) -> Option<Vec<u8>> {
        if self.rest != before.rest {
            return None;
        }
        let mut out = Vec::new();
        let unset = |out: &mut Vec<u8>, name: &[u8]| out.extend([b"unset -v ", name, b"\n"].concat());
        for name in before.variables.keys().filter(|name| !self.variables.contains_key(*name)) {
            unset(&mut out, name);
        }
        for (name, now) in &self.variables {
            let old = before.variables.get(name);
            if old == Some(now) {
                continue;
            }
            // what is read-only can't be set again, a reference leads elsewhere, and the order of an associative array's
            // items depends on how it came to be
            let hard = now.has(b'A') || now.has(b'n') || old.is_some_and(|old| old.has(b'r') || old.has(b'n'));
            if hard {
                return None;
            }
            if old.is_some_and(|old| old.flags != now.flags) {
                unset(&mut out, name);
            }
            out.extend_from_slice(&now.text);
            out.push(b'\n');
        }
        out.extend([b"cd -- ", &quoted(&self.cwd)[..], b" || return\n"].concat());
        Some(out)
    }
}

fn quoted(word: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => out.extend(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
    out
}

/// What `declare -p` printed, by name.
fn variables(mut text: &[u8]) -> Option<BTreeMap<Vec<u8>, Variable>> {
    let mut found = BTreeMap::new();
    while !text.is_empty() {
        let (one, rest) = text.split_at(end(text)?);
        text = rest.strip_prefix(b"\n")?;
        let words = one.strip_prefix(b"declare -")?;
        let blank = memchr::memchr(b' ', words)?;
        let (flags, named) = (&words[..blank], &words[blank + 1..]);
        let name = &named[..memchr::memchr(b'=', named).unwrap_or(named.len())];
        if name.is_empty() || !name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_') {
            return None;
        }
        if name != b"_" && !OF_THE_PROCESS.iter().any(|other| other.as_bytes() == name) {
            found.insert(name.to_vec(), Variable { flags: flags.to_vec(), text: one.to_vec() });
        }
    }
    Some(found)
}

/// Where the command at the beginning of `text` ends: at a newline that is not quoted.
fn end(text: &[u8]) -> Option<usize> {
    let mut quote = None;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match (quote, byte) {
            (None, b'\n') => return Some(at),
            (None, b'"' | b'\'') => {
                // in `$'…'` a backslash stands before what it means, in `'…'` it is one
                let plain = *byte == b'\'' && (at == 0 || text[at - 1] != b'$');
                quote = Some((*byte, plain));
            }
            (Some((end, _)), byte) if *byte == end => quote = None,
            (None | Some((_, false)), b'\\') => at += 1,
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What a shell is after `script`, as it tells itself.
    fn after(script: &str) -> Shell {
        let prelude = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/phase/prelude/state.bash");
        let dir = tempfile::tempdir().unwrap();
        let all = format!("source '{}'; EB_CTL=$1; {script}\nEB_CTL=$1; eb_tell_state told", prelude.display());
        let mut command = Command::new("bash");
        command.args(["--norc", "-c", &all, "bash"]).arg(dir.path()).env("LC_ALL", "C.UTF-8").current_dir("/");
        assert!(command.status().unwrap().success());
        let mut shell = Shell::read(&dir.path().join("told")).unwrap();
        shell.variables.remove(&b"EB_CTL"[..]);
        shell
    }

    const BEFORE: &str = "shopt -s extglob; kept=1; gone='a b'; export turned=x; f() { echo f; }";

    #[test]
    fn another_shell_can_be_brought_to_what_one_is() {
        let work = "unset gone; declare -x new=$'a\\nb\\'\\\"$(x) `y` \\\\ \\377 ä'; export empty=; export none; \
                    list=( 1 '2 3' $'\\n' ); list[7]=x; declare -i number=3; export -n turned; turned=y; IFS=:; PATH+=:/none; \
                    REPLY=r; declare -r fixed='it is'; [[ abc =~ (b)(c) ]]; cd /usr";
        let (before, one) = (after(BEFORE), after(&format!("{BEFORE}; {work}")));
        let commands = one.from(&before).unwrap();
        assert_eq!(before.from(&before).unwrap(), b"cd -- '/' || return\n");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("known");
        std::fs::write(&file, commands).unwrap();
        let again = after(&format!("{BEFORE}; source '{}'", file.display()));
        assert_eq!(again, one);
        assert_eq!(again.cwd(), b"/usr");
    }

    #[test]
    fn what_commands_can_not_bring_about_for_sure_is_refused() {
        let before = after(BEFORE);
        for work in [
            "f() { echo g; }",
            "unset -f f",
            "shopt -s nullglob",
            "set -f",
            "builtin trap 'echo x' EXIT",
            "alias x=y",
            "enable -n test",
            "pushd / > /dev/null",
            "declare -A map=( [a]=1 )",
            "declare -n ref=kept",
        ] {
            assert!(after(&format!("{BEFORE}; {work}")).from(&before).is_none(), "{work}");
        }
    }

    #[test]
    fn survives_rubbish() {
        for junk in [
            "",
            "\0",
            "\0\0\0",
            "\0\0\0x",
            "\0\0\0declare",
            "\0\0\0declare -x",
            "\0\0\0declare -- a=\"",
            "\0\0\0declare -- =\n",
        ] {
            let told = Shell::parse(junk.as_bytes());
            assert!(told.is_none_or(|shell| shell.variables.is_empty()), "{junk:?}");
        }
        // as an older bash prints it
        let shell = Shell::parse(b"\0/\n\0/\0declare -- a=\"x\ndeclare -- b=\\\"\"\ndeclare -x c\n").unwrap();
        assert_eq!(shell.variables.len(), 2);
    }
}
