//! The report for people: each finding under the ebuild's own lines, one line an ebuild, and how many of how many.

use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Group as Report1, Level as Title, Renderer, Snippet};

use super::group::{Group, groups};
use super::model::{By, EbuildReport, Finding, Level, Report, Status, Verdict};
use super::{near, plural, printable};

#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub color: bool,
    /// Columns.
    pub width: usize,
    /// Print the unified diffs of what prepare changed.
    pub diff: bool,
    /// Leave the bytes of the diffs as they are, for programs that apply them; not for a terminal.
    pub raw: bool,
    /// The lowest level that is shown.
    pub least: Level,
}

/// Prints `report` to `out`.
pub fn print(out: &mut dyn Write, report: &Report, style: Style) -> io::Result<()> {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(style.width.clamp(60, 200));
    for group in groups(&report.ebuilds).iter().filter(|g| g.finding.level >= style.least) {
        finding(out, &renderer, group)?;
    }
    if style.diff {
        for ebuild in &report.ebuilds {
            diffs(out, ebuild, style.raw)?;
        }
    }
    for ebuild in &report.ebuilds {
        writeln!(out, "{}", line(ebuild))?;
        for remark in remarks(ebuild) {
            writeln!(out, "      {remark}")?;
        }
    }
    summary(out, report)
}

fn finding(out: &mut dyn Write, renderer: &Renderer, group: &Group) -> io::Result<()> {
    let Group { ebuild, finding, others } = group;
    let title = match finding.level {
        Level::Error => Title::ERROR,
        Level::Warning => Title::WARNING,
        Level::Note => Title::NOTE,
    };
    let source = printable(&ebuild.source);
    let mut head = Report1::with_title(title.primary_title(printable(&finding.message)).id(finding.rule.name()));
    match span(&source, finding) {
        Some(span) => {
            let mark = AnnotationKind::Primary.span(span);
            let mark = match finding.cause {
                Some(cause) => mark.label(cause_label(cause)),
                None => mark,
            };
            head = head.element(Snippet::source(&source).path(&finding.path).annotation(mark));
        }
        None => head = head.element(annotate_snippets::Origin::path(&finding.path)),
    }
    // the nearest evidence is shown as it stands, the rest in a line each
    let shown = finding.evidence.first().and_then(|e| Some((e, printable(e.text.as_deref()?), e.line?)));
    let command = shown.as_ref().map(|_| command_of(ebuild, finding)).unwrap_or_default();
    if let Some((evidence, text, line)) = &shown
        && !text.trim().is_empty()
    {
        head = head.element(evidence_snippet(evidence, text, *line, &command));
    }
    let rest = finding.evidence.iter().skip(usize::from(shown.is_some())).take(4).map(evidence_line);
    for text in rest.collect::<Vec<_>>() {
        head = head.element(Title::HELP.with_name("found").message(text));
    }
    if let Some(reason) = &finding.reason {
        head = head.element(Title::NOTE.message(printable(reason)));
    }
    if !others.is_empty() {
        let one = |(ebuild, finding): &(&EbuildReport, &Finding)| match finding.line {
            Some(line) => format!("{}:{line}", printable(&ebuild.cpv)),
            None => printable(&ebuild.cpv),
        };
        let names: Vec<_> = others.iter().map(one).collect();
        head = head.element(Title::NOTE.message(format!("the same in {}", names.join(", "))));
    }
    if let Some(suggestion) = &finding.suggestion {
        let sure = if suggestion.verified { " (tried: right)" } else { "" };
        head = head.element(Title::HELP.message(format!("{}{sure}", printable(&suggestion.text))));
    }
    writeln!(out, "{}\n", renderer.render(&[head]))
}

fn cause_label(cause: super::model::Cause) -> String {
    serde_json::to_value(cause).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The text of the command that a finding is about; of several dead ones the first.
fn command_of(ebuild: &EbuildReport, finding: &Finding) -> String {
    let edit = finding.edit.and_then(|id| ebuild.edits.iter().find(|e| e.id == id));
    let fits = |c: &&super::model::Command| match finding.command {
        Some(index) => c.index == index,
        None => c.cause == finding.cause,
    };
    edit.and_then(|e| e.commands.iter().find(fits)).map(|c| c.text.clone()).unwrap_or_default()
}

/// A line of the source, with what differs in it marked.
fn evidence_snippet<'a>(
    evidence: &'a super::model::Evidence,
    text: &'a str,
    line: u32,
    command: &str,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let note = evidence.note.as_deref().unwrap_or("here");
    let trimmed = text.len() - text.trim_start().len()..text.trim_end().len();
    let differing = match evidence.note.as_deref() {
        Some("words" | "blanks" | "quotes" | "case" | "regex-dialect") => near::differing(command, text),
        _ => Vec::new(),
    };
    let mut snippet = Snippet::source(text).line_start(line as usize).path(&evidence.path);
    if differing.is_empty() {
        snippet = snippet.annotation(AnnotationKind::Context.span(trimmed).label(note));
    }
    for (at, span) in differing.iter().enumerate() {
        let mark = AnnotationKind::Context.span(span.clone());
        snippet = snippet.annotation(if at == 0 { mark.label(note) } else { mark });
    }
    snippet
}

fn evidence_line(evidence: &super::model::Evidence) -> String {
    let mut text = printable(&evidence.path);
    if let Some(line) = evidence.line {
        text.push_str(&format!(":{line}"));
    }
    if let Some(line) = &evidence.text {
        text.push_str(&format!(": {}", printable(line.trim())));
    }
    if let Some(note) = &evidence.note {
        text.push_str(&format!(" ({})", printable(note)));
    }
    text
}

/// The bytes of `source` that the finding's lines take, without the blanks at either end.
fn span(source: &str, finding: &Finding) -> Option<std::ops::Range<usize>> {
    let (first, last) = (finding.line?, finding.end_line.or(finding.line)?);
    let mut at = 0;
    let mut range: Option<std::ops::Range<usize>> = None;
    for (number, line) in (1..).zip(source.split_inclusive('\n')) {
        if (first..=last).contains(&number) {
            let text = line.trim_end();
            let start = at + text.len() - text.trim_start().len();
            let end = at + text.trim_end_matches(['\\', ' ', '\t']).len();
            let start = range.as_ref().map_or(start, |r| r.start);
            range = Some(start..end.max(start + 1).min(source.len()));
        }
        at += line.len();
    }
    range
}

/// Under a line that says whose they are, and that programs which apply a diff pass over.
fn diffs(out: &mut dyn Write, ebuild: &EbuildReport, raw: bool) -> io::Result<()> {
    let mut diffs = ebuild.changed.iter().filter_map(|c| c.diff.as_ref()).peekable();
    if diffs.peek().is_some() {
        writeln!(out, "{}: what prepare changed", printable(&ebuild.cpv))?;
    }
    for diff in diffs {
        // a line of context may be a mere blank
        let shown = if raw { diff.into() } else { std::borrow::Cow::from(printable(diff)) };
        writeln!(out, "{}", shown.trim_end_matches('\n'))?;
    }
    Ok(())
}

/// The one-line verdict of an ebuild.
fn line(ebuild: &EbuildReport) -> String {
    let count = |level| ebuild.findings.iter().filter(|f| f.level == level).count();
    let (errors, warnings, notes) = (count(Level::Error), count(Level::Warning), count(Level::Note));
    let word = match ebuild.status {
        Status::Audited if errors > 0 => "dead",
        Status::Audited if warnings > 0 => "warn",
        Status::Audited => "ok",
        Status::Skipped => "skip",
        _ => "hole",
    };
    let what = match ebuild.status {
        Status::Audited => {
            // all that the last line counts, the unrun ones too
            let with = |verdict| ebuild.edits.iter().filter(|e| e.verdict == verdict).count();
            let mut text = format!("{}, {} live", plural(ebuild.edits.len(), "edit"), with(Verdict::Live));
            if with(Verdict::Unknown) > 0 {
                text.push_str(&format!(", {} unknown", with(Verdict::Unknown)));
            }
            if with(Verdict::NotRun) > 0 {
                text.push_str(&format!(", {} not run", with(Verdict::NotRun)));
            }
            for (n, name) in [(errors, "error"), (warnings, "warning"), (notes, "note")] {
                if n > 0 {
                    text.push_str(&format!(", {}", plural(n, name)));
                }
            }
            text
        }
        _ => printable(ebuild.reason.as_deref().unwrap_or("no reason given")),
    };
    format!("{word:<5} {:<50} {what}", printable(&ebuild.cpv))
}

/// What is worth knowing of an ebuild and is no finding: its remarks, and why edits of its own could not be judged.
fn remarks(ebuild: &EbuildReport) -> Vec<String> {
    let open = ebuild.edits.iter().filter(|e| e.verdict == Verdict::Unknown && e.by == By::Ebuild);
    let open = open.filter_map(|e| Some(format!("line {}: not judged: {}", e.origin.line, e.reason.as_ref()?)));
    ebuild.remarks.iter().cloned().chain(open).map(|text| printable(&text)).collect()
}

fn summary(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let s = &report.summary;
    let mut line = format!("\n{} of {} audited", s.audited, plural(s.ebuilds, "ebuild"));
    let skipped = report.ebuilds.iter().filter(|e| e.status == Status::Skipped).count();
    if skipped > 0 {
        line.push_str(&format!(" ({skipped} skipped)"));
    }
    let cached = report.ebuilds.iter().filter(|e| e.cached).count();
    if cached > 0 {
        line.push_str(&format!(" ({cached} cached)"));
    }
    let faulty = report.ebuilds.iter().filter(|e| e.findings.iter().any(|f| f.level >= Level::Warning)).count();
    line.push_str(&format!(
        ", {}: {}, {}, {} in {}",
        plural(s.edits, "edit"),
        plural(s.findings.error, "error"),
        plural(s.findings.warning, "warning"),
        plural(s.findings.note, "note"),
        plural(faulty, "faulty ebuild"),
    ));
    writeln!(out, "{line}")?;
    writeln!(out, "sandbox: {}", report.sandbox)
}
