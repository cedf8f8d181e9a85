//! The lines on which a single command of a call stands.

use std::collections::BTreeSet;

use super::commands;
use super::edits::{Judged, Scene};
use crate::edit::lines;
use crate::edit::suggest::CallPlan;
use crate::report::model::{Command, EditKind};

/// The first calls of a place say where its commands stand as well as all do.
const MOST: usize = 4;

/// By the word that made the command, else by its text.
pub fn of_command(judged: &Judged, command: &Command, scene: &Scene) -> Option<(u32, u32)> {
    let place = judged.place.as_ref()?;
    lines::given(place, &command.text)
        .or_else(|| by_word(judged, command, scene))
        .or_else(|| Some(lines::of_command(&place.site, &command.text)))
}

fn by_word(judged: &Judged, command: &Command, scene: &Scene) -> Option<(u32, u32)> {
    let place = judged.place.as_ref().filter(|_| judged.edit.kind == EditKind::Sed)?;
    let call = place.site.call()?;
    let inventory = &place.site.source.inventory;
    let number = |at: usize| inventory.text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() as u32 + 1;
    let laid = judged.laid.get_or_init(|| {
        let ran = place.records.iter().take(MOST).filter_map(|r| commands::ran(r, &judged.edit.commands, scene));
        ran.map(|ran| CallPlan::new(call, inventory, vec![ran], BTreeSet::new(), None)).collect()
    });
    let span = laid.iter().find_map(|plan| plan.place(command.index))?;
    Some((number(span.start), number(span.end - 1)))
}
