//! `--format json` and `jsonl`, as the contract has them.

use std::io::{self, Write};

use serde::Serialize;

use super::model::{EbuildReport, Report, Summary};
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
    #[derive(Serialize)]
    struct Line<'a> {
        sandbox: Tier,
        summary: &'a Summary,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        remarks: &'a [String],
    }
    line(out, &Line { sandbox: report.sandbox, summary: &report.summary, remarks: &report.remarks })
}

fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}
