//! A sed that edits no file and whose output nobody reads: whether it was run for its exit status, or for what its script
//! does besides.

use std::collections::HashMap;

use super::sed::argv::Invocation;
use super::sed::script::{Detail, Locale, Script, ScriptCommand};

/// What a script gives beside its output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The script is not known.
    unknown: bool,
    /// A `q` or `Q` with a status.
    status: bool,
    /// It writes files of its own, or runs something.
    acts: bool,
    /// Under `-n`.
    quiet: bool,
    /// Something is printed, be it by the end of a cycle.
    prints: bool,
    /// The text is changed, or other text put beside it.
    edits: bool,
}

impl Wanted {
    /// Of a call's script; little of it is known where that is in a file.
    pub fn of(call: &Invocation) -> Wanted {
        let Ok(script) = Script::cut(call, &HashMap::new(), Locale::default()) else {
            return Wanted { unknown: true, quiet: call.quiet, prints: !call.quiet, edits: true, ..Wanted::default() };
        };
        let any = |what: fn(&ScriptCommand) -> bool| script.commands.iter().any(what);
        let quiet = call.quiet || script.quiet;
        Wanted {
            unknown: false,
            status: any(|c| matches!((c.name, &c.detail), (b'q' | b'Q', Detail::Number(Some(_))))),
            acts: any(acts),
            quiet,
            prints: !quiet || any(prints),
            edits: any(|c| b"sydDaicrRxgG".contains(&c.name)),
        }
    }

    /// Whether the call is no forgotten edit, though what it prints goes to the phase's log. `asked`: its exit status
    /// decides what runs next; that alone says nothing of `sed s/a/b/ f || die`.
    pub fn beside_a_log(self, asked: bool) -> bool {
        // what prints nothing answers, if anything
        let silent = !self.unknown && !self.prints;
        self.acts || silent || (self.status || asked) && !(self.edits && self.prints) || self.status && asked
    }

    /// The same where what it prints goes to /dev/null.
    pub fn beside_nothing(self, asked: bool) -> bool {
        self.unknown || self.quiet || self.status || self.beside_a_log(asked)
    }

    /// Whether it prints lines as they are, those that it is told to print.
    pub fn only_picks(self) -> bool {
        self.quiet && !self.edits && !self.unknown
    }
}

/// The file that a command writes.
fn written(command: &ScriptCommand) -> Option<&[u8]> {
    match &command.detail {
        Detail::Substitute(s) => s.write.as_deref(),
        Detail::File(name) => Some(name.as_slice()).filter(|_| matches!(command.name, b'w' | b'W')),
        _ => None,
    }
}

fn is_stream(file: &[u8]) -> bool {
    matches!(file, b"/dev/stdout" | b"/dev/stderr")
}

fn acts(command: &ScriptCommand) -> bool {
    let runs = match &command.detail {
        Detail::Substitute(s) => s.evaluate,
        detail => *detail == Detail::Execute,
    };
    runs || written(command).is_some_and(|file| !is_stream(file))
}

/// Whether a command prints something by itself.
fn prints(command: &ScriptCommand) -> bool {
    let itself = match &command.detail {
        Detail::Substitute(s) => s.print,
        _ => b"pP=liacrRe".contains(&command.name),
    };
    itself || written(command).is_some_and(is_stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::sed::argv::words;

    fn wanted(argv: &[&str]) -> Wanted {
        Wanted::of(&Invocation::parse(&words(argv), false).unwrap())
    }

    #[test]
    fn a_question_is_told_from_a_forgotten_edit() {
        for (argv, plain, asked) in [
            (&["sed", "-n", "/x/q1", "f"][..], true, true),
            (&["sed", "/x/Q5", "f"], true, true),
            (&["sed", "s/a/b/;/x/q1", "f"], false, true),
            (&["sed", "-n", "/x/q", "f"], true, true),
            (&["sed", "-n", "s/a/b/", "f"], true, true),
            (&["sed", "-n", "s/a/b/p", "f"], false, false),
            (&["sed", "-n", "/a/p", "f"], false, true),
            (&["sed", "s/a/b/", "f"], false, false),
            (&["sed", "/a/d", "f"], false, false),
            (&["sed", "-n", "/a/w out", "f"], true, true),
            (&["sed", "s/a/b/w out", "f"], true, true),
            (&["sed", "s/a/b/w /dev/stdout", "f"], false, false),
            (&["sed", "-f", "script.sed", "f"], false, false),
            (&["sed", "-n", "-f", "script.sed", "f"], false, true),
        ] {
            let wanted = wanted(argv);
            assert_eq!((wanted.beside_a_log(false), wanted.beside_a_log(true)), (plain, asked), "{argv:?}");
        }
    }
}
