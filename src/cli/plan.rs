//! `ebaudit plan`.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::args::{PlanArgs, PlanFormat, When};
use super::{drop_in, exit};
use crate::audit;
use crate::gentoo::cpv::Cpv;
use crate::gentoo::system::{MetadataSource, System};
use crate::phase::job::RunDir;
use crate::phase::runner::Bounds;
use crate::phase::sandbox::Sandbox;
use crate::plan::{self, Action, Answer, BrokenBinding, Movable, Options, Status};
use crate::report::graph::{self, Shape};
use crate::report::plan as text;
use crate::report::printable;
use crate::source::unpack::Limits;

/// Plans and prints; the exit status of the contract.
pub fn run(args: PlanArgs) -> Result<u8> {
    let shape = match &args.graph {
        Some(path) => match Shape::of(path) {
            Some(shape) => Some((path, shape)),
            None => bail!("--graph {}: name it .svg, .dot or .html", path.display()),
        },
        None => None,
    };
    let system = load(&args)?;
    if args.list {
        let movable = plan::movable(&system);
        problems(&args, &system);
        return list(&args, &movable).map(|()| exit::DONE);
    }
    if args.check {
        let broken = plan::broken_bindings(&system);
        problems(&args, &system);
        check(&args, &broken)?;
        return Ok(if broken.is_empty() { exit::DONE } else { exit::FINDINGS });
    }
    let options = Options { without: args.without.clone(), keep: args.keep.clone(), world: args.world };
    let mut answer = plan::plan(&system, &args.goals, &options)?;
    plan::gates::check(&system, &mut answer);
    problems(&args, &system);
    answer.problems = system.problems();
    if args.verify && answer.status == Status::Planned {
        answer.verification = Some(plan::verify::verify(&system, &answer, args.portage.as_deref())?);
    }
    if let Some((path, shape)) = shape {
        std::fs::write(path, graph::draw(&answer, shape)).with_context(|| format!("can't write {}", path.display()))?;
    }
    if let Some(dir) = &args.write {
        drop_in::write(dir, &answer)?;
    }
    let mut status = exit::DONE;
    let mut audits = Vec::new();
    if args.audit {
        (status, audits) = audit_targets(&args, &system, &answer)?;
    }
    if args.format == PlanFormat::Json {
        answer.audits = audits.drain(..).filter_map(|report| serde_json::from_slice(&report).ok()).collect();
    }
    print(&args, &answer, &audits)?;
    if answer.verification.as_ref().is_some_and(|said| !said.agrees) {
        eprintln!("ebaudit: Portage does not do what this plan says; please report it with the system's files");
        return Ok(exit::INTERNAL);
    }
    Ok(if answer.status == Status::Impossible { exit::FINDINGS } else { status })
}

/// The system; ebuilds that no cache has are sourced as an audit sources them.
fn load(args: &PlanArgs) -> Result<System> {
    // the variables of this shell count on this machine, not on a copy of another
    let environment = if args.root == Path::new("/") { std::env::vars_os().collect() } else { Default::default() };
    let program = std::env::current_exe().context("can't find this program's own file")?;
    let run = OnceLock::new();
    let choice = args.sandbox.choice();
    let source: MetadataSource = Box::new(move |set, ebuild| {
        let made = run.get_or_init(|| {
            let mut run = RunDir::create(&std::env::temp_dir(), &program).map_err(|error| error.to_string())?;
            run.sandbox = Sandbox::choose(choice, &run, false, &[]).map_err(|error| error.to_string())?;
            run.sandbox.guard_replays(&run, None);
            Ok::<RunDir, String>(run)
        });
        let run = made.as_ref().map_err(|error| format!("can't make a work directory: {error}"))?;
        let bounds = Bounds { time: Duration::from_secs(60), output: 1 << 20, limits: Default::default() };
        audit::source_metadata(run, set, &bounds, &Limits::default(), ebuild)
    });
    Ok(System::load_with(&args.root, environment, source)?)
}

/// Audits the ebuilds of a plan, a repository at a time: the highest exit status, and what the audits print.
fn audit_targets(args: &PlanArgs, system: &System, answer: &Answer) -> Result<(u8, Vec<Vec<u8>>)> {
    let program = std::env::current_exe().context("can't find this program's own file")?;
    let (mut status, mut reports) = (exit::DONE, Vec::new());
    for (name, location, _) in system.repositories() {
        let merged = answer.steps.iter().filter(|step| step.action != Action::Uninstall && step.repository == name);
        let mut ebuilds = Vec::new();
        for step in merged {
            let cpv = Cpv::parse(plan::cpv_of(&step.atom))?;
            ebuilds.push(location.join(format!("{}/{}.ebuild", cpv.cp(), cpv.pf())));
        }
        if ebuilds.is_empty() {
            continue;
        }
        // a process of its own: an audit takes the signals and the work folder for itself
        let mut audit = std::process::Command::new(&program);
        audit.arg("audit").args(ebuilds).args(args.sandbox.words()).args(["--quiet", "--color", "never", "--format"]);
        audit.arg(if args.format == PlanFormat::Json { "json" } else { "text" });
        for (master, place, _) in system.repositories().filter(|(other, ..)| *other != name) {
            let mut word = OsString::from(format!("--repository={master}="));
            word.push(place);
            audit.arg(word);
        }
        let done = audit.stderr(std::process::Stdio::inherit()).output().context("can't run the audit")?;
        status = status.max(done.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::INTERNAL));
        reports.push(done.stdout);
    }
    Ok((status, reports))
}

fn problems(args: &PlanArgs, system: &System) {
    if !args.quiet {
        for problem in system.problems() {
            eprintln!("ebaudit: {}", printable(&problem.to_string()));
        }
    }
}

fn print(args: &PlanArgs, answer: &Answer, audits: &[Vec<u8>]) -> Result<()> {
    match args.format {
        PlanFormat::Json => put(args, &json(answer)?),
        PlanFormat::Text => {
            let color = match args.color {
                When::Always => true,
                When::Never => false,
                When::Auto => {
                    args.output.is_none() && io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
                }
            };
            let mut bytes = Vec::new();
            text::print(&mut bytes, answer, text::Look { color, reasons: if args.verbose { usize::MAX } else { 2 } })?;
            for report in audits {
                bytes.extend(b"\nAudit of what is merged\n");
                bytes.extend(report);
            }
            put(args, &bytes)
        }
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn put(args: &PlanArgs, bytes: &[u8]) -> Result<()> {
    match &args.output {
        Some(path) => std::fs::write(path, bytes).with_context(|| format!("can't write {}", path.display())),
        None => match io::stdout().write_all(bytes) {
            // the reader has seen enough
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            done => done.context("can't write to standard output"),
        },
    }
}

fn list(args: &PlanArgs, movable: &[Movable]) -> Result<()> {
    #[derive(Serialize)]
    struct List<'l> {
        schema: &'static str,
        packages: &'l [Movable],
    }
    if args.format == PlanFormat::Json {
        return put(args, &json(&List { schema: "ebaudit.plan-list/1", packages: movable })?);
    }
    let mut out = String::new();
    let width = movable.iter().map(|one| one.package.len() + one.slot.len() + 1).max().unwrap_or(0);
    for one in movable {
        let name = format!("{}:{}", one.package, one.slot);
        let (family, consumers) = (one.family, one.consumers);
        out.push_str(&format!(
            "{name:width$}  {} -> {}  (sub-slot {} -> {}; family of at most {family}, {consumers} bound)\n",
            one.version, one.to_version, one.subslot, one.to_subslot
        ));
    }
    out.push_str(match movable.is_empty() {
        true => "no installed package has another sub-slot to move to\n",
        false => "family: all that pin each other; a plan leaves those of them that need not move\n",
    });
    put(args, printable(&out).as_bytes())
}

fn check(args: &PlanArgs, broken: &[BrokenBinding]) -> Result<()> {
    #[derive(Serialize)]
    struct Check<'c> {
        schema: &'static str,
        broken: &'c [BrokenBinding],
    }
    if args.format == PlanFormat::Json {
        return put(args, &json(&Check { schema: "ebaudit.plan-check/1", broken })?);
    }
    let mut out = String::new();
    for one in broken {
        let there = match one.installed.is_empty() {
            true => "not installed".to_owned(),
            false => format!("installed: {}", one.installed.join(", ")),
        };
        out.push_str(&format!("{}  {} {}  ({there})\n", one.package, one.variable, one.atom));
    }
    if broken.is_empty() {
        out.push_str("nothing is bound to a sub-slot that is not there\n");
    }
    put(args, printable(&out).as_bytes())
}
