//! What a command does to a content by itself: where it makes another of it than the commands that merely steer.

use super::alone::{Patch, addressed, alone, instead, patched, steers};
use super::bench::{Bench, Switches};
use super::search::{changes, first_change};
use crate::edit::sed::script::{Detail, Script, ScriptCommand, without_file};

/// A command with those that steer, ready to be tried.
#[derive(Clone, Debug)]
pub struct Effect {
    script: Vec<u8>,
    /// The script without the command; none where that does nothing.
    steering: Option<Vec<u8>>,
    /// The script with a mark and the line's number where the command does something.
    marked: Option<Vec<u8>>,
    /// Lines are joined, so that the number of the last one read says little.
    joins: bool,
}

/// Stands before the number of a line. No file has it.
const MARK: &[u8] = b"\x03line\n";

impl Effect {
    /// Of `command` with `patches` to the script; none where it can't be told from the rest.
    pub fn of(script: &Script, command: &ScriptCommand, patches: &[Patch]) -> Option<Effect> {
        let others = script.commands.iter().any(|c| c.index != command.index && steers(script, c));
        let mark = mark(script, command, patches);
        Some(Effect {
            script: alone(script, command.index, patches)?,
            steering: if others { Some(instead(script, command.index, b"", patches)?) } else { None },
            marked: mark.and_then(|mark| instead(script, command.index, &mark, patches)),
            joins: script.commands.iter().any(|c| matches!(c.name, b'N' | b'G' | b'H' | b'x')),
        })
    }

    /// Of a script as it is.
    pub fn plain(script: Vec<u8>) -> Effect {
        Effect { script, steering: None, marked: None, joins: false }
    }

    /// The first line (from 1) of each content on which it has an effect; none where sed refuses the script.
    pub fn lines(&self, bench: &Bench, switches: &Switches, contents: &[&[u8]]) -> Option<Vec<Option<u32>>> {
        let after = bench.run(&self.script, switches, contents)?;
        let Some(steering) = &self.steering else {
            let found = changes(contents, &after);
            return Some(self.marks(found, bench, switches, contents));
        };
        let before = bench.run(steering, switches, contents)?;
        let told = |(content, (before, after)): (&&[u8], (&Vec<u8>, &Vec<u8>))| match before == after {
            true => None,
            // where steering leaves the lines as they are, a change across lines begins where it begins
            false if before == content => first_change(content, after),
            false => Some(1),
        };
        let found: Vec<Option<u32>> = contents.iter().zip(before.iter().zip(&after)).map(told).collect();
        if contents.iter().zip(&before).all(|(content, before)| before == content) && self.joins {
            return Some(found);
        }
        Some(self.marks(found, bench, switches, contents))
    }

    /// The lines of `found`, where a mark tells better.
    fn marks(
        &self,
        mut found: Vec<Option<u32>>,
        bench: &Bench,
        switches: &Switches,
        contents: &[&[u8]],
    ) -> Vec<Option<u32>> {
        let hits: Vec<usize> = (0..found.len()).filter(|&index| found[index].is_some()).collect();
        let Some(marked) = self.marked.as_ref().filter(|_| !hits.is_empty() && !switches.null_data) else {
            return found;
        };
        let tried: Vec<&[u8]> = hits.iter().map(|&index| contents[index]).collect();
        let Some(after) = bench.run(marked, switches, &tried) else { return found };
        for (index, after) in hits.into_iter().zip(&after) {
            if let Some(line) = marked_line(after) {
                found[index] = Some(line);
            }
        }
        found
    }
}

fn marked_line(after: &[u8]) -> Option<u32> {
    let at = memchr::memmem::find(after, MARK)? + MARK.len();
    let digits = after[at..].split(|b| *b == b'\n').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What marks the lines on which `command` does something; none where the change itself tells.
fn mark(script: &Script, command: &ScriptCommand, patches: &[Patch]) -> Option<Vec<u8>> {
    let number = [b"i\\\n", MARK, b"=\n"].concat();
    let mut out = addressed(script, command, patches);
    out.extend_from_slice(b"{\n");
    match &command.detail {
        Detail::Transliterate { .. } => return None,
        Detail::Substitute(s) => {
            let regex = patched(script, &s.regex.span, patches);
            let flags = patched(script, &s.flags, patches);
            let delimiter = s.regex.delimiter;
            out.extend([b's', delimiter]);
            out.extend(regex);
            out.extend([delimiter, 2, b'&', delimiter]);
            out.extend(without_file(&flags).iter().filter(|b| !matches!(b, b'e' | b'p')));
            out.extend_from_slice(b"\n/\x02/{\n");
            out.extend(number);
            out.extend_from_slice(b"}\n");
        }
        _ => out.extend(number),
    }
    out.extend_from_slice(b"}\n");
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::budget::Budget;
    use crate::edit::sed::argv::{Invocation, words};

    /// The line on which the last command has an effect in `content`.
    fn line(argv: &[&str], content: &str) -> Option<u32> {
        let sed = crate::phase::job::find_program("sed")?;
        let argv: Vec<&str> = std::iter::once("sed").chain(argv.iter().copied()).collect();
        let invocation = Invocation::parse(&words(&argv), false).unwrap();
        let script = Script::cut(&invocation, &Default::default(), Default::default()).unwrap();
        let bench = Bench::new(&sed, "C.UTF-8", Budget::of(std::time::Duration::MAX)).unwrap();
        let effect = Effect::of(&script, script.commands.last().unwrap(), &[]).unwrap();
        let switches = Switches::of(invocation.flags, false);
        effect.lines(&bench, &switches, &[content.as_bytes()]).expect("sed accepts it")[0]
    }

    #[test]
    fn the_line_is_that_which_the_command_means() {
        if crate::phase::job::find_program("sed").is_none() {
            return;
        }
        let file = "one\n\n\ndeep alpha\nlast\n";
        for script in [
            "/deep alpha/a more",
            "/alpha/q",
            "/alpha/r file",
            "/alpha/w file",
            "/alpha/p",
            "/alpha/i\\\nx",
            "/alpha/c\\\none",
            "s/alpha/&\\nx/",
            "s/a/b/2",
            "s/alpha/date/e",
            "/alpha/q5",
            "y/d/e/",
            "4!d;/alpha/d",
        ] {
            assert_eq!(line(&[script], file), Some(4), "{script}");
        }
        assert_eq!(line(&["$a more"], file), Some(5));
        assert_eq!(line(&["/^$/d"], "a\n\n\nb\n"), Some(2));
        assert_eq!(line(&["$!N;s/b\\nc/x/"], "a\nz\nb\nc\n"), Some(3));
        assert_eq!(line(&["0r file"], file), Some(1));
    }

    #[test]
    fn what_only_steers_is_no_effect() {
        for script in [
            "/alpha/G;s/nope/y/",
            "/alpha/P;s/nope/y/",
            "x;G;s/nope/x/",
            "H;1h;$!d;x;s/nope/x/",
            "/./{H;$!d};x;s/nope/x/",
            "$!N;s/nope\\nx/y/",
        ] {
            assert_eq!(line(&[script], "alpha\nbeta\n"), None, "{script}");
        }
        assert_eq!(line(&["--posix", "s/alpha\\+/A/"], "alpha\n"), None);
    }
}
