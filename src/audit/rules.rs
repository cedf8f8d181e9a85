//! The table of rules: the one place that knows their names, levels and texts.

use serde::{Deserialize, Serialize};

use crate::report::model::Level;

macro_rules! rules {
    ($($name:ident $level:ident $what:literal,)*) => {
        /// A rule, by the name that reports print.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Rule { $($name,)* }

        /// All rules, in the order of the table.
        pub const RULES: &[Rule] = &[$(Rule::$name,)*];

        impl Rule {
            /// The name that reports print.
            pub fn name(self) -> &'static str {
                match self { $(Rule::$name => stringify!($name),)* }
            }

            /// The level a finding of this rule has by default.
            pub fn level(self) -> Level {
                match self { $(Rule::$name => Level::$level,)* }
            }

            /// When the rule speaks, in one line.
            pub fn summary(self) -> &'static str {
                match self { $(Rule::$name => $what,)* }
            }
        }
    };
}

rules! {
    DeadSed Error "a sed call changed nothing",
    DeadExpression Warning "a command of a working sed call changed nothing",
    DeadTarget Note "a file named in a working sed call was not changed by it",
    PathGone Error "a file that an edit names is not there",
    NoInPlace Error "sed without -i, and its output goes nowhere",
    IdentityEdit Note "a command that matches and can never change anything",
    NetZeroEdit Warning "the call's commands undo each other",
    OverwrittenEdit Warning "a later step undid the whole effect",
    LeftoverBackup Warning "an in-place suffix left a copy in the tree",
    LiteralVariable Warning "the edit wrote a variable's name where its value was meant",
    UnclosedRange Warning "a range ran to the end of the file since its end never matched",
    EmptiedFile Error "the edit left a file that had text without any",
    DeadPerl Error "an in-place perl call changed nothing",
    DeadHelper Error "an eclass's edit helper changed nothing",
    PatchFuzz Warning "a hunk applied only with fuzz",
    PatchApplied Error "a hunk's result was in the source already",
    UnusedPatch Warning "a file below files/ that no ebuild uses",
    DeadOption Warning "an option that the source declares and reads nowhere",
    BadOption Error "a word that the build tool reads as something else than the option meant",
    UnrunEdit Note "an edit that no variant ran",
    InvalidEbuild Error "bash can't read the ebuild, or its metadata breaks PMS",
    PrepareFailed Error "src_prepare (or the phase before it) failed",
    UnpackFailed Error "an archive could not be unpacked",
    FetchFailed Error "a distfile is not to be had",
    BadDigest Error "a distfile is not what the Manifest says",
    TimedOut Error "a phase took longer than allowed",
    TooLarge Error "a bound on size or number was reached",
    Unsupported Error "an EAPI, eclass, master or archive type that this run lacks",
}
