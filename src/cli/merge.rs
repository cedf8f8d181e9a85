//! `ebaudit merge`: one report of those of all shards.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::args::MergeArgs;
use super::exit;
use super::output::{self, Format, Sink};
use super::shard::MOST;
use crate::escape::unescape;
use crate::gentoo::cpv::Cpv;
use crate::gentoo::repository::Repository;
use crate::gentoo::within::Within;
use crate::phase::sandbox::Tier;
use crate::report::model::{EbuildReport, Report, Summary};
use crate::report::{json, printable};

/// Merges and prints; the exit status is that of the whole, or 3 where shards are missing.
pub fn run(args: &MergeArgs) -> Result<u8> {
    let mut parts = Vec::new();
    for path in &args.reports {
        let report = read(path).with_context(|| format!("{}", path.display()))?;
        parts.push((path.display().to_string(), report));
    }
    let (mut report, holes) = merge(parts)?;
    let repository = repository(args)?;
    if let (Some(path), Some(other)) = (&args.repository, &repository)
        && other.name != report.repository.name
        && args.output.format == Format::Text
    {
        let of = format!("is {}, the reports are of {}", other.name, report.repository.name);
        let said = format!("--repository {}: it {of}: no lines of ebuilds are shown", path.display());
        eprintln!("ebaudit: {}", printable(&said));
    }
    sources(&mut report, repository.as_ref());
    if args.output.format == Format::Jsonl {
        let mut sink = Sink::open(&args.output)?;
        for ebuild in &report.ebuilds {
            let done = json::ebuild_line(&mut *sink.out, ebuild);
            sink.note(done);
        }
        let done = json::summary_line(&mut *sink.out, &report);
        sink.note(done);
        sink.close(&args.output)?;
    } else {
        output::print(&args.output, &report, &|_, _| Ok(()))?;
    }
    for hole in &holes {
        eprintln!("ebaudit: {}", printable(hole));
    }
    Ok(if holes.is_empty() { output::status(&args.output, &report) } else { exit::HOLES })
}

fn read(path: &Path) -> Result<Report> {
    let mut data = Vec::new();
    match path.to_str() {
        Some("-") => io::stdin().read_to_end(&mut data)?,
        _ => File::open(path)?.read_to_end(&mut data)?,
    };
    let report = json::read(&data).map_err(anyhow::Error::msg)?;
    match &report.shard {
        Some(shard) if shard.index == 0 || shard.index > shard.of || shard.of > MOST => {
            bail!("there is no shard {} of {}", shard.index, shard.of)
        }
        _ => Ok(report),
    }
}

/// The whole, and what it lacks, a sentence each.
fn merge(parts: Vec<(String, Report)>) -> Result<(Report, Vec<String>)> {
    let mut parts = parts.into_iter();
    let Some((first, mut whole)) = parts.next() else { bail!("there is no report") };
    let mut holes = Vec::new();
    let mut interrupted = |name: &str, part: &Report| {
        if part.interrupted {
            holes.push(format!("{name} is the report of a run that was interrupted"));
        }
    };
    interrupted(&first, &whole);
    let mut seen = BTreeMap::from([(whole.shard.as_ref().map_or(0, |s| s.index), first.clone())]);
    let mut ebuilds: BTreeMap<_, (String, EbuildReport)> = BTreeMap::new();
    let mut add = |from: &str, reports: Vec<EbuildReport>| {
        for report in reports {
            let key = key(&report);
            match ebuilds.get(&key) {
                // an ebuild that two runs audited is the same in both, or nothing can be said of it
                Some((other, known)) if !same(known, &report) => {
                    bail!("{} is in {other} and in {from}, and not the same", report.cpv)
                }
                Some(_) => {}
                None => drop(ebuilds.insert(key, (from.to_owned(), report))),
            }
        }
        Ok(())
    };
    add(&first, std::mem::take(&mut whole.ebuilds))?;
    for (name, part) in parts {
        comparable(&first, &whole, &name, &part)?;
        interrupted(&name, &part);
        if let Some(shard) = &part.shard
            && let Some(other) = seen.insert(shard.index, name.clone())
        {
            bail!("{other} and {name} are both the shard {}/{}", shard.index, shard.of);
        }
        add(&name, part.ebuilds)?;
        for remark in part.remarks {
            if !whole.remarks.contains(&remark) {
                whole.remarks.push(remark);
            }
        }
        whole.sandbox = weaker(whole.sandbox, part.sandbox);
    }
    whole.ebuilds = ebuilds.into_values().map(|(_, report)| report).collect();
    if let Some(shard) = whole.shard.take() {
        for missing in (1..=shard.of).filter(|n| !seen.contains_key(n)) {
            holes.push(format!(
                "the report of shard {missing}/{} is missing: what fell to it was not audited",
                shard.of
            ));
        }
        if holes.is_empty() && whole.ebuilds.len() != shard.ebuilds {
            bail!("{} ebuilds were shared out, and the reports have {}", shard.ebuilds, whole.ebuilds.len());
        }
    }
    whole.interrupted = false;
    whole.summary = Summary::of(&whole.ebuilds);
    Ok((whole, holes))
}

/// The order of a run's report.
fn key(report: &EbuildReport) -> (String, String, Option<Cpv>, String) {
    let cpv = Cpv::parse(&report.cpv).ok();
    let (category, package) = cpv.as_ref().map_or_else(Default::default, |c| (c.category.clone(), c.package.clone()));
    (category, package, cpv, report.path.clone())
}

fn same(a: &EbuildReport, b: &EbuildReport) -> bool {
    let text = |report: &EbuildReport| serde_json::to_string(&EbuildReport { cached: false, ..report.clone() }).ok();
    text(a) == text(b)
}

/// Reports of one run, but for its being shared out.
fn comparable(first: &str, whole: &Report, name: &str, part: &Report) -> Result<()> {
    let differ =
        |what: &str, a: &str, b: &str| bail!("{first} is of {what} {a}, {name} of {b}: they are not parts of one run");
    if whole.repository.name != part.repository.name {
        return differ("the repository", &whole.repository.name, &part.repository.name);
    }
    if whole.tool.version != part.tool.version {
        return differ("ebaudit", &whole.tool.version, &part.tool.version);
    }
    match (&whole.shard, &part.shard) {
        (None, None) => Ok(()),
        (Some(a), Some(b)) if a.of != b.of => {
            differ("a run with this number of shards:", &a.of.to_string(), &b.of.to_string())
        }
        (Some(a), Some(b)) if a.work != b.work => {
            bail!(
                "{first} and {name} shared out different ebuilds: their repositories, filters or targets are not the same"
            )
        }
        (Some(_), Some(_)) => Ok(()),
        _ => bail!("of {first} and {name} one is the report of a shard and the other is none"),
    }
}

fn weaker(a: Tier, b: Tier) -> Tier {
    let rank = |tier: Tier| match tier {
        Tier::None => 0,
        Tier::Landlock => 1,
        Tier::Namespaces => 2,
    };
    if rank(a) <= rank(b) { a } else { b }
}

/// The ebuilds' texts, for the text report: from the repository that the user named or is in, if it is the report's.
/// Whoever wrote the report says which of its ebuilds, and nothing else.
fn sources(report: &mut Report, repository: Option<&Repository>) {
    let Some(repository) = repository.filter(|repository| repository.name == report.repository.name) else { return };
    let within = Within::root(&repository.location);
    for ebuild in &mut report.ebuilds {
        let below = PathBuf::from(OsString::from_vec(unescape(&ebuild.path)));
        let names = below.components().filter(|part| matches!(part, Component::Normal(_))).count();
        let is_ebuild =
            names == 3 && below.components().count() == 3 && below.extension().is_some_and(|suffix| suffix == "ebuild");
        if is_ebuild && let Ok(Some(text)) = within.read(&repository.location.join(below)) {
            ebuild.source = text;
        }
    }
}

fn repository(args: &MergeArgs) -> Result<Option<Repository>> {
    match &args.repository {
        Some(path) => {
            let opened = Repository::open_untrusted(path);
            opened.map(Some).with_context(|| format!("--repository {}", path.display()))
        }
        None => Ok(Repository::around(&std::env::current_dir()?).ok()),
    }
}
