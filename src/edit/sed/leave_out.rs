//! Commands that change nothing by themselves but steer others: an identity `s` before `t`, a `c` that ends the
//! cycle, a regex that a later `//` means. Leaving them out tells them from the truly idle.

use super::argv::Flags;
use super::bench::Bench;
use super::judge::CommandJudgement;
use super::probe;
use super::script::*;
use crate::report::model::Verdict;

/// The most suspects that are left out one by one.
const MOST: usize = 16;

/// The most output that is kept to compare.
const ROOM: usize = 64 << 20;

/// Makes [`Verdict::Control`] of dead and identity commands without which sed's output would be another.
pub(super) fn find_steering(bench: &Bench, script: &Script, commands: &mut [CommandJudgement]) {
    let suspects = suspects(script, commands);
    if suspects.is_empty() || suspects.len() > MOST {
        return;
    }
    let idle = |c: &CommandJudgement| matches!(c.verdict, Verdict::Dead | Verdict::Identity);
    let mut gone: Vec<bool> = commands.iter().map(idle).collect();
    let targets: Vec<usize> = (0..bench.call.targets.len()).collect();
    let output = |gone: &[bool]| output(bench, script, gone, &targets);
    let Some(whole) = output(&vec![false; gone.len()]).filter(Result::is_ok) else {
        return;
    };
    if output(&gone).is_none_or(|without| without == whole) {
        return;
    }
    for &index in &suspects {
        gone[index] = false;
    }
    for index in suspects {
        gone[index] = true;
        match output(&gone) {
            Some(without) if without != whole => {
                gone[index] = false;
                let command = &mut commands[index];
                command.verdict = Verdict::Control;
                command.reason = Some("it changes nothing, but steers the commands behind it".to_string());
                for verdict in command.targets.iter_mut().filter(|v| **v != Verdict::PathGone) {
                    *verdict = Verdict::Control;
                }
            }
            Some(_) => {}
            None => return,
        }
    }
}

/// The idle commands on which others may hang.
fn suspects(script: &Script, commands: &[CommandJudgement]) -> Vec<usize> {
    let jumps = script.commands.iter().any(|c| matches!(c.name, b't' | b'T'));
    let last_used = script.regexes().any(Regex::is_last_used);
    let steers = |command: &ScriptCommand, verdict: Verdict| match verdict {
        Verdict::Identity => match command.name {
            b'c' | b'q' | b'Q' => true,
            b's' => jumps || last_used,
            _ => last_used && command.regexes().next().is_some(),
        },
        Verdict::Dead => last_used && command.regexes().next().is_some(),
        _ => false,
    };
    script.commands.iter().filter(|c| steers(c, commands[c.index].verdict)).map(|c| c.index).collect()
}

/// What sed writes of `targets` with some commands left out, or why it refuses that. None: it can't be told.
pub(super) fn output(
    bench: &Bench,
    script: &Script,
    gone: &[bool],
    targets: &[usize],
) -> Option<Result<Vec<u8>, String>> {
    let parts = parts(bench, script, gone)?;
    let mut out = Vec::new();
    let mut fits = true;
    let run = bench.run(&parts, bench.quiet, targets, |chunk| {
        fits &= out.len() + chunk.len() <= ROOM;
        if fits {
            out.extend_from_slice(chunk);
        }
    });
    fits.then(|| run.map(|()| out))
}

/// The script without some commands, such that it writes no file. None: it would run a command, or read what is
/// not known.
fn parts(bench: &Bench, script: &Script, gone: &[bool]) -> Option<Vec<(Flags, Vec<u8>)>> {
    let mut parts: Vec<(Flags, Vec<u8>)> = Vec::new();
    for item in &script.items {
        let (piece, text) = match item {
            Item::Comment(_) => continue,
            Item::Command(index) if gone[*index] => continue,
            Item::Close { block, span } => {
                (script.locate(span.start).0.max(script.blocks[*block].piece), b"}\n".to_vec())
            }
            Item::Label { name, piece, .. } => (*piece, [b":", name.as_slice(), b"\n"].concat()),
            Item::Open(block) => {
                let block = &script.blocks[*block];
                (block.piece, [probe::addresses(script, &block.addresses), b"{\n".to_vec()].concat())
            }
            Item::Command(index) => {
                let command = &script.commands[*index];
                (command.piece, harmless(bench, script, command)?)
            }
        };
        let flags = script.pieces.get(piece)?.flags;
        match parts.last_mut() {
            Some((last, part)) if *last == flags => part.extend_from_slice(&text),
            _ => parts.push((flags, text)),
        }
    }
    if parts.is_empty() {
        parts.push((Flags::default(), Vec::new()));
    }
    Some(parts)
}

/// A command that writes nothing but sed's output.
fn harmless(bench: &Bench, script: &Script, command: &ScriptCommand) -> Option<Vec<u8>> {
    let mut text = match &command.detail {
        Detail::Execute => return None,
        Detail::Substitute(substitute) if substitute.evaluate => return None,
        Detail::Substitute(substitute) if substitute.write.is_some() => {
            let until = script.source(&(command.span.start..substitute.flags.start));
            [until, without_file(script.source(&substitute.flags))].concat()
        }
        Detail::Text(text) => {
            let mut out = probe::addresses(script, &command.addresses);
            out.extend([command.name, b'\\']);
            if text.is_empty() {
                // must stay the end of the script
                return Some(out);
            }
            out.push(b'\n');
            for &byte in text.strip_suffix(b"\n").unwrap_or(text) {
                if matches!(byte, b'\\' | b'\n') {
                    out.push(b'\\');
                }
                out.push(byte);
            }
            out
        }
        Detail::File(_) if matches!(command.name, b'w' | b'W') => {
            [probe::addresses(script, &command.addresses), b"{};".to_vec()].concat()
        }
        Detail::File(name) => {
            let content = bench.call.read_files.get(name)?;
            let file = format!("read{}", command.index);
            if let Some(content) = content {
                std::fs::write(bench.dir().join(&file), content).ok()?;
            }
            let zero = matches!(&command.addresses.first, Some(a) if a.kind == AddressKind::Line(0));
            let address = match (zero, &command.addresses.second) {
                (true, None) => b"0".to_vec(),
                _ => probe::addresses(script, &command.addresses),
            };
            [address, vec![command.name], file.into_bytes()].concat()
        }
        _ => command.without_status(script.source(&command.span)).to_vec(),
    };
    text.push(b'\n');
    Some(text)
}
