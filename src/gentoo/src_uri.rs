//! SRC_URI: which distfiles an ebuild wants and where they are (PMS 7.3.2, 8.2).

use super::depstring::{DepString, DepStringError, Node};

/// Why a SRC_URI can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SrcUriError {
    #[error("SRC_URI: {0}")]
    Syntax(#[from] DepStringError),
    #[error("SRC_URI: `->` stands before any URI")]
    ArrowFirst,
    #[error("SRC_URI: `{0} ->` has no file name after it")]
    ArrowLast(String),
    #[error("SRC_URI: `{name}`, the name for {uri}, is no plain file name")]
    BadName { uri: String, name: String },
    #[error("SRC_URI: `{0}` ends in no file name; add `-> name`")]
    NoName(String),
    #[error("SRC_URI: `->` for {uri} needs EAPI 2, this is EAPI {eapi}")]
    ArrowTooEarly { uri: String, eapi: String },
    #[error("SRC_URI: the prefix of {uri} needs EAPI 8, this is EAPI {eapi}")]
    PrefixTooEarly { uri: String, eapi: String },
}

/// Which of RESTRICT's words a URI's prefix lifts (EAPI 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Lift {
    #[default]
    None,
    /// `fetch+`: it may be fetched from there in spite of `fetch`.
    Fetch,
    /// `mirror+`: it may also be mirrored in spite of `fetch` and `mirror`.
    Mirror,
}

/// A place that a distfile comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceUri {
    /// Without the prefix of EAPI 8; may begin with `mirror://`.
    pub uri: String,
    pub lift: Lift,
}

/// A distfile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetchable {
    /// A plain name, no path.
    pub filename: String,
    /// In the order of SRC_URI; none for a name without a URI.
    pub uris: Vec<SourceUri>,
}

/// The distfiles that are wanted with these flags, in order, each once.
pub fn fetchables(src_uri: &str, eapi: &str, enabled: &dyn Fn(&str) -> bool) -> Result<Vec<Fetchable>, SrcUriError> {
    collect(parse(src_uri)?.evaluate(enabled), eapi)
}

/// The distfiles that are wanted with any flags.
pub fn all_fetchables(src_uri: &str, eapi: &str) -> Result<Vec<Fetchable>, SrcUriError> {
    collect(parse(src_uri)?.all_words(), eapi)
}

/// Parses and sees to it that both sides of an arrow are words of the same group.
fn parse(src_uri: &str) -> Result<DepString, SrcUriError> {
    let parsed = DepString::parse(src_uri)?;
    let mut groups = vec![parsed.nodes.as_slice()];
    while let Some(nodes) = groups.pop() {
        let mut last: Option<&str> = None;
        for (index, node) in nodes.iter().enumerate() {
            last = match node {
                Node::Group(_, inner) => {
                    groups.push(inner);
                    None
                }
                Node::Word(word) if word == "->" => {
                    let uri = last.ok_or(SrcUriError::ArrowFirst)?;
                    match nodes.get(index + 1) {
                        Some(Node::Word(name)) if name != "->" => None,
                        _ => return Err(SrcUriError::ArrowLast(uri.to_owned())),
                    }
                }
                // the name after an arrow is no URI for another one
                Node::Word(word) => (index == 0 || nodes[index - 1] != Node::Word("->".to_owned())).then_some(word),
            };
        }
    }
    Ok(parsed)
}

fn collect(words: Vec<&str>, eapi: &str) -> Result<Vec<Fetchable>, SrcUriError> {
    let mut out: Vec<Fetchable> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let (uri, lift) = strip_prefix(word);
        if lift != Lift::None && is_before(eapi, 8) {
            return Err(SrcUriError::PrefixTooEarly { uri: word.to_owned(), eapi: eapi.to_owned() });
        }
        let filename = if words.next_if_eq(&"->").is_some() {
            if is_before(eapi, 2) {
                return Err(SrcUriError::ArrowTooEarly { uri: uri.to_owned(), eapi: eapi.to_owned() });
            }
            words.next().ok_or_else(|| SrcUriError::ArrowLast(uri.to_owned()))?
        } else {
            let name = uri.rsplit('/').next().unwrap_or(uri);
            if name.is_empty() || (has_scheme(uri) && !after_scheme(uri).contains('/')) {
                return Err(SrcUriError::NoName(uri.to_owned()));
            }
            name
        };
        if !is_plain(filename) {
            return Err(SrcUriError::BadName { uri: uri.to_owned(), name: filename.to_owned() });
        }
        let at = out.iter().position(|fetchable| fetchable.filename == filename).unwrap_or_else(|| {
            out.push(Fetchable { filename: filename.to_owned(), uris: Vec::new() });
            out.len() - 1
        });
        let uris = &mut out[at].uris;
        if has_scheme(uri) && !uris.iter().any(|known| known.uri == uri) {
            uris.push(SourceUri { uri: uri.to_owned(), lift });
        }
    }
    Ok(out)
}

fn strip_prefix(word: &str) -> (&str, Lift) {
    let fetch = word.strip_prefix("fetch+").map(|uri| (uri, Lift::Fetch));
    let lifted = fetch.or_else(|| word.strip_prefix("mirror+").map(|uri| (uri, Lift::Mirror)));
    // a file may be called fetch+x
    lifted.filter(|(uri, _)| has_scheme(uri)).unwrap_or((word, Lift::None))
}

fn has_scheme(uri: &str) -> bool {
    uri.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

fn after_scheme(uri: &str) -> &str {
    uri.split_once("://").map_or(uri, |(_, rest)| rest)
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

/// EAPIs that are no number are newer than all that is asked for here.
fn is_before(eapi: &str, number: u32) -> bool {
    eapi.parse::<u32>().is_ok_and(|eapi| eapi < number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<String> {
        all_fetchables(text, "8").unwrap().into_iter().map(|fetchable| fetchable.filename).collect()
    }

    #[test]
    fn names_and_renames() {
        assert_eq!(
            names("https://x/a.tgz https://x/v1.tgz -> b-1.tgz c.tgz mirror://gnu/d/e.tgz?x=1"),
            ["a.tgz", "b-1.tgz", "c.tgz", "e.tgz?x=1"]
        );
        let plain = all_fetchables("c.tgz", "7").unwrap();
        assert!(plain[0].uris.is_empty());
    }

    #[test]
    fn conditionals_and_duplicates() {
        let text = "https://x/a x? ( https://y/a https://z/b -> c ) https://x/a !x? ( https://n/n )";
        let got = fetchables(text, "8", &|flag| flag == "x").unwrap();
        assert_eq!(got.len(), 2);
        let uris: Vec<_> = got[0].uris.iter().map(|source| source.uri.as_str()).collect();
        assert_eq!((uris, got[1].filename.as_str()), (vec!["https://x/a", "https://y/a"], "c"));
        assert_eq!(names(text), ["a", "c", "n"]);
    }

    #[test]
    fn prefixes_of_eapi_8() {
        let got = all_fetchables("fetch+https://x/a mirror+https://x/b fetch+c", "8").unwrap();
        assert_eq!((got[0].uris[0].lift, got[0].uris[0].uri.as_str()), (Lift::Fetch, "https://x/a"));
        assert_eq!((got[1].uris[0].lift, got[2].filename.as_str()), (Lift::Mirror, "fetch+c"));
        assert!(matches!(all_fetchables("fetch+https://x/a", "7"), Err(SrcUriError::PrefixTooEarly { .. })));
    }

    #[test]
    fn errors() {
        let error = |text: &str| all_fetchables(text, "8").unwrap_err();
        assert!(matches!(error("x? ( https://x/a"), SrcUriError::Syntax(DepStringError::Unclosed { .. })));
        assert!(matches!(error("-> a"), SrcUriError::ArrowFirst));
        assert!(matches!(error("https://x/a ->"), SrcUriError::ArrowLast(_)));
        assert!(matches!(error("https://x/a -> ->"), SrcUriError::ArrowLast(_)));
        assert!(matches!(error("https://x/a -> b/c"), SrcUriError::BadName { .. }));
        assert!(matches!(error("https://x/a -> .."), SrcUriError::BadName { .. }));
        assert!(matches!(error("https://x/"), SrcUriError::NoName(_)));
        assert!(matches!(error("https://x"), SrcUriError::NoName(_)));
        assert!(matches!(all_fetchables("https://x/a -> b", "1"), Err(SrcUriError::ArrowTooEarly { .. })));
    }

    #[test]
    fn an_arrow_does_not_reach_into_a_group() {
        // the flattened words would read as a rename
        for bad in ["https://x/a -> x? ( b )", "x? ( https://x/a ) -> b", "x? ( https://x/a -> ) b"] {
            assert!(all_fetchables(bad, "8").is_err(), "{bad}");
        }
        assert!(all_fetchables("https://x/a -> b -> c", "8").is_err());
    }

    proptest! {
        #[test]
        fn never_panics(text: String) {
            for fetchable in all_fetchables(&text, "8").unwrap_or_default() {
                prop_assert!(is_plain(&fetchable.filename));
            }
        }
    }
}
