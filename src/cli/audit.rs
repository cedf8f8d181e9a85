//! `ebaudit audit`.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;

use super::args::{AuditArgs, Backend, FailOn, Format, When};
use super::fix::{self, Fixed};
use super::{exit, progress};
use crate::audit;
use crate::audit::context::{Context, Options};
use crate::gentoo::config::PortageConfig;
use crate::gentoo::filters::{self, Candidate};
use crate::gentoo::masters::RepositorySet;
use crate::gentoo::md5_cache::Md5Cache;
use crate::gentoo::mirrors::Mirrors;
use crate::gentoo::profile::{Profile, UseChange};
use crate::gentoo::repo_config::RepoConfig;
use crate::gentoo::repository::{EbuildFile, Problem};
use crate::gentoo::targets::Targets;
use crate::phase::job::RunDir;
use crate::phase::portage::Portage;
use crate::phase::runner;
use crate::phase::sandbox::Sandbox;
use crate::report::model::{EbuildReport, Level, Report, RepositoryInfo, SCHEMA, Status, Summary, Tool};
use crate::report::{json, printable, text};
use crate::results::{Question, Results, RunKey};
use crate::source::{DistfileStore, FetchOptions, Fetcher};
use crate::tree::Most;

/// Audits and prints; the exit status of the contract.
pub fn run(args: AuditArgs) -> Result<u8> {
    let root = std::env::var_os("PORTAGE_CONFIGROOT").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let cwd = std::env::current_dir().context("can't tell the current directory")?;
    let config = PortageConfig::load(&root, std::env::vars_os().collect())?;
    let targets = Targets::parse(&args.targets, &cwd, None)?;
    let overrides: Vec<_> = args.repository.iter().map(|(n, p)| (n.clone(), cwd.join(p))).collect();
    let set = RepositorySet::resolve(targets.repository.clone(), &overrides, &config)?;
    let profile = Profile::choose(args.profile.as_deref().map(|p| cwd.join(p)).as_deref(), &root, &set, &config)?;
    let mirrors = Mirrors::load(&set, &config)?;
    let store = store(&args, &cwd, &config, &set)?;
    let options = options(&args, &cwd)?;
    let program = std::env::current_exe().context("can't find this program's own file")?;
    let parent = args.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    // before there is anything that would be left behind
    runner::interruptible()?;
    let mut run = RunDir::create(&parent, &program)
        .with_context(|| format!("can't make a work directory in {}", parent.display()))?;
    run.sandbox = Sandbox::choose(args.bounds.sandbox(), &run)?;
    let resolved = targets.resolve(&set, &|ebuild| slot(&set, ebuild))?;
    for problem in &resolved.problems {
        eprintln!("ebaudit: {}: {}", problem.path.display(), printable(&problem.message));
    }
    for name in &set.missing {
        eprintln!("ebaudit: the master {name} is not here; name it with --repository {name}=PATH");
    }
    let bars = progress::Bars::new(args.quiet);
    let progress = Box::new(bars.clone());
    for cpv in options.sources.keys() {
        if !resolved.ebuilds.iter().any(|e| e.cpv.to_string() == *cpv) {
            bail!("--source {cpv}=…: {cpv} is none of the ebuilds to be audited");
        }
    }
    let context = Context { set, config, profile, mirrors, store, progress, run, options };
    let root = context.set.repository.location.clone();
    let below = |p: &Problem| crate::escape::escape_path(p.path.strip_prefix(&root).unwrap_or(&p.path));
    let problem = |p: &Problem| format!("{}: {}", below(p), p.message);
    let remarks: Vec<String> = resolved.problems.iter().map(problem).collect();
    let ebuilds = filtered(&args, &context, resolved.ebuilds);
    bars.expect(ebuilds.len());
    let cache = cache_dir(&args, &cwd);
    let open = || Results::open(&cache, &RunKey::of(&context, &args.suggest), !args.refresh);
    let results = (!args.no_cache).then(open).flatten();
    if args.resume && results.is_none() {
        eprintln!("ebaudit: nothing can be resumed: {} can't be written to", printable(&cache.display().to_string()));
    }
    let (report, fixed, broken) = audit_all(&args, &context, &ebuilds, remarks, &bars, results.as_ref())?;
    print(&args, &report, &fixed)?;
    if let Some(results) = results {
        results.tidy();
    }
    Ok(if broken { exit::INTERNAL } else { status(&args, &report) })
}

fn store(args: &AuditArgs, cwd: &Path, config: &PortageConfig, set: &RepositorySet) -> Result<DistfileStore> {
    let distdir = args.distdir.as_ref().map_or_else(|| config.distdir(), |d| cwd.join(d));
    if args.distdir.is_some() {
        let kind = std::fs::metadata(&distdir).with_context(|| format!("--distdir {}", distdir.display()))?;
        if !kind.is_dir() {
            bail!("--distdir {}: it is no directory", distdir.display());
        }
    }
    let fetcher = (!args.offline).then(|| Fetcher::new(FetchOptions::default()));
    let mut store = DistfileStore::new(distdir, cache_dir(args, cwd).join("distfiles"), fetcher);
    store.allow_unverified = args.allow_unverified;
    store.ro_distdirs = config.ro_distdirs();
    store.of_repository = RepoConfig::read(&set.repository.location)?.ro_distdirs;
    store.ro_distdirs.extend(store.of_repository.clone());
    Ok(store)
}

fn cache_dir(args: &AuditArgs, cwd: &Path) -> PathBuf {
    if let Some(dir) = &args.cache_dir {
        return cwd.join(dir);
    }
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("ebaudit")
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
        allow_unverified: args.allow_unverified,
        sources,
        eclass_edits: args.eclass_edits,
        most: Most { entries: args.bounds.max_tree_files as usize, depth: args.bounds.max_depth },
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

/// The slot of an ebuild, from the cache; without one it is not known yet, and any slot is taken for right.
fn slot(set: &RepositorySet, ebuild: &EbuildFile) -> Option<String> {
    let metadata = Md5Cache::new(set).load(ebuild)?;
    Some(format!("{}/{}", metadata.slot, metadata.subslot))
}

/// The ebuilds that the filters leave; without a metadata cache they are sourced for it.
fn filtered(args: &AuditArgs, context: &Context, ebuilds: Vec<EbuildFile>) -> Vec<EbuildFile> {
    if !(args.latest || args.keyworded || args.live) {
        return ebuilds;
    }
    let cache = Md5Cache::new(&context.set);
    let candidate = |ebuild: EbuildFile| {
        let metadata = cache.load(&ebuild).or_else(|| audit::metadata(context, &ebuild)).unwrap_or_default();
        let live = ebuild.cpv.version.looks_live() && metadata.src_uri.is_empty();
        let candidate = Candidate::new(ebuild, &metadata);
        Candidate { live: candidate.live || live, ..candidate }
    };
    let candidates: Vec<Candidate> = ebuilds
        .par_iter()
        .cloned()
        .map(candidate)
        .filter(|c| (!args.keyworded || c.keyworded) && (args.live == c.live || !(args.live || args.latest)))
        .collect();
    // what was not asked for an interruption is no reason to drop an ebuild
    if runner::interrupted() {
        return ebuilds;
    }
    let candidates = if args.latest { filters::latest(candidates) } else { candidates };
    candidates.into_iter().map(|c| c.ebuild).collect()
}

fn audit_all(
    args: &AuditArgs,
    context: &Context,
    ebuilds: &[EbuildFile],
    remarks: Vec<String>,
    bars: &progress::Bars,
    results: Option<&Results>,
) -> Result<(Report, Vec<Fixed>, bool)> {
    let jobs = args.jobs.map_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()), |n| n.get());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().context("can't start threads")?;
    let lines = Mutex::new(Sink::open(args)?);
    let broken = AtomicBool::new(false);
    let (reports, fixed): (Vec<EbuildReport>, Vec<Fixed>) = pool.install(|| {
        ebuilds
            .par_iter()
            .map(|ebuild| {
                bars.message(&ebuild.cpv.to_string());
                let (report, fixed) = if runner::interrupted() {
                    (audit::left_out(context, ebuild, "interrupted before it was begun"), Fixed::default())
                } else {
                    guarded(context, ebuild, || known_or_new(args, context, ebuild, results), &broken)
                };
                bars.done();
                if args.format == Format::Jsonl {
                    let mut sink = lines.lock().unwrap_or_else(|e| e.into_inner());
                    let done = json::ebuild_line(&mut *sink.out, &report);
                    sink.note(done);
                }
                (report, fixed)
            })
            .unzip()
    });
    bars.clear();
    let mut sink = lines.into_inner().unwrap_or_else(|e| e.into_inner());
    let report = assemble(context, reports, remarks);
    if args.format == Format::Jsonl {
        let done = json::summary_line(&mut *sink.out, &report);
        sink.note(done);
        sink.close(args)?;
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

fn assemble(context: &Context, ebuilds: Vec<EbuildReport>, remarks: Vec<String>) -> Report {
    let mut summary = Summary { ebuilds: ebuilds.len(), ..Summary::default() };
    for ebuild in &ebuilds {
        match ebuild.status {
            Status::Audited => summary.audited += 1,
            Status::Skipped => {}
            _ => summary.not_audited += 1,
        }
        summary.edits += ebuild.edits.len();
        for finding in &ebuild.findings {
            match finding.level {
                Level::Error => summary.findings.error += 1,
                Level::Warning => summary.findings.warning += 1,
                Level::Note => summary.findings.note += 1,
            }
        }
    }
    let repository = &context.set.repository;
    Report {
        schema: SCHEMA.to_owned(),
        tool: Tool { name: "ebaudit".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() },
        repository: RepositoryInfo {
            name: repository.name.clone(),
            location: crate::escape::escape_path(&repository.location),
        },
        sandbox: context.run.sandbox.tier(),
        ebuilds,
        remarks,
        summary,
    }
}

/// What a link leads to, there or not, so that a new file takes its place and the link stays.
fn through_links(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // as many links as the kernel follows
    for _ in 0..40 {
        let Ok(to) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new(".")).join(to);
    }
    path
}

/// Where the report goes: standard output, or a new file that takes its name at the end.
struct Sink {
    out: Box<dyn Write + Send>,
    fresh: Option<tempfile::TempPath>,
    failed: Option<io::Error>,
}

impl Sink {
    /// Remembers the first failure. A reader that went away (a pipe to head) is none.
    fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.failed.get_or_insert(error);
        }
    }

    fn open(args: &AuditArgs) -> Result<Sink> {
        let Some(path) = &args.output else {
            return Ok(Sink { out: Box::new(io::stdout()), fresh: None, failed: None });
        };
        // a device or a FIFO is written to, never replaced
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(path)
                .with_context(|| format!("-o {}: can't write there", path.display()))?;
            return Ok(Sink { out: Box::new(file), fresh: None, failed: None });
        }
        let path = through_links(path);
        let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::NamedTempFile::new_in(dir)
            .with_context(|| format!("-o {}: can't write there", path.display()))?;
        let (file, fresh) = file.into_parts();
        Ok(Sink { out: Box::new(io::BufWriter::new(file)), fresh: Some(fresh), failed: None })
    }

    fn close(mut self, args: &AuditArgs) -> Result<()> {
        let flushed = self.out.flush();
        self.note(flushed);
        drop(self.out);
        let name = args.output.as_ref().map_or("standard output".to_owned(), |p| p.display().to_string());
        if let Some(error) = self.failed {
            bail!("can't write the report to {name}: {error}");
        }
        if let (Some(fresh), Some(path)) = (self.fresh, &args.output) {
            use std::os::unix::fs::PermissionsExt;
            let _ = std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o644));
            fresh.persist(through_links(path)).with_context(|| format!("-o {}", path.display()))?;
        }
        Ok(())
    }
}

fn print(args: &AuditArgs, report: &Report, fixed: &[Fixed]) -> Result<()> {
    if args.fix && args.format != Format::Text {
        // the report is for a program, and stands alone
        let _ = fix::summary(&mut io::stderr(), fixed, &report.ebuilds, args.diff);
    }
    if args.format == Format::Jsonl {
        return Ok(());
    }
    let mut sink = Sink::open(args)?;
    let done = match args.format {
        Format::Text => {
            let to_terminal = args.output.is_none() && io::stdout().is_terminal();
            let color = match args.color {
                When::Always => true,
                When::Never => false,
                When::Auto => to_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
            };
            let width = if to_terminal { terminal_width() } else { 120 };
            let least = if args.quiet { Level::Warning } else { Level::Note };
            text::print(&mut *sink.out, report, text::Style { color, width, diff: args.diff && !args.fix, least })
                .and_then(|()| match args.fix {
                    true => fix::summary(&mut *sink.out, fixed, &report.ebuilds, args.diff),
                    false => Ok(()),
                })
        }
        Format::Json => json::document(&mut *sink.out, report),
        Format::Jsonl => Ok(()),
    };
    sink.note(done);
    sink.close(args)
}

fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout()).map_or(120, |w| usize::from(w.ws_col))
}

fn status(args: &AuditArgs, report: &Report) -> u8 {
    if runner::interrupted() {
        return exit::INTERRUPTED;
    }
    if report.summary.not_audited > 0 {
        return exit::HOLES;
    }
    let counts = &report.summary.findings;
    let failed = match args.fail_on {
        FailOn::Never => 0,
        FailOn::Error => counts.error,
        FailOn::Warning => counts.error + counts.warning,
        FailOn::Note => counts.error + counts.warning + counts.note,
    };
    if failed > 0 { exit::FINDINGS } else { exit::DONE }
}
