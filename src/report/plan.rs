//! The answer of `ebaudit plan` for people: from the goal down to the command.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{counted, plural, printable};
use crate::plan::{Action, Answer, Blocker, Status, Step};

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    pub color: bool,
    /// The reasons of a step that are shown; the rest is counted.
    pub reasons: usize,
}

const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();

/// Prints `answer` to `out`.
pub fn print(out: &mut dyn Write, answer: &Answer, look: Look) -> io::Result<()> {
    let text = text(answer, look);
    out.write_all(text.as_bytes())
}

struct Page {
    text: String,
    look: Look,
}

impl Page {
    fn styled(&self, style: Style, text: &str) -> String {
        let text = printable(text);
        if self.look.color { format!("{style}{text}{style:#}") } else { text }
    }

    fn head(&mut self, text: &str) {
        let head = self.styled(BOLD, text);
        let _ = writeln!(self.text, "\n{head}");
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{}", printable(text));
    }

    fn dim(&mut self, text: &str) {
        let text = self.styled(DIM, text);
        let _ = writeln!(self.text, "{text}");
    }
}

fn text(answer: &Answer, look: Look) -> String {
    let mut page = Page { text: String::new(), look };
    let goal = page.styled(BOLD, &answer.goal.join(", "));
    let verdict = match answer.status {
        Status::Planned => page.styled(GOOD, "there is a plan"),
        Status::NothingToDo => {
            page.styled(GOOD, "nothing to do: it is reached, and nothing is bound to an old sub-slot")
        }
        Status::Impossible => page.styled(BAD, "there is no plan"),
    };
    let _ = writeln!(page.text, "Goal: {goal}\n{verdict}");
    if answer.status == Status::Planned {
        page.line(&size(answer));
    }
    if !answer.blockers.is_empty() {
        let many =
            if answer.blockers.len() == 1 { "What stands in the way" } else { "What stands in the way, all of it" };
        page.head(many);
        answer.blockers.iter().for_each(|one| blocker(&mut page, one));
    }
    if !answer.family.is_empty() {
        page.head("Family: what moves together");
        let width = answer.family.iter().map(|member| member.package.len()).max().unwrap_or(0);
        for member in &answer.family {
            let from = member
                .from
                .as_ref()
                .map_or("new".to_owned(), |from| format!("{} (:{}/{})", from.version, member.slot, from.subslot));
            let to = member.to.as_ref().map_or("unmerged".to_owned(), |to| {
                format!("{} (:{}/{})  ::{}", to.version, member.slot, to.subslot, to.repository)
            });
            page.line(&format!("  {:width$}  {from} -> {to}", member.package));
        }
    }
    steps(&mut page, answer);
    config(&mut page, answer);
    for (head, remarks) in [("Stays as it is, soundly", &answer.keeps_old), ("Note", &answer.warnings)] {
        if !remarks.is_empty() {
            page.head(head);
            remarks.iter().for_each(|remark| page.line(&format!("  {}: {}", remark.package, remark.because)));
        }
    }
    if !answer.unmerge.is_empty() {
        page.head("First unmerge");
        page.line(&format!("  emerge --ask --unmerge {}", answer.unmerge.join(" ")));
    }
    if !answer.command.is_empty() {
        page.head("Command");
        page.line(&command(&answer.command));
    }
    if !answer.world_command.is_empty() {
        page.head("Then, for the rest of world");
        page.line(&format!("  {}", answer.world_command.join(" ")));
    }
    let lost = &answer.rollback_lost;
    if !(answer.rollback.is_empty() && lost.is_empty()) && look.reasons == usize::MAX {
        page.head("Back again, should it be needed");
        if !answer.rollback.is_empty() {
            let words = ["emerge", "--ask", "--oneshot"].map(str::to_owned);
            page.dim(&command(&words.into_iter().chain(answer.rollback.iter().cloned()).collect::<Vec<_>>()));
        }
        if !lost.is_empty() {
            page.dim(&format!("  no repository has an ebuild any more of {}: keep binary packages", lost.join(", ")));
        }
    }
    if let Some(said) = &answer.verification {
        page.head("Held against Portage");
        match said.agrees {
            true => {
                page.line(&format!("  Portage {} takes the command at its first try, and does the same", said.portage))
            }
            false => {
                page.line(&format!("  Portage {} does otherwise (exit status {})", said.portage, said.exit));
                said.differences.iter().for_each(|line| page.line(&format!("    {line}")));
                said.broken.iter().for_each(|line| page.line(&format!("    would be broken: {line}")));
                said.output.iter().for_each(|line| page.line(&format!("    | {line}")));
            }
        }
    }
    page.text
}

/// A command in lines that can be pasted.
pub fn command(words: &[String]) -> String {
    let (options, atoms): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| !word.contains('/') && !word.starts_with('@'));
    let mut out = format!("  {}", options.into_iter().cloned().collect::<Vec<_>>().join(" "));
    for atom in atoms {
        let _ = write!(out, " \\\n    {atom}");
    }
    out
}

fn size(answer: &Answer) -> String {
    let size = &answer.size;
    let parts = [
        (size.upgrades, "upgrade", "upgrades"),
        (size.downgrades, "downgrade", "downgrades"),
        (size.rebuilds, "rebuild", "rebuilds"),
        (size.installs, "new package", "new packages"),
    ];
    let parts: Vec<String> =
        parts.into_iter().filter(|part| part.0 > 0).map(|(n, one, many)| counted(n, one, many)).collect();
    let mut out = format!("{}: {}", plural(size.merges, "merge"), parts.join(", "));
    if size.merges == 0 {
        out = "no merge".to_owned();
    }
    if size.uninstalls > 0 {
        let _ = write!(out, "; {}", counted(size.uninstalls, "package unmerged", "packages unmerged"));
    }
    let _ = write!(out, "; {}", counted(size.config_lines, "line of configuration", "lines of configuration"));
    let _ = write!(out, "; {}", plural(answer.stages.len(), "stage"));
    if !size.heavy.is_empty() {
        let _ = write!(out, "\nlong builds: {}", size.heavy.join(", "));
    }
    out
}

fn blocker(page: &mut Page, one: &Blocker) {
    let kind =
        serde_json::to_value(one.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
    let name = page.styled(BAD, &one.package);
    let _ = writeln!(page.text, "  {name} ({kind}): {}", printable(&one.because));
    for way in &one.ways {
        page.line(&format!("    way out: {way}"));
    }
}

fn steps(page: &mut Page, answer: &Answer) {
    let of: std::collections::HashMap<&str, &Step> =
        answer.steps.iter().map(|step| (step.atom.as_str(), step)).collect();
    let unmerged: Vec<&Step> = answer.steps.iter().filter(|step| step.action == Action::Uninstall).collect();
    if !unmerged.is_empty() {
        page.head("Unmerged");
        unmerged.iter().for_each(|one| step(page, one));
    }
    for (at, stage) in answer.stages.iter().enumerate() {
        page.head(&format!("Stage {} of {}", at + 1, answer.stages.len()));
        stage.iter().filter_map(|atom| of.get(atom.as_str())).for_each(|one| step(page, one));
    }
}

fn step(page: &mut Page, step: &Step) {
    let action = step.action.verb();
    let by_itself = if step.requested { "" } else { "  (emerge does it by itself)" };
    page.line(&format!("  {action:9} {}{by_itself}", step.atom));
    for reason in step.because.iter().take(page.look.reasons) {
        page.dim(&format!("            {reason}"));
    }
    if step.because.len() > page.look.reasons {
        page.dim(&format!("            and {} more", plural(step.because.len() - page.look.reasons, "reason")));
    }
}

fn config(page: &mut Page, answer: &Answer) {
    if answer.config.is_empty() {
        return;
    }
    page.head("Configuration, below etc/portage");
    for (file, lines) in &answer.config {
        page.line(&format!("  {file}"));
        for line in lines {
            let why = answer.config_reasons.get(&format!("{file}: {line}"));
            page.line(&format!("    {line}"));
            if let Some(why) = why {
                page.dim(&format!("      # {why}"));
            }
        }
    }
}
