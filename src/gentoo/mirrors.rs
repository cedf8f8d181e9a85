//! Where distfiles can be fetched: mirror:// of thirdpartymirrors and GENTOO_MIRRORS.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use blake2::{Blake2b512, Digest};

use super::config::PortageConfig;
use super::masters::RepositorySet;
use super::restrict::Restrict;
use super::src_uri::{Fetchable, Lift};
use super::text::ReadError;

/// A place to get a file from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// `https://…`, `http://…` or another scheme.
    Uri(String),
    /// A file on this machine: a `file://` URI or a plain directory of GENTOO_MIRRORS.
    File(PathBuf),
}

/// The mirrors that a repository and a machine know.
#[derive(Clone, Debug, Default)]
pub struct Mirrors {
    third_party: BTreeMap<String, Vec<String>>,
    gentoo: Vec<String>,
}

impl Mirrors {
    /// Reads `profiles/thirdpartymirrors` of the masters and then of the repository, whose URIs are added, and
    /// takes GENTOO_MIRRORS of the configuration.
    pub fn load(set: &RepositorySet, config: &PortageConfig) -> Result<Mirrors, ReadError> {
        let mut third_party: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for repository in set.all() {
            for line in repository.within.lines(&repository.location.join("profiles/thirdpartymirrors"))? {
                let mut words = line.text.split_whitespace();
                let Some(name) = words.next() else { continue };
                let uris = third_party.entry(name.to_owned()).or_default();
                for uri in words.map(|uri| uri.trim_end_matches('/')) {
                    if !uris.iter().any(|known| known == uri) {
                        uris.push(uri.to_owned());
                    }
                }
            }
        }
        Ok(Mirrors { third_party, gentoo: config.gentoo_mirrors() })
    }

    /// The URIs that `mirror://NAME/PATH` stands for; none for an unknown name. Another URI stands for itself.
    pub fn expand(&self, uri: &str) -> Vec<String> {
        let Some(rest) = uri.strip_prefix("mirror://") else {
            return vec![uri.to_owned()];
        };
        let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
        let bases = self.third_party.get(name).map_or(&[][..], Vec::as_slice);
        bases.iter().map(|base| format!("{base}/{path}")).collect()
    }

    /// Where the mirrors of GENTOO_MIRRORS have a distfile. A mirror's own layout.conf can't be known without asking
    /// it, so both the hashed layout (GLEP 75, `filename-hash BLAKE2B 8`) and the flat one are named.
    pub fn gentoo(&self, filename: &str) -> Vec<Place> {
        let hashed = format!("{}/{filename}", hash_directory(filename));
        let mut places = Vec::new();
        for base in &self.gentoo {
            for path in [hashed.as_str(), filename] {
                // a plain directory holds the files themselves, a mirror has them below distfiles/
                places.push(match base.starts_with('/') {
                    true => Place::File(Path::new(base).join(path)),
                    false => place(&format!("{base}/distfiles/{}", quote(path))),
                });
            }
        }
        places
    }

    /// All places to try for a distfile, in Portage's order: mirrors, then the URIs of SRC_URI (the other way round
    /// with RESTRICT=primaryuri), without those that RESTRICT forbids and no `fetch+` or `mirror+` lifts.
    pub fn places(&self, fetchable: &Fetchable, restrict: &Restrict) -> Vec<Place> {
        let lifted = |lift: Lift| fetchable.uris.iter().any(|uri| uri.lift >= lift);
        let mirrors =
            if !restrict.mirror() || lifted(Lift::Mirror) { self.gentoo(&fetchable.filename) } else { vec![] };
        let uris = fetchable.uris.iter().filter(|uri| !restrict.fetch() || uri.lift >= Lift::Fetch);
        // files of this machine are for its own configuration to name, not for an ebuild
        let own = uris.flat_map(|uri| self.expand(&uri.uri)).map(|uri| place(&uri));
        let own = own.filter(|place| matches!(place, Place::Uri(_))).collect();
        let (first, second) = if restrict.primary_uri() { (own, mirrors) } else { (mirrors, own) };
        first.into_iter().chain(second).collect()
    }
}

/// A URI, or the file that a `file://` URI names.
pub fn place(uri: &str) -> Place {
    match uri.strip_prefix("file://").and_then(|rest| rest.find('/').map(|at| &rest[at..])) {
        Some(path) => Place::File(PathBuf::from(OsString::from_vec(unquote(path)))),
        None => Place::Uri(uri.to_owned()),
    }
}

/// The directory of a file in the layout `filename-hash BLAKE2B 8`: the first eight bits of its name's hash.
fn hash_directory(filename: &str) -> String {
    let digest = Blake2b512::digest(filename.as_bytes());
    format!("{:02x}", digest[0])
}

fn quote(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'/' | b'_' | b'.' | b'-' | b'~' => out.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn unquote(path: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        out.extend(before.as_bytes());
        match after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = &after[2..];
            }
            None => {
                out.push(b'%');
                rest = after;
            }
        }
    }
    out.extend(rest.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::super::config::Environment;
    use super::super::repository::Repository;
    use super::super::src_uri;
    use super::*;
    use std::fs;

    fn mirrors(gentoo: &str) -> Mirrors {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in
            [("gentoo", "gnu https://a/gnu/ https://b\n"), ("own", "# x\ngnu https://c https://b/\nx https://x\n")]
        {
            let profiles = dir.path().join(name).join("profiles");
            fs::create_dir_all(&profiles).unwrap();
            fs::write(profiles.join("repo_name"), name).unwrap();
            fs::write(profiles.join("thirdpartymirrors"), text).unwrap();
        }
        let environment = Environment::from([("GENTOO_MIRRORS".into(), gentoo.into())]);
        let config = PortageConfig::load(dir.path(), environment).unwrap();
        let own = Repository::open(&dir.path().join("own")).unwrap();
        let set = RepositorySet::resolve(own, &[], &config).unwrap();
        Mirrors::load(&set, &config).unwrap()
    }

    #[test]
    fn third_party_mirrors_add_up() {
        let mirrors = mirrors("");
        assert_eq!(mirrors.expand("mirror://gnu/x/y"), ["https://a/gnu/x/y", "https://b/x/y", "https://c/x/y"]);
        assert!(mirrors.expand("mirror://none/x").is_empty());
        assert_eq!(mirrors.expand("https://q/z"), ["https://q/z"]);
    }

    #[test]
    fn both_layouts_of_a_mirror() {
        let places = mirrors("https://m/ /srv/d file:///mnt/a%20b").gentoo("foo-1.tar.gz");
        assert_eq!(hash_directory("foo-1.tar.gz"), "1b");
        assert_eq!(
            places,
            [
                Place::Uri("https://m/distfiles/1b/foo-1.tar.gz".into()),
                Place::Uri("https://m/distfiles/foo-1.tar.gz".into()),
                Place::File("/srv/d/1b/foo-1.tar.gz".into()),
                Place::File("/srv/d/foo-1.tar.gz".into()),
                Place::File("/mnt/a b/distfiles/1b/foo-1.tar.gz".into()),
                Place::File("/mnt/a b/distfiles/foo-1.tar.gz".into()),
            ]
        );
        assert_eq!(quote("a+b c/ü"), "a%2Bb%20c/%C3%BC");
    }

    #[test]
    fn restrictions() {
        let mirrors = mirrors("https://m");
        let count = |src_uri: &str, restrict: &str| {
            let fetchable = src_uri::all_fetchables(src_uri, "8").unwrap().remove(0);
            mirrors.places(&fetchable, &Restrict::evaluate(restrict, &|_| true).unwrap()).len()
        };
        assert_eq!(
            (count("https://x/a", ""), count("https://x/a", "mirror"), count("https://x/a", "fetch")),
            (3, 1, 0)
        );
        assert_eq!((count("fetch+https://x/a", "fetch"), count("mirror+https://x/a", "fetch")), (1, 3));
        assert_eq!((count("a", ""), count("a", "mirror"), count("mirror+https://x/a", "mirror")), (2, 0, 3));
        let fetchable = src_uri::all_fetchables("https://x/a", "8").unwrap().remove(0);
        let first =
            |restrict: &str| mirrors.places(&fetchable, &Restrict::evaluate(restrict, &|_| true).unwrap())[0].clone();
        assert_eq!(first("primaryuri"), Place::Uri("https://x/a".into()));
    }
}
