//! `ebaudit audit`.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::args::{AuditArgs, Backend};
use super::choose::{self, Work};
use super::fix::{self, Fixed};
use super::output::{self, Format, OutputArgs, Sink};
use super::{exit, layers, load, pool, progress};
use crate::audit;
use crate::audit::context::{Context, Options};
use crate::audit::slots::Slots;
use crate::audit::stats::Stats;
use crate::gentoo::config::PortageConfig;
use crate::gentoo::masters::RepositorySet;
use crate::gentoo::mirrors::Mirrors;
use crate::gentoo::profile::{Profile, UseChange};
use crate::gentoo::repo_config::RepoConfig;
use crate::gentoo::repository::{EbuildFile, Problem, clean};
use crate::gentoo::targets::Targets;
use crate::phase::job::RunDir;
use crate::phase::portage::Portage;
use crate::phase::runner;
use crate::phase::sandbox::Sandbox;
use crate::report::model::{EbuildReport, Report};
use crate::report::{is_read_for_commands, json, plural, printable};
use crate::results::{Question, Results, RunKey};
use crate::source::{DistfileStore, FetchOptions, Fetcher, Verified};
use crate::tree::Most;

/// Audits and prints; the exit status of the contract.
pub fn run(args: AuditArgs) -> Result<u8> {
    let begun = Instant::now();
    let root = std::env::var_os("PORTAGE_CONFIGROOT").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let cwd = std::env::current_dir().context("can't tell the current directory")?;
    let config = PortageConfig::load(&root, std::env::vars_os().collect())?;
    let targets = Targets::parse(&args.targets, &cwd, None)?;
    let overrides: Vec<_> = args.repository.iter().map(|(n, p)| (n.clone(), clean(&cwd.join(p)))).collect();
    let set = RepositorySet::resolve(targets.repository.clone(), &overrides, &config)?;
    let changes = choose::changes(&args, &set.repository.location)?;
    let given = args.profile.as_deref().map(|path| Profile::named(path, &cwd, &set));
    let profile = Profile::choose(given.as_deref(), &root, &set, &config)?;
    let mirrors = Mirrors::load(&set, &config)?;
    let cache = cache_dir(args.cache_dir.as_deref(), &cwd);
    let store = store(&args, &cwd, &cache, &config, &set)?;
    let options = options(&args, &cwd)?;
    let program = std::env::current_exe().context("can't find this program's own file")?;
    let parent = args.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    // before there is anything that would be left behind
    runner::interruptible()?;
    let mut run = RunDir::create(&parent, &program)
        .with_context(|| format!("can't make a work directory in {}", parent.display()))?;
    let private = [store.folders(), vec![cache.clone()]].concat();
    run.sandbox = Sandbox::choose(args.bounds.sandbox(), &run, args.layers.try_overlay(), &private)?;
    let layers = args.layers.open(&cache, &run.sandbox)?;
    run.sandbox.guard_replays(&run, layers.as_ref().map(|layers| layers.store.dir()));
    let resolved = targets.resolve(&set, &|ebuild| choose::slot(&set, ebuild))?;
    for problem in &resolved.problems {
        eprintln!("ebaudit: {}: {}", crate::escape::escape_path(&problem.path), printable(&problem.message));
    }
    for name in &set.missing {
        let other = set.instead_of(name).map_or_else(String::new, |found| {
            format!(" ({} calls itself {})", crate::escape::escape_path(&found.location), printable(&found.name))
        });
        let name = printable(name);
        eprintln!("ebaudit: the master {name} is not here{other}; name it with --repository {name}=PATH");
    }
    let bars = progress::Bars::new(args.output.quiet);
    let progress = Box::new(bars.clone());
    for cpv in options.sources.keys() {
        if !resolved.ebuilds.iter().any(|e| e.cpv.to_string() == *cpv) {
            bail!("--source {cpv}=…: {cpv} is none of the ebuilds to be audited");
        }
    }
    let jobs = args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), |n| n.get());
    // what reads many files takes as many threads as there are jobs, all together
    rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global().context("can't start threads")?;
    let slots = Slots::new(jobs);
    let (shown, stats) = (OnceLock::new(), Stats::default());
    let context = Context { set, config, profile, mirrors, store, layers, progress, run, options, slots, stats, shown };
    let root = context.set.repository.location.clone();
    let below = |p: &Problem| crate::escape::escape_path(p.path.strip_prefix(&root).unwrap_or(&p.path));
    let problem = |p: &Problem| format!("{}: {}", below(p), p.message);
    // what can't be looked at is a hole in the report
    let unread = resolved.problems.iter().any(|problem| problem.unread);
    let mut work = choose::choose(&args, &context, changes.as_ref(), resolved.ebuilds, unread)?;
    for remark in &work.remarks {
        eprintln!("ebaudit: {}", printable(remark));
    }
    if let Some(why) = &work.nothing {
        eprintln!("ebaudit: nothing is audited: {why}");
    }
    work.remarks.splice(0..0, resolved.problems.iter().map(problem));
    bars.expect(work.ebuilds.len());
    let open = || Results::open(&cache, &RunKey::of(&context, &args.suggest), !args.refresh);
    let results = (!args.no_cache).then(open).flatten();
    if args.resume && results.is_none() {
        eprintln!("ebaudit: nothing can be resumed: {} can't be written to", printable(&cache.display().to_string()));
    }
    let (report, fixed, broken) = audit_all(&args, &context, work, &bars, results.as_ref())?;
    print(&args, &report, &fixed)?;
    if args.stats {
        let cached = report.ebuilds.iter().filter(|ebuild| ebuild.cached).count();
        let (all, seconds) = (plural(report.ebuilds.len(), "ebuild"), begun.elapsed().as_secs_f64());
        eprintln!("ebaudit: {all}, {cached} from the cache, in {seconds:.2} s by {}", plural(jobs, "job"));
        eprintln!("ebaudit: time of all jobs: {}", context.stats);
    }
    if let Some(results) = results {
        results.tidy();
    }
    layers::tidy(context.layers.as_ref());
    match status(&args, &report) {
        _ if broken => Ok(exit::INTERNAL),
        exit::DONE | exit::FINDINGS if unread => Ok(exit::HOLES),
        status => Ok(status),
    }
}

fn store(
    args: &AuditArgs,
    cwd: &Path,
    cache: &Path,
    config: &PortageConfig,
    set: &RepositorySet,
) -> Result<DistfileStore> {
    let distdir = args.distdir.as_ref().map_or_else(|| config.distdir(), |d| cwd.join(d));
    if args.distdir.is_some() {
        let kind = std::fs::metadata(&distdir).with_context(|| format!("--distdir {}", distdir.display()))?;
        if !kind.is_dir() {
            bail!("--distdir {}: it is no directory", distdir.display());
        }
    }
    let fetcher = (!args.offline).then(|| Fetcher::new(FetchOptions::default()));
    let mut store = DistfileStore::new(distdir, cache.join("distfiles"), fetcher);
    store.allow_unverified = args.allow_unverified;
    if !args.no_cache {
        store.verified = Verified::kept_in(cache.join("verified"));
    }
    store.ro_distdirs = config.ro_distdirs();
    store.of_repository = RepoConfig::read(&set.repository.location)?.ro_distdirs;
    store.ro_distdirs.extend(store.of_repository.clone());
    Ok(store)
}

/// Where the cache is: `dir`, if the command line has it.
pub fn cache_dir(dir: Option<&Path>, cwd: &Path) -> PathBuf {
    if let Some(dir) = dir {
        return cwd.join(dir);
    }
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")));
    base.map_or_else(|| cache_without_a_home(&std::env::temp_dir()), |base| base.join("ebaudit"))
}

/// A cache in the folder that everybody writes to: our own one, closed to others. Where somebody else has the name there
/// is none.
fn cache_without_a_home(temp: &Path) -> PathBuf {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let user = rustix::process::geteuid().as_raw();
    let dir = temp.join(format!("ebaudit-{user}"));
    // it may be there already
    let _ = std::fs::DirBuilder::new().mode(0o700).create(&dir);
    let ours = |meta: std::fs::Metadata| meta.is_dir() && meta.uid() == user && meta.mode() & 0o077 == 0;
    match std::fs::symlink_metadata(&dir).is_ok_and(ours) {
        true => dir,
        // nothing can be made there
        false => PathBuf::from("/dev/null/ebaudit"),
    }
}

fn options(args: &AuditArgs, cwd: &Path) -> Result<Options> {
    let mut use_changes = Vec::new();
    for flags in &args.use_flags {
        use_changes.extend(UseChange::parse(flags).context("--use")?);
    }
    let mut sources = BTreeMap::new();
    for (cpv, dir) in &args.source {
        let dir = cwd.join(dir);
        if !dir.is_dir() {
            bail!("--source {cpv}={}: there is no such directory", dir.display());
        }
        sources.insert(cpv.clone(), dir);
    }
    Ok(Options {
        portage: portage(args, cwd)?,
        use_changes,
        bounds: args.bounds.of_phases(),
        limits: args.bounds.of_archives(),
        unpack_time: args.bounds.unpack_time(),
        allow_unverified: args.allow_unverified,
        sources,
        eclass_edits: args.eclass_edits,
        most: Most {
            entries: args.bounds.max_tree_files as usize,
            depth: args.bounds.max_depth,
            bytes: args.bounds.max_tree_size,
            until: None,
        },
    })
}

/// Portage, where it is to run the phases.
fn portage(args: &AuditArgs, cwd: &Path) -> Result<Option<Portage>> {
    if args.backend == Backend::Own {
        if args.portage.is_some() {
            bail!("--portage needs --backend portage");
        }
        return Ok(None);
    }
    if args.suggest || args.fix {
        bail!(
            "--suggest and --fix try changed ebuilds, which Portage would not take from outside of a repository; use --backend own"
        );
    }
    let venv = args.portage.as_ref().map(|venv| cwd.join(venv));
    Portage::find(venv.as_deref()).context("--backend portage").map(Some)
}

fn audit_all(
    args: &AuditArgs,
    context: &Context,
    work: Work,
    bars: &progress::Bars,
    results: Option<&Results>,
) -> Result<(Report, Vec<Fixed>, bool)> {
    let lines = Mutex::new(Sink::open(&args.output)?);
    let broken = AtomicBool::new(false);
    // while some wait for the network, others work
    let threads = context.slots.number() + context.store.fetcher.as_ref().map_or(0, Fetcher::jobs);
    let one = |ebuild: &EbuildFile| {
        bars.message(&ebuild.cpv.to_string());
        let (report, fixed) = if runner::interrupted() {
            (audit::left_out(context, ebuild, "interrupted before it was begun"), Fixed::default())
        } else {
            guarded(context, ebuild, || known_or_new(args, context, ebuild, results), &broken)
        };
        bars.done();
        if args.output.format == Format::Jsonl {
            let mut sink = lines.lock().unwrap_or_else(|e| e.into_inner());
            let done = json::ebuild_line(&mut *sink.out, &report);
            sink.note(done);
        }
        (report, fixed)
    };
    let (reports, fixed) = pool::run(
        &work.ebuilds,
        &load::order(&work.ebuilds, &context.set.repository.within),
        &context.slots,
        threads,
        one,
    )
    .into_iter()
    .unzip();
    bars.clear();
    let mut sink = lines.into_inner().unwrap_or_else(|e| e.into_inner());
    let report = Report::of(&context.set.repository, context.run.sandbox.tier(), reports, work.remarks);
    let report = Report { shard: work.shard, interrupted: runner::interrupted(), ..report };
    if args.output.format == Format::Jsonl {
        let done = json::summary_line(&mut *sink.out, &report);
        sink.note(done);
        sink.close(&args.output)?;
    }
    Ok((report, fixed, broken.into_inner()))
}

/// What the cache has of an ebuild, else what its job finds.
fn known_or_new(
    args: &AuditArgs,
    context: &Context,
    ebuild: &EbuildFile,
    results: Option<&Results>,
) -> (EbuildReport, Fixed) {
    let question = results.and_then(|results| results.ask(context, ebuild));
    // where there is something to fix, what is to be written has to be made again
    let fits = |known: &EbuildReport| !args.fix || known.findings.iter().all(|f| f.suggestion.is_none());
    if let Some(known) = question.as_ref().and_then(Question::known).filter(fits) {
        return (known, Fixed::default());
    }
    let done = fix::audit(args, context, ebuild);
    if let Some(question) = question.filter(|_| !args.fix) {
        question.keep(&done.0);
    }
    done
}

/// One job. Should it panic, its ebuild is not audited, and the others are.
fn guarded(
    context: &Context,
    ebuild: &EbuildFile,
    job: impl FnOnce() -> (EbuildReport, Fixed),
    broken: &AtomicBool,
) -> (EbuildReport, Fixed) {
    catch_unwind(AssertUnwindSafe(job)).unwrap_or_else(|_| {
        broken.store(true, Ordering::Relaxed);
        (audit::broken(context, ebuild), Fixed::default())
    })
}

fn print(args: &AuditArgs, report: &Report, fixed: &[Fixed]) -> Result<()> {
    if args.fix && args.output.format != Format::Text {
        // the report is for a program, and stands alone
        let raw = !io::stderr().is_terminal() && !is_read_for_commands();
        let _ = fix::summary(&mut io::stderr(), args, fixed, &report.ebuilds, raw);
    }
    if args.output.format == Format::Jsonl {
        return Ok(());
    }
    // the diffs are then those of the ebuilds
    let how = OutputArgs { diff: args.output.diff && !args.fix, ..args.output.clone() };
    output::print(&how, report, &|out, raw| match args.fix {
        true => fix::summary(out, args, fixed, &report.ebuilds, raw),
        false => Ok(()),
    })
}

fn status(args: &AuditArgs, report: &Report) -> u8 {
    if runner::interrupted() { exit::INTERRUPTED } else { output::status(&args.output, report) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_cache_without_a_home_is_ours_alone() {
        let temp = tempfile::tempdir().unwrap();
        let dir = cache_without_a_home(temp.path());
        assert!(dir.starts_with(temp.path()) && dir.is_dir());
        assert_eq!(cache_without_a_home(temp.path()), dir);
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o770)).unwrap();
        assert!(!cache_without_a_home(temp.path()).starts_with(temp.path()));
        std::fs::remove_dir(&dir).unwrap();
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(other.path(), &dir).unwrap();
        assert!(!cache_without_a_home(temp.path()).starts_with(temp.path()));
    }
}
