//! Numbers of things.

/// `1 edit`, `2 edits`.
pub fn plural(number: usize, what: &str) -> String {
    counted(number, what, &format!("{what}s"))
}

/// [`plural`] of words that take no mere `s` at their end.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_and_many() {
        assert_eq!([0, 1, 2].map(|n| plural(n, "file")), ["0 files", "1 file", "2 files"]);
        assert_eq!(counted(2, "line of text", "lines of text"), "2 lines of text");
    }
}
