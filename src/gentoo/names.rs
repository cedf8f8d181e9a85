//! Which names PMS allows (chapter 3.1).

use super::version::Version;

fn is_word(text: &str, first: impl Fn(char) -> bool, rest: impl Fn(char) -> bool) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(first) && chars.all(rest)
}

fn alnum_or(extra: &'static str) -> impl Fn(char) -> bool {
    move |c| c.is_ascii_alphanumeric() || extra.contains(c)
}

/// A category name (PMS 3.1.1).
pub fn is_category(text: &str) -> bool {
    is_word(text, alnum_or("_"), alnum_or("+_.-"))
}

/// A package name (PMS 3.1.2): no end that reads as a version.
pub fn is_package(text: &str) -> bool {
    is_word(text, alnum_or("_"), alnum_or("+_-")) && !ends_in_version(text)
}

/// A slot name (PMS 3.1.3).
pub fn is_slot(text: &str) -> bool {
    is_word(text, alnum_or("_"), alnum_or("+_.-"))
}

/// A USE flag name (PMS 3.1.4), with the characters that older EAPIs allow as well (`.`).
pub fn is_use_flag(text: &str) -> bool {
    is_word(text, alnum_or(""), alnum_or("+_@.-"))
}

/// A repository name (PMS 3.1.5).
pub fn is_repository(text: &str) -> bool {
    is_word(text, alnum_or("_"), alnum_or("_-")) && !ends_in_version(text)
}

/// An eclass name (PMS 3.1.6).
pub fn is_eclass(text: &str) -> bool {
    is_word(text, alnum_or("_"), alnum_or("_.-")) && text != "default"
}

fn ends_in_version(text: &str) -> bool {
    text.match_indices('-').any(|(at, _)| Version::parse(&text[at + 1..]).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages() {
        for good in ["foo", "gtk+", "_x", "a-b-c", "foo-1a-x", "0ad", "libfoo-r1"] {
            assert!(is_package(good), "{good}");
        }
        for bad in ["", "-foo", "+foo", "foo-1", "foo-1.0_rc1-r2", "foo.bar", "foo bar", "é"] {
            assert!(!is_package(bad), "{bad}");
        }
    }

    #[test]
    fn other_names() {
        assert!(is_category("dev-c++") && is_category("virtual") && !is_category(".git"));
        assert!(is_slot("0") && is_slot("3.11") && !is_slot("-1") && !is_slot("a/b"));
        assert!(is_use_flag("python_targets_python3_13") && is_use_flag("l10n_de") && !is_use_flag("-x"));
        assert!(is_repository("gentoo-zh") && !is_repository("x-1") && !is_repository("a/b"));
        assert!(is_eclass("flag-o-matic") && !is_eclass("a/b") && !is_eclass("default"));
    }
}
