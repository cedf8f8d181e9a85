//! Bytes as text. The trace needs them back without loss ([`escape`]); reports are read by people and by other
//! programs, which want names as they are ([`show`]).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Writes bytes as text; [`unescape`] gives the same bytes back.
pub fn escape(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// Bytes as a reader sees them: a byte that is no UTF-8 is `\xNN`, all else stands as it is.
pub fn show(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// [`show`] for a path.
pub fn escape_path(path: &Path) -> String {
    show(path.as_os_str().as_bytes())
}

/// [`show`] for an argument or a name.
pub fn escape_os(text: &OsStr) -> String {
    show(text.as_bytes())
}

/// Reads what [`escape`] wrote. Anything else after a backslash stays as it stands.
pub fn unescape(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b'\\', Some(b'\\')) => {
                out.push(b'\\');
                i += 2;
            }
            (b'\\', Some(b'x')) => {
                let hex = text.get(i + 2..i + 4);
                match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
                    Some(byte) => {
                        out.push(byte);
                        i += 4;
                    }
                    None => {
                        out.push(b'\\');
                        i += 1;
                    }
                }
            }
            (byte, _) => {
                out.push(byte);
                i += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn writes_what_the_contract_says() {
        assert_eq!(escape(b"a\\b\xffc"), "a\\\\b\\xffc");
        assert_eq!(escape("grün".as_bytes()), "grün");
    }

    proptest! {
        #[test]
        fn comes_back_unchanged(bytes: Vec<u8>) {
            prop_assert_eq!(unescape(&escape(&bytes)), bytes);
        }
    }
}
