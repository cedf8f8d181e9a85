//! What a machine is made of, as the rest of the program sees it.

use std::collections::BTreeSet;

use super::super::cpv::Cpv;
use super::super::metadata::Metadata;
use super::super::repository::EbuildFile;

/// The five dependency texts of a package (PMS 8.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    pub depend: String,
    pub bdepend: String,
    pub rdepend: String,
    pub pdepend: String,
    pub idepend: String,
}

/// A field of a record that is there and can't be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unreadable {
    pub field: String,
    /// `Permission denied`
    pub reason: String,
}

/// An installed package as its record in var/db/pkg has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// After package moves.
    pub cpv: Cpv,
    /// The name in the record, where a move changed it.
    pub recorded_name: Option<String>,
    /// After slot moves.
    pub slot: String,
    /// The slot where the record has none.
    pub subslot: String,
    /// Empty where the record has none.
    pub repository: String,
    pub eapi: String,
    /// All words of USE in the record, flags outside IUSE included.
    pub use_flags: BTreeSet<String>,
    /// IUSE without `+` and `-`.
    pub iuse: BTreeSet<String>,
    /// With USE conditionals already evaluated and `:=` bound, as Portage records them; moves applied to their atoms.
    pub dependencies: Dependencies,
    pub keywords: Vec<String>,
    pub license: String,
    /// BUILD_TIME, in seconds since 1970.
    pub build_time: Option<u64>,
    /// SIZE, in bytes.
    pub size: Option<u64>,
    /// Fields that are taken for empty because they can't be read; `metadata` stands for all that the one-file form
    /// may have.
    pub unreadable: Vec<Unreadable>,
}

/// An ebuild that could be installed, or could not and why.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub ebuild: EbuildFile,
    /// The priority of its repository.
    pub priority: i64,
    /// Slot and sub-slot are never empty.
    pub metadata: Metadata,
    pub use_state: CandidateUse,
    /// What keeps Portage from taking it as it is; empty: it is visible.
    pub obstacles: Vec<Obstacle>,
    /// Why Portage takes it for invalid: an unknown EAPI, no metadata, a text that can't be parsed.
    pub invalid: Option<String>,
}

impl Candidate {
    /// Whether Portage would take it as it is.
    pub fn is_visible(&self) -> bool {
        self.invalid.is_none() && self.obstacles.is_empty()
    }
}

/// USE of a candidate as it would be merged today.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CandidateUse {
    /// The flags of IUSE_EFFECTIVE that are on, implicit ones (`amd64`) included: PORTAGE_USE.
    pub enabled: BTreeSet<String>,
    /// The flags of IUSE_EFFECTIVE that the profile, or the user's etc/portage/profile, forces. package.use can't
    /// change them.
    pub forced: BTreeSet<String>,
    /// Likewise those that are masked; a mask is stronger than force.
    pub masked: BTreeSet<String>,
    /// The flags of IUSE that the user's package.use, package.env or environment speaks of, on or off.
    pub user: BTreeSet<String>,
    /// The flags of IUSE that are on only because the ebuild says `+flag`.
    pub by_default: BTreeSet<String>,
}

/// What keeps Portage from taking an ebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// package.mask. `by_user`: the user's etc/portage/package.mask or etc/portage/profile/package.mask; else that of
    /// a repository or the profile. `origin` is `path:line`; `comment` the lines of the comment above it, without `#`.
    Masked { by_user: bool, origin: String, comment: String },
    /// What package.accept_keywords has to say: `~arch` or `**`.
    Keyword { accept: String },
    /// The licences that are not accepted, with the package's USE.
    License { licenses: Vec<String> },
    /// The words of `variable` (PROPERTIES, RESTRICT) that are not accepted.
    Other { variable: String, words: Vec<String> },
}

/// An atom that the machine wants installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldAtom {
    pub atom: String,
    /// `var/lib/portage/world:3`, `etc/portage/sets/NAME:2`, `@system`, `@profile`.
    pub origin: String,
}
