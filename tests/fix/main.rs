//! `--fix`, `--unsafe-fixes` and `--suggest` on small overlays: what is written, what stays as it was.

mod corrections;
#[path = "../cli/fixture.rs"]
#[allow(dead_code)]
mod fixture;
mod removals;
#[path = "../support/mod.rs"]
#[allow(dead_code)]
mod support;
mod told;

use std::fs;

use fixture::{usual, with_foo};
use support::overlay::Place;
use support::run::{Done, audit, run};

const FOO: &str = "dev-libs/foo-1.2";

fn audited(place: &Place, words: &[&str]) -> Done {
    run(place, &mut audit(place, words.iter().copied().chain(["--fail-on", "never"])))
}

/// The ebuild behind the usual head.
fn rest(place: &Place) -> String {
    let text = fs::read_to_string(place.ebuild_path(FOO)).unwrap();
    text.strip_prefix(&usual("8")).unwrap_or_else(|| panic!("{text}")).to_owned()
}

/// What becomes of an ebuild that ends in `text`; a second run must have nothing to do.
#[track_caller]
fn fixed(text: &str, words: &[&str]) -> String {
    let place = with_foo(text);
    audited(&place, words).exits(0);
    let once = rest(&place);
    let again = audited(&place, words).exits(0);
    assert!(again.stdout.contains("\n0 fixed, "), "{}", again.stdout);
    assert_eq!(rest(&place), once, "a second run changed it again");
    once
}

/// A src_prepare with a live sed and `lines`.
fn prepare(lines: &str) -> String {
    format!("src_prepare() {{\n\tdefault\n\tsed -i -e 's/alpha/ALPHA/' a.txt || die\n{lines}}}\n")
}

#[track_caller]
fn becomes(lines: &str, wanted: &str) {
    assert_eq!(fixed(&prepare(lines), &["--fix"]), prepare(wanted));
}
