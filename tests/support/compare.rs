//! Does a report say what a case expects?
//!
//! `exit`, `status` and `reason` (a part of it) are those of the first ebuild; `[[expect.ebuild]]` has those of the
//! others, which else must be audited. Each `[[expect.finding]]` must be met by a finding of its own, and every
//! finding of level error or warning must be among them or meet an `[[expect.maybe]]`; none may meet an
//! `[[expect.absent]]`. A `line` is met by a finding whose line to end_line holds it; a `mention` is a part of the
//! message, of the finding's path or of an evidence's path; of a list, any will do. `[[expect.verdict]]` is the verdict
//! of the call at a line, of a file in it (`path`), of a command in it (`command`, `text`), or of both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::case::{Any, Case, Expect, WantedFinding, WantedVerdict, cpv_of};
use crate::support::run::Done;

/// Compares; the error is the first thing that differs. `place` is the folder that the case ran in.
pub fn compare(case: &Case, done: &Done, place: &Path) -> Result<(), String> {
    let Ok(report) = serde_json::from_str::<Value>(&done.stdout) else {
        let tail: Vec<&str> = done.stderr.trim().lines().rev().take(4).collect();
        return Err(format!("{}, no JSON: {}", done.how(), tail.into_iter().rev().collect::<Vec<_>>().join(" | ")));
    };
    if report["schema"] != "ebaudit.audit/1" {
        return Err(format!("schema {}", report["schema"]));
    }
    let ebuilds: Vec<(&str, &Value)> = items(&report["ebuilds"]).map(|e| (text(&e["cpv"]), e)).collect();
    let cpvs = case.cpvs();
    let expect = &case.expect;
    statuses(expect, &cpvs, &ebuilds)?;
    let found = findings(&ebuilds);
    if done.code.is_none_or(|code| !expect.exit.all().contains(&code)) {
        let loud: Vec<String> = found.iter().filter(|f| f.value["level"] != "note").take(3).map(Found::brief).collect();
        return Err(format!("{}, expected {:?}; findings: {loud:?}", done.how(), expect.exit.all()));
    }
    outside(expect, place)?;
    compare_findings(expect, &cpvs[0], &found)?;
    let first = ebuilds.iter().find(|(cpv, _)| *cpv == cpvs[0]).map(|(_, e)| *e).unwrap_or(&Value::Null);
    compare_tree(expect, first)?;
    for wanted in &expect.verdict {
        let cpv = wanted.cpv.as_deref().unwrap_or(&cpvs[0]);
        let ebuild = ebuilds.iter().find(|(c, _)| *c == cpv).map_or(&Value::Null, |(_, e)| *e);
        let path = case.ebuild.iter().map(|e| &e.path).find(|p| cpv_of(p) == cpv).ok_or("a verdict of no ebuild")?;
        compare_verdict(wanted, ebuild, path.rsplit('/').next().unwrap())?;
    }
    Ok(())
}

fn statuses(expect: &Expect, cpvs: &[String], ebuilds: &[(&str, &Value)]) -> Result<(), String> {
    for (at, cpv) in cpvs.iter().enumerate() {
        let other = expect.ebuild.iter().find(|e| e.cpv == *cpv);
        let (status, reason) = match other {
            Some(other) => (&other.status, &other.reason),
            None if at == 0 => (&expect.status, &expect.reason),
            None => (&None, &None),
        };
        let Some((_, ebuild)) = ebuilds.iter().find(|(c, _)| c == cpv) else {
            return Err(format!("{cpv} is not in the report"));
        };
        let wanted: Vec<&str> = status.as_ref().map_or(vec!["audited"], |s| strs(s).collect());
        let told = text(&ebuild["reason"]);
        if !wanted.contains(&text(&ebuild["status"])) {
            return Err(format!("{cpv}: status {} ({told}), expected {wanted:?}", ebuild["status"]));
        }
        if let Some(reason) = reason
            && !strs(reason).any(|r| told.contains(r))
        {
            return Err(format!("{cpv}: reason {told:?} lacks {:?}", reason.all()));
        }
    }
    Ok(())
}

/// Nothing may have been written outside.
fn outside(expect: &Expect, place: &Path) -> Result<(), String> {
    for path in &expect.must_not_exist {
        if Path::new(path).symlink_metadata().is_ok() {
            return Err(format!("{path} was written"));
        }
    }
    let Some(canary) = &expect.canary else { return Ok(()) };
    let inside = walkdir::WalkDir::new(place).into_iter().flatten().find(|e| e.file_name() == &canary[..]);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let tops = [Some(std::env::temp_dir()), Some("/".into()), home];
    let beside = tops.into_iter().flatten().map(|d| d.join(canary)).find(|p| p.symlink_metadata().is_ok());
    match inside.map(|e| e.into_path()).or(beside) {
        Some(path) => Err(format!("{} was written", path.display())),
        None => Ok(()),
    }
}

struct Found<'a> {
    cpv: &'a str,
    value: &'a Value,
}

fn findings<'a>(ebuilds: &[(&'a str, &'a Value)]) -> Vec<Found<'a>> {
    ebuilds.iter().flat_map(|(cpv, e)| items(&e["findings"]).map(|value| Found { cpv, value })).collect()
}

impl Found<'_> {
    fn brief(&self) -> String {
        let f = self.value;
        let evidence: Vec<&str> = items(&f["evidence"]).map(|e| text(&e["path"])).collect();
        format!(
            "{} line {} command {} cause {} evidence {evidence:?}: {}",
            text(&f["rule"]),
            f["line"],
            f["command"],
            f["cause"],
            text(&f["message"]).chars().take(90).collect::<String>(),
        )
    }

    fn meets(&self, wanted: &WantedFinding, first: &str) -> bool {
        let f = self.value;
        let of = |any: &Option<Any<String>>, value: &str| any.as_ref().is_none_or(|a| strs(a).any(|s| s == value));
        let evidence = || items(&f["evidence"]);
        let is_evidence = |e: &Value| wanted.evidence.as_ref().is_some_and(|a| strs(a).any(|p| e["path"] == p));
        let of_ebuild = match &wanted.cpv {
            Some(cpv) => cpv == self.cpv,
            None => self.cpv == first || f["rule"] == "UnusedPatch",
        };
        strs(&wanted.rule).any(|r| f["rule"] == r)
            && of_ebuild
            && wanted.line.as_ref().is_none_or(|l| within(f, l))
            && wanted.command.is_none_or(|c| f["command"] == c)
            && wanted.level.as_ref().is_none_or(|l| f["level"] == l[..])
            && of(&wanted.cause, text(&f["cause"]))
            && (wanted.evidence.is_none() || evidence().any(is_evidence))
            && wanted.evidence_line.is_none_or(|l| evidence().any(|e| e["line"] == l && is_evidence(e)))
            && wanted.note.as_ref().is_none_or(|n| evidence().any(|e| text(&e["note"]).contains(&n[..])))
            && wanted.mention.as_ref().is_none_or(|m| {
                [&f["message"], &f["path"]]
                    .into_iter()
                    .chain(evidence().map(|e| &e["path"]))
                    .any(|t| text(t).contains(&m[..]))
            })
    }
}

fn compare_findings(expect: &Expect, first: &str, found: &[Found]) -> Result<(), String> {
    for wanted in &expect.absent {
        let cpv = wanted.cpv.as_deref().unwrap_or(first);
        let hit = found.iter().find(|f| {
            let line = wanted.line.as_ref().is_none_or(|l| within(f.value, l));
            f.cpv == cpv && line && strs(&wanted.rule).any(|r| f.value["rule"] == r)
        });
        if let Some(hit) = hit {
            return Err(format!("must not be reported: {}", hit.brief()));
        }
    }
    match expect.findings.as_deref() {
        Some("any") => return Ok(()),
        Some(other) => return Err(format!("expect.findings = {other:?} means nothing")),
        None => {}
    }
    let mut left: Vec<&Found> = found.iter().collect();
    // the pickiest expectations choose first
    let mut wanted: Vec<&WantedFinding> = expect.finding.iter().collect();
    wanted.sort_by_key(|w| std::cmp::Reverse(w.pickiness()));
    for wanted in wanted {
        match left.iter().position(|f| f.meets(wanted, first)) {
            Some(at) => {
                left.remove(at);
            }
            None => {
                let same = |f: &&&Found| strs(&wanted.rule).any(|r| f.value["rule"] == r);
                let mut near: Vec<String> = left.iter().filter(same).map(|f| f.brief()).collect();
                if near.is_empty() {
                    near = left.iter().map(|f| f.brief()).collect();
                }
                near.truncate(3);
                return Err(format!("missing {}; have {near:?}", wanted.brief()));
            }
        }
    }
    let loud = |f: &&&Found| f.value["level"] == "error" || f.value["level"] == "warning";
    match left.iter().filter(loud).find(|f| !expect.maybe.iter().any(|m| f.meets(m, first))) {
        Some(f) => Err(format!("unexpected {} {}", f.cpv, f.brief())),
        None => Ok(()),
    }
}

impl WantedFinding {
    fn pickiness(&self) -> usize {
        let others = [&self.cpv, &self.level, &self.note, &self.mention].into_iter().filter(|o| o.is_some()).count();
        let lists = [&self.cause, &self.evidence].into_iter().filter(|o| o.is_some()).count();
        let numbers = [self.command, self.evidence_line].into_iter().flatten().count();
        others + lists + numbers + usize::from(self.line.is_some())
    }

    fn brief(&self) -> String {
        let mut out = self.rule.all().join("|");
        for (name, any) in [("cause", &self.cause), ("evidence", &self.evidence)] {
            out += &any.as_ref().map_or(String::new(), |a| format!(", {name} {}", a.all().join("|")));
        }
        for (name, one) in [("of", &self.cpv), ("level", &self.level), ("note", &self.note), ("mention", &self.mention)]
        {
            out += &one.as_ref().map_or(String::new(), |o| format!(", {name} {o}"));
        }
        for (name, number) in [("command", self.command), ("evidence line", self.evidence_line)] {
            out += &number.map_or(String::new(), |n| format!(", {name} {n}"));
        }
        out + &self.line.as_ref().map_or(String::new(), |l| format!(", line {:?}", l.all()))
    }
}

fn compare_tree(expect: &Expect, ebuild: &Value) -> Result<(), String> {
    let changed = || items(&ebuild["changed"]);
    if let Some(wanted) = &expect.changed {
        let got: BTreeSet<&str> = changed().map(|c| text(&c["path"])).collect();
        if got != wanted.iter().map(|p| &p[..]).collect() {
            return Err(format!("changed {got:?}, expected {wanted:?}"));
        }
    }
    for wanted in &expect.after {
        let got = changed().find(|c| c["path"] == wanted.path[..]).map_or("nothing", |c| text(&c["after"]));
        let right = format!("{:x}", md5::compute(wanted.content()));
        if got != right {
            return Err(format!("{} ends as {got}, not as expected ({right})", wanted.path));
        }
    }
    Ok(())
}

fn compare_verdict(wanted: &WantedVerdict, ebuild: &Value, file: &str) -> Result<(), String> {
    let mut got: BTreeSet<&str> = BTreeSet::new();
    let of_path = |targets: &Value| -> Vec<String> {
        let of = |t: &&Value| wanted.path.as_ref().is_some_and(|p| t["path"] == p[..]);
        items(targets).filter(of).map(|t| text(&t["verdict"]).to_owned()).collect()
    };
    let mut of_paths = Vec::new();
    for edit in items(&ebuild["edits"]) {
        let origin = &edit["origin"];
        if !text(&origin["file"]).ends_with(file) || !within(origin, &wanted.line) {
            continue;
        }
        if wanted.command.is_none() && wanted.text.is_none() {
            match wanted.path {
                Some(_) => of_paths.extend(of_path(&edit["targets"])),
                None => drop(got.insert(text(&edit["verdict"]))),
            }
            continue;
        }
        for command in items(&edit["commands"]) {
            let right = wanted.command.is_none_or(|c| command["index"] == c)
                && wanted.text.as_ref().is_none_or(|t| text(&command["text"]).contains(&t[..]));
            match wanted.path {
                _ if !right => {}
                Some(_) => of_paths.extend(of_path(&command["targets"])),
                None => drop(got.insert(text(&command["verdict"]))),
            }
        }
    }
    got.extend(of_paths.iter().map(|v| &v[..]));
    if got.is_empty() {
        return Err(format!("no edit for {wanted:?}"));
    }
    if got != BTreeSet::from([&wanted.verdict[..]]) {
        return Err(format!("{wanted:?}: reported {got:?}"));
    }
    Ok(())
}

fn within(value: &Value, lines: &Any<u64>) -> bool {
    let low = value["line"].as_u64();
    let high = value["end_line"].as_u64().or(low);
    matches!((low, high), (Some(low), Some(high)) if lines.all().iter().any(|l| (low..=high).contains(l)))
}

fn strs(any: &Any<String>) -> impl Iterator<Item = &str> {
    any.all().iter().map(|s| &s[..])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
