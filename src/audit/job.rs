//! One ebuild's job from end to end.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::ahead;
use super::context::Context;
use super::distfiles;
use super::eapi;
use super::ending::{judge, unsourced};
use super::failure::Failure;
use super::layers::{Archive, Way};
use super::own_unpack::{self, Begun};
use super::portage;
use super::report;
use super::source::{self, Source};
use super::stats::Part;
use super::suggest::Fixes;
use super::syntax::syntax;
use super::variables;
use crate::gentoo::masters::RepositorySet;
use crate::gentoo::metadata::Metadata;
use crate::gentoo::profile::{UsePackage, UseState};
use crate::gentoo::repository::EbuildFile;
use crate::gentoo::shown::{self, Shown};
use crate::phase::job::{JobDir, RunDir};
use crate::phase::runner::{self, Bounds, End, Outcome, Step, Task, Walls};
use crate::phase::sandbox::Tier;
use crate::phase::state;
use crate::report::model::EbuildReport;
use crate::source::unpack::{Clock, Limits};
use crate::tree::{Pack, Snapshot, untrusted};

/// What a job came to know, as far as it came.
#[derive(Debug, Default)]
pub struct Facts {
    /// The file that bash reads.
    pub script: PathBuf,
    pub eapi: String,
    pub text: String,
    /// Once all that follows from them is known: USE, distfiles.
    pub metadata: Option<Metadata>,
    /// As soon as the ebuild is sourced.
    pub sourced: Option<Metadata>,
    pub flags: Option<UseState>,
    pub source: Source,
    /// What the ebuild's own src_unpack unpacks, where what it makes is to be kept.
    pub asked: Option<String>,
    /// The job before that phase, until it is over.
    pub begun: Option<Begun>,
    pub before: Option<Snapshot>,
    pub after: Option<Snapshot>,
    pub pack: Option<Pack>,
    pub outcome: Option<Outcome>,
    pub remarks: Vec<String>,
}

/// Audits one ebuild. Whatever goes wrong is in the report.
pub fn audit(context: &Context, ebuild: &EbuildFile) -> EbuildReport {
    audit_text(context, ebuild, &ebuild.path).0
}

/// [`audit`] with the text that `script` holds in the place of the ebuild's own, and the fixes of what was found.
pub fn audit_text(context: &Context, ebuild: &EbuildFile, script: &Path) -> (EbuildReport, Option<Fixes>) {
    let mut way = context.layers.as_ref().map(|layers| layers.way);
    loop {
        let mut facts = Facts { script: script.to_owned(), ..Facts::default() };
        let mut job = None;
        let failure = go(context, ebuild, &mut facts, &mut job, way).err();
        // an overlay lets some calls fail that work elsewhere (rename(2) of a folder): that is no fault of the ebuild
        if facts.source.is_overlay() && facts.outcome.as_ref().is_some_and(|o| matches!(o.end, End::Failed(_))) {
            way = Some(Way::Copy);
            continue;
        }
        return report::build(context, ebuild, facts, job.as_ref(), failure);
    }
}

/// An ebuild that the run did not come to.
pub fn left_out(context: &Context, ebuild: &EbuildFile, reason: &str) -> EbuildReport {
    report::build(context, ebuild, Facts::default(), None, Some(Failure::skipped(reason))).0
}

/// The report of an ebuild whose job broke down within ebaudit.
pub fn broken(context: &Context, ebuild: &EbuildFile) -> EbuildReport {
    let facts = Facts { script: ebuild.path.clone(), ..Facts::default() };
    let failure = Failure::prepare("an internal error of ebaudit; please report it with the text on standard error");
    report::build(context, ebuild, facts, None, Some(failure)).0
}

/// What an ebuild says of itself once it is sourced; none where that fails.
pub fn metadata(context: &Context, ebuild: &EbuildFile) -> Option<Metadata> {
    source_metadata(&context.run, &context.set, &context.options.bounds, &context.options.limits, ebuild).ok()
}

/// The metadata of an ebuild from sourcing it in bash; the error says why bash or the ebuild itself gave up.
pub fn source_metadata(
    run: &RunDir,
    set: &RepositorySet,
    bounds: &Bounds,
    limits: &Limits,
    ebuild: &EbuildFile,
) -> Result<Metadata, String> {
    let bytes = read_script(run, set, &ebuild.path).map_err(|failure| failure.reason)?;
    let eapi = eapi::declared(&String::from_utf8_lossy(&bytes));
    eapi::supported(&eapi).map_err(|failure| failure.reason)?;
    let name = format!("metadata/{}/{}", ebuild.cpv.category, ebuild.cpv.pf());
    let job = JobDir::create(run, &name).map_err(|error| format!("can't make the job's folders: {error}"))?;
    let task = Task {
        run,
        job: &job,
        ebuild: &ebuild.path,
        eclass_dirs: &set.eclass_dirs(),
        shown: &Shown::of(set, ebuild, false).map_err(|error| error.to_string())?,
        variables: &variables::of_name(ebuild, &eapi, limits),
        portage: None,
        layers: None,
        bounds,
    };
    let mut found = None;
    let outcome = runner::run(&task, |_, _| {
        found = Some(Metadata::from_map(&read_metadata(&job.ctl().join("metadata"))));
        false
    })
    .map_err(|error| format!("can't run bash: {error}"))?;
    found.ok_or_else(|| match outcome.end {
        End::Failed(why) => why,
        other => format!("sourcing it ended early: {other:?}"),
    })
}

/// The text of an ebuild. A link must not lead to where the phases may not read: what it shows would be reported.
fn read_script(run: &RunDir, set: &RepositorySet, script: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |e: io::Error| Failure::invalid(format!("can't read the ebuild: {e}"));
    let real = fs::canonicalize(script).map_err(failed)?;
    let inside = real.starts_with(run.path()) || shown::is_showable(set, &real);
    if !inside && run.sandbox.tier() != Tier::None {
        return Err(Failure::invalid(
            "the ebuild is a link that leads out of its repository, where nothing may be read",
        ));
    }
    untrusted::read(&real, SCRIPT_LIMIT).map_err(failed)
}

/// Bytes; the largest of the real ebuilds that were looked at has 100 KB.
const SCRIPT_LIMIT: u64 = 4 << 20;

fn go(
    context: &Context,
    ebuild: &EbuildFile,
    facts: &mut Facts,
    kept: &mut Option<JobDir>,
    way: Option<Way>,
) -> Result<(), Failure> {
    let bytes = read_script(&context.run, &context.set, &facts.script)?;
    facts.text = String::from_utf8_lossy(&bytes).into_owned();
    line_ends(&facts.text)?;
    facts.eapi = eapi::declared(&facts.text);
    eapi::supported(&facts.eapi)?;
    let source = context.options.sources.get(&ebuild.cpv.to_string());
    let name = format!("{}/{}", ebuild.cpv.category, ebuild.cpv.pf());
    let job = match context.options.portage {
        Some(_) => JobDir::for_portage(&context.run, &name),
        None => JobDir::create(&context.run, &name),
    };
    let job = job.map_err(|e| Failure::prepare(format!("can't make the job's folders: {e}")))?;
    let job = kept.insert(job);
    // a death in pkg_setup speaks of the machine, not of the source: recorded, and the phases go on without it
    for skip_setup in [false, true] {
        let outcome = {
            let _at = context.stats.enter(Part::Phases);
            phases(context, ebuild, facts, job, source, skip_setup, way)?
        };
        let in_setup = outcome.phase == "pkg_setup" && untrusted::open(&job.ctl().join("setup-done")).is_err();
        if !skip_setup && in_setup && matches!(outcome.end, End::Failed(_)) {
            let why = outcome.death.map_or(String::new(), |d| format!(": {}", d.message));
            facts.remarks.push(format!("pkg_setup failed and was left out{why}"));
            continue;
        }
        let failure = judge(&outcome, context, job, &facts.source);
        facts.outcome = Some(outcome);
        if let Some(before) = &facts.before {
            let _at = context.stats.enter(Part::Hashing);
            let after = facts.source.after(job, before, facts.pack.as_ref(), context.most());
            // what ended the phases comes before what that left unread
            facts.after = match after {
                Err(unread) if failure.is_ok() => return Err(unread),
                after => after.ok(),
            };
        }
        return failure;
    }
    Ok(())
}

fn phases(
    context: &Context,
    ebuild: &EbuildFile,
    facts: &mut Facts,
    job: &JobDir,
    source: Option<&PathBuf>,
    skip_setup: bool,
    way: Option<Way>,
) -> Result<Outcome, Failure> {
    let mut variables = variables::of_name(ebuild, &facts.eapi, &context.options.limits);
    if skip_setup {
        variables.insert("EB_SKIP_SETUP".into(), "1".into());
    }
    let eclass_dirs = context.set.eclass_dirs();
    let script = facts.script.clone();
    let mut shown = context.shown(ebuild).map_err(|error| Failure::invalid(error.to_string()))?;
    if context.options.portage.is_some() {
        // Portage reads the profile itself, which may lie in another repository
        shown.read.extend(context.profile.directories().filter(|dir| dir.is_dir()).map(Path::to_owned));
    }
    let task = Task {
        run: &context.run,
        job,
        ebuild: &script,
        eclass_dirs: &eclass_dirs,
        shown: &shown,
        variables: &variables,
        portage: context.options.portage.as_ref(),
        layers: context.layers.as_ref().filter(|_| way == Some(Way::Overlay)).map(|layers| layers.store.dir()),
        bounds: &context.options.bounds,
    };
    let mut failure = None;
    let outcome = runner::run(&task, |step, walls| {
        let done = match step {
            // the second run finds its source in place
            Step::Sourced if skip_setup => {
                source::again(&facts.source, walls).and_then(|()| configured(context, ebuild, facts, job, skip_setup))
            }
            Step::Sourced => sourced(context, ebuild, facts, job, source, way, walls)
                .and_then(|()| configured(context, ebuild, facts, job, skip_setup)),
            Step::Unpack => unpack(context, ebuild, facts, job, way, walls),
            Step::Unpacked => {
                let kept = facts.begun.take().and_then(|begun| begun.keep(context, ebuild, job, walls));
                facts.source = kept.unwrap_or(std::mem::take(&mut facts.source));
                unpacked(context, facts, job)
            }
        };
        if step == Step::Sourced && facts.asked.is_some() {
            // without it the shell tells nothing of itself, and nothing is kept
            let _ = untrusted::write(&job.ctl().join(state::KEEP), b"");
        }
        done.map_err(|f| failure = Some(f)).is_ok()
    })
    .map_err(|e| Failure::prepare(format!("can't run bash: {e}")))?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let ctl = job.ctl();
    if let Ok(eclass) = untrusted::read_text(&ctl.join("no-eclass"), 4096) {
        return Err(missing_eclass(context, eclass.trim()));
    }
    if facts.metadata.is_none() {
        return Err(unsourced(&context.run, &facts.script, &outcome));
    }
    Ok(outcome)
}

/// The ebuild is sourced: work out USE, bring the distfiles, unpack them.
fn sourced(
    context: &Context,
    ebuild: &EbuildFile,
    facts: &mut Facts,
    job: &JobDir,
    source: Option<&PathBuf>,
    way: Option<Way>,
    walls: &mut Walls,
) -> Result<(), Failure> {
    let map = read_metadata(&job.ctl().join("metadata"));
    if untrusted::read_text(&job.ctl().join("sourced"), 4096).is_ok_and(|s| s.trim() != "0") {
        syntax(&context.run, &facts.script)?;
    }
    let metadata = Metadata::from_map(&map);
    facts.sourced = Some(metadata.clone());
    if metadata.eapi != facts.eapi {
        return Err(Failure::invalid(format!(
            "EAPI is {} where the ebuild begins and {} once it is sourced",
            facts.eapi, metadata.eapi
        )));
    }
    if metadata.slot.is_empty() {
        return Err(Failure::invalid("SLOT is not set (PMS 7.2)"));
    }
    // a 9999 that fetches a tarball is an ebuild like any other
    let live = metadata.is_live() || (ebuild.cpv.version.looks_live() && metadata.src_uri.is_empty());
    if live && source.is_none() {
        let reason = format!("a live ebuild: give its source with --source {}=DIR to have it audited", ebuild.cpv);
        return Err(Failure::skipped(reason));
    }
    let package = UsePackage { cpv: &ebuild.cpv, metadata: &metadata, repository: &ebuild.repository };
    let flags = UseState::compute(&context.profile, &context.config, package, &context.options.use_changes);
    let at = context.stats.enter(Part::Distfiles);
    let wanted = match source {
        Some(_) => Vec::new(),
        None => distfiles::wanted(context, ebuild, &metadata, &flags)?,
    };
    let own = metadata.defined_phases.iter().any(|p| p == "unpack");
    let layered = source.is_none() && !own && context.options.portage.is_none() && way.is_some();
    // kept until the job uses it, so that nobody removes it meanwhile
    let unpacking = layered.then(|| context.stats.enter(Part::Unpacking));
    let clock = Clock::new(context.options.unpack_time, runner::interrupted);
    let _ahead = match layered {
        true => ahead::layer(context, &wanted, &facts.eapi, &clock)?,
        false => None,
    };
    drop(unpacking);
    let mut found = Vec::new();
    for (distfile, path) in wanted.iter().zip(distfiles::obtain_all(context, &wanted)?) {
        job.link_distfile(&distfile.name, &path)
            .map_err(|e| Failure::fetch(format!("can't hand {} to the phase: {e}", distfile.name)))?;
        found.push((distfile.name.clone(), path));
    }
    drop(at);
    let mut unpacked = false;
    let at = context.stats.enter(Part::Unpacking);
    if let Some(source) = source {
        let s = PathBuf::from(map.get("S").map(String::as_str).unwrap_or_default());
        source::copy(source, &s, job)?;
        unpacked = true;
    } else if !own && context.options.portage.is_none() {
        let archives = wanted.iter().zip(&found).filter_map(|(d, (_, path))| Archive::of(d, path.clone(), &facts.eapi));
        let archives: Vec<Archive> = archives.collect();
        facts.source = Source::unpack(context, way, job, &archives, &clock, &mut facts.remarks, walls)?;
        unpacked = true;
    } else if context.options.portage.is_none() {
        facts.asked = own_unpack::asked(context, ebuild, facts, way, &wanted);
    }
    drop(at);
    let names: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
    variables::write_settled(&job.ctl().join("variables"), &flags, &names, unpacked)
        .map_err(|e| Failure::prepare(format!("can't hand USE to the phase: {e}")))?;
    (facts.metadata, facts.flags) = (Some(metadata), Some(flags));
    Ok(())
}

/// Portage's configuration, where it is to run the phases.
fn configured(
    context: &Context,
    ebuild: &EbuildFile,
    facts: &Facts,
    job: &JobDir,
    skip_setup: bool,
) -> Result<(), Failure> {
    let (Some(_), Some(flags)) = (&context.options.portage, &facts.flags) else { return Ok(()) };
    portage::configure(context, ebuild, job, flags, skip_setup)
        .map_err(|e| Failure::prepare(format!("can't write Portage's configuration: {e}")))
}

/// The ebuild's own src_unpack is about to begin: what an earlier run of it came to may be there.
fn unpack(
    context: &Context,
    ebuild: &EbuildFile,
    facts: &mut Facts,
    job: &JobDir,
    way: Option<Way>,
    walls: &mut Walls,
) -> Result<(), Failure> {
    // only the runner says that there is nothing to be run
    let _ = fs::remove_file(job.ctl().join(state::KNOWN));
    let (Some(layers), Some(way)) = (&context.layers, way) else { return Ok(()) };
    facts.begun = Begun::look(context, ebuild, facts, job, walls);
    let Some((layer, known)) = facts.begun.as_ref().and_then(|begun| begun.known(layers)) else { return Ok(()) };
    facts.begun = None;
    if let Some(source) = source::lay(layer, way, job, walls)? {
        known.leave(job, walls).map_err(|e| Failure::unpack(format!("can't bring the source: {e}")))?;
        facts.source = source;
    }
    Ok(())
}

fn unpacked(context: &Context, facts: &mut Facts, job: &JobDir) -> Result<(), Failure> {
    let _at = context.stats.enter(Part::Hashing);
    // one of the ebuild's own comes after it
    let setup =
        facts.asked.is_none() && facts.metadata.as_ref().is_some_and(|m| m.defined_phases.iter().any(|p| p == "setup"));
    let (before, pack) = facts.source.before(job, context.most(), setup)?;
    (facts.before, facts.pack) = (Some(before), Some(pack));
    Ok(())
}

fn read_metadata(path: &Path) -> BTreeMap<String, String> {
    let data = untrusted::read(path, 16 << 20).unwrap_or_default();
    data.split(|b| *b == 0)
        .filter_map(|pair| {
            let text = String::from_utf8_lossy(pair);
            let (key, value) = text.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        })
        .collect()
}

/// With carriage returns at the ends of all lines bash reads other words than those that are meant; where only some have
/// one, that may be a text that is wanted so.
fn line_ends(text: &str) -> Result<(), Failure> {
    let mut lines = text.split_inclusive('\n').filter(|l| l.ends_with('\n')).peekable();
    if lines.peek().is_some() && lines.all(|l| l.ends_with("\r\n")) {
        let reason = "its lines end in carriage returns (CR LF), which bash takes as a part of the words; save it with plain newlines";
        return Err(Failure::invalid(reason));
    }
    Ok(())
}

fn missing_eclass(context: &Context, name: &str) -> Failure {
    let advice = match &context.set.missing[..] {
        [] => "none of its repositories has it; name one that has with --repository NAME=PATH".to_owned(),
        missing => format!("its master {} is not here; name it with --repository {0}=PATH", missing.join(", ")),
    };
    Failure::unsupported(format!("eclass {name} is not to be found: {advice}"))
}
