//! Text of ebuilds, archives and logs made harmless for a terminal.

use std::borrow::Cow;
use std::sync::LazyLock;

/// Whether what is printed is read for commands: by the runner of GitHub and of those that are like it.
static COMMANDS: LazyLock<bool> =
    LazyLock::new(|| ["GITHUB_ACTIONS", "TF_BUILD"].iter().any(|name| std::env::var_os(name).is_some()));

/// Whether [`printable`] changes what a program would read for commands to itself.
pub fn is_read_for_commands() -> bool {
    *COMMANDS
}

/// Control characters but newline and tab are shown as `\xNN` or `\u{NNNN}`: an escape sequence in a file name must
/// not move the cursor of the one who reads about it. So are the marks that turn the direction of writing, and the
/// beginning of a command to the runner that reads a log, where there is one.
pub fn printable(text: &str) -> String {
    let text = if *COMMANDS { without_commands(text) } else { Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() && (c as u32) < 256 => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

/// `::` at the beginning of a line, whatever blanks are before it, and `##[` and `##vso[` anywhere begin a command.
fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return text.into();
    }
    let line = |line: &str| {
        let rest = line.trim_start();
        let line = match rest.strip_prefix("::") {
            Some(after) => format!("{}\\x3a:{after}", &line[..line.len() - rest.len()]),
            None => line.to_owned(),
        };
        line.replace("##[", "#\\x23[").replace("##vso[", "#\\x23vso[")
    };
    text.split_inclusive('\n').map(line).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::{printable, without_commands};

    #[test]
    fn shows_what_a_terminal_would_obey() {
        assert_eq!(printable("a\x1b[31mb\r\n\tc\u{9b}\u{202e}"), "a\\x1b[31mb\\x0d\n\tc\\x9b\\u{202e}");
    }
    #[test]
    fn shows_what_a_runner_would_obey() {
        for (text, shown) in [
            ("a\n  ::error::b\n", "a\n  \\x3a:error::b\n"),
            ("::set-output::", "\\x3a:set-output::"),
            ("cat/pkg::repository", "cat/pkg::repository"),
            ("a ##[error]b ##vso[task]", "a #\\x23[error]b #\\x23vso[task]"),
        ] {
            assert_eq!(without_commands(text), shown);
        }
    }
}
