//! Plans in tiny universes.

use super::testing::World;
use super::{Action, Answer, BlockerKind, Status};

fn atoms(answer: &Answer) -> String {
    answer.atoms.join(" ")
}

const BUMP: &str = "
    installed dev-libs/foo-1 SLOT=0/1
    installed app-misc/a-1 LINK=dev-libs/foo:0/1=
    installed app-misc/orphan-1 RDEPEND=dev-libs/foo:0/1=
    installed app-misc/plain-1 RDEPEND=dev-libs/foo
    ebuild dev-libs/foo-1 SLOT=0/1
    ebuild dev-libs/foo-2 SLOT=0/2
    ebuild app-misc/a-1 LINK=dev-libs/foo:=
    ebuild app-misc/orphan-1 RDEPEND=dev-libs/foo:=
    ebuild app-misc/plain-1 RDEPEND=dev-libs/foo
    world app-misc/a
";

#[test]
fn what_is_bound_is_rebuilt_wherever_it_stands() {
    let answer = World::read(BUMP).plan(&["=dev-libs/foo-2"]);
    assert_eq!(answer.status, Status::Planned);
    assert_eq!(atoms(&answer), "=dev-libs/foo-2 =app-misc/a-1 =app-misc/orphan-1");
    assert_eq!(answer.stages.len(), 2);
    let orphan = answer.steps.iter().find(|step| step.atom == "=app-misc/orphan-1").unwrap();
    assert_eq!(orphan.action, Action::Rebuild);
    assert_eq!(orphan.because[0], "bound to dev-libs/foo:0/1 by app-misc/orphan-1 RDEPEND dev-libs/foo:0/1=");
    for goal in ["dev-libs/foo@2", "dev-libs/foo", ">=dev-libs/foo-1.5"] {
        assert_eq!(atoms(&World::read(BUMP).plan(&[goal])), atoms(&answer), "{goal}");
    }
}

#[test]
fn reached_is_nothing_to_do() {
    let answer = World::read(BUMP).plan(&["=dev-libs/foo-1"]);
    assert_eq!((answer.status, answer.steps.len()), (Status::NothingToDo, 0));
}

#[test]
fn of_many_versions_a_few_are_named_and_the_rest_counted() {
    let because = |number: u32, goal: &str| {
        let ebuild = |n: u32| format!("    ebuild dev-libs/foo-{n} SLOT=0/{n}\n");
        let text = (1..=number).map(ebuild).collect::<String>() + "    installed dev-libs/foo-1 SLOT=0/1\n";
        World::read(&text).plan(&[goal]).blockers[0].because.clone()
    };
    assert_eq!(because(5, "=dev-libs/foo-9"), "nothing is =dev-libs/foo-9: the repositories have 5, 4, 3, 2, 1");
    let more = "nothing is =dev-libs/foo-9: the repositories have 7, 6, 5, 4, 3 and 2 more";
    assert_eq!(because(7, "=dev-libs/foo-9"), more);
    let more = "nothing is dev-libs/foo@9: the repositories have the sub-slots 6, 5, 4, 3, 2 and 1 more";
    assert_eq!(because(6, "dev-libs/foo@9"), more);
}

#[test]
fn a_pin_that_nothing_follows() {
    let text = format!(
        "{BUMP}
        installed app-misc/stuck-1 RDEPEND=dev-libs/foo:0/1
        ebuild app-misc/stuck-1 RDEPEND=dev-libs/foo:0/1
        world app-misc/stuck"
    );
    let answer = World::read(&text).plan(&["=dev-libs/foo-2"]);
    assert_eq!(answer.status, Status::Impossible);
    let blockers: Vec<_> = answer.blockers.iter().map(|one| (one.package.as_str(), one.kind)).collect();
    assert_eq!(blockers, [("app-misc/stuck", BlockerKind::Pinned)]);
    assert_eq!(answer.blockers[0].ways, ["unmerge app-misc/stuck-1"]);
}

#[test]
fn two_independent_blockers_are_two() {
    let text = format!(
        "{BUMP}
        installed app-misc/stuck-1 RDEPEND=dev-libs/foo:0/1
        installed app-misc/gone-1 RDEPEND=dev-libs/foo:0/1=
        ebuild app-misc/stuck-1 RDEPEND=dev-libs/foo:0/1
        world app-misc/stuck
        world app-misc/gone"
    );
    let answer = World::read(&text).plan(&["=dev-libs/foo-2"]);
    let mut blockers: Vec<_> = answer.blockers.iter().map(|one| (one.package.as_str(), one.kind)).collect();
    blockers.sort();
    assert_eq!(blockers, [("app-misc/gone", BlockerKind::NoEbuild), ("app-misc/stuck", BlockerKind::Pinned)]);
}

#[test]
fn what_nothing_wants_is_unmerged_rather_than_in_the_way() {
    let text = format!(
        "{BUMP}
        installed app-misc/stuck-1 RDEPEND=dev-libs/foo:0/1"
    );
    let answer = World::read(&text).plan(&["=dev-libs/foo-2"]);
    assert_eq!(answer.status, Status::Planned);
    assert_eq!(answer.unmerge, ["=app-misc/stuck-1"]);
}

#[test]
fn what_could_move_and_what_is_broken() {
    let movable = super::movable(&World::read(BUMP));
    let found: Vec<_> =
        movable.iter().map(|one| (one.package.as_str(), one.to_subslot.as_str(), one.family, one.consumers)).collect();
    assert_eq!(found, [("dev-libs/foo", "2", 1, 2)]);
    assert!(super::broken_bindings(&World::read(BUMP)).is_empty());
    let broken = super::broken_bindings(&World::read(
        &BUMP.replace("foo-1 SLOT=0/1\n    installed", "foo-2 SLOT=0/2\n    installed"),
    ));
    let found: Vec<_> = broken.iter().map(|one| (one.package.as_str(), one.variable)).collect();
    assert_eq!(found, [("app-misc/a-1", "DEPEND"), ("app-misc/a-1", "RDEPEND"), ("app-misc/orphan-1", "RDEPEND")]);
}

#[test]
fn back_again_as_far_as_there_are_ebuilds() {
    let answer = World::read(BUMP).plan(&["=dev-libs/foo-2"]);
    assert_eq!(answer.rollback, ["=app-misc/a-1", "=app-misc/orphan-1", "=dev-libs/foo-1"]);
    let without = BUMP.replace("ebuild dev-libs/foo-1 SLOT=0/1\n", "");
    let answer = World::read(&without).plan(&["=dev-libs/foo-2"]);
    assert_eq!(answer.rollback, ["=app-misc/a-1", "=app-misc/orphan-1"]);
    assert_eq!(answer.rollback_lost, ["dev-libs/foo-1"]);
}
