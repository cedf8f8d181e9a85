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
    unified_bytes(path, before, after).map(|diff| crate::escape::show(&diff))
}

/// [`unified`] with all bytes as they are.
pub fn unified_bytes(path: &str, before: &[u8], after: &[u8]) -> Option<Vec<u8>> {
    let (size, binary) = (before.len().max(after.len()), is_binary(before) || is_binary(after));
    if size > DIFF_LIMIT || binary {
        return None;
    }
    // a line ends with a newline and nothing else, as patch(1) has it
    let lines = |data| <[u8]>::split_inclusive(data, |byte| *byte == b'\n').collect::<Vec<_>>();
    let (before, after) = (lines(before), lines(after));
    let diff = TextDiff::configure().timeout(Duration::from_secs(2)).diff_slices(&before, &after);
    let mut out = Vec::new();
    for (at, hunk) in diff.unified_diff().context_radius(3).iter_hunks().enumerate() {
        if at == 0 {
            out.extend(format!("--- a/{path}\n+++ b/{path}\n").into_bytes());
        }
        out.extend(format!("{}\n", hunk.header()).into_bytes());
        for change in hunk.iter_changes() {
            out.extend(change.tag().to_string().into_bytes());
            out.extend_from_slice(change.value());
            if !change.value().ends_with(b"\n") {
                out.extend_from_slice(b"\n\\ No newline at end of file\n");
            }
        }
    }
    Some(out)
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
    fn a_carriage_return_ends_no_line() {
        let text = unified_bytes("f", b"a\rb\nc\r\n\xe9\r", b"a\rb\nC\r\n\xe9\r").unwrap();
        let wanted = b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\rb\n-c\r\n+C\r\n \xe9\r\n\\ No newline at end of file\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn says_nothing_of_binary_contents() {
        assert_eq!(unified("f", b"a\0b", b"a\0c"), None);
    }
}
