//! The picture in a page of its own, with the steps and their reasons below it.

use std::fmt::Write as _;

use super::{escaped, svg};
use crate::plan::Answer;

pub fn draw(answer: &Answer) -> String {
    let title = escaped(&format!("ebaudit plan {}", answer.goal.join(" ")));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body{{font-family:sans-serif;margin:1.5em;color:#222}}.picture{{overflow:auto;border:1px solid #ddd}}\
         table{{border-collapse:collapse;margin-top:1em}}td,th{{text-align:left;padding:.25em .8em;border-bottom:1px solid #eee;vertical-align:top}}\
         pre{{background:#f6f8fa;padding:1em;overflow:auto}}</style></head><body>\n<h1>{title}</h1>\n"
    );
    let _ = writeln!(out, "<div class=\"picture\">{}</div>", svg::draw(answer));
    if !answer.blockers.is_empty() {
        out.push_str("<h2>In the way</h2><ul>");
        for blocker in &answer.blockers {
            let _ = writeln!(out, "<li><b>{}</b>: {}</li>", escaped(&blocker.package), escaped(&blocker.because));
        }
        out.push_str("</ul>\n");
    }
    if !answer.steps.is_empty() {
        out.push_str("<h2>Steps</h2><table><tr><th>Stage</th><th>Action</th><th>Package</th><th>Why</th></tr>\n");
        for step in &answer.steps {
            let stage = answer.stages.iter().position(|stage| stage.contains(&step.atom));
            let action = step.action.verb();
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{action}</td><td>{}</td><td>{}</td></tr>",
                stage.map_or(String::new(), |at| (at + 1).to_string()),
                escaped(&step.atom),
                escaped(&step.because.join("\n")).replace('\n', "<br>")
            );
        }
        out.push_str("</table>\n");
    }
    for (file, lines) in &answer.config {
        let _ = writeln!(out, "<h3>etc/portage/{}</h3><pre>{}</pre>", escaped(file), escaped(&lines.join("\n")));
    }
    if !answer.command.is_empty() {
        let _ = writeln!(out, "<h2>Command</h2><pre>{}</pre>", escaped(&super::super::plan::command(&answer.command)));
    }
    out.push_str("</body></html>\n");
    out
}
