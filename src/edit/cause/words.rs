//! Near misses by words: the line that says almost what the pattern wants.

use std::collections::BTreeMap;

/// Words of build descriptions that stand everywhere and tell nothing of a line.
const COMMON: &[&[u8]] = &[
    b"DESTDIR",
    b"prefix",
    b"PREFIX",
    b"libdir",
    b"bindir",
    b"datadir",
    b"sysconfdir",
    b"find_package",
    b"set",
    b"install",
    b"message",
    b"add_library",
    b"add_executable",
    b"add_subdirectory",
    b"include",
    b"target_link_libraries",
    b"include_directories",
    b"option",
    b"if",
    b"endif",
    b"else",
    b"list",
    b"APPEND",
    b"REQUIRED",
    b"DESTINATION",
    b"STATUS",
    b"import",
    b"from",
    b"def",
    b"return",
    b"self",
    b"CFLAGS",
    b"LDFLAGS",
    b"CXXFLAGS",
    b"define",
    b"const",
    b"char",
    b"int",
    b"void",
    b"static",
    b"struct",
];

/// The line of `content` (from 1) that is nearest to the plain text of `pattern`, if it is near enough: it holds the
/// pattern's rarest word, and most of its letters.
pub fn nearest(pattern: &[u8], content: &[u8]) -> Option<(u32, Vec<u8>)> {
    let wanted: Vec<Vec<u8>> = words(&plain(pattern)).into_iter().filter(|w| tells(w)).collect();
    let weight: usize = wanted.iter().map(Vec::len).sum();
    if weight < 5 {
        return None;
    }
    let lines: Vec<&[u8]> = content.split(|b| *b == b'\n').collect();
    let mut seen: BTreeMap<&[u8], usize> = BTreeMap::new();
    for line in &lines {
        let mut here: Vec<&[u8]> = raw_words(line).collect();
        here.sort_unstable();
        here.dedup();
        for word in here {
            *seen.entry(word).or_default() += 1;
        }
    }
    // a word that half the file has tells nothing
    let common = 3.max(lines.len() / 100);
    let telling = |word: &[u8]| word.len() >= 4 && seen.get(word).is_some_and(|n| *n <= common);
    let mut best: Option<(usize, u32, &[u8])> = None;
    for (number, line) in (1..).zip(&lines) {
        let here: Vec<&[u8]> = raw_words(line).collect();
        let shared: Vec<&Vec<u8>> = wanted.iter().filter(|w| here.contains(&w.as_slice())).collect();
        let score: usize = shared.iter().map(|w| w.len()).sum();
        let tells = shared.iter().any(|w| telling(w));
        // more than half of the pattern's letters
        if tells && score * 2 > weight && best.is_none_or(|b| score > b.0) {
            best = Some((score, number, line));
        }
    }
    best.map(|(_, number, line)| (number, line.to_vec()))
}

/// Whether a text is a word that says something of its line.
pub fn tells(word: &[u8]) -> bool {
    raw_words(word).next() == Some(word) && !COMMON.contains(&word)
}

/// The pattern without what only regular expressions mean.
fn plain(pattern: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut at = 0;
    while let Some(&byte) = pattern.get(at) {
        at += 1;
        match byte {
            b'\\' => {
                let next = pattern.get(at).copied().unwrap_or(b' ');
                at += 1;
                out.push(if next.is_ascii_alphanumeric() { b' ' } else { next });
            }
            b'[' => {
                let end = pattern[at..].iter().skip(1).position(|b| *b == b']').map_or(pattern.len(), |n| at + n + 2);
                at = end;
                out.push(b' ');
            }
            b'^' | b'$' | b'*' | b'.' => out.push(b' '),
            c => out.push(c),
        }
    }
    out
}

fn raw_words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| !(b.is_ascii_alphanumeric() || *b == b'_' || *b >= 128)).filter(|w| w.len() >= 2)
}

fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = raw_words(text).map(<[u8]>::to_vec).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_near_by_its_telling_words() {
        let file = b"project(x)\nget_version ( \"1.12.0\" )\nfind_package(A)\nfind_package(B)\n";
        assert_eq!(nearest(b"get_version ( \"1.0.7\" )", file).map(|n| n.0), Some(2));
        assert_eq!(nearest(b"find_package(Git", file), None);
        assert_eq!(nearest(b"nothing_like_it", file), None);
        assert_eq!(nearest(b"", b""), None);
    }
}
