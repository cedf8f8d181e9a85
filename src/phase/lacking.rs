//! Programs that others could not start, as these say in what they print.

/// The names, each once, as far as `output` has them.
pub fn named(output: &[u8]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in String::from_utf8_lossy(output).lines() {
        let name = in_line(line.trim()).filter(|n| is_name(n)).map(str::to_owned);
        found.extend(name.filter(|n| !found.contains(n)));
    }
    found
}

fn in_line(line: &str) -> Option<&str> {
    // of find(1) the same words may speak of a folder
    const STARTERS: &[&str] = &[
        "env",
        "/usr/bin/env",
        "gmake",
        "ionice",
        "make",
        "nice",
        "nohup",
        "setsid",
        "stdbuf",
        "time",
        "timeout",
        "xargs",
    ];
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(rest) = line.strip_suffix(": command not found") {
        let (before, name) = rest.rsplit_once(": ")?;
        return before.rsplit_once("line ").filter(|(_, n)| number(n)).map(|_| name);
    }
    if let Some(rest) = line.strip_suffix(": not found") {
        let (before, name) = rest.rsplit_once(": ")?;
        return before.rsplit_once(": ").filter(|(_, n)| number(n)).map(|_| name);
    }
    let (starter, name) = line.strip_suffix(": No such file or directory")?.split_once(": ")?;
    let name = name.strip_prefix("failed to run command ").unwrap_or(name);
    STARTERS.contains(&starter).then(|| name.trim_matches(['\'', '‘', '’', '`']))
}

/// What has a slash is a file of the source more often than a program of the machine.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.+-".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_started_is_read_from_the_output() {
        let said = "env: ‘2to3’: No such file or directory\n./autogen.sh: 2: autoreconf: not found\n\
                    x.sh: line 7: rename: command not found\nxargs: dos2unix: No such file or directory\n\
                    timeout: failed to run command 'foo': No such file or directory\nx.sh: line 9: rename: command not found\n";
        assert_eq!(named(said.as_bytes()), ["2to3", "autoreconf", "rename", "dos2unix", "foo"]);
        let other = "find: ‘src’: No such file or directory\nenv: './x': No such file or directory\nlibfoo: not found\n\
                     checking for foo: command not found\nsed: can't read a: No such file or directory\n";
        assert_eq!(named(other.as_bytes()), [""; 0]);
    }
}
