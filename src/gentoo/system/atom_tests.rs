use super::super::super::cpv::Cpv;
use super::*;
use proptest::prelude::*;

fn matches(atom: &str, cpv: &str) -> bool {
    let cpv = Cpv::parse(cpv).unwrap();
    let name = cpv.cp();
    let subject = Subject { name: &name, version: &cpv.version, slot: "0", subslot: "5", repository: "own" };
    ConfigAtom::parse(atom, Allowed::USER).unwrap_or_else(|| panic!("{atom}")).matches(subject)
}

#[test]
fn exact_and_extended() {
    for atom in [
        "a-b/foo",
        "a-b/*",
        "*/foo",
        "*/*",
        "a-*/f*o",
        "a-b/foo::own",
        "a-b/foo:0",
        "a-b/foo:0/5::own",
        "*/*:0::own",
        "=a-b/foo-1.2",
        "=a-b/foo-1*",
        ">=a-b/foo-1:0",
        "~a-b/foo-1.2",
        "=a-b/*-*2*",
        "=*/foo-*1*",
        "a-b/foo:=",
        "a-b/foo:*",
        "a-b/foo:0=",
        "a-b/foo[bar,-baz]",
    ] {
        assert!(matches(atom, "a-b/foo-1.2"), "{atom}");
    }
    for atom in
        ["a-c/foo", "*/fo", "f*oo*x/y", "a-b/foo::other", "a-b/foo:1", "a-b/foo:0/6", "=a-b/foo-1.2.1*", "=*/*-*3*"]
    {
        assert!(!matches(atom, "a-b/foo-1.2"), "{atom}");
    }
    // the revision does not matter to `~`, how the version is written does
    assert!(
        matches("~a/b-1.0", "a/b-1.0-r3") && matches("~a/b-1.0-r1", "a/b-1.0-r3") && !matches("~a/b-1.0", "a/b-1.00")
    );
}

#[test]
fn what_a_file_does_not_allow() {
    let old = Allowed::of_eapi("0", false);
    let new = Allowed::of_eapi("8", false);
    for atom in ["a/b:0", "a/b[x]", "a/b::r", "*/b"] {
        assert!(ConfigAtom::parse(atom, old).is_none(), "{atom}");
    }
    assert!(ConfigAtom::parse("a/b:0", new).is_some() && ConfigAtom::parse("a/b:0/1=", new).is_some());
    assert!(ConfigAtom::parse("a/b:0/1", Allowed::of_eapi("4", false)).is_none());
    for atom in
        ["", "a", "a/b-1", "=a/b", "a/b:", "a/b::", "a/b/c", "a/**", ">=a/b-1*", ">=*/b-1", "a/b[x", "!a/b", "@set"]
    {
        assert!(ConfigAtom::parse(atom, Allowed::USER).is_none(), "{atom}");
    }
}

#[test]
fn the_most_specific_comes_last() {
    let lines =
        ["=a/b-2", "a/b", ">=a/b-1.5", ">=a/b-1", "a/b:0", "~a/b-2", "=a/b-2*", "*/b", "*/*:0", "=a/*-*2*", "<a/b-2"];
    let entries: Vec<_> = lines.map(|line| (ConfigAtom::parse(line, Allowed::USER).unwrap(), ())).into();
    let version = Version::parse("2").unwrap();
    let subject = Subject { name: "a/b", version: &version, slot: "0", subslot: "0", repository: "r" };
    let got: Vec<_> = by_specificity(entries.iter(), subject).iter().map(|(atom, ())| atom.as_str()).collect();
    assert_eq!(
        got,
        ["*/b", "*/*:0", "=a/*-*2*", "a/b", ">=a/b-1", ">=a/b-1.5", "a/b:0", "=a/b-2*", "~a/b-2", "=a/b-2"]
    );
}

#[test]
fn of_one_repository() {
    let atom = ConfigAtom::parse(">=a/b-1:2[x]", Allowed::USER).unwrap().in_repository("r");
    assert_eq!((atom.as_str(), atom.without_repository().as_str()), (">=a/b-1:2::r[x]", ">=a/b-1:2[x]"));
    assert!(!atom.is_plain() && ConfigAtom::parse("a/b", Allowed::USER).unwrap().is_plain());
}

proptest! {
    #[test]
    fn never_panics(text in r"[=<>~!]{0,2}[a*/-]{0,6}[1.*:0=\[\]-]{0,7}|\PC*") {
        if let Some(atom) = ConfigAtom::parse(&text, Allowed::USER) {
            let version = Version::parse("1").unwrap();
            atom.matches(Subject { name: "a/a", version: &version, slot: "0", subslot: "0", repository: "r" });
            atom.in_repository("r");
        }
    }
}
