//! A tree of files as data: what is in it, what changed, and how.

mod change;
mod diff;
mod entries;
mod gauge;
mod hash;
pub mod layer;
mod pack;
mod remove;
mod snapshot;
pub mod untrusted;
mod upper;
mod walk;

pub use change::{Change, ChangeKind, changes};
pub use diff::{DIFF_LIMIT, is_binary, unified, unified_bytes};
pub use entries::Entries;
pub use gauge::stop_reading;
pub use hash::{Md5, hex, md5_of_file, unhex};
pub use pack::{PACK_FILE_LIMIT, Pack, PackMap, Slot};
pub use remove::remove;
pub use snapshot::{Entry, Kind, Most, Snapshot, SnapshotError};
pub use upper::is_whiteout;
pub use walk::{Found, Walk};
