//! `--format json` and `jsonl`, as the contract has them.

use std::io::{self, Write};

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
}

impl SummaryLine {
    fn of(report: &Report) -> SummaryLine {
        let Report { schema, tool, repository, sandbox, shard, summary, remarks, .. } = report.clone();
        SummaryLine { schema, tool, repository, sandbox, shard, summary, remarks }
    }

    fn with(self, ebuilds: Vec<EbuildReport>) -> Report {
        let SummaryLine { schema, tool, repository, sandbox, shard, summary, remarks } = self;
        Report { schema, tool, repository, sandbox, ebuilds, remarks, summary, shard }
    }
}

/// Reads what [`document`] or [`ebuild_line`] and [`summary_line`] wrote. The error says what is wrong, and where.
pub fn read(data: &[u8]) -> Result<Report, String> {
    #[derive(Deserialize)]
    struct Schema {
        schema: Option<String>,
    }
    let last = data.trim_ascii_end().rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let lines = serde_json::from_slice::<SummaryLine>(last).ok();
    let schema = match &lines {
        Some(lines) => Some(lines.schema.clone()),
        None => serde_json::from_slice::<Schema>(data).map_err(|e| unfinished(data, &e))?.schema,
    };
    match schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) => return Err(format!("its schema is {other}; wanted is {SCHEMA}")),
        None => return Err(format!("no report of ebaudit audit: it has no schema ({SCHEMA})")),
    }
    let Some(lines) = lines else {
        return serde_json::from_slice(data).map_err(|e| e.to_string());
    };
    let mut ebuilds = Vec::new();
    let before = &data[..data.trim_ascii_end().len() - last.len()];
    for (number, line) in before.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty()) {
        ebuilds.push(serde_json::from_slice(line).map_err(|e| format!("line {}: {e}", number + 1))?);
    }
    Ok(lines.with(ebuilds))
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
