//! dump-system ROOT [NAME…]: what ebaudit reads of a machine, one JSON object a line, for compare_system.py.
//! With `--time` nothing but how long loading and reading all candidates take. With `--atoms` it answers the questions of
//! compare_atoms.py on standard input.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use ebaudit::gentoo::config::Environment;
use ebaudit::gentoo::cpv::Cpv;
use ebaudit::gentoo::dependency::{Atom, Package};
use ebaudit::gentoo::system::{Candidate, Installed, Obstacle, System};
use ebaudit::gentoo::version::Version;
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let timed = args.iter().any(|arg| arg == "--time");
    if args.iter().any(|arg| arg == "--atoms") {
        std::io::stdin().lines().map_while(Result::ok).for_each(|line| println!("{}", answer(&line)));
        return;
    }
    let mut args = args.iter().filter(|arg| *arg != "--time");
    let root = args.next().map_or("/", String::as_str);
    let names: Vec<&str> = args.map(String::as_str).collect();
    let begin = Instant::now();
    let system = match System::load(Path::new(root), Environment::new()) {
        Ok(system) => system,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    let loaded = begin.elapsed();
    let all: Vec<&str> = match names.is_empty() {
        true => system.package_names().iter().map(String::as_str).collect(),
        false => names,
    };
    let listed = begin.elapsed();
    if timed {
        let count: usize = all.iter().map(|name| system.candidates(name).len()).sum();
        let read = begin.elapsed();
        all.iter().for_each(|name| drop(system.candidates(name)));
        let (records, names) = (system.installed().len(), all.len());
        println!("load {loaded:?} ({records} records), names {:?} ({names})", listed - loaded);
        println!("candidates {:?} ({count}), again {:?}", read - listed, begin.elapsed() - read);
        return;
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut print = |value: Value| writeln!(out, "{value}").unwrap_or_else(|_| std::process::exit(1));
    print(json!({"kind": "system", "arch": system.arch(), "accept_keywords": system.accept_keywords(),
        "provided": system.provided().iter().map(|cpv| cpv.to_string()).collect::<Vec<_>>(), "names": system.package_names()}));
    for wanted in system.world() {
        print(json!({"kind": "world", "atom": wanted.atom, "origin": wanted.origin}));
    }
    system.installed().iter().for_each(|package| print(record(package)));
    for name in all {
        system.candidates(name).iter().for_each(|candidate| print(ebuild(candidate)));
    }
    for problem in system.problems() {
        print(json!({"kind": "problem", "text": problem.to_string()}));
    }
}

/// `vercmp A B`: -1, 0 or 1; `match ATOM CPV SLOT SUBSLOT REPOSITORY`: 1 or 0. `x` for what is no version or atom.
fn answer(line: &str) -> String {
    let found = match line.split(' ').collect::<Vec<_>>().as_slice() {
        ["vercmp", a, b] => Version::parse(a).ok().zip(Version::parse(b).ok()).map(|(a, b)| a.cmp(&b) as i32),
        ["match", atom, cpv, slot, subslot, repository] => {
            Atom::parse(atom).ok().zip(Cpv::parse(cpv).ok()).map(|(atom, cpv)| {
                let name = cpv.cp();
                let package = Package { name: &name, version: &cpv.version, slot, subslot, repository };
                i32::from(atom.matches(package))
            })
        }
        _ => None,
    };
    found.map_or_else(|| "x".to_owned(), |number| number.to_string())
}

fn record(package: &Installed) -> Value {
    let dependencies = &package.dependencies;
    json!({
        "kind": "record", "cpv": package.cpv.to_string(), "recorded": package.recorded_name, "slot": package.slot,
        "subslot": package.subslot, "repository": package.repository, "EAPI": package.eapi, "USE": package.use_flags,
        "IUSE": package.iuse, "DEPEND": dependencies.depend, "BDEPEND": dependencies.bdepend,
        "RDEPEND": dependencies.rdepend, "PDEPEND": dependencies.pdepend, "IDEPEND": dependencies.idepend,
        "KEYWORDS": package.keywords, "LICENSE": package.license, "BUILD_TIME": package.build_time, "SIZE": package.size,
    })
}

fn ebuild(candidate: &Candidate) -> Value {
    let state = &candidate.use_state;
    let obstacles = candidate.obstacles.iter().map(|obstacle| match obstacle {
        Obstacle::Masked { by_user, origin, comment } => json!(["mask", by_user, origin, comment]),
        Obstacle::Keyword { accept } => json!(["keyword", accept]),
        Obstacle::License { licenses } => json!(["license", licenses]),
        Obstacle::Other { variable, words } => json!([variable, words]),
    });
    json!({
        "kind": "ebuild", "cpv": candidate.ebuild.cpv.to_string(), "repository": candidate.ebuild.repository,
        "priority": candidate.priority, "slot": candidate.metadata.slot, "subslot": candidate.metadata.subslot,
        "enabled": state.enabled, "forced": state.forced, "masked": state.masked, "user": state.user,
        "by_default": state.by_default, "obstacles": obstacles.collect::<Vec<_>>(), "invalid": candidate.invalid,
    })
}
