//! Comments within continued commands: `` sed -e 's/a/b/' `# why` \ ``, a substitution of nothing to bash.

/// The text with blanks in the place of such comments, of the same length. The parser takes the end of their line for the
/// end of the command.
pub fn blanked(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let bytes = line.as_bytes();
        let mut from = 0;
        while let Some(open) = line.get(from..).and_then(|rest| rest.find("`#")).map(|at| from + at) {
            let Some(close) = line[open + 1..].find('`').map(|at| open + 1 + at) else { break };
            from = close + 1;
            let blank = |at: Option<&u8>| at.is_none_or(|b| b.is_ascii_whitespace());
            // what stands within quotes is text
            let outside = [b'\'', b'"'].iter().all(|q| bytes[..open].iter().filter(|b| *b == q).count() % 2 == 0);
            if outside && blank(open.checked_sub(1).and_then(|at| bytes.get(at))) && blank(bytes.get(close + 1)) {
                out[start + open..=start + close].fill(b' ');
            }
        }
        start += line.len();
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_comments_outside_of_quotes_are_blanked() {
        let text = "sed -e 's/a/b/' `# it's \u{e9}` \\\n\t`# two` \\\n\tf '`# no`' x`#no` \"a `# no` b\" `# open\n";
        let new = blanked(text);
        assert_eq!(new.len(), text.len());
        assert!(!new.contains("it's") && !new.contains("two"), "{new}");
        assert!(new.ends_with("f '`# no`' x`#no` \"a `# no` b\" `# open\n"), "{new}");
    }
}
