//! The overlay of this repository: its report is that of `reports/`, its verdicts those that are known.
//!
//! `UPDATE_REPORTS=1 cargo test --test overlay` writes the reports anew.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Audits the overlay as the README says, away from this machine's Portage configuration.
fn audit(format: &str) -> String {
    let nothing = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_ebaudit"))
        .args(["audit", "overlay", "--offline", "--format", format])
        .current_dir(root())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("PORTAGE_CONFIGROOT", nothing.path())
        .env("XDG_CACHE_HOME", nothing.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let text = text.replace(root().join("overlay").to_str().unwrap(), "overlay");
    // the tier is this machine's, the rest is the overlay's
    text.replace("sandbox: landlock", "sandbox: namespaces")
        .replace("\"sandbox\": \"landlock\"", "\"sandbox\": \"namespaces\"")
}

fn same_as(name: &str, now: &str) {
    let path = root().join("reports").join(name);
    if std::env::var_os("UPDATE_REPORTS").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == now, "{} is not what the audit says now; UPDATE_REPORTS=1 writes it anew", path.display());
}

#[test]
fn the_text_report_is_the_kept_one() {
    same_as("ebaudit-rocm.txt", &audit("text"));
}

#[test]
fn the_json_report_is_the_kept_one() {
    same_as("ebaudit-rocm.json", &audit("json"));
}

/// A row of `overlay-expected.tsv`: verdict of the call, and `index` to cause and evidence of its dead commands.
struct Row {
    cpv: String,
    line: u64,
    verdict: String,
    dead: BTreeMap<u64, (String, String)>,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(root().join("tests/overlay-expected.tsv")).unwrap();
    let row = |line: &str| {
        let f: Vec<&str> = line.split('\t').collect();
        let dead = f[4].split("; ").filter(|d| *d != "-").map(|d| {
            let (index, rest) = d.split_once(':').unwrap();
            let (cause, evidence) =
                rest.rsplit_once('=').unwrap().1.split_once('@').unwrap_or((rest.rsplit_once('=').unwrap().1, ""));
            (index.parse().unwrap(), (cause.to_owned(), evidence.to_owned()))
        });
        Row { cpv: f[0].into(), line: f[1].parse().unwrap(), verdict: f[3].into(), dead: dead.collect() }
    };
    text.lines().skip(1).map(row).collect()
}

#[test]
fn the_verdicts_are_the_known_ones() {
    let report: Value = serde_json::from_str(&audit("json")).unwrap();
    let ebuilds = report["ebuilds"].as_array().unwrap();
    assert_eq!(ebuilds.len(), 34);
    let rows = rows();
    assert!(rows.len() > 70);
    for row in rows {
        let ebuild = ebuilds.iter().find(|e| e["cpv"] == row.cpv.as_str()).unwrap();
        let at = |e: &&Value| e["kind"] == "sed" && e["origin"]["line"] == row.line;
        let edit = ebuild["edits"].as_array().unwrap().iter().find(at);
        let edit = edit.unwrap_or_else(|| panic!("{}:{} is not in the report", row.cpv, row.line));
        assert_eq!(edit["verdict"], row.verdict.as_str(), "{}:{}", row.cpv, row.line);
        for command in edit["commands"].as_array().unwrap() {
            let index = command["index"].as_u64().unwrap();
            let place = format!("{}:{} {}", row.cpv, row.line, command["text"]);
            match row.dead.get(&index) {
                Some((cause, evidence)) => {
                    assert_eq!(command["verdict"], "dead", "{place}");
                    assert_eq!(command["cause"], cause.as_str(), "{place}");
                    if let Some((path, line)) = evidence.rsplit_once(':') {
                        let first = &command["evidence"][0];
                        assert!(
                            first["path"] == path && first["line"] == line.parse::<u64>().unwrap(),
                            "{place}: {first}"
                        );
                    }
                }
                None => assert_ne!(command["verdict"], "dead", "{place}"),
            }
        }
    }
}

#[test]
fn the_tarballs_are_made_of_the_sources() {
    let check = Command::new("bash").arg("overlay/make-distfiles").arg("--check").current_dir(root()).output().unwrap();
    assert!(
        check.status.success(),
        "{}{}",
        String::from_utf8_lossy(&check.stdout),
        String::from_utf8_lossy(&check.stderr)
    );
}
