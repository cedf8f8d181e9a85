//! Small overlays, written by the tests themselves.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::overlay::{Place, dist_line, found, put};
use crate::support::run::Done;

/// A live sed and nothing to find.
pub const LIVE: &str = "src_prepare() {\n\tdefault\n\tsed -i -e 's/alpha/ALPHA/' a.txt || die\n}\n";
/// A dead sed on line 13.
pub const DEAD: &str = "src_prepare() {\n\tdefault\n\tsed -i -e 's/gamma/GAMMA/' a.txt || die\n}\n";

/// The overlay `cases` without masters, with these categories and nothing in them.
pub fn overlay(categories: &[&str]) -> Place {
    let place = Place::new();
    found(&place.repo(), "cases", "", categories);
    place
}

/// An overlay with one package, `dev-libs/foo-1.2`.
pub fn with_foo(rest: &str) -> Place {
    let place = overlay(&["dev-libs"]);
    place.package("dev-libs/foo-1.2", rest);
    place
}

/// The variables that every ebuild here begins with: nine lines and an empty one.
pub fn usual(eapi: &str) -> String {
    format!(
        "EAPI={eapi}\n\nDESCRIPTION=\"Small test subject\"\nHOMEPAGE=\"https://example.org/\"\n\
         SRC_URI=\"https://example.org/${{P}}.tar.gz\"\n\nLICENSE=\"MIT\"\nSLOT=\"0\"\nKEYWORDS=\"~amd64\"\n\n"
    )
}

impl Place {
    /// Adds an ebuild of EAPI 8 and its source: a tarball with one file, `P/a.txt`, of the lines `alpha` and `beta`.
    pub fn package(&self, cpv: &str, rest: &str) {
        self.ebuild(cpv, usual("8") + rest);
        let p = cpv.split_once('/').unwrap().1;
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(11);
        let mut tarball = tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        tarball.append_data(&mut header, format!("{p}/a.txt"), &b"alpha\nbeta\n"[..]).unwrap();
        self.distfile(cpv, &format!("{p}.tar.gz"), &tarball.into_inner().unwrap().finish().unwrap());
    }

    pub fn ebuild(&self, cpv: &str, text: impl AsRef<[u8]>) {
        put(&self.ebuild_path(cpv), text);
    }

    pub fn ebuild_path(&self, cpv: &str) -> PathBuf {
        self.package_dir(cpv).join(format!("{}.ebuild", cpv.split_once('/').unwrap().1))
    }

    /// `dev-libs/foo-1.2` → `repo/dev-libs/foo`.
    pub fn package_dir(&self, cpv: &str) -> PathBuf {
        let (category, pf) = cpv.split_once('/').unwrap();
        let dash = pf.match_indices('-').map(|(at, _)| at).find(|at| pf.as_bytes()[at + 1].is_ascii_digit());
        self.repo().join(category).join(&pf[..dash.expect("a version")])
    }

    /// Puts a distfile into `dist` and its line into the package's Manifest.
    pub fn distfile(&self, cpv: &str, name: &str, data: &[u8]) {
        put(&self.dist().join(name), data);
        let path = self.package_dir(cpv).join("Manifest");
        let text = fs::read_to_string(&path).unwrap_or_default();
        put(&path, text + &dist_line(name, data));
    }
}

impl Done {
    /// The exit status is this one; else both outputs are shown.
    #[track_caller]
    pub fn exits(self, code: i32) -> Done {
        let short = |text: &str| text.chars().take(1500).collect::<String>();
        let (out, err) = (short(&self.stdout), &self.stderr);
        assert!(!out.contains("panicked") && !err.contains("panicked"), "{err}");
        assert_eq!(self.code, Some(code), "{}\nstdout: {out}\nstderr: {err}", self.how());
        self
    }

    /// Standard error has this text.
    #[track_caller]
    pub fn says(self, part: &str) -> Done {
        assert!(self.stderr.contains(part), "no {part:?} in:\n{}", self.stderr);
        self
    }

    /// The JSON document on standard output.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}\nstderr: {}", self.stdout, self.stderr))
    }

    /// The CPVs of the report in their order.
    #[track_caller]
    pub fn cpvs(&self) -> Vec<String> {
        let report = self.json();
        report["ebuilds"].as_array().unwrap().iter().map(|e| e["cpv"].as_str().unwrap().to_owned()).collect()
    }

    /// The first ebuild has this status, and its reason has this text.
    #[track_caller]
    pub fn is(self, status: &str, part: &str) -> Done {
        let report = self.json();
        let ebuild = &report["ebuilds"][0];
        let reason = ebuild["reason"].as_str().unwrap_or_default();
        assert_eq!(ebuild["status"], status, "{reason}");
        assert!(reason.contains(part), "no {part:?} in {reason:?}");
        assert!(!reason.contains('\n'), "{reason:?} is more than one line");
        self
    }
}
