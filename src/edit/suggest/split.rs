//! An expression that belongs to another file: taken out of its call, and given one of its own behind it.

use std::collections::BTreeSet;

use super::call::CallPlan;
use super::correct::{Move, relative};
use super::layout::Layout;
use super::range::{self, Change};
use super::shell::{Quote, quoted};
use crate::edit::cause::reaches_out;

impl CallPlan {
    /// The changes by which the command `id` edits the file `to` instead, by itself. None where the call does more than
    /// to run, where the command hangs on others, or where its text can't be told.
    pub fn split(&self, layout: &Layout, id: usize, to: &Move) -> Option<Vec<Change>> {
        let placed = self.placed(id)?;
        let invocation = &placed.ran.invocation;
        let lone = placed.command.block.is_none() && placed.ran.script.items.len() == placed.ran.script.commands.len();
        let plain = !invocation.quiet && !placed.ran.script.quiet && !invocation.flags.posix;
        (lone && plain && invocation.in_place.is_some() && !reaches_out(placed.command)).then_some(())?;
        let place = placed.at(placed.command.span.start)..placed.at(placed.command.span.end);
        let quote = placed.word.quote(place.start)?;
        let source = layout.text.get(placed.word.source(place)?)?;
        let expression = match quote {
            Quote::Single => format!("'{source}'"),
            Quote::Double => format!("\"{source}\""),
            Quote::Bare => source.to_owned(),
        };
        let after = layout.after(&self.span)?;
        let options = [(placed.extended, " -E"), (invocation.flags.null_data, " -z")];
        let options: String = options.iter().filter(|(on, _)| *on).map(|(_, option)| *option).collect();
        let path = quoted(relative(to.to, to.cwd).to_str()?, Quote::Bare);
        let text = format!("{}sed -i{options} -e {expression} {path}{}\n", after.indent, after.handler);
        let mut changes = self.without(&layout.text, &BTreeSet::from([id]))?;
        changes.push(Change { span: after.at..after.at, text });
        range::sort(&mut changes).then_some(changes)
    }
}
