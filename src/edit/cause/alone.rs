//! A script with some of its commands only: what one command would do by itself, its blocks and labels around it.

use crate::edit::sed::script::{
    Address, AddressKind, Addresses, Detail, Item, Script, ScriptCommand, Span, without_file,
};

/// A change to the script's text at a span, for relaxed forms.
pub type Patch = (Span, Vec<u8>);

/// The script with command `only` and those that merely steer (`n N D P h H g G x b t T`), one item a line, with
/// `patches` applied. Of the command is left what it does to the lines: nothing is written, read or run.
pub fn alone(script: &Script, only: usize, patches: &[Patch]) -> Option<Vec<u8>> {
    let command = script.commands.get(only)?;
    instead(script, only, &edit_of(script, command, patches), patches)
}

/// The script with `text` in the place of command `only`, and the commands that merely steer.
pub fn instead(script: &Script, only: usize, text: &[u8], patches: &[Patch]) -> Option<Vec<u8>> {
    items(script, patches, |command| {
        let steering = || patched(script, &command.span, patches);
        let kept = if command.index == only { Some(text.to_vec()) } else { steers(script, command).then(steering) };
        Some(kept.unwrap_or_default())
    })
}

/// The whole script; none where it would write, read or run something.
pub fn whole(script: &Script) -> Option<Vec<u8>> {
    items(script, &[], |command| (!reaches_out(command)).then(|| script.source(&command.span).to_vec()))
}

fn items(script: &Script, patches: &[Patch], text: impl Fn(&ScriptCommand) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut line = |text: &[u8]| {
        out.extend_from_slice(text);
        if !text.is_empty() && out.last() != Some(&b'\n') {
            out.push(b'\n');
        }
    };
    for item in &script.items {
        match item {
            Item::Open(block) => line(&patched(script, &script.blocks.get(*block)?.span, patches)),
            Item::Close { .. } => line(b"}"),
            Item::Label { name, .. } => line(&[b":", name.as_slice()].concat()),
            Item::Comment(_) => {}
            Item::Command(index) => line(&text(script.commands.get(*index)?)?),
        }
    }
    Some(out)
}

/// What a command does to the lines, without the rest: what only reads, writes or runs leaves a mark where it would,
/// and `q` gives no status.
fn edit_of(script: &Script, command: &ScriptCommand, patches: &[Patch]) -> Vec<u8> {
    match &command.detail {
        Detail::Substitute(s) if s.evaluate || s.write.is_some() => {
            let flags = patched(script, &s.flags, patches);
            let mut out = patched(script, &(command.span.start..s.flags.start), patches);
            out.extend(without_file(&flags).iter().filter(|b| **b != b'e'));
            out
        }
        Detail::File(_) | Detail::Execute => [addressed(script, command, patches), b"s/^/\x02/".to_vec()].concat(),
        _ => command.without_status(&patched(script, &command.span, patches)).to_vec(),
    }
}

/// What stands before the letter of a command.
pub fn addressed(script: &Script, command: &ScriptCommand, patches: &[Patch]) -> Vec<u8> {
    let Addresses { first, second, negated } = &command.addresses;
    let mut out = match (first, second) {
        // only `r` knows a line 0
        (Some(Address { kind: AddressKind::Line(0), .. }), None) => b"1".to_vec(),
        _ => {
            let ends = [first, second].into_iter().flatten().map(|a| a.span.end).max();
            let end = ends.unwrap_or(command.span.start);
            // a patch of what closes the address may reach just so far
            patched(script, &(command.span.start..end), patches)
        }
    };
    if *negated {
        out.push(b'!');
    }
    out
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

/// Whether a command only moves text or control about. `$!d` does where lines are gathered.
pub fn steers(script: &Script, command: &ScriptCommand) -> bool {
    let by_text = || command.addresses.regexes().next().is_some();
    match command.name {
        b'n' | b'N' | b'D' | b'P' | b'h' | b'H' | b'g' | b'G' | b'x' | b'b' | b't' | b'T' => true,
        b'd' => !by_text() && script.commands.iter().any(|c| matches!(c.name, b'H' | b'x')),
        _ => false,
    }
}

/// Whether a command writes a file, reads one, or runs a program.
pub fn reaches_out(command: &ScriptCommand) -> bool {
    match &command.detail {
        Detail::Substitute(s) => s.evaluate || s.write.is_some(),
        Detail::File(_) | Detail::Execute => true,
        _ => false,
    }
}
