//! Whether the text that a command wants is nowhere in the tree.

use super::bench::Switches;
use super::search::{self, Found, Query, changes};
use super::{Case, Explained, of, unknown};
use crate::edit::sed::script::{Detail, Regex};
use crate::report::model::Cause;

/// A text that a command can't do without, as a script that changes each line that has it.
struct Wanted {
    script: Vec<u8>,
    /// What a file must hold for it.
    literal: Option<Vec<u8>>,
    ignore_case: bool,
    across: bool,
}

impl Case<'_> {
    /// The last of the causes: `removed` where a text that it can't do without is in no line of any file.
    pub(super) fn removed(&self) -> Explained {
        let wanted = self.wanted();
        if wanted.is_empty() {
            return unknown("it has no text to look for");
        }
        if wanted.iter().any(|w| self.is_gone(w)) {
            return of(Cause::Removed);
        }
        unknown("its text is in the source, yet nothing shows why the command does nothing")
    }

    /// `removed` by the files of the call alone: elsewhere its text is that of something else.
    pub(super) fn removed_here(&self) -> Option<Explained> {
        let own: Vec<&[u8]> = self.dead.own.iter().map(|o| o.content.as_slice()).collect();
        let is_gone = |wanted: &Wanted| {
            let after = self.bench.run(&wanted.script, &self.switches_of(wanted), &own);
            after.is_some_and(|after| changes(&own, &after).iter().all(Option::is_none))
        };
        let reason = Some("its text is so short that files of other names have it, too".to_owned());
        self.wanted().iter().any(is_gone).then(|| Explained { reason, ..of(Cause::Removed) })
    }

    fn switches_of(&self, wanted: &Wanted) -> Switches {
        Switches { null_data: self.switches.null_data || wanted.across, ..self.switches.clone() }
    }

    fn wanted(&self) -> Vec<Wanted> {
        let script = self.dead.script;
        if let Detail::Transliterate { .. } = self.command.detail {
            let from = self.command.addresses.second.as_ref().or(self.command.addresses.first.as_ref());
            let text = script.source(&(from.map_or(self.command.span.start, |a| a.span.end)..self.command.span.end));
            let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'!');
            let text = &text[text.iter().take_while(|b| blank(b)).count()..];
            return vec![Wanted { script: text.to_vec(), literal: None, ignore_case: false, across: false }];
        }
        let one = |regex: Regex| {
            let source = script.source(&regex.span);
            let across = memchr::memmem::find(source, b"\\n").is_some();
            let d = regex.delimiter;
            let mut text = [&[b's', d], source, &[d, 2, d]].concat();
            text.extend(regex.ignore_case.then_some(b'I'));
            text.extend((regex.multiline || across).then_some(b'M'));
            Wanted { script: text, literal: self.literal(&regex), ignore_case: regex.ignore_case, across }
        };
        self.deciding().into_iter().map(one).collect()
    }

    fn is_gone(&self, wanted: &Wanted) -> bool {
        let switches = self.switches_of(wanted);
        let run = |contents: &[&[u8]]| Some(changes(contents, &self.bench.run(&wanted.script, &switches, contents)?));
        let query = Query {
            run: &run,
            literals: wanted.literal.as_slice(),
            ignore_case: wanted.ignore_case,
            own: &[],
            moment: self.dead.moment,
            named: None,
            anywhere: true,
        };
        let Found { hits, unseen } = search::search(self.shelf, &query);
        if !hits.is_empty() || unseen.ended_early() {
            return false;
        }
        // what the shelf lacks (the standard input, a file outside of the tree)
        let own: Vec<&[u8]> = self.dead.own.iter().map(|o| o.content.as_slice()).collect();
        run(&own).is_some_and(|lines| lines.iter().all(Option::is_none))
    }
}
