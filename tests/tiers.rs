//! Which tier of the sandbox is chosen where: on machines, in containers and under security modules that allow less than
//! this one. What they forbid is forbidden here by a seccomp filter, as container engines do it.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

#[allow(dead_code)] // the other tests use the rest
mod support;

use support::overlay::{Place, dist_line, found, put};
use support::run::{Done, audit, run};

/// A filter that lets these calls fail.
fn deny(calls: &[i64], errno: i32) -> BpfProgram {
    filter(calls.iter().map(|call| (*call, Vec::new())).collect(), errno)
}

fn filter(rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32) -> BpfProgram {
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno as u32), arch);
    filter.unwrap().try_into().unwrap()
}

/// What the usual profile of container engines does to a process without CAP_SYS_ADMIN.
fn container() -> Vec<BpfProgram> {
    let flag = |bit: i32| {
        let op = SeccompCmpOp::MaskedEq(bit as u64);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, op, bit as u64).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    let flags = [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWPID, libc::CLONE_NEWNET, libc::CLONE_NEWUTS];
    let clone = BTreeMap::from([(libc::SYS_clone, flags.map(flag).into())]);
    vec![
        deny(
            &[
                libc::SYS_unshare,
                libc::SYS_setns,
                libc::SYS_mount,
                libc::SYS_umount2,
                libc::SYS_pivot_root,
                libc::SYS_mount_setattr,
                libc::SYS_move_mount,
                libc::SYS_fsopen,
                libc::SYS_open_tree,
                libc::SYS_keyctl,
                libc::SYS_add_key,
                libc::SYS_bpf,
                libc::SYS_userfaultfd,
                libc::SYS_perf_event_open,
            ],
            libc::EPERM,
        ),
        filter(clone, libc::EPERM),
        deny(&[libc::SYS_clone3], libc::ENOSYS),
    ]
}

/// User namespaces can be made and give no rights, as AppArmor has it.
fn without_rights() -> Vec<BpfProgram> {
    vec![deny(&[libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_sethostname], libc::EACCES)]
}

fn without_landlock() -> Vec<BpfProgram> {
    let calls = [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];
    vec![deny(&calls, libc::ENOSYS)]
}

fn overlay() -> Place {
    let place = Place::new();
    found(&place.repo(), "tiers", "", &["app-misc"]);
    put(
        &place.repo().join("app-misc/one/one-1.ebuild"),
        "EAPI=8\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nSRC_URI=\"https://example.org/${P}.txt\"\n\
         LICENSE=MIT\nSLOT=0\nS=${WORKDIR}\nsrc_prepare() {\n\tdefault\n\techo a > b || die\n\
         \tchmod 755 b || die\n\ttouch -d 2001-01-01 b || die\n\tsed -i -e s/a/b/ b || die\n}\n",
    );
    put(&place.dist().join("one-1.txt"), "x\n");
    put(&place.repo().join("app-misc/one/Manifest"), dist_line("one-1.txt", b"x\n"));
    place
}

fn under(filters: Vec<BpfProgram>, words: &[&str]) -> Done {
    let place = overlay();
    let mut command = audit(&place, ["--format", "json"]);
    command.args(words);
    forbid(&mut command, filters);
    run(&place, &mut command)
}

fn forbid(command: &mut Command, filters: Vec<BpfProgram>) {
    let load = move || {
        for filter in &filters {
            apply_filter(filter).map_err(std::io::Error::other)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls and nothing else
    unsafe { command.pre_exec(load) };
}

#[track_caller]
fn chosen(done: &Done, tier: &str) {
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
    assert_eq!(report["sandbox"], tier);
    assert_eq!(report["ebuilds"][0]["status"], "audited");
    assert_eq!(report["ebuilds"][0]["edits"][0]["verdict"], "live");
}

/// The tier that this machine itself allows.
fn here() -> Option<String> {
    let done = under(Vec::new(), &[]);
    let report: serde_json::Value = serde_json::from_str(&done.stdout).ok()?;
    report["sandbox"].as_str().map(str::to_owned)
}

#[test]
fn a_container_gets_landlock() {
    if here().is_none() {
        return support::tiers::left_out("landlock", "no tier at all");
    }
    chosen(&under(container(), &[]), "landlock");
    chosen(&under(without_rights(), &[]), "landlock");
}

#[test]
fn an_old_kernel_gets_namespaces() {
    match here() {
        Some(tier) if tier == "namespaces" => chosen(&under(without_landlock(), &[]), "namespaces"),
        other => support::tiers::left_out("namespaces", &format!("it has {other:?}")),
    }
}

#[test]
fn where_nothing_can_be_had_it_refuses() {
    let both = || [container(), without_landlock()].concat();
    for words in [&[][..], &["--sandbox", "landlock"], &["--sandbox", "namespaces"]] {
        let done = under(both(), words);
        assert_eq!(done.code, Some(2), "{}", done.stderr);
        for part in ["no sandbox can be made here", "--sandbox=landlock", "--no-sandbox"] {
            assert!(done.stderr.contains(part), "{}", done.stderr);
        }
    }
    chosen(&under(both(), &["--no-sandbox"]), "none");
}

/// An installation on PATH may hold the overlay, and a home may look like one.
#[test]
fn what_lies_in_a_tree_of_the_toolchain_is_not_read() {
    for (tier, home_is_prefix) in [("namespaces", false), ("landlock", false), ("namespaces", true), ("landlock", true)]
    {
        let place = Place::new();
        let tools = place.path().join("tools");
        let (repo, dist) = (tools.join("a/b/overlay"), tools.join("a/dist"));
        found(&repo, "tiers", "", &["app-misc"]);
        let secrets = [repo.join(".git/config"), repo.join("app-misc/two/two-1.ebuild"), dist.join("other.txt")];
        let secrets = secrets.into_iter().chain([place.path().join("tools/.git/config"), tools.join("cache/x")]);
        let mut secrets: Vec<_> = secrets.collect();
        secrets.extend(home_is_prefix.then(|| tools.join("secret")));
        for path in secrets.iter().chain([&tools.join("pyvenv.cfg"), &tools.join("bin/tool")]) {
            put(path, "x\n");
        }
        let cats: String = secrets.iter().map(|path| format!("\tcat {0} && die {0}\n", path.display())).collect();
        let text = "EAPI=8\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\nSRC_URI=\"https://example.org/${P}.txt\"\n\
                    LICENSE=MIT\nSLOT=0\nS=${WORKDIR}\nsrc_prepare() {\n\tdefault\n\
                    \tcat ${DISTDIR}/one-1.txt ${FILESDIR}/own || die\n";
        put(
            &repo.join("app-misc/one/one-1.ebuild"),
            format!("{text}{cats}\techo a > b\n\tsed -i -e s/a/b/ b || die\n}}\n"),
        );
        put(&repo.join("app-misc/one/files/own"), "x\n");
        put(&dist.join("one-1.txt"), "x\n");
        put(&repo.join("app-misc/one/Manifest"), dist_line("one-1.txt", b"x\n"));
        let path = std::env::var("PATH").unwrap();
        let mut command = support::run::ebaudit(&place);
        command.arg("audit").arg(repo.join("app-misc/one")).arg("--distdir").arg(&dist);
        command.args(["--offline", "--format", "json", "--sandbox", tier]);
        command.env("XDG_CACHE_HOME", tools.join("cache"));
        command.env("HOME", if home_is_prefix { &tools } else { place.path() });
        command.env("PATH", format!("{}:{path}", tools.join("bin").display()));
        let done = run(&place, &mut command);
        if done.stderr.contains("no sandbox can be made") {
            support::tiers::left_out(tier, done.stderr.trim());
            continue;
        }
        chosen(&done, tier);
    }
}
