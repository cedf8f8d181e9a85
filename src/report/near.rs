//! What differs between a command and the line that it narrowly misses.

use std::ops::Range;

use similar::{DiffTag, TextDiff};

/// Words and signs; where there are more, nobody would find a mark among them.
const MOST: usize = 1000;

/// The parts of `line` that `command` has otherwise, by an inline diff of the two; none where they share too little.
pub fn differing(command: &str, line: &str) -> Vec<Range<usize>> {
    let (old, words) = (tokens(command), tokens(line));
    if old.len().max(words.len()) > MOST {
        return Vec::new();
    }
    let diff = TextDiff::from_slices(&old, &words);
    let start = |index: usize| words[..index].iter().map(|w| w.len()).sum::<usize>();
    let solid = |range: &Range<usize>| words[range.clone()].iter().any(|w| w.trim().len() >= 3);
    let ops: Vec<_> = diff.ops().iter().map(|op| (op.tag(), op.new_range())).collect();
    let equal: Vec<&Range<usize>> =
        ops.iter().filter(|(tag, range)| *tag == DiffTag::Equal && solid(range)).map(|(_, range)| range).collect();
    let (Some(first), Some(last)) = (equal.first(), equal.last()) else { return Vec::new() };
    // what stands outside of the common part is no miss, only the rest of the line
    let (from, to) = (first.start, last.end);
    ops.iter()
        .filter(|(tag, range)| {
            matches!(tag, DiffTag::Insert | DiffTag::Replace) && range.start >= from && range.end <= to
        })
        .map(|(_, range)| start(range.start)..start(range.end))
        .filter(|range| !range.is_empty())
        .collect()
}

/// Words, blanks and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same = |c: char| if word(first) { word(c) } else { first == ' ' && c == ' ' };
        let end = rest.char_indices().skip(1).find(|(_, c)| !same(*c)).map_or(rest.len(), |(at, _)| at);
        let (token, left) = rest.split_at(end);
        found.push(token);
        rest = left;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::differing;

    #[test]
    fn marks_what_differs_inside_the_common_part() {
        let line = "\tset( VERSION \"1.2\" CACHE STRING )";
        let parts = differing("s/VERSION 1.0 CACHE STRING/x/", line);
        let marked: String = parts.iter().map(|r| &line[r.clone()]).collect();
        assert!(marked.contains('2') && !marked.contains("VERSION") && !marked.contains("CACHE"), "{marked}");
        assert!(differing("s/a/b/", "nothing alike").is_empty());
        assert!(differing(&"s/abc/b/".repeat(200_000), line).is_empty());
    }
}
