//! The pattern of a lone perl statement, as the source has its text now.

use super::call::CallPlan;
use super::pattern::{Drift, as_the_line_has_it};
use super::range::Change;
use super::shell::quoted;
use crate::edit::perl::script::{Act, Script, Statement};

impl CallPlan {
    /// The change by which `script`, an argument of the only call, matches `line`.
    pub fn perl_pattern(&self, script: &Script, line: &str, drift: Drift) -> Option<Change> {
        let [Statement { act: Act::Substitute { regex, .. }, condition: None, .. }] = &script.statements[..] else {
            return None;
        };
        let plain = !script.has_flag(regex, b'x') && !matches!(regex.delimiter, b'(' | b'[' | b'{' | b'<');
        (plain && matches!(drift, Drift::Blanks | Drift::Quotes | Drift::Case)).then_some(())?;
        let new = as_the_line_has_it(script.source(&regex.span), line, drift, true, regex.delimiter)?;
        // a variable to perl
        (!new.contains('@')).then_some(())?;
        let word = self.word_of(&script.text)?;
        let quote = word.is_written(&regex.span).then(|| word.quote(regex.span.start))??;
        Some(Change { span: word.source(regex.span.clone())?, text: quoted(&new, quote) })
    }
}
