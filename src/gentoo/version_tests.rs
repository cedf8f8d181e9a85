use proptest::prelude::*;

use super::*;

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

fn hash(version: &Version) -> u64 {
    let mut state = std::collections::hash_map::DefaultHasher::new();
    version.hash(&mut state);
    state.finish()
}

#[test]
fn order_of_the_specification() {
    let rising = [
        "0_alpha",
        "0",
        "0.01",
        "0.1",
        "0.9",
        "0.10",
        "1_alpha_beta",
        "1_alpha",
        "1_alpha1",
        "1_beta",
        "1_pre2",
        "1_rc",
        "1_rc1_p1",
        "1",
        "1-r1",
        "1-r10",
        "1_p",
        "1_p0-r1",
        "1_p1",
        "1a",
        "1.01",
        "1.1",
        "1.1a",
        "1.1.0",
        "1.2",
        "10",
        "20240101",
        "99999999999999999999999",
    ];
    for (i, a) in rising.iter().enumerate() {
        for (j, b) in rising.iter().enumerate() {
            assert_eq!(version(a).cmp(&version(b)), i.cmp(&j), "{a} {b}");
        }
    }
}

#[test]
fn equal_under_different_writing() {
    for (a, b) in [("1", "1-r0"), ("01", "1"), ("1.0", "1.00"), ("1.010", "1.01"), ("1_p", "1_p0"), ("1_rc00", "1_rc")]
    {
        assert_eq!(version(a), version(b), "{a} {b}");
        assert_eq!(hash(&version(a)), hash(&version(b)), "{a} {b}");
    }
}

#[test]
fn no_versions() {
    for text in
        ["", "a", "1.", ".1", "1..2", "1ab", "1A", "1_foo", "1-r", "1-1", "1-r1-r2", "1 ", "1_p-", "é", "1é", "-r1"]
    {
        assert!(Version::parse(text).is_err(), "{text}");
    }
}

#[test]
fn parts() {
    let with = version("1.2b_rc3-r04");
    assert_eq!((with.without_revision(), with.revision(), with.as_str()), ("1.2b_rc3", "r04", "1.2b_rc3-r04"));
    assert_eq!((version("1").without_revision(), version("1").revision()), ("1", "r0"));
    assert!(version("9999").looks_live() && version("1.9999-r1").looks_live() && !version("999").looks_live());
}

#[test]
fn prefixes() {
    for (whole, prefix, holds) in [
        ("1.2.3", "1", true),
        ("1.2.3", "1.2", true),
        ("1.20", "1.2", false),
        ("12", "1", false),
        ("1b", "1", true),
        ("1.2_rc1", "1.2_rc", true),
        ("1.2-r1", "1.2", true),
        ("01.2", "1", true),
        ("0.1", "0", true),
        ("1.2", "1.2", true),
    ] {
        assert_eq!(version(whole).starts_with(prefix), holds, "{whole} {prefix}");
    }
}

prop_compose! {
    fn any_version()(
        text in r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}[a-c]?(_(alpha|beta|pre|rc|p)[0-9]{0,2}){0,2}(-r[0-9]{1,2})?"
    ) -> Version {
        version(&text)
    }
}

proptest! {
    #[test]
    fn a_total_order(a in any_version(), b in any_version(), c in any_version()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&a), Ordering::Equal);
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        if a == b {
            prop_assert_eq!(hash(&a), hash(&b));
            prop_assert_eq!(a.cmp(&c), b.cmp(&c));
        }
    }

    #[test]
    fn never_panics(text: String) {
        let _ = Version::parse(&text).map(|v| v.starts_with(&text));
    }

    #[test]
    fn reads_what_it_writes(a in any_version()) {
        let written = a.to_string();
        prop_assert!(version(&written).as_str() == a.as_str());
    }
}
