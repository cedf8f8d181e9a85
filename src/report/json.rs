//! `--format json` and `jsonl`, as the contract has them.

use std::io::{self, Write};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::model::{EbuildReport, Report, RepositoryInfo, SCHEMA, ShardInfo, Summary, Tool};
use crate::phase::sandbox::Tier;

/// One document.
pub fn document(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

/// One ebuild, one line.
pub fn ebuild_line(out: &mut dyn Write, ebuild: &EbuildReport) -> io::Result<()> {
    line(out, ebuild)
}

/// The last line: what is said of all.
pub fn summary_line(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    line(out, &SummaryLine::of(report))
}

/// All that a report has but the ebuilds.
#[derive(Debug, Serialize, Deserialize)]
pub struct SummaryLine {
    schema: String,
    tool: Tool,
    repository: RepositoryInfo,
    sandbox: Tier,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shard: Option<ShardInfo>,
    summary: Summary,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interrupted: bool,
    /// A document in one line has them; a last line has not.
    #[serde(default, skip_serializing)]
    ebuilds: Option<IgnoredAny>,
}

impl SummaryLine {
    fn of(report: &Report) -> SummaryLine {
        let Report { schema, tool, repository, sandbox, shard, summary, remarks, interrupted, .. } = report;
        SummaryLine {
            schema: schema.clone(),
            tool: tool.clone(),
            repository: repository.clone(),
            sandbox: *sandbox,
            shard: shard.clone(),
            summary: summary.clone(),
            remarks: remarks.clone(),
            interrupted: *interrupted,
            ebuilds: None,
        }
    }

    fn with(self, ebuilds: Vec<EbuildReport>) -> Report {
        let SummaryLine { schema, tool, repository, sandbox, shard, summary, remarks, interrupted, .. } = self;
        Report { schema, tool, repository, sandbox, ebuilds, remarks, summary, shard, interrupted }
    }
}

/// Reads what [`document`] or [`ebuild_line`] and [`summary_line`] wrote. The error says what is wrong, and where.
pub fn read(data: &[u8]) -> Result<Report, String> {
    #[derive(Deserialize)]
    struct Schema {
        schema: Option<String>,
    }
    // some editors put one before everything
    let data = data.strip_prefix("\u{feff}".as_bytes()).unwrap_or(data).trim_ascii_end();
    let last = data.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let lines = serde_json::from_slice::<SummaryLine>(last).ok().filter(|line| line.ebuilds.is_none());
    let schema = match &lines {
        Some(lines) => Some(lines.schema.clone()),
        None => serde_json::from_slice::<Schema>(data).map_err(|e| unfinished(data, &e))?.schema,
    };
    match schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("its schema is {other}; wanted is {SCHEMA}")),
        None => return Err(format!("no report of ebaudit audit: it has no schema ({SCHEMA})")),
    }
    let report = match lines {
        Some(lines) => lines.with(ebuilds(&data[..data.len() - last.len()])?),
        None => serde_json::from_slice(data).map_err(|e| e.to_string())?,
    };
    match report.ebuilds.len() == report.summary.ebuilds {
        true => Ok(report),
        false => {
            Err(format!("it has {} ebuilds, and says that it has {}", report.ebuilds.len(), report.summary.ebuilds))
        }
    }
}

fn ebuilds(lines: &[u8]) -> Result<Vec<EbuildReport>, String> {
    let lines = lines.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    let read = |(number, line)| serde_json::from_slice(line).map_err(|e| format!("line {}: {e}", number + 1));
    lines.map(read).collect()
}

fn unfinished(data: &[u8], error: &serde_json::Error) -> String {
    match data.trim_ascii().is_empty() {
        true => "it is empty".to_owned(),
        false => format!("no whole report ({error})"),
    }
}

fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
