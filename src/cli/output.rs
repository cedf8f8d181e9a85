//! Where a report goes, in which form, and the exit status that follows from it.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::ValueEnum;

use super::args::When;
use super::exit;
use crate::report::model::{Level, Report};
use crate::report::{is_read_for_commands, json, text};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Jsonl,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    Error,
    Warning,
    Note,
    Never,
}

/// How a report is printed.
#[derive(Clone, Debug, clap::Args)]
pub struct OutputArgs {
    /// How to print the report
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Write the report to a file, in one piece at the end
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Print unified diffs (text format) of what prepare changed; with `audit --fix` of the ebuilds, instead of writing them
    #[arg(long)]
    pub diff: bool,

    /// The lowest level of a finding that makes the exit status 1
    #[arg(long, value_enum, default_value_t = FailOn::Error)]
    pub fail_on: FailOn,

    /// When to colour the text report
    #[arg(long, value_enum, default_value_t = When::Auto)]
    pub color: When,

    /// Say less: no progress, no notes in the text report
    #[arg(short, long)]
    pub quiet: bool,
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

/// Why no file could be made, without the name that it would have had for the time being.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" at path ").map_or(text.as_str(), |(why, _)| why).to_owned()
}

/// Where the report goes: standard output, or a new file that takes its name at the end.
pub struct Sink {
    pub out: Box<dyn Write + Send>,
    /// Whether a terminal shows it, which would obey what it is told.
    terminal: bool,
    fresh: Option<tempfile::TempPath>,
    failed: Option<io::Error>,
}

impl Sink {
    /// Remembers the first failure. A reader that went away (a pipe to head) is none.
    pub fn note(&mut self, done: io::Result<()>) {
        if let Err(error) = done
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.failed.get_or_insert(error);
        }
    }

    pub fn open(args: &OutputArgs) -> Result<Sink> {
        let Some(path) = &args.output else {
            return Ok(Sink {
                out: Box::new(io::stdout()),
                terminal: io::stdout().is_terminal(),
                fresh: None,
                failed: None,
            });
        };
        // a device or a FIFO is written to, never replaced
        if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(path)
                .with_context(|| format!("-o {}: can't write there", path.display()))?;
            let terminal = file.is_terminal();
            return Ok(Sink { out: Box::new(file), terminal, fresh: None, failed: None });
        }
        let path = through_links(path);
        let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let file = tempfile::NamedTempFile::new_in(dir)
            .map_err(|error| anyhow!("-o {}: can't write there: {}", path.display(), reason(&error)))?;
        let (file, fresh) = file.into_parts();
        let out = Box::new(io::BufWriter::new(file));
        Ok(Sink { out, terminal: false, fresh: Some(fresh), failed: None })
    }

    pub fn close(mut self, args: &OutputArgs) -> Result<()> {
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

/// Prints a report but in JSON Lines; in the text format `more` writes what is to stand below it, with diffs
/// whose bytes stay as they are if it is told so.
pub fn print(args: &OutputArgs, report: &Report, more: &dyn Fn(&mut dyn Write, bool) -> io::Result<()>) -> Result<()> {
    let mut sink = Sink::open(args)?;
    let style = style(args, sink.terminal);
    let done = match args.format {
        Format::Text => text::print(&mut *sink.out, report, style).and_then(|()| more(&mut *sink.out, style.raw)),
        Format::Json => json::document(&mut *sink.out, report),
        Format::Jsonl => Ok(()),
    };
    sink.note(done);
    sink.close(args)
}

fn style(args: &OutputArgs, terminal: bool) -> text::Style {
    let to_terminal = args.output.is_none() && io::stdout().is_terminal();
    let color = match args.color {
        When::Always => true,
        When::Never => false,
        When::Auto => to_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    };
    let width = if to_terminal { terminal_width() } else { 120 };
    let least = if args.quiet { Level::Warning } else { Level::Note };
    // colours are for a reader's eyes, wherever they go first
    let raw = !terminal && !color && !is_read_for_commands();
    text::Style { color, width, diff: args.diff, raw, least }
}

fn terminal_width() -> usize {
    rustix::termios::tcgetwinsize(io::stdout()).map_or(120, |w| usize::from(w.ws_col))
}

/// The exit status of the contract for a report that is complete as far as it goes.
pub fn status(args: &OutputArgs, report: &Report) -> u8 {
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
