//! Calls of which no command can have matched, told without a run: an expression of each wants a text that the file
//! lacks. A loop over thousands of files must not cost a process for each.

use super::call::{Call, Content};
use super::literal::required;
use super::script::*;

/// Bytes; larger files are left to sed.
const LARGE: u64 = 16 << 20;

/// Whether each command of `script` is dead in every file of `call`, none of which it changed. A no may be wrong, a yes
/// never is.
pub(super) fn nothing_matches(call: &Call, script: &Script) -> bool {
    let told = !call.targets.is_empty()
        && call.targets.iter().all(|t| t.changed == Some(false) && t.before.size() <= LARGE)
        // what would match under the options that come later is told by another run
        && script.pieces.iter().all(|p| p.flags == call.invocation.flags)
        && !script.regexes().any(Regex::is_last_used);
    let literals: Option<Vec<Vec<Vec<u8>>>> = script.commands.iter().map(|c| wanted(script, c)).collect();
    let Some(literals) = literals.filter(|_| told && !script.commands.is_empty()) else { return false };
    call.targets.iter().all(|target| {
        let read;
        let content = match target.before {
            Content::Missing => return false,
            Content::Bytes(bytes) => bytes,
            Content::File(path) => match std::fs::read(path) {
                Ok(bytes) => {
                    read = bytes;
                    read.as_slice()
                }
                Err(_) => return false,
            },
        };
        let lacks = |literal: &Vec<u8>| memchr::memmem::find(content, literal).is_none();
        literals.iter().all(|any| any.iter().any(lacks))
    })
}

/// Texts without any of which the command does not run or not match; none where it is not judged by its match.
fn wanted(script: &Script, command: &ScriptCommand) -> Option<Vec<Vec<u8>>> {
    match (command.name, &command.detail) {
        (b's', Detail::Substitute(s)) if !s.evaluate => {}
        (b'a' | b'i' | b'c', Detail::Text(text)) if !text.is_empty() => {}
        (b'd' | b'y' | b'z', _) => {}
        _ => return None,
    }
    let blocks = script.blocks.iter().filter(|b| b.commands.contains(&command.index)).map(|b| &b.addresses);
    let starts =
        blocks.chain([&command.addresses]).filter(|a| !a.negated).filter_map(|a| match &a.first.as_ref()?.kind {
            AddressKind::Regex(regex) => Some(regex),
            _ => None,
        });
    let own = match &command.detail {
        Detail::Substitute(s) => Some(&s.regex),
        _ => None,
    };
    let extended = script.pieces.get(command.piece)?.flags.extended;
    let literal = |regex: &Regex| {
        // of a special delimiter the backslash is taken away, and what is left may mean something else
        let plain = !b".*[]^$+?(){}|\\n".contains(&regex.delimiter) && !regex.ignore_case;
        plain.then(|| required(script.source(&regex.span), extended)).flatten().filter(|l| !l.contains(&b'\n'))
    };
    let found: Vec<Vec<u8>> = starts.chain(own).filter_map(literal).collect();
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::sed::argv::{Invocation, words};
    use crate::edit::sed::call::{Environment, Target};

    fn dead(argv: &[&str], content: &str) -> bool {
        let argv: Vec<&str> = ["sed", "-i"].iter().chain(argv).chain(&["f"]).copied().collect();
        let invocation = Invocation::parse(&words(&argv), false).unwrap();
        let script = Script::cut(&invocation, &Default::default(), Default::default()).unwrap();
        let call = Call {
            invocation: &invocation,
            script_files: Default::default(),
            read_files: Default::default(),
            environment: Environment::default(),
            exit: Some(0),
            targets: vec![Target::of_bytes(content.as_bytes(), content.as_bytes())],
        };
        nothing_matches(&call, &script)
    }

    #[test]
    fn only_what_is_certain_is_told() {
        for argv in
            [&["s/gamma/x/; /delta/d"][..], &["-E", "s/(a|b)gamma+/x/"], &["/gamma/,/beta/d"], &["/gamma/{s/a/b/}"]]
        {
            assert!(dead(argv, "alpha\nbeta\n"), "{argv:?}");
        }
        for argv in [
            &["s/alpha/x/"][..],
            &["s/gamma/x/; s/beta/y/"],
            &["/gamma/!d"],
            &["s/gamma/x/I"],
            &["s/gamma\\|beta/x/"],
            &["s/gamma*/x/; s/gam*/y/"],
            &["s/gamma/x/; t; s/delta/y/"],
            &["s/gamma/x/e"],
            &["$a\\"],
            &["-e", "s/gamma/x/", "-E"],
            &["s|gamma\\|beta|x|"],
        ] {
            assert!(!dead(argv, "alpha\nbeta\ngama\n"), "{argv:?}");
        }
    }
}
