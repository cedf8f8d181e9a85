//! A script with some of its commands only: what one command would do by itself, its blocks and labels around it.

use crate::edit::sed::script::{Detail, Item, Script, ScriptCommand, Span};

/// A change to the script's text at a span, for relaxed forms.
pub type Patch = (Span, Vec<u8>);

/// The script with command `only` and those that merely steer (`n N D P h H g G x b t T`), one item a line, with
/// `patches` applied. None where the command would write or run something.
pub fn alone(script: &Script, only: usize, patches: &[Patch]) -> Option<Vec<u8>> {
    let keep = |command: &ScriptCommand| command.index == only || steers(command);
    with(script, keep, patches)
}

/// The script with the commands that `keep` takes.
pub fn with(script: &Script, keep: impl Fn(&ScriptCommand) -> bool, patches: &[Patch]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut line = |text: &[u8]| {
        out.extend_from_slice(text);
        if out.last() != Some(&b'\n') {
            out.push(b'\n');
        }
    };
    for item in &script.items {
        match item {
            Item::Open(block) => line(&patched(script, &script.blocks.get(*block)?.span, patches)),
            Item::Close { .. } => line(b"}"),
            Item::Label { name, .. } => line(&[b":", name.as_slice()].concat()),
            Item::Comment(_) => {}
            Item::Command(index) => {
                let command = script.commands.get(*index)?;
                if keep(command) {
                    if reaches_out(command) {
                        return None;
                    }
                    line(&patched(script, &command.span, patches));
                }
            }
        }
    }
    Some(out)
}

/// The text of `span` with the patches that lie in it.
pub fn patched(script: &Script, span: &Span, patches: &[Patch]) -> Vec<u8> {
    let mut inside: Vec<&Patch> = patches.iter().filter(|(s, _)| span.start <= s.start && s.end <= span.end).collect();
    inside.sort_by_key(|(s, _)| s.start);
    let mut out = Vec::new();
    let mut at = span.start;
    for (place, text) in inside {
        if place.start < at {
            continue;
        }
        out.extend_from_slice(script.source(&(at..place.start)));
        out.extend_from_slice(text);
        at = place.end;
    }
    out.extend_from_slice(script.source(&(at..span.end)));
    out
}

/// Whether a command only moves text or control about.
pub fn steers(command: &ScriptCommand) -> bool {
    matches!(command.name, b'n' | b'N' | b'D' | b'P' | b'h' | b'H' | b'g' | b'G' | b'x' | b'b' | b't' | b'T')
}

/// Whether a command writes a file, reads one, or runs a program.
pub fn reaches_out(command: &ScriptCommand) -> bool {
    match &command.detail {
        Detail::Substitute(s) => s.evaluate || s.write.is_some(),
        Detail::File(_) | Detail::Execute => true,
        _ => false,
    }
}
