use crate::plan::testing::World;
use crate::plan::{Answer, Status};

/// What is in the way, with the ways out, by lines.
fn said(answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, Status::Impossible);
    let mut lines = Vec::new();
    for one in &answer.blockers {
        let kind = serde_json::to_value(one.kind).unwrap();
        lines.push(format!("{} ({}): {}", one.package, kind.as_str().unwrap(), one.because));
        lines.extend(one.ways.iter().map(|way| format!("  way out: {way}")));
    }
    lines
}

/// A stack of three that moves together, and a consumer.
const STACK: &str = "
    installed dev-libs/core-1 SLOT=0/1
    installed dev-libs/foo-1 SLOT=0/1 LINK=dev-libs/core:0/1
    installed dev-libs/blas-1 SLOT=0/1 LINK=dev-libs/foo:0/1
    installed app-misc/a-1 LINK=\"dev-libs/blas:0/1= dev-libs/foo:0/1=\"
    ebuild dev-libs/core-1 SLOT=0/1
    ebuild dev-libs/core-2 SLOT=0/2
    ebuild dev-libs/foo-1 SLOT=0/1 LINK=dev-libs/core:0/1
    ebuild dev-libs/foo-2 SLOT=0/2 LINK=\"dev-libs/core:0/2 dev-libs/new:0/2\"
    ebuild dev-libs/new-2 SLOT=0/2
    ebuild dev-libs/blas-1 SLOT=0/1 LINK=dev-libs/foo:0/1
    ebuild dev-libs/blas-2 SLOT=0/2 LINK=\"dev-libs/foo:0/2 dev-libs/tune:0/2\"
    ebuild dev-libs/tune-2 SLOT=0/2
    ebuild app-misc/a-1 LINK=\"dev-libs/blas:= dev-libs/foo:=\"
    world app-misc/a
";

/// The stack with words added to the lines that begin with some others.
fn stack(changes: &[(&str, &str)]) -> World {
    let mut text = STACK.to_owned();
    for (line, more) in changes {
        assert!(text.contains(line), "{line}");
        text = text.replace(line, &format!("{line} {more}"));
    }
    World::read(&text)
}

#[test]
fn what_a_masked_ebuild_needs_is_there() {
    let answer = stack(&[("ebuild dev-libs/foo-2", "USERMASK=1")]).plan(&["=dev-libs/foo-2"]);
    let expected = [
        "dev-libs/foo (masked): dev-libs/foo-2 is masked by you in etc/portage/package.mask:1",
        "  way out: package.unmask: =dev-libs/foo-2",
    ];
    assert_eq!(said(&answer), expected);
    let answer = stack(&[("ebuild dev-libs/blas-2", "USERMASK=1")]).plan(&["=dev-libs/blas-2"]);
    let expected = [
        "dev-libs/blas (masked): dev-libs/blas-2 is masked by you in etc/portage/package.mask:1",
        "  way out: package.unmask: =dev-libs/blas-2",
    ];
    assert_eq!(said(&answer), expected);
}

#[test]
fn a_mask_in_the_middle_of_the_stack_can_be_taken_away() {
    let answer = stack(&[("ebuild dev-libs/blas-2", "USERMASK=1")]).plan(&["=dev-libs/foo-2"]);
    let expected = [
        "dev-libs/blas (masked): dev-libs/blas-2 is masked by you in etc/portage/package.mask:1, and dev-libs/blas-1 needs dev-libs/foo:0/1 (RDEPEND), which can't stay",
        "  way out: package.unmask: =dev-libs/blas-2",
        "  way out: unmerge app-misc/a-1 dev-libs/blas-1",
    ];
    assert_eq!(said(&answer), expected);
    let answer = stack(&[("ebuild dev-libs/foo-2", "USERMASK=1")]).plan(&["=dev-libs/core-2"]);
    let expected = [
        "dev-libs/foo (masked): dev-libs/foo-2 is masked by you in etc/portage/package.mask:1, and dev-libs/foo-1 needs dev-libs/core:0/1 (RDEPEND), which can't stay",
        "  way out: package.unmask: =dev-libs/foo-2",
        "  way out: unmerge app-misc/a-1 dev-libs/blas-1 dev-libs/foo-1",
    ];
    assert_eq!(said(&answer), expected);
}

#[test]
fn as_many_reasons_as_lines() {
    let one = [("ebuild dev-libs/foo-2", "USERMASK=1"), ("ebuild dev-libs/tune-2", "USERMASK=1")];
    let expected = [
        "dev-libs/foo (masked): dev-libs/foo-2 is masked by you in etc/portage/package.mask:1; likewise dev-libs/tune-2",
        "  way out: package.unmask: =dev-libs/foo-2, package.unmask: =dev-libs/tune-2",
    ];
    assert_eq!(said(&stack(&one).plan(&["=dev-libs/foo-2"])), expected);
    let two = [("ebuild dev-libs/foo-2", "USERMASK=1"), ("ebuild dev-libs/tune-2", "USERMASK=2")];
    let expected = [
        "dev-libs/foo (masked): dev-libs/foo-2 is masked by you in etc/portage/package.mask:1",
        "  way out: package.unmask: =dev-libs/foo-2",
        "dev-libs/tune (masked): dev-libs/tune-2 is masked by you in etc/portage/package.mask:2, and dev-libs/blas-2 needs dev-libs/tune:0/2 (DEPEND)",
        "  way out: package.unmask: =dev-libs/tune-2",
    ];
    assert_eq!(said(&stack(&two).plan(&["=dev-libs/foo-2"])), expected);
}

#[test]
fn one_of_two_is_enough_and_both_are_named() {
    let text = format!("{STACK}ebuild dev-libs/foo-2.1 SLOT=0/2 LINK=dev-libs/core:0/2 USERMASK=1\n");
    let text = text.replace("ebuild dev-libs/foo-2 ", "ebuild dev-libs/foo-2 USERMASK=1 ");
    let expected = [
        "dev-libs/foo (masked): dev-libs/foo-2.1 is masked by you in etc/portage/package.mask:1",
        "  way out: package.unmask: =dev-libs/foo-2.1",
        "  way out: package.unmask: =dev-libs/foo-2",
    ];
    assert_eq!(said(&World::read(&text).plan(&["dev-libs/foo@2"])), expected);
}

#[test]
fn what_is_kept_is_named_whoever_needs_it_otherwise() {
    let expected = [
        "dev-libs/core (pinned): it is to stay as it is (--keep), and dev-libs/foo-2 needs dev-libs/core:0/2 (DEPEND)",
        "  way out: give up --keep dev-libs/core",
    ];
    assert_eq!(said(&stack(&[]).plan_with(&["=dev-libs/foo-2"], &["dev-libs/core"])), expected);
    let expected = [
        "dev-libs/blas (pinned): it is to stay as it is (--keep), and dev-libs/blas-1 needs dev-libs/foo:0/1 (RDEPEND), which can't stay",
        "  way out: give up --keep dev-libs/blas",
    ];
    assert_eq!(said(&stack(&[]).plan_with(&["=dev-libs/foo-2"], &["dev-libs/blas"])), expected);
    let expected = [
        "app-misc/a (pinned): it is to stay as it is (--keep), and app-misc/a-1 is bound to the sub-slot that it was built against (DEPEND dev-libs/blas:0/1=)",
        "  way out: give up --keep app-misc/a",
        "dev-libs/core (pinned): it is to stay as it is (--keep), and dev-libs/foo-2 needs dev-libs/core:0/2 (DEPEND)",
        "  way out: give up --keep dev-libs/core",
    ];
    assert_eq!(said(&stack(&[]).plan_with(&["=dev-libs/foo-2"], &["app-misc/a", "dev-libs/core"])), expected);
}

#[test]
fn a_version_in_world_and_a_restriction() {
    let text = format!("{STACK}world <dev-libs/core-2\n");
    let expected = [
        "dev-libs/core (pinned): world wants <dev-libs/core-2, and dev-libs/foo-2 needs dev-libs/core:0/2 (DEPEND)",
        "  way out: world: dev-libs/core in the place of <dev-libs/core-2",
    ];
    assert_eq!(said(&World::read(&text).plan(&["=dev-libs/foo-2"])), expected);
    let expected = [
        "dev-libs/core (pinned): world wants <dev-libs/core-2",
        "  way out: world: dev-libs/core in the place of <dev-libs/core-2",
    ];
    assert_eq!(said(&World::read(&text).plan(&["=dev-libs/core-2"])), expected);
    let answer = stack(&[("ebuild dev-libs/tune-2", "RESTRICT=fetch")]).plan(&["=dev-libs/foo-2"]);
    let expected = [
        "dev-libs/tune (masked): dev-libs/tune-2 has RESTRICT fetch, which ACCEPT_RESTRICT does not accept, and dev-libs/blas-2 needs dev-libs/tune:0/2 (DEPEND)",
        "  way out: package.accept_restrict: =dev-libs/tune-2 fetch",
    ];
    assert_eq!(said(&answer), expected);
}

#[test]
fn what_else_is_in_the_way_is_told_beside_it() {
    let stuck = "
        installed app-misc/stuck-1 RDEPEND=dev-libs/foo:0/1
        ebuild app-misc/stuck-1 RDEPEND=dev-libs/foo:0/1
        world app-misc/stuck";
    let text = format!("{STACK}{stuck}").replace("ebuild dev-libs/blas-2 ", "ebuild dev-libs/blas-2 USERMASK=1 ");
    let told = said(&World::read(&text).plan(&["=dev-libs/foo-2"]));
    let expected = [
        "dev-libs/blas (masked): dev-libs/blas-2 is masked by you in etc/portage/package.mask:1, and dev-libs/blas-1 needs dev-libs/foo:0/1 (RDEPEND), which can't stay",
        "  way out: package.unmask: =dev-libs/blas-2",
        "  way out: unmerge app-misc/a-1 dev-libs/blas-1",
        "app-misc/stuck (pinned): app-misc/stuck-1 is pinned (RDEPEND dev-libs/foo:0/1), and no other version of it follows",
        "  way out: unmerge app-misc/stuck-1",
    ];
    assert_eq!(told, expected);
    // one that would follow if its mask were not does not hide behind another that is masked for nothing
    let more = "ebuild app-misc/stuck-2 RDEPEND=dev-libs/foo:0/1 USERMASK=3";
    let more = said(&World::read(&format!("{text}\n{more}")).plan(&["=dev-libs/foo-2"]));
    assert_eq!(more, told);
}

#[test]
fn a_flag_of_the_users_is_given_up_before_a_package() {
    let text = "
        installed dev-libs/foo-1 SLOT=0/1
        installed dev-libs/xml-1 IUSE=icu
        installed app-misc/a-1 LINK=dev-libs/foo:0/1
        ebuild dev-libs/foo-1 SLOT=0/1
        ebuild dev-libs/foo-2 SLOT=0/2
        ebuild dev-libs/xml-1 IUSE=icu USER=icu
        ebuild app-misc/a-1 LINK=dev-libs/foo:0/1
        ebuild app-misc/a-2 LINK=dev-libs/foo:0/2 RDEPEND=dev-libs/xml[icu]
        world app-misc/a";
    let expected = [
        "dev-libs/xml (use): app-misc/a-2 needs dev-libs/xml[icu] (RDEPEND), and no version has these flags, nor may they be changed",
        "  way out: package.use: dev-libs/xml icu",
    ];
    assert_eq!(said(&World::read(text).plan(&["=dev-libs/foo-2"])), expected);
    let masked = text.replace("USER=icu", "FIXED=icu");
    let expected = [
        "dev-libs/xml (use): app-misc/a-2 needs dev-libs/xml[icu] (RDEPEND), and no version has these flags, nor may they be changed",
        "  way out: profile/package.use.mask: dev-libs/xml -icu, package.use: dev-libs/xml icu",
    ];
    assert_eq!(said(&World::read(&masked).plan(&["=dev-libs/foo-2"])), expected);
    // the flag by which its newest version can't follow
    let optional = text.replace("RDEPEND=dev-libs/xml[icu]", "IUSE=+x USER=x RDEPEND=\"x? ( dev-libs/nowhere )\"");
    let expected = [
        "dev-libs/nowhere (no-version): app-misc/a-2 needs dev-libs/nowhere (RDEPEND), and no repository has such a version",
        "  way out: package.use: app-misc/a -x",
        "  way out: add an ebuild, or a repository that has one: dev-libs/nowhere",
    ];
    assert_eq!(said(&World::read(&optional).plan(&["=dev-libs/foo-2"])), expected);
}
