//! The rules about single commands of a call that is not dead as a whole.

use super::edits::{Judged, Scene};
use super::findings::of_edit;
use super::literal_variable;
use super::rules::Rule;
use super::spot;
use crate::edit::lines;
use crate::report::model::{Cause, Command, Edit, Evidence, Finding, Verdict};

/// What the single commands of `judged` give cause to say.
pub fn findings(judged: &Judged, scene: &Scene) -> Vec<Finding> {
    let edit = &judged.edit;
    let mut found = Vec::new();
    let works = matches!(edit.verdict, Verdict::Live | Verdict::NetZero | Verdict::Overwritten | Verdict::Identity)
        || edit.verdict == Verdict::Dead && judged.stands_guard();
    for command in &edit.commands {
        match command.verdict {
            Verdict::Dead if works => found.push(dead(judged, command, scene)),
            Verdict::Identity if judged.never.contains(&command.index) && is_literal(judged, command) => {
                let message = format!("`{}` writes what it matched, it can never change anything", short(command));
                found.push(of_command(Rule::IdentityEdit, judged, command, scene, message));
            }
            _ => {}
        }
    }
    if edit.verdict == Verdict::NetZero {
        let message = "the commands of this call undo each other".to_owned();
        found.push(of_edit(Rule::NetZeroEdit, edit, message));
    }
    found.extend(unclosed(judged, scene));
    found.extend(literal_variable::findings(judged, scene));
    found
}

fn dead(judged: &Judged, command: &Command, scene: &Scene) -> Finding {
    let mut finding = of_command(
        Rule::DeadExpression,
        judged,
        command,
        scene,
        format!("`{}` changed nothing{}", short(command), because(command.cause)),
    );
    finding.cause = command.cause;
    finding.evidence.clone_from(&command.evidence);
    finding.reason.clone_from(&command.reason);
    finding
}

/// The cause in words, for the end of a message.
pub fn because(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::OptionOrder) => ": sed reads -E, -r or -z only after this expression",
        Some(Cause::Never) => ": it cannot change anything, whatever the file",
        Some(Cause::Superseded) => ": an earlier step took away what it would have matched",
        Some(Cause::Upstreamed) => ": the source has it so already",
        Some(Cause::WrongFile) => ": its text is in another file",
        Some(Cause::Drifted) => ": the text has drifted",
        Some(Cause::Moved) => ": the file has moved",
        Some(Cause::Removed) => ": its text is gone",
        Some(Cause::NoFiles | Cause::BadScript | Cause::Unknown) | None => "",
    }
}

/// A finding on the lines of the command.
pub fn of_command(rule: Rule, judged: &Judged, command: &Command, scene: &Scene, message: String) -> Finding {
    let mut finding = of_edit(rule, &judged.edit, message);
    finding.command = Some(command.index);
    if let Some((line, end_line)) = spot::of_command(judged, command, scene) {
        (finding.line, finding.end_line) = (Some(line), Some(end_line));
    }
    finding
}

fn is_literal(judged: &Judged, command: &Command) -> bool {
    judged.place.as_ref().is_some_and(|p| lines::is_literal(&p.site, &command.text))
}

/// The command's text in one short line.
pub fn short(command: &Command) -> String {
    let line = command.text.replace('\n', "\\n");
    if line.chars().count() > 80 { format!("{}…", line.chars().take(79).collect::<String>()) } else { line }
}

/// One finding for each range that ran on; blocks within blocks would tell the same again.
fn unclosed(judged: &Judged, scene: &Scene) -> Vec<Finding> {
    let edit: &Edit = &judged.edit;
    let mut found: Vec<Finding> = Vec::new();
    for (index, file) in &judged.unclosed {
        let Some(command) = edit.commands.iter().find(|c| c.index == *index) else { continue };
        if let Some(known) = found.iter_mut().find(|f| f.command == Some(*index)) {
            known.evidence.push(ran_on(file));
            continue;
        }
        let message =
            format!("the range of `{}` never ends in {file}, so it runs to the end of the file", short(command));
        let mut finding = of_command(Rule::UnclosedRange, judged, command, scene, message);
        finding.evidence.push(ran_on(file));
        found.push(finding);
    }
    found
}

fn ran_on(file: &str) -> Evidence {
    Evidence { path: file.to_owned(), line: None, text: None, note: Some("ran to the end".to_owned()) }
}
