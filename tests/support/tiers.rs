//! Machines that lack a tier of the sandbox leave its tests out, unless they are told not to.

/// Says that what needs `tier` is left out. A failure where EBAUDIT_REQUIRE_TIERS lists the tier, as the project's own
/// checks have it (`.ci/run`): tests that are left out show nothing.
#[track_caller]
pub fn left_out(tier: &str, why: &str) {
    let required = std::env::var("EBAUDIT_REQUIRE_TIERS").unwrap_or_default();
    assert!(!required.split(',').any(|one| one == tier), "the tier {tier} is required and not to be had: {why}");
    println!("left out, for want of the tier {tier}: {why}");
}
