//! Hostile ebuilds and archives: each is run in both tiers of the sandbox and must be contained in both, with the same
//! finding, nothing outside changed, nothing sent, nothing leaked and no process left.
//!
//! The inputs are in `inputs/*.toml`. `EBAUDIT_HOSTILE=part-of-a-name` runs some of them only. Where this machine does not
//! allow a tier, its half is left out with a word on standard output.

#[allow(dead_code)] // the other tests use the rest
#[path = "../support/archive.rs"]
mod archive;
mod input;
mod outside;
#[allow(dead_code)]
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use input::Input;
use outside::Outside;
use support::overlay::{Place, dist_line, found, put};
use support::run::{Done, ebaudit, run};

const TIERS: [&str; 2] = ["namespaces", "landlock"];

/// What a run said: the status, the rules of its findings, the verdicts of its edits.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    status: String,
    rules: Vec<String>,
    verdicts: Vec<String>,
}

#[test]
fn hostile_inputs_are_contained() {
    let needle = std::env::var("EBAUDIT_HOSTILE").unwrap_or_default();
    let mut inputs = input::all();
    let count = inputs.len();
    inputs.retain(|i| i.name.contains(&needle));
    assert!(!inputs.is_empty(), "no input is named {needle:?}");
    let tiers: Vec<&str> = TIERS.into_iter().filter(|tier| is_allowed(tier)).collect();
    assert!(!tiers.is_empty(), "no tier of the sandbox is to be had, so nothing was tried");
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(input) = inputs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = catch_unwind(AssertUnwindSafe(|| in_all(input, &tiers)));
                    let result = result.unwrap_or_else(|_| Err("the harness panicked, see above".to_owned()));
                    if let Err(why) = result {
                        wrong.lock().unwrap().insert(input.name.clone(), why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    println!("{} of {count} inputs in {}: {} contained", inputs.len(), tiers.join(" and "), inputs.len() - wrong.len());
    let text: Vec<String> = wrong.iter().map(|(name, why)| format!("{name}: {why}")).collect();
    assert!(wrong.is_empty(), "{}", text.join("\n"));
}

/// Whether this machine lets the tier be built.
fn is_allowed(tier: &str) -> bool {
    let place = Place::new();
    found(&place.repo(), "hostile", "", &["app-misc"]);
    let done = run(&place, ebaudit(&place).arg("audit").arg(place.repo()).args(["--offline", "--sandbox", tier]));
    let allowed = !done.stderr.contains("no sandbox can be made");
    if !allowed {
        support::tiers::left_out(tier, done.stderr.trim());
    }
    allowed
}

fn in_all(input: &Input, tiers: &[&str]) -> Result<(), String> {
    let mut all = Vec::new();
    for tier in tiers {
        all.push(one(input, tier).map_err(|why| format!("{tier}: {why}"))?);
    }
    if let [first, second] = &all[..]
        && first != second
        && !input.either
    {
        return Err(format!("the tiers differ: {first:?} and {second:?}"));
    }
    Ok(())
}

fn one(input: &Input, tier: &str) -> Result<Said, String> {
    let mut place = Place::new();
    let outside = Outside::lay(&place);
    lay(input, &place, &outside);
    let before = outside.fingerprint(&place);
    let report = place.path().join("report/report.json");
    let mut command = ebaudit(&place);
    command
        .arg("audit")
        .arg(place.repo())
        .arg("--distdir")
        .arg(place.dist())
        .args(["--offline", "--format", "json", "--sandbox", tier, "-o"])
        .arg(&report)
        .args(&input.args)
        .env("HOME", outside.home())
        .env("CI_JOB_TOKEN", outside::SECRET);
    let done = run(&place, &mut command);
    let result = judge(input, &place, &outside, &before, &done);
    place.keep = result.is_err() && std::env::var_os("EBAUDIT_HOSTILE_KEEP").is_some();
    result
}

/// The overlay with the hostile ebuild, its source and what the input adds.
fn lay(input: &Input, place: &Place, outside: &Outside) {
    let fill = |text: &str| outside.fill(text, place);
    found(&place.repo(), "hostile", "", &["app-misc"]);
    let dir = place.repo().join("app-misc/evil");
    let text = format!(
        "EAPI=8\n\nDESCRIPTION=\"Hostile\"\nHOMEPAGE=\"https://example.org/\"\n\
         SRC_URI=\"https://example.org/${{P}}.tar.gz\"\n\nLICENSE=\"MIT\"\nSLOT=\"0\"\n\n{}\n\
         src_prepare() {{\n\tdefault\n{}\n\tcd \"${{S}}\" || die\n\tsed -i -e 's/alpha/ALPHA/' a.txt || die\n}}\n",
        fill(&input.global),
        fill(&input.script)
    );
    put(&dir.join("evil-1.ebuild"), text);
    std::fs::create_dir_all(dir.join("files")).unwrap();
    for (name, to) in &input.files_links {
        std::os::unix::fs::symlink(fill(to), dir.join("files").join(name)).unwrap();
    }
    // of the checkout, of a submodule, and of one that is a package; bash would tell the line by its parenthesis
    for at in [".git", "sub/.git", "app-misc/evil/.git", "app-misc/evil/files/sub/.git", "eclass/.git"] {
        let text = format!("[http]\n\textraheader = ({})\n", outside::SECRET);
        put(&place.repo().join(at).join("config"), text);
    }
    let tarball = input.distfile(&fill);
    put(&place.dist().join("evil-1.tar.gz"), &tarball);
    put(&dir.join("Manifest"), dist_line("evil-1.tar.gz", &tarball));
    for (at, text) in &input.put {
        put(&place.repo().join(at), fill(text));
    }
    for at in &input.fifos {
        let at = place.repo().join(at);
        let _ = std::fs::remove_file(&at);
        rustix::fs::mknodat(rustix::fs::CWD, &at, rustix::fs::FileType::Fifo, 0o644.into(), 0).unwrap();
    }
    for (at, to) in &input.links {
        let (at, to) = (place.repo().join(at), fill(to));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        if to.starts_with('/') && !std::path::Path::new(&to).exists() {
            let _ = std::fs::rename(&at, &to);
        } else if at.is_dir() {
            std::fs::remove_dir_all(&at).unwrap();
        } else {
            let _ = std::fs::remove_file(&at);
        }
        std::os::unix::fs::symlink(to, at).unwrap();
    }
}

fn judge(input: &Input, place: &Place, outside: &Outside, before: &str, done: &Done) -> Result<Said, String> {
    let left = support::processes::of(place);
    if !left.is_empty() {
        return Err(format!("processes are left: {left:?}"));
    }
    if done.timed_out {
        return Err(done.how());
    }
    let after = outside.fingerprint(place);
    if after != before {
        return Err(format!("outside something changed:\n{}", outside::difference(before, &after)));
    }
    let shared = outside::in_shared_memory(place);
    if shared.exists() {
        let _ = std::fs::remove_file(&shared);
        return Err(format!("{} was made", shared.display()));
    }
    if let Some(what) = outside.heard() {
        return Err(format!("something was sent: {what}"));
    }
    let tmp: Vec<_> = std::fs::read_dir(place.tmp()).unwrap().flatten().map(|i| i.file_name()).collect();
    if !tmp.is_empty() {
        return Err(format!("work folders are left: {tmp:?}"));
    }
    let text = match &input.refused {
        Some(why) if done.code != Some(2) || !done.stderr.contains(why) => return Err(done.how()),
        Some(_) => String::new(),
        None => std::fs::read_to_string(place.path().join("report/report.json")).map_err(|e| e.to_string())?,
    };
    for (what, text) in [("report", &text), ("standard output", &done.stdout), ("standard error", &done.stderr)] {
        if text.contains(outside::SECRET) {
            return Err(format!("the {what} tells the secret"));
        }
        if text.contains(['\x1b', '\x07', '\u{9b}']) {
            return Err(format!("the {what} has control characters"));
        }
    }
    if input.refused.is_some() {
        return Ok(Said { status: "refused".to_owned(), rules: Vec::new(), verdicts: Vec::new() });
    }
    let report: serde_json::Value = serde_json::from_str(&text).map_err(|e| format!("{e}: {text} {}", done.stderr))?;
    if let Some(why) = &input.hole {
        let told = report["remarks"].to_string().contains(why) && done.stderr.contains(why) && done.code == Some(3);
        let none = report["ebuilds"].as_array().is_some_and(Vec::is_empty);
        let said = Said { status: "hole".to_owned(), rules: Vec::new(), verdicts: Vec::new() };
        return if told && none { Ok(said) } else { Err(format!("{}: {text}", done.how())) };
    }
    let ebuild = &report["ebuilds"][0];
    let words = |list: &serde_json::Value, key: &str| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.map(|item| item[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    let said = Said {
        status: ebuild["status"].as_str().unwrap_or_default().to_owned(),
        rules: words(&ebuild["findings"], "rule"),
        verdicts: words(&ebuild["edits"], "verdict"),
    };
    if !input.status.contains(&said.status) {
        return Err(format!("status {}: {} {}", said.status, ebuild["reason"], done.stderr));
    }
    Ok(said)
}
