//! `ebaudit plan`.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::args::{PlanArgs, PlanFormat, When};
use super::{drop_in, exit};
use crate::gentoo::system::System;
use crate::plan::{self, Answer, BrokenBinding, Movable, Options, Status};
use crate::report::graph::{self, Shape};
use crate::report::plan as text;
use crate::report::printable;

/// Plans and prints; the exit status of the contract.
pub fn run(args: PlanArgs) -> Result<u8> {
    let shape = match &args.graph {
        Some(path) => match Shape::of(path) {
            Some(shape) => Some((path, shape)),
            None => bail!("--graph {}: name it .svg, .dot or .html", path.display()),
        },
        None => None,
    };
    let environment = if args.root == Path::new("/") { std::env::vars_os().collect() } else { Default::default() };
    let system = System::load(&args.root, environment)?;
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
    let answer = plan::plan(&system, &args.goals, &options)?;
    problems(&args, &system);
    if let Some((path, shape)) = shape {
        std::fs::write(path, graph::draw(&answer, shape)).with_context(|| format!("can't write {}", path.display()))?;
    }
    if let Some(dir) = &args.write {
        drop_in::write(dir, &answer)?;
    }
    print(&args, &answer)?;
    Ok(if answer.status == Status::Impossible { exit::FINDINGS } else { exit::DONE })
}

fn problems(args: &PlanArgs, system: &System) {
    if !args.quiet {
        for problem in system.problems() {
            eprintln!("ebaudit: {}", printable(&problem.to_string()));
        }
    }
}

fn print(args: &PlanArgs, answer: &Answer) -> Result<()> {
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
            "{name:width$}  {} -> {}  (sub-slot {} -> {}; family of {family}, {consumers} bound)\n",
            one.version, one.to_version, one.subslot, one.to_subslot
        ));
    }
    if movable.is_empty() {
        out.push_str("no installed package has another sub-slot to move to\n");
    }
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
