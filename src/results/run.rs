//! What all reports of a run depend on beside their ebuilds.

use std::fmt::Debug;

use crate::audit::context::Context;
use crate::audit::machine::machine;

/// The program, the tools, the repositories and the options, as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunKey(String);

impl RunKey {
    /// The key of a run of this program with `options`, which are told apart by what [`Debug`] prints of them.
    pub fn of(context: &Context, options: &dyn Debug) -> RunKey {
        let mut sum = md5::Context::new();
        let mut add = |part: &[u8]| {
            sum.consume((part.len() as u64).to_le_bytes());
            sum.consume(part);
        };
        add(machine(context).as_bytes());
        add(format!("{options:?}").as_bytes());
        add(format!("{:?} {}", context.options.bounds.time, context.options.bounds.output).as_bytes());
        add(format!("{}", context.options.eclass_edits).as_bytes());
        let settings = context.set.repository.location.join("metadata/ebaudit.toml");
        add(&context.set.repository.within.read_bytes(&settings).ok().flatten().unwrap_or_default());
        RunKey(format!("{:x}", sum.finalize()))
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}
