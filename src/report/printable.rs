//! Text of ebuilds, archives and logs made harmless for a terminal.

/// Control characters but newline and tab are shown as `\xNN` or `\u{NNNN}`: an escape sequence in a file name must
/// not move the cursor of the one who reads about it. So are the marks that turn the direction of writing.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() && (c as u32) < 256 => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("\\u{{{:x}}}", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn shows_what_a_terminal_would_obey() {
        assert_eq!(printable("a\x1b[31mb\r\n\tc\u{9b}\u{202e}"), "a\\x1b[31mb\\x0d\n\tc\\x9b\\u{202e}");
    }
}
