//! RESTRICT: what must not be done with an ebuild (PMS 7.3.6).

use std::collections::BTreeSet;

use super::depstring::{DepString, DepStringError};

/// The words of RESTRICT that hold with a USE configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restrict(BTreeSet<String>);

impl Restrict {
    /// Reads RESTRICT and evaluates its conditionals.
    pub fn evaluate(text: &str, enabled: &dyn Fn(&str) -> bool) -> Result<Restrict, DepStringError> {
        let parsed = DepString::parse(text)?;
        Ok(Restrict(parsed.evaluate(enabled).into_iter().map(str::to_owned).collect()))
    }

    /// Whether a word holds.
    pub fn contains(&self, word: &str) -> bool {
        self.0.contains(word)
    }

    /// `fetch`: the files are to be got by hand. They are not on mirrors either.
    pub fn fetch(&self) -> bool {
        self.contains("fetch")
    }

    /// `mirror` (or `nomirror` of old): the files are not on the distribution's mirrors.
    pub fn mirror(&self) -> bool {
        self.contains("mirror") || self.contains("nomirror") || self.fetch()
    }

    /// `primaryuri`, Portage's own: the URIs of SRC_URI go before mirrors.
    pub fn primary_uri(&self) -> bool {
        self.contains("primaryuri")
    }

    /// All words.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditionals() {
        let restrict = |flags: &'static [&str]| {
            Restrict::evaluate("!test? ( test ) bindist? ( fetch ) strip", &|flag| flags.contains(&flag)).unwrap()
        };
        assert_eq!(restrict(&["test"]).iter().collect::<Vec<_>>(), ["strip"]);
        assert!(restrict(&["bindist"]).fetch() && restrict(&["bindist"]).mirror() && !restrict(&[]).mirror());
        assert!(Restrict::evaluate("( x", &|_| true).is_err());
    }
}
