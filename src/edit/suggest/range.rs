//! Changes to a text: what they take away from its lines, and how they are applied.

use std::ops::Range;

/// New text for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub span: Range<usize>,
    pub text: String,
}

impl Change {
    pub fn removal(span: Range<usize>) -> Change {
        Change { span, text: String::new() }
    }
}

/// The start of the line that holds `at`.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |n| n + 1)
}

/// Behind the newline of the line that holds `at`.
pub fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |n| at + n + 1)
}

pub fn is_blank(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' ' | b'\t'))
}

/// Behind the blanks at `at`.
pub fn skip_blanks(text: &str, at: usize) -> usize {
    at + text[at..].bytes().take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// Before the blanks (and escaped newlines) that end at `at`.
fn back_over_blanks(text: &str, mut at: usize) -> usize {
    loop {
        let head = text[..at].trim_end_matches([' ', '\t']);
        let joined = head.strip_suffix("\\\n").unwrap_or(head);
        if joined.len() == at {
            return at;
        }
        at = joined.len();
    }
}

/// What is to be cut so that the statement at `span` is gone: its lines where it has them for itself.
pub fn statement(text: &str, span: &Range<usize>) -> Range<usize> {
    let first = line_start(text, span.start);
    let own_start = is_blank(&text[first..span.start]);
    let mut after = skip_blanks(text, span.end);
    if text[after..].starts_with(';') && !text[after..].starts_with(";;") {
        after = skip_blanks(text, after + 1);
    }
    let ends = after == text.len() || text[after..].starts_with('\n');
    match (own_start, ends) {
        (true, true) => first..line_end(text, after),
        // a comment stays, and so does another statement
        (_, false) => span.start..after,
        (false, true) => {
            let before = text[..span.start].trim_end_matches([' ', '\t']);
            let before = before.strip_suffix(';').unwrap_or(before);
            before.trim_end_matches([' ', '\t']).len()..span.end.max(after)
        }
    }
}

/// What is to be cut so that the words at `span`, within one command, are gone: whole lines of their own, else
/// what lies between them and the word before.
pub fn words(text: &str, span: &Range<usize>) -> Range<usize> {
    let first = line_start(text, span.start);
    if !is_blank(&text[first..span.start]) {
        return text[..span.start].trim_end_matches([' ', '\t']).len()..span.end;
    }
    let after = skip_blanks(text, span.end);
    if text[after..].starts_with("\\\n") {
        first..after + 2
    } else if after == text.len() || text[after..].starts_with(['\n', ';', '#', ')', '}']) {
        // the command ends here: the line before must not go on
        back_over_blanks(text, span.start)..span.end
    } else {
        span.start..after
    }
}

/// The array element at `span`, likewise; no line of an array needs to go on.
pub fn element(text: &str, span: &Range<usize>) -> Range<usize> {
    let first = line_start(text, span.start);
    let after = skip_blanks(text, span.end);
    let ends = after == text.len() || text[after..].starts_with('\n');
    match is_blank(&text[first..span.start]) {
        true if ends => first..line_end(text, after),
        true => span.start..after,
        false if text[..span.start].ends_with('(') => span.start..if ends { span.end } else { after },
        false => text[..span.start].trim_end_matches([' ', '\t']).len()..span.end,
    }
}

/// Whole lines that go may leave two blank ones, or one at the beginning or end of a block.
pub fn tidy(text: &str, changes: &mut [Change]) {
    let whole = |c: &Change| {
        c.text.is_empty()
            && !c.span.is_empty()
            && line_start(text, c.span.start) == c.span.start
            && (c.span.end == text.len() || text[..c.span.end].ends_with('\n'))
    };
    for at in 0..changes.len() {
        if !whole(&changes[at]) {
            continue;
        }
        // what precedes and follows once the neighbours are gone as well
        let (mut first, mut last) = (at, at);
        while first > 0 && whole(&changes[first - 1]) && changes[first - 1].span.end == changes[first].span.start {
            first -= 1;
        }
        while last + 1 < changes.len()
            && whole(&changes[last + 1])
            && changes[last + 1].span.start == changes[last].span.end
        {
            last += 1;
        }
        if last != at {
            continue;
        }
        let (start, end) = (changes[first].span.start, changes[last].span.end);
        let before = text[..start].lines().next_back().unwrap_or("{").trim();
        let next = text[end..].lines().next();
        let opens = ["{", "(", "do", "then", "else"].iter().any(|o| before.ends_with(o));
        let blank = |line: &str| line.trim().is_empty();
        if next.is_some_and(blank) && (blank(before) || opens) {
            changes[last].span.end = line_end(text, end);
        } else if blank(before) && next.is_none_or(|n| matches!(n.trim(), "}" | "fi" | "done" | ")")) {
            changes[first].span.start = line_start(text, start - 1);
        }
    }
}

/// `text` with `changes`, which are in order and apart from each other.
pub fn applied(text: &str, changes: &[Change]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for change in changes {
        out.push_str(&text[at..change.span.start]);
        out.push_str(&change.text);
        at = change.span.end;
    }
    out.push_str(&text[at..]);
    out
}

/// [`applied`] for the bytes of which a text was read with `from_utf8_lossy`: all outside the changes stays as it is.
pub fn applied_to_bytes(bytes: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for change in changes {
        let (start, end) = (raw(bytes, change.span.start), raw(bytes, change.span.end));
        out.extend_from_slice(&bytes[at..start]);
        out.extend_from_slice(change.text.as_bytes());
        at = end;
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

/// The place in `bytes` of a place in their lossy text.
fn raw(bytes: &[u8], lossy: usize) -> usize {
    let (mut read, mut shown) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if lossy <= shown + valid {
            return read + lossy - shown;
        }
        read += valid + chunk.invalid().len();
        shown += valid + if chunk.invalid().is_empty() { 0 } else { '\u{fffd}'.len_utf8() };
    }
    bytes.len()
}

/// Sorts the changes; false where two of them touch the same text.
pub fn sort(changes: &mut Vec<Change>) -> bool {
    changes.sort_by_key(|c| (c.span.start, c.span.end));
    changes.dedup();
    changes.windows(2).all(|pair| pair[0].span.end <= pair[1].span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(text: &str, what: &str, cut: fn(&str, &Range<usize>) -> Range<usize>) -> String {
        let at = text.find(what).unwrap();
        let range = cut(text, &(at..at + what.len()));
        applied(text, &[Change::removal(range)])
    }

    #[test]
    fn words_go_with_their_lines() {
        let text = "\tsed -e 1 \\\n\t\t-e 2 \\\n\t\t-i f || die\n";
        assert_eq!(without(text, "-e 1", words), "\tsed \\\n\t\t-e 2 \\\n\t\t-i f || die\n");
        assert_eq!(without(text, "-e 2", words), "\tsed -e 1 \\\n\t\t-i f || die\n");
        let text = "\tsed -i f \\\n\t\t-e 1 \\\n\t\t-e 2 || die\n";
        assert_eq!(without(text, "-e 2", words), "\tsed -i f \\\n\t\t-e 1 \\\n\t\t|| die\n");
        let text = "\tsed -i f \\\n\t\t-e 1 \\\n\t\t-e 2\n\tx\n";
        assert_eq!(without(text, "-e 2", words), "\tsed -i f \\\n\t\t-e 1\n\tx\n");
        assert_eq!(without("\tsed -e 1 -e 2 f\n", "-e 1", words), "\tsed -e 2 f\n");
    }

    #[test]
    fn a_statement_goes_with_its_line_and_leaves_comments() {
        assert_eq!(without("a\n\tsed x || die\nb\n", "sed x || die", statement), "a\nb\n");
        assert_eq!(without("\tsed x # why\n", "sed x", statement), "\t# why\n");
        assert_eq!(without("\ta; sed x; b\n", "sed x", statement), "\ta; b\n");
        assert_eq!(without("\ta; sed x\n", "sed x", statement), "\ta\n");
    }

    #[test]
    fn elements_go_with_their_lines() {
        assert_eq!(without("a=(\n\t-e 1\n\t-e 2\n)\n", "-e 2", element), "a=(\n\t-e 1\n)\n");
        assert_eq!(without("a=( x y z )\n", "y", element), "a=( x z )\n");
        assert_eq!(without("a=(x y)\n", "x", element), "a=(y)\n");
    }

    #[test]
    fn blank_lines_are_not_left_in_pairs() {
        let cut = |text: &str, what: &str| {
            let at = text.find(what).unwrap();
            let mut changes = vec![Change::removal(statement(text, &(at..at + what.len())))];
            tidy(text, &mut changes);
            applied(text, &changes)
        };
        assert_eq!(cut("f() {\n\tsed\n\n\tdefault\n}\n", "sed"), "f() {\n\tdefault\n}\n");
        assert_eq!(cut("f() {\n\ta\n\n\tsed\n\n\tb\n}\n", "sed"), "f() {\n\ta\n\n\tb\n}\n");
        assert_eq!(cut("f() {\n\ta\n\n\tsed\n}\n", "sed"), "f() {\n\ta\n}\n");
    }

    #[test]
    fn bytes_outside_of_the_change_stay() {
        let bytes = b"# caf\xe9\xe9\nsed \xff\nb\n";
        let text = String::from_utf8_lossy(bytes);
        let at = text.find("sed").unwrap();
        let change = Change::removal(statement(&text, &(at..at + "sed \u{fffd}".len())));
        assert_eq!(applied_to_bytes(bytes, &[change]), b"# caf\xe9\xe9\nb\n");
    }
}
