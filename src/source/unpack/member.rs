//! A member's name, once it is known to lead nowhere but down.

use super::error::{Fault, Outcome};

/// A relative path without `.`, `..`, empty components and NUL; empty for the root of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Member(Vec<u8>);

impl Member {
    /// Refuses a name that is absolute, climbs, or holds a NUL.
    pub(super) fn new(raw: &[u8]) -> Outcome<Self> {
        let refuse = |why: &str| Err(Fault::refused(why).of(raw));
        if raw.first() == Some(&b'/') {
            return refuse("the name is absolute");
        }
        if raw.contains(&0) {
            return refuse("the name holds a NUL byte");
        }
        let mut clean = Vec::with_capacity(raw.len());
        for part in raw.split(|b| *b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => return refuse("the name climbs out with \"..\""),
                _ => {
                    if !clean.is_empty() {
                        clean.push(b'/');
                    }
                    clean.extend_from_slice(part);
                }
            }
        }
        Ok(Member(clean))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory (empty for the root of the tree) and the name in it.
    pub(super) fn split(&self) -> (&[u8], &[u8]) {
        match memchr::memrchr(b'/', &self.0) {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (b"", &self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_cleaned_or_refused() {
        assert_eq!(Member::new(b"./a//b/./c/").unwrap().bytes(), b"a/b/c");
        assert!(Member::new(b"./").unwrap().is_root());
        assert_eq!(Member::new(b"a/b").unwrap().split(), (&b"a"[..], &b"b"[..]));
        assert_eq!(Member::new(b"b").unwrap().split(), (&b""[..], &b"b"[..]));
        assert_eq!(Member::new(b"..a/b..").unwrap().bytes(), b"..a/b..");
        for bad in [&b"/etc"[..], b"..", b"a/../b", b"a/..", b"a\0b"] {
            assert!(Member::new(bad).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_name_leads_up(raw: Vec<u8>) {
            if let Ok(member) = Member::new(&raw) {
                prop_assert!(!member.bytes().starts_with(b"/"));
                for part in member.bytes().split(|b| *b == b'/').filter(|_| !member.is_root()) {
                    prop_assert!(!part.is_empty() && part != b"." && part != b"..");
                }
            }
        }
    }
}
