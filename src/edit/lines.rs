//! The smallest text of the ebuild that holds a single command: its `-e`, its line of a longer string, the array's
//! element.

use super::inventory::{Call, Inventory, Word, unquoted};
use super::place::Place;
use super::site::Site;
use crate::phase::stack;

/// The lines (first, last) on which the command `text` of the call at `site` stands.
pub fn of_command(site: &Site, text: &str) -> (u32, u32) {
    let whole = (site.origin.line, site.origin.end_line);
    let Some(call) = site.call() else { return whole };
    let inventory = &site.source.inventory;
    let own = call.words.iter().skip(call.tool_word);
    let elements = arrays(inventory, site, call.words.iter().map(|w| w.text.as_str()));
    let candidates: Vec<&Word> = own.chain(elements).chain(&call.heredoc).collect();
    // literally, else by what surrounds the shell's expansions
    let exact = candidates.iter().find_map(|w| inside(w, text));
    exact.or_else(|| nearest(&candidates, text)).unwrap_or(whole)
}

/// The lines on which a caller of the function around a call has `text`, which the function was given.
pub fn given(place: &Place, text: &str) -> Option<(u32, u32)> {
    let call = place.site.call()?;
    if !takes(call) || is_literal(&place.site, text) {
        return None;
    }
    let inventory = &place.site.source.inventory;
    let has = |record: &&crate::phase::trace::Record| {
        record.argv.iter().any(|a| memchr::memmem::find(&a.0, text.as_bytes()).is_some())
    };
    place.records.iter().filter(has).find_map(|record| {
        let frames = stack::parse(&record.at.0);
        let own = frames.iter().position(|f| f.function == place.site.origin.function)?;
        let outer = frames[own + 1..].iter().filter(|f| f.file == frames[own].file);
        outer.into_iter().find_map(|frame| {
            let at = |c: &&Call| c.line <= frame.line && frame.line <= c.end_line;
            let words = inventory.calls.iter().filter(at).flat_map(|c| &c.words);
            words.into_iter().find_map(|w| inside(w, text))
        })
    })
}

/// Whether words of a call are, or have in them, what the function around it was given.
pub fn takes(call: &Call) -> bool {
    let all = |word: &Word| ["$@", "$*", "${@", "${*"].iter().any(|p| word.text.contains(p));
    call.words.iter().any(|word| all(word) || numbered(&word.text))
}

/// Whether a word has an argument of the function by its number.
fn numbered(word: &str) -> bool {
    let digit = |rest: &str| rest.trim_start_matches('{').starts_with(|c: char| c.is_ascii_digit());
    word.match_indices('$').any(|(at, _)| digit(&word[at + 1..]))
}

/// The elements of the variables and arrays that `words` expand.
fn arrays<'a>(inventory: &'a Inventory, site: &Site, words: impl Iterator<Item = &'a str>) -> Vec<&'a Word> {
    let words: Vec<&str> = words.collect();
    let used = |name: &str| {
        words.iter().any(|w| {
            w.match_indices(name).any(|(at, _)| {
                let before = w[..at].trim_end_matches('{').ends_with('$');
                let after = w[at + name.len()..].chars().next();
                before && !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        })
    };
    inventory
        .assignments
        .iter()
        .filter(|a| a.function.is_none() || a.function.as_deref() == Some(&site.origin.function))
        .filter(|a| used(&a.name))
        .flat_map(|a| &a.elements)
        .collect()
}

/// The lines within `word` on which `text` stands as it is.
fn inside(word: &Word, text: &str) -> Option<(u32, u32)> {
    let plain = unescaped(&word.text);
    let wanted = unescaped(text);
    if wanted.is_empty() {
        return None;
    }
    let at = plain.find(&wanted)?;
    let line = word.line + plain[..at].matches('\n').count() as u32;
    Some((line, line + wanted.matches('\n').count() as u32))
}

/// Quotes and the backslashes of double quotes are the shell's.
fn unescaped(text: &str) -> String {
    unquoted(text).replace("\\\n", "")
}

/// The word that shares the most with `text`, where the shell has put values into it.
fn nearest(candidates: &[&Word], text: &str) -> Option<(u32, u32)> {
    let wanted = unescaped(text);
    let score = |word: &Word| -> usize {
        let plain = unescaped(&word.text);
        if !plain.contains('$') && !plain.contains('`') {
            return 0;
        }
        let head = plain.chars().zip(wanted.chars()).take_while(|(a, b)| a == b).count();
        let tail = plain.chars().rev().zip(wanted.chars().rev()).take_while(|(a, b)| a == b).count();
        head + tail
    };
    let best = candidates.iter().max_by_key(|w| score(w))?;
    (score(best) >= 3).then_some((best.line, best.end_line))
}

/// Whether the text of the call has `text` as it is, without any expansion of the shell.
pub fn is_literal(site: &Site, text: &str) -> bool {
    let Some(call) = site.call() else { return false };
    let elements = arrays(&site.source.inventory, site, call.words.iter().map(|w| w.text.as_str()));
    call.words.iter().chain(elements).any(|w| inside(w, text).is_some())
}
