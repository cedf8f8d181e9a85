//! Words that sed reads as something else than what their order means.

use super::edits::{Judged, Scene};
use crate::edit::outcome;
use crate::edit::sed::argv::{Invocation, PieceKind};
use crate::escape::show;
use crate::phase::trace::{Record, State, Tool};

/// Letters of options that take no argument, and `e`.
const LETTERS: &[u8] = b"Eensruz";

fn calls(judged: &Judged) -> impl Iterator<Item = (&Record, Invocation)> {
    let records = judged.place.iter().flat_map(|p| &p.records).filter(|r| r.tool == Tool::Sed);
    records.filter_map(|r| Some((r, outcome::invocation(r)?)))
}

/// An option that `-e` took for its expression, which sed then refused.
pub fn expression(judged: &Judged) -> Option<String> {
    calls(judged).filter(|(record, _)| record.exit == 1).find_map(|(_, call)| {
        let is_option = |text: &[u8]| {
            text.strip_prefix(b"-").is_some_and(|rest| {
                !rest.is_empty() && rest.iter().all(|b| LETTERS.contains(b) || *b == b'i')
                    || rest.starts_with(b"-in-place")
            })
        };
        let piece = call.pieces.iter().find(|p| p.kind == PieceKind::Expression && is_option(&p.text))?;
        if piece.text == b"-e" {
            return Some("-e takes -e for its expression: write it once".to_owned());
        }
        let option = show(&piece.text);
        Some(format!("-e takes {option} for its expression: write {option} before -e"))
    })
}

/// An expression that is the file `target`, since another one stands behind `-e` or `-f`.
pub fn operand(judged: &Judged, target: &str, scene: &Scene) -> Option<String> {
    calls(judged).find_map(|(record, call)| {
        let named = |t: &&crate::phase::trace::TargetRecord| scene.names.show(outcome::path(&t.path)) == target;
        let file = record.targets.iter().find(named).filter(|t| t.before == State::Missing)?;
        let word = &record.argv.get(file.arg)?.0;
        let given = call.pieces.first().filter(|p| p.kind != PieceKind::Operand)?;
        let option = if given.kind == PieceKind::File { "-f" } else { "-e" };
        let text = show(word);
        is_command(word)
            .then(|| format!("`{text}` is taken for a file, since {option} is given: write -e before it, too"))
    })
}

/// Whether a word can hardly be meant as anything but an `s` or a `y`.
fn is_command(word: &[u8]) -> bool {
    let word = &word[word.iter().take_while(|b| b.is_ascii_digit() || matches!(b, b',' | b'$')).count()..];
    let [b's' | b'y', delimiter, rest @ ..] = word else { return false };
    let fits = !delimiter.is_ascii_alphanumeric() && !matches!(delimiter, b'\\' | b'.' | b'-' | b'_' | b'\n');
    fits && rest.iter().filter(|b| *b == delimiter).count() >= 2
}

/// Options that `-i` took for the suffix of its copies.
pub fn suffix(call: &Invocation) -> Option<String> {
    let suffix = call.in_place.as_ref().filter(|s| !s.is_empty() && s.iter().all(|b| LETTERS.contains(b)))?;
    let letters = show(suffix);
    Some(format!("-i takes what follows it for a suffix: write -i -{letters} for the option -{letters}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::sed::argv::words;

    #[test]
    fn commands_and_suffixes_are_told_from_names() {
        for word in ["s/a/b/", "s:a:b:g", "2,3s/a//", "y/a/b/", "$s|a|b|"] {
            assert!(is_command(word.as_bytes()), "{word}");
        }
        for word in ["src/a/b", "s/a", "sa/b/c/", "s-a-b-c", "Makefile", ""] {
            assert!(!is_command(word.as_bytes()), "{word}");
        }
        let of = |option: &str| suffix(&Invocation::parse(&words(["sed", option, "-e", "p", "f"]), false).unwrap());
        assert!(of("-ir").unwrap().ends_with("write -i -r for the option -r"));
        assert!(of("-i").is_none() && of("-i.bak").is_none() && of("-i.orig").is_none() && of("-ri").is_none());
    }
}
