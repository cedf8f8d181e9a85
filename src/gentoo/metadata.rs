//! What an ebuild says of itself once it is sourced (PMS chapter 7).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The metadata of an ebuild, of a cache entry or of a run of the ebuild in bash.
///
/// Dependency-like values stay texts: they are read with a USE configuration (see `depstring`, `src_uri`, `restrict`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// `0` where the ebuild says none.
    pub eapi: String,
    pub description: String,
    pub slot: String,
    /// Empty where SLOT names none.
    pub subslot: String,
    /// With their `+` and `-`, each flag once; the last mention that has a sign counts.
    pub iuse: Vec<String>,
    pub keywords: Vec<String>,
    pub license: String,
    pub src_uri: String,
    pub restrict: String,
    pub properties: Vec<String>,
    pub required_use: String,
    pub depend: String,
    pub bdepend: String,
    pub rdepend: String,
    pub pdepend: String,
    pub idepend: String,
    /// All eclasses, those that eclasses inherit included.
    pub inherited: Vec<String>,
    /// Short names (`prepare`), without the `-` that stands for none.
    pub defined_phases: Vec<String>,
}

impl Metadata {
    /// Takes the variables of a cache entry or of a bash run by their names (`SRC_URI`, …; the eclasses are
    /// `INHERITED`, else the names in `_eclasses_`). What is not there is empty; unknown names are let be.
    pub fn from_map(map: &BTreeMap<String, String>) -> Metadata {
        // one blank between words, whatever blanks the ebuild has
        let words = |key: &str| -> Vec<String> {
            map.get(key).map(|text| text.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
        };
        let text = |key: &str| words(key).join(" ");
        let slot = text("SLOT");
        let (slot, subslot) = slot.split_once('/').unwrap_or((&slot, ""));
        let mut inherited = words("INHERITED");
        if inherited.is_empty() {
            inherited =
                eclasses(map.get("_eclasses_").map_or("", String::as_str)).into_iter().map(|(name, _)| name).collect();
        }
        let eapi = text("EAPI");
        Metadata {
            eapi: if eapi.is_empty() { "0".to_owned() } else { eapi },
            description: text("DESCRIPTION"),
            slot: slot.to_owned(),
            subslot: subslot.to_owned(),
            iuse: last_of_each_flag(words("IUSE")),
            keywords: words("KEYWORDS"),
            license: text("LICENSE"),
            src_uri: text("SRC_URI"),
            restrict: text("RESTRICT"),
            properties: words("PROPERTIES"),
            required_use: text("REQUIRED_USE"),
            depend: text("DEPEND"),
            bdepend: text("BDEPEND"),
            rdepend: text("RDEPEND"),
            pdepend: text("PDEPEND"),
            idepend: text("IDEPEND"),
            inherited,
            defined_phases: words("DEFINED_PHASES").into_iter().filter(|phase| phase != "-").collect(),
        }
    }

    /// The flags of IUSE without `+` and `-`.
    pub fn iuse_flags(&self) -> impl Iterator<Item = &str> {
        self.iuse.iter().map(|flag| bare(flag))
    }

    /// Whether it says of itself that it is built from a moving source (`PROPERTIES=live`).
    pub fn is_live(&self) -> bool {
        self.properties.iter().any(|property| property == "live")
    }

    /// Whether it has a keyword for any architecture, stable or not.
    pub fn is_keyworded(&self) -> bool {
        self.keywords.iter().any(|keyword| !keyword.starts_with('-'))
    }
}

fn bare(flag: &str) -> &str {
    flag.strip_prefix(['+', '-']).unwrap_or(flag)
}

fn last_of_each_flag(words: Vec<String>) -> Vec<String> {
    let mut at = BTreeMap::new();
    let mut out: Vec<String> = Vec::new();
    for word in words {
        match at.get(bare(&word)) {
            // as in Portage a bare mention takes no default back
            Some(_) if bare(&word) == word => {}
            Some(&index) => out[index] = word,
            None => {
                at.insert(bare(&word).to_owned(), out.len());
                out.push(word);
            }
        }
    }
    out
}

/// The pairs of name and md5 in `_eclasses_`: `name\tmd5` of today and `name\tpath\tmd5` of old.
pub(super) fn eclasses(text: &str) -> Vec<(String, String)> {
    let fields: Vec<&str> = text.trim().split('\t').collect();
    let is_digest = |text: &str| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut out = Vec::new();
    let mut at = 0;
    while at + 1 < fields.len() {
        let with_path = !is_digest(fields[at + 1]) && fields.get(at + 2).is_some_and(|field| is_digest(field));
        let digest = fields[at + 1 + usize::from(with_path)];
        out.push((fields[at].to_owned(), digest.to_lowercase()));
        at += 2 + usize::from(with_path);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_variables() {
        let map = [
            ("SLOT", "0/7.2"),
            ("IUSE", "a +b\n\t-c  a -a b"),
            ("KEYWORDS", "-* ~amd64"),
            ("DEFINED_PHASES", "-"),
            ("INHERITED", " x y"),
            ("SRC_URI", "a\n  b"),
            ("PROPERTIES", "live"),
        ];
        let metadata = Metadata::from_map(&map.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        assert_eq!((metadata.slot.as_str(), metadata.subslot.as_str(), metadata.eapi.as_str()), ("0", "7.2", "0"));
        assert_eq!(metadata.iuse, ["-a", "+b", "-c"]);
        assert_eq!(metadata.iuse_flags().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!((metadata.src_uri.as_str(), metadata.inherited.len()), ("a b", 2));
        assert!(metadata.defined_phases.is_empty() && metadata.is_live() && metadata.is_keyworded());
    }

    #[test]
    fn eclasses_in_both_forms() {
        let digest = "d41d8cd98f00b204e9800998ecf8427e";
        let pair = |name: &str| (name.to_owned(), digest.to_owned());
        assert_eq!(eclasses(&format!("a\t{digest}\tb\t{digest}")), [pair("a"), pair("b")]);
        assert_eq!(eclasses(&format!("a\t/x/eclass\t{digest}\tb\t/y\t{digest}")), [pair("a"), pair("b")]);
        assert!(eclasses("").is_empty() && eclasses("a").is_empty());
    }
}
