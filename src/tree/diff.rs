//! Unified diffs of two contents.

use std::time::Duration;

use similar::TextDiff;

/// Bytes; a larger content is not diffed.
pub const DIFF_LIMIT: usize = 4 << 20;

/// Whether `data` is taken for binary, as git and grep do: a NUL among the first 8,000 bytes.
pub fn is_binary(data: &[u8]) -> bool {
    memchr::memchr(0, &data[..data.len().min(8000)]).is_some()
}

/// The unified diff with three lines of context, `a/PATH` and `b/PATH` in its head; none for binary or large contents.
///
/// A byte that is no UTF-8 is written `\xNN`.
pub fn unified(path: &str, before: &[u8], after: &[u8]) -> Option<String> {
    let (size, binary) = (before.len().max(after.len()), is_binary(before) || is_binary(after));
    if size > DIFF_LIMIT || binary {
        return None;
    }
    let diff = TextDiff::configure().timeout(Duration::from_secs(2)).diff_lines(before, after);
    let mut out = Vec::new();
    let head = (format!("a/{path}"), format!("b/{path}"));
    diff.unified_diff().context_radius(3).header(&head.0, &head.1).to_writer(&mut out).ok()?;
    Some(crate::escape::show(&out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_changed_line_between_its_neighbours() {
        let text = unified("f", b"a\nb\nc\n", b"a\nB\nc\n").unwrap();
        assert_eq!(text, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
    }

    #[test]
    fn says_nothing_of_binary_contents() {
        assert_eq!(unified("f", b"a\0b", b"a\0c"), None);
    }
}
