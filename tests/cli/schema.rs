//! The shape of `ebaudit.audit/1`, checked by hand against what the contract promises.

use serde_json::{Map, Value};

const STATUSES: &[&str] = &[
    "audited",
    "invalid",
    "unsupported",
    "fetch-failed",
    "unpack-failed",
    "prepare-failed",
    "timed-out",
    "too-large",
    "skipped",
];
const VERDICTS: &[&str] = &[
    "live",
    "dead",
    "identity",
    "net-zero",
    "overwritten",
    "path-gone",
    "no-output",
    "filter",
    "guard",
    "control",
    "not-run",
    "unknown",
];
const CAUSES: &[&str] = &[
    "superseded",
    "wrong-file",
    "upstreamed",
    "drifted",
    "moved",
    "removed",
    "option-order",
    "never",
    "no-files",
    "bad-script",
    "unknown",
];

/// A value and the way to it, for the text of a failure.
struct At<'a> {
    way: String,
    value: &'a Value,
}

impl<'a> At<'a> {
    fn get(&self, name: &str) -> At<'a> {
        let way = format!("{}.{name}", self.way);
        let value = self.object().get(name).unwrap_or_else(|| panic!("{way} is not there"));
        At { way, value }
    }

    fn object(&self) -> &'a Map<String, Value> {
        self.value.as_object().unwrap_or_else(|| panic!("{} is no object: {}", self.way, self.value))
    }

    fn items(&self) -> Vec<At<'a>> {
        let all = self.value.as_array().unwrap_or_else(|| panic!("{} is no array: {}", self.way, self.value));
        all.iter().enumerate().map(|(i, value)| At { way: format!("{}[{i}]", self.way), value }).collect()
    }

    fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_else(|| panic!("{} is no text: {}", self.way, self.value))
    }

    fn number(&self) -> u64 {
        self.value.as_u64().unwrap_or_else(|| panic!("{} is no number: {}", self.way, self.value))
    }

    fn or_null(&self, check: impl FnOnce(&Self)) {
        if !self.value.is_null() {
            check(self);
        }
    }

    fn one_of(&self, words: &[&str]) {
        assert!(words.contains(&self.text()), "{} is {}", self.way, self.value);
    }

    fn md5(&self) {
        let text = self.text();
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        assert!(text.len() == 32 && text.bytes().all(hex), "{} is no md5: {text}", self.way);
    }

    fn one_line(&self) {
        let text = self.text();
        assert!(!text.is_empty() && !text.contains(['\n', '\r', '\x1b']), "{} is {text:?}", self.way);
    }
}

/// Checks a whole document; the counts of its summary are those of its parts.
pub fn document(report: &Value) {
    let report = At { way: "report".into(), value: report };
    assert_eq!(report.get("schema").text(), "ebaudit.audit/1");
    assert_eq!(report.get("tool").get("name").text(), "ebaudit");
    assert_eq!(report.get("tool").get("version").text(), env!("CARGO_PKG_VERSION"));
    report.get("repository").get("name").one_line();
    report.get("repository").get("location").one_line();
    let ebuilds = report.get("ebuilds").items();
    for item in &ebuilds {
        ebuild_at(item);
    }
    summary(report.get("summary").value, &ebuilds.iter().map(|e| e.value).collect::<Vec<_>>());
}

/// Checks a line of `jsonl`.
pub fn ebuild(value: &Value) {
    ebuild_at(&At { way: "ebuild".into(), value });
}

/// Checks a summary against the ebuilds that it sums up.
pub fn summary(value: &Value, ebuilds: &[&Value]) {
    let summary = At { way: "summary".into(), value };
    let status = |words: &[&str]| ebuilds.iter().filter(|e| words.contains(&e["status"].as_str().unwrap())).count();
    let len = |name: &str| ebuilds.iter().map(|e| e[name].as_array().unwrap().len()).sum::<usize>();
    let level = |level: &str| {
        let findings = ebuilds.iter().flat_map(|e| e["findings"].as_array().unwrap());
        findings.filter(|f| f["level"] == level).count()
    };
    let holes = ebuilds.len() - status(&["audited", "skipped"]);
    let (audited, edits) = (status(&["audited"]), len("edits"));
    let wanted = [("ebuilds", ebuilds.len()), ("audited", audited), ("not_audited", holes), ("edits", edits)];
    for (name, count) in wanted {
        assert_eq!(summary.get(name).number(), count as u64, "summary.{name}");
    }
    for name in ["error", "warning", "note"] {
        assert_eq!(summary.get("findings").get(name).number(), level(name) as u64, "summary.findings.{name}");
    }
}

fn ebuild_at(ebuild: &At) {
    let cpv = ebuild.get("cpv").text();
    let path = ebuild.get("path").text();
    assert!(path.starts_with(cpv.split('/').next().unwrap()) && path.ends_with(".ebuild"), "{cpv}: {path}");
    ebuild.get("repository").one_line();
    ebuild.get("eapi").text();
    status_of(ebuild);
    for variant in ebuild.get("variants").items() {
        status_of(&variant);
        variant.get("use").items().iter().for_each(At::one_line);
    }
    let tree = ebuild.get("tree");
    tree.get("files").number();
    tree.get("bytes").number();
    tree.get("before").or_null(At::md5);
    tree.get("after").or_null(At::md5);
    let edits = ebuild.get("edits").items();
    for (at, item) in edits.iter().enumerate() {
        assert_eq!(item.get("id").number(), at as u64, "{}: ids count from 0", item.way);
        edit(item);
    }
    for change in ebuild.get("changed").items() {
        change.get("path").one_line();
        change.get("change").one_of(&["modified", "added", "removed"]);
        let there = |name: &str| !change.get(name).value.is_null();
        let kind = change.get("change").text();
        assert_eq!((there("before"), there("after")), (kind != "added", kind != "removed"), "{}", change.way);
        change.get("before").or_null(At::md5);
        change.get("after").or_null(At::md5);
        change.get("diff").or_null(|d| assert!(d.text().contains("@@ "), "{}", d.way));
        assert!(change.get("edits").items().iter().all(|e| e.number() < edits.len() as u64), "{}", change.way);
    }
    for item in ebuild.get("findings").items() {
        finding(&item, edits.len() as u64);
    }
}

fn status_of(value: &At) {
    value.get("status").one_of(STATUSES);
    match value.get("status").text() {
        "audited" => {}
        _ => value.get("reason").one_line(),
    }
}

fn edit(edit: &At) {
    edit.get("kind").one_of(&["sed", "perl", "patch", "helper", "option", "file"]);
    edit.get("by").one_of(&["ebuild", "eclass", "source"]);
    edit.get("phase").text();
    let origin = edit.get("origin");
    origin.get("file").one_line();
    origin.get("function").text();
    assert!(1 <= origin.get("line").number(), "{}", origin.way);
    assert!(origin.get("line").number() <= origin.get("end_line").number(), "{}", origin.way);
    edit.get("argv").items().iter().for_each(|word| {
        word.text();
    });
    edit.get("cwd").text();
    edit.get("exit").or_null(|e| assert!(e.value.is_i64(), "{}", e.way));
    edit.get("verdict").one_of(VERDICTS);
    edit.get("condition").or_null(At::one_line);
    edit.get("variants").items().iter().for_each(|v| _ = v.number());
    for target in edit.get("targets").items() {
        target.get("path").text();
        target.get("verdict").one_of(VERDICTS);
        target.get("before").or_null(At::md5);
        target.get("after").or_null(At::md5);
    }
    for command in edit.get("commands").items() {
        command.get("index").number();
        command.get("text").text();
        command.get("verdict").one_of(VERDICTS);
        command.get("cause").or_null(|c| c.one_of(CAUSES));
        command.get("evidence").items().iter().for_each(evidence);
        for target in command.get("targets").items() {
            target.get("path").text();
            target.get("verdict").one_of(VERDICTS);
        }
    }
}

fn finding(finding: &At, edits: u64) {
    let rule = finding.get("rule").text();
    assert!(rule.starts_with(char::is_uppercase) && rule.chars().all(char::is_alphanumeric), "{rule}");
    finding.get("level").one_of(&["error", "warning", "note"]);
    finding.get("edit").or_null(|e| assert!(e.number() < edits, "{}", e.way));
    finding.get("command").or_null(|c| _ = c.number());
    finding.get("target").or_null(At::one_line);
    finding.get("path").one_line();
    finding.get("column").or_null(|c| _ = c.number());
    finding.get("line").or_null(|line| {
        assert!(1 <= line.number() && line.number() <= finding.get("end_line").number(), "{}", line.way);
    });
    finding.get("message").one_line();
    finding.get("cause").or_null(|c| c.one_of(CAUSES));
    finding.get("evidence").items().iter().for_each(evidence);
    finding.get("suggestion").or_null(|s| {
        s.get("text").text();
        s.get("replacement").or_null(|r| _ = r.text());
        assert!(s.get("verified").value.is_boolean(), "{}", s.way);
        s.get("applicability").one_of(&["safe", "unsafe"]);
    });
}

fn evidence(evidence: &At) {
    evidence.get("path").one_line();
    evidence.get("line").or_null(|l| assert!(l.number() > 0, "{}", l.way));
    evidence.get("text").or_null(|t| _ = t.text());
    evidence.get("note").or_null(|n| _ = n.text());
}
