//! A package at a version: `category/package-version`.

use std::ffi::OsStr;
use std::fmt;

use super::names;
use super::version::Version;

/// Why a text names no package at a version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpvError {
    #[error("`{0}` has no category; write category/package-version")]
    NoCategory(String),
    #[error("`{0}` is no category name (PMS 3.1.1)")]
    Category(String),
    #[error("`{0}` is no package name (PMS 3.1.2)")]
    Package(String),
    #[error("`{0}` does not end in a version (PMS 3.2)")]
    NoVersion(String),
    #[error("`{file}` lies in the directory of {package}; its name must begin with `{package}-`")]
    OtherPackage { file: String, package: String },
    #[error("`{0}` is no ebuild's name; it must be package-version.ebuild")]
    NoEbuild(String),
}

/// A package at a version. Equality and order are those of [`Version`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cpv {
    pub category: String,
    pub package: String,
    pub version: Version,
}

impl Cpv {
    /// Reads `category/package-version`.
    pub fn parse(text: &str) -> Result<Cpv, CpvError> {
        let (category, pf) = text.split_once('/').ok_or_else(|| CpvError::NoCategory(text.to_owned()))?;
        Cpv::from_pf(category, pf)
    }

    /// Puts a category and a `package-version` together.
    pub fn from_pf(category: &str, pf: &str) -> Result<Cpv, CpvError> {
        if !names::is_category(category) {
            return Err(CpvError::Category(category.to_owned()));
        }
        let (package, version) = split_pf(pf).ok_or_else(|| CpvError::NoVersion(pf.to_owned()))?;
        if !names::is_package(package) {
            return Err(CpvError::Package(package.to_owned()));
        }
        Ok(Cpv { category: category.to_owned(), package: package.to_owned(), version })
    }

    /// Reads the name of an ebuild file that lies in `category/package/`.
    pub fn from_ebuild(category: &str, package: &str, file_name: &OsStr) -> Result<Cpv, CpvError> {
        let shown = || crate::escape::escape_os(file_name);
        let name = file_name.to_str().ok_or_else(|| CpvError::NoEbuild(shown()))?;
        let pf = name.strip_suffix(".ebuild").ok_or_else(|| CpvError::NoEbuild(shown()))?;
        let cpv = Cpv::from_pf(category, pf)?;
        if cpv.package != package {
            return Err(CpvError::OtherPackage { file: shown(), package: package.to_owned() });
        }
        Ok(cpv)
    }

    /// `category/package`.
    pub fn cp(&self) -> String {
        format!("{}/{}", self.category, self.package)
    }

    /// `PF`: package, version and revision as written.
    pub fn pf(&self) -> String {
        format!("{}-{}", self.package, self.version)
    }

    /// `P`: package and version without a revision.
    pub fn p(&self) -> String {
        format!("{}-{}", self.package, self.pv())
    }

    /// `PN`: the package's name.
    pub fn pn(&self) -> &str {
        &self.package
    }

    /// `PV`: the version without a revision.
    pub fn pv(&self) -> &str {
        self.version.without_revision()
    }

    /// `PR`: the revision, `r0` where there is none.
    pub fn pr(&self) -> &str {
        self.version.revision()
    }

    /// `PVR`: the version with its revision unless that is `r0`.
    pub fn pvr(&self) -> &str {
        match self.pr() {
            "r0" => self.pv(),
            _ => self.version.as_str(),
        }
    }
}

impl fmt::Display for Cpv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}-{}", self.category, self.package, self.version)
    }
}

/// Splits `package-version[-rN]`; the package's name is not checked.
pub fn split_pf(pf: &str) -> Option<(&str, Version)> {
    let whole = |at: usize| Version::parse(&pf[at + 1..]).ok().map(|version| (&pf[..at], version));
    let last = pf.rfind('-')?;
    whole(last).or_else(|| whole(pf[..last].rfind('-')?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn splits_names() {
        for (text, package, version) in [
            ("dev-libs/foo-1.2-r3", "foo", "1.2-r3"),
            ("dev-libs/foo-bar-1a_rc2", "foo-bar", "1a_rc2"),
            ("x/foo-r1-1", "foo-r1", "1"),
            ("virtual/gtk+-2", "gtk+", "2"),
        ] {
            let cpv = Cpv::parse(text).unwrap();
            assert_eq!((cpv.pn(), cpv.version.as_str(), cpv.to_string().as_str()), (package, version, text));
        }
    }

    #[test]
    fn variables_of_the_phases() {
        let cpv = Cpv::parse("a/foo-1.2-r3").unwrap();
        assert_eq!((cpv.pf(), cpv.p()), ("foo-1.2-r3".into(), "foo-1.2".into()));
        assert_eq!((cpv.pv(), cpv.pr(), cpv.pvr()), ("1.2", "r3", "1.2-r3"));
        let zero = Cpv::parse("a/foo-1-r0").unwrap();
        assert_eq!((zero.pf().as_str(), zero.pvr(), zero.pr()), ("foo-1-r0", "1", "r0"));
    }

    #[test]
    fn refuses() {
        assert!(matches!(Cpv::parse("foo-1"), Err(CpvError::NoCategory(_))));
        assert!(matches!(Cpv::parse("-x/foo-1"), Err(CpvError::Category(_))));
        assert!(matches!(Cpv::parse("a/foo"), Err(CpvError::NoVersion(_))));
        assert!(matches!(Cpv::parse("a/foo-1-2"), Err(CpvError::Package(_))));
        assert!(matches!(Cpv::parse("a/-1"), Err(CpvError::Package(_))));
        let other = Cpv::from_ebuild("a", "foo", OsStr::new("bar-1.ebuild"));
        assert!(matches!(other, Err(CpvError::OtherPackage { .. })));
        assert!(matches!(Cpv::from_ebuild("a", "foo", OsStr::new("foo-1.txt")), Err(CpvError::NoEbuild(_))));
    }

    proptest! {
        #[test]
        fn never_panics(text: String) {
            let _ = Cpv::parse(&text);
            let _ = split_pf(&text);
        }
    }
}
