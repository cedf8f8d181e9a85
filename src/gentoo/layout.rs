//! `metadata/layout.conf`: how a repository is laid out (Portage's own format; PMS leaves it open).

use std::collections::BTreeMap;
use std::path::Path;

use super::text::ReadError;
use super::within::Within;

/// The settings of a repository's `metadata/layout.conf`; a repository without one has the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// `None` where the file does not say: Portage then takes the main repository.
    pub masters: Option<Vec<String>>,
    pub repo_name: Option<String>,
    pub aliases: Vec<String>,
    pub thin_manifests: bool,
    pub profile_formats: Vec<String>,
    pub cache_formats: Vec<String>,
    pub eapis_banned: Vec<String>,
    pub eapis_deprecated: Vec<String>,
    pub manifest_hashes: Vec<String>,
    pub manifest_required_hashes: Vec<String>,
    /// `profile_eapi_when_unspecified`, honoured with the profile format `profile-default-eapi`.
    pub profile_eapi: Option<String>,
    all: BTreeMap<String, String>,
}

impl Layout {
    /// Reads `metadata/layout.conf` of the repository at `location`.
    pub fn read(location: &Path, within: &Within) -> Result<Layout, ReadError> {
        let text = within.read(&location.join("metadata/layout.conf"))?;
        Ok(Layout::parse(&text.unwrap_or_default()))
    }

    /// Reads the text of a `layout.conf`. As in Portage the last of several lines with one key counts,
    /// lines without `=` and unknown keys are let be.
    pub fn parse(text: &str) -> Layout {
        let mut all = BTreeMap::new();
        for line in text.lines().map(str::trim) {
            if line.starts_with('#') {
                continue;
            }
            if let Some((key, value)) = line.split_once('=') {
                all.insert(key.trim().to_owned(), value.trim().to_owned());
            }
        }
        let words = |key: &str| -> Option<Vec<String>> {
            all.get(key).map(|value| value.split_whitespace().map(str::to_owned).collect())
        };
        let list = |key: &str| words(key).unwrap_or_default();
        let formats = list("profile-formats");
        let default_eapi = formats.iter().any(|format| format == "profile-default-eapi");
        Layout {
            masters: words("masters"),
            repo_name: all.get("repo-name").filter(|name| !name.is_empty()).cloned(),
            aliases: list("aliases"),
            thin_manifests: all.get("thin-manifests").is_some_and(|value| value.eq_ignore_ascii_case("true")),
            cache_formats: list("cache-formats").iter().map(|format| format.to_lowercase()).collect(),
            eapis_banned: list("eapis-banned"),
            eapis_deprecated: list("eapis-deprecated"),
            manifest_hashes: list("manifest-hashes").iter().map(|hash| hash.to_uppercase()).collect(),
            manifest_required_hashes: list("manifest-required-hashes").iter().map(|hash| hash.to_uppercase()).collect(),
            profile_eapi: all.get("profile_eapi_when_unspecified").filter(|_| default_eapi).cloned(),
            profile_formats: formats,
            all,
        }
    }

    /// Any key as it stands in the file.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.all.get(key).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_lines_are_tolerated() {
        let layout = Layout::parse(
            "# masters = no\nmasters = gentoo\n masters = gentoo  guru \nthin-manifests = True\nthis is odd\n\
             repo-name =\nmanifest-hashes = blake2b SHA512\ncache-format = md5-dict\n",
        );
        assert_eq!(layout.masters, Some(vec!["gentoo".into(), "guru".into()]));
        assert!(layout.thin_manifests && layout.repo_name.is_none() && layout.cache_formats.is_empty());
        assert_eq!(layout.manifest_hashes, ["BLAKE2B", "SHA512"]);
        assert_eq!(layout.get("cache-format"), Some("md5-dict"));
    }

    #[test]
    fn no_masters_and_none_named_differ() {
        assert_eq!(Layout::parse("masters =\n").masters, Some(vec![]));
        assert_eq!(Layout::parse("").masters, None);
    }
}
