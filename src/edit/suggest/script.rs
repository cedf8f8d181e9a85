//! A sed script without some of its commands: what of its pieces goes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use crate::edit::sed::argv::Invocation;
use crate::edit::sed::script::{Item, Locale, Script};

/// What goes of a piece of the script (an `-e`, the operand).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    Whole,
    /// These stretches of its text.
    Parts(Vec<Range<usize>>),
}

/// What goes of each piece when the commands `gone` go. None where they can't be told apart from the others, or
/// where nothing of the script is left.
pub fn without(
    invocation: &Invocation,
    script: &Script,
    files: &HashMap<Vec<u8>, Vec<u8>>,
    locale: Locale,
    gone: &BTreeSet<usize>,
) -> Option<BTreeMap<usize, Cut>> {
    let units = units(script, gone)?;
    let mut cuts = BTreeMap::new();
    for (piece, place) in script.pieces.iter().enumerate() {
        let items: Vec<(Range<usize>, bool)> = units
            .iter()
            .filter(|(span, _)| place.span.start <= span.start && span.start < place.span.end.max(place.span.start + 1))
            .cloned()
            .collect();
        if !items.iter().any(|(_, goes)| *goes) {
            continue;
        }
        // a command that another piece continues
        if items.iter().any(|(span, goes)| *goes && span.end > place.span.end) {
            return None;
        }
        if items.iter().all(|(_, goes)| *goes) {
            cuts.insert(piece, Cut::Whole);
            continue;
        }
        let text = script.source(&place.span);
        let mut parts = Vec::new();
        for run in items.chunk_by(|a, b| a.1 == b.1).filter(|run| run[0].1) {
            let span = run[0].0.start - place.span.start..run[run.len() - 1].0.end - place.span.start;
            parts.push(stretch(text, &span));
        }
        cuts.insert(piece, Cut::Parts(parts));
    }
    (!cuts.is_empty() && is_right(invocation, script, files, locale, gone, &cuts)).then_some(cuts)
}

/// The items of the script in their order, outermost ones only as far as they go as a whole; whether they go.
fn units(script: &Script, gone: &BTreeSet<usize>) -> Option<Vec<(Range<usize>, bool)>> {
    let mut found = Vec::new();
    let mut within: Option<usize> = None;
    for item in &script.items {
        match item {
            Item::Open(block) if within.is_none() => {
                let commands = script.blocks.get(*block)?.commands.clone();
                let all = !commands.is_empty() && commands.clone().all(|c| gone.contains(&c));
                if all {
                    within = Some(*block);
                }
                found.push((script.blocks.get(*block)?.span.clone(), all));
            }
            Item::Close { block, span } if within == Some(*block) => {
                within = None;
                found.last_mut()?.0.end = span.end;
            }
            Item::Label { .. } | Item::Comment(_) if within.is_some() => return None,
            _ if within.is_some() => {}
            Item::Open(block) => found.push((script.blocks.get(*block)?.span.clone(), false)),
            Item::Close { span, .. } | Item::Label { span, .. } | Item::Comment(span) => {
                found.push((span.clone(), false))
            }
            Item::Command(index) => found.push((script.commands.get(*index)?.span.clone(), gone.contains(index))),
        }
    }
    Some(found)
}

/// What is to be cut so that the commands at `span` are gone: their lines, or them with what parts them from the next.
fn stretch(text: &[u8], span: &Range<usize>) -> Range<usize> {
    let blank = |b: &u8| matches!(b, b' ' | b'\t');
    let left = span.start - text[..span.start].iter().rev().take_while(|b| blank(b)).count();
    let rest = &text[span.end..];
    let right = span.end + rest.iter().take_while(|b| blank(b) || **b == b';').count();
    let starts = left == 0 || text[left - 1] == b'\n';
    let next = text.get(right);
    match (starts, next) {
        (true, Some(b'\n')) if left > 0 => left..right + 1,
        (true, None) if left > 0 => left - 1..span.end,
        (true, Some(b'\n')) => {
            let line = &text[right + 1..];
            span.start..right + 1 + line.iter().take_while(|b| blank(b)).count()
        }
        (_, Some(b'\n' | b'}' | b'#') | None) => {
            let kept = text[..span.start].iter().rev().take_while(|b| blank(b) || **b == b';').count();
            span.start - kept..span.end
        }
        _ => span.start..right,
    }
}

/// Whether the script with the cuts has just the commands that stay.
fn is_right(
    invocation: &Invocation,
    script: &Script,
    files: &HashMap<Vec<u8>, Vec<u8>>,
    locale: Locale,
    gone: &BTreeSet<usize>,
    cuts: &BTreeMap<usize, Cut>,
) -> bool {
    let mut rest = invocation.clone();
    for (piece, cut) in cuts {
        let Some(piece) = rest.pieces.get_mut(*piece) else { return false };
        if let Cut::Parts(parts) = cut {
            for part in parts.iter().rev() {
                if part.end > piece.text.len() {
                    return false;
                }
                piece.text.drain(part.clone());
            }
        }
    }
    let mut index = 0;
    rest.pieces.retain(|_| {
        index += 1;
        cuts.get(&(index - 1)) != Some(&Cut::Whole)
    });
    if rest.pieces.is_empty() {
        return false;
    }
    let Ok(new) = Script::cut(&rest, files, locale) else { return false };
    let stays = script.commands.iter().filter(|c| !gone.contains(&c.index)).map(|c| script.source(&c.span));
    let is: Vec<&[u8]> = new.commands.iter().map(|c| new.source(&c.span)).collect();
    stays.collect::<Vec<_>>() == is && new.quiet == script.quiet
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::sed::argv::words;

    /// The pieces of the script without the commands `gone`.
    fn left(argv: &[&str], gone: &[usize]) -> Option<Vec<String>> {
        let invocation = Invocation::parse(&words(argv), false).unwrap();
        let (files, locale) = (HashMap::new(), Locale::default());
        let script = Script::cut(&invocation, &files, locale).unwrap();
        let cuts = without(&invocation, &script, &files, locale, &gone.iter().copied().collect())?;
        let mut out = Vec::new();
        for (index, piece) in invocation.pieces.iter().enumerate() {
            let mut text = piece.text.clone();
            match cuts.get(&index) {
                Some(Cut::Whole) => continue,
                Some(Cut::Parts(parts)) => parts.iter().rev().for_each(|p| drop(text.drain(p.clone()))),
                None => {}
            }
            out.push(String::from_utf8(text).unwrap());
        }
        Some(out)
    }

    #[test]
    fn commands_go_with_what_parts_them() {
        let one = |script: &str, gone: &[usize]| left(&["sed", script, "f"], gone).map(|p| p[0].clone());
        assert_eq!(one("s/a/b/;s/c/d/;s/e/f/", &[0]).unwrap(), "s/c/d/;s/e/f/");
        assert_eq!(one("s/a/b/; s/c/d/; s/e/f/", &[1]).unwrap(), "s/a/b/; s/e/f/");
        assert_eq!(one("s/a/b/; s/c/d/; s/e/f/", &[1, 2]).unwrap(), "s/a/b/");
        assert_eq!(one("\n\ts/a/b/\n\ts/c/d/\n", &[1]).unwrap(), "\n\ts/a/b/\n");
        assert_eq!(one("\n\ts/a/b/\n\ts/c/d/", &[1]).unwrap(), "\n\ts/a/b/");
        assert_eq!(one("s/a/b/\n\ts/c/d/", &[0]).unwrap(), "s/c/d/");
        assert_eq!(one("/x/{s/a/b/;s/c/d/};p", &[1]).unwrap(), "/x/{s/a/b/};p");
        assert_eq!(one("/x/{s/a/b/;s/c/d/};p", &[0, 1]).unwrap(), "p");
        assert_eq!(one("s/a/b/", &[0]), None);
    }

    #[test]
    fn pieces_go_as_a_whole() {
        let argv = ["sed", "-e", "s/a/b/", "-e", "s/c/d/;s/e/f/", "f"];
        assert_eq!(left(&argv, &[0]).unwrap(), ["s/c/d/;s/e/f/"]);
        assert_eq!(left(&argv, &[1, 2]).unwrap(), ["s/a/b/"]);
        assert_eq!(left(&argv, &[0, 1]).unwrap(), ["s/e/f/"]);
        // a text that the next piece continues
        assert_eq!(left(&["sed", "-e", "a\\", "-e", "text", "-e", "s/c/d/", "f"], &[0]), None);
    }
}
