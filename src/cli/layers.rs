//! Where layers are kept, and how they come to WORKDIR.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use super::args::bytes;
use crate::audit::layers::{Layers, Way};
use crate::phase::sandbox::Sandbox;
use crate::report::printable;
use crate::tree::layer::LayerStore;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Wanted {
    /// Below an overlay where that can be had, else copied
    Auto,
    /// Below an overlay, or not at all
    Overlay,
    /// Copied
    Copy,
    /// Unpack every source anew
    Off,
}

#[derive(Debug, clap::Args)]
pub struct LayerArgs {
    /// How unpacked sources that are kept in the cache come to the ebuilds
    #[arg(long, value_enum, default_value_t = Wanted::Auto)]
    layers: Wanted,

    /// What unpacked sources may take of the disk when a run is over; those unused for the longest time go first
    #[arg(long, value_name = "BYTES[K|M|G]", default_value = "20G", value_parser = bytes)]
    cache_size: u64,
}

impl LayerArgs {
    /// Whether it is to be tried if an overlay can be had.
    pub fn try_overlay(&self) -> bool {
        matches!(self.layers, Wanted::Auto | Wanted::Overlay)
    }

    /// The layers in `cache`; none where none are wanted, or none can be kept.
    pub fn open(&self, cache: &Path, sandbox: &Sandbox) -> Result<Option<Layers>> {
        let way = match (self.layers, sandbox.overlay()) {
            (Wanted::Off, _) => return Ok(None),
            (Wanted::Auto | Wanted::Overlay, Ok(())) => Way::Overlay,
            (Wanted::Overlay, Err(why)) => bail!("--layers overlay can't be had here: {why}"),
            (Wanted::Auto | Wanted::Copy, _) => Way::Copy,
        };
        let dir = cache.join("layers");
        let opened = LayerStore::open(&dir).with_context(|| format!("--layers: {}", dir.display()));
        match (opened, self.layers) {
            (Ok(store), _) => Ok(Some(Layers::new(store, way, self.cache_size))),
            (Err(_), Wanted::Auto) => Ok(None),
            (Err(error), _) => Err(error),
        }
    }
}

/// Makes room, once nobody uses a layer any more.
pub fn tidy(layers: Option<&Layers>) {
    let Some(layers) = layers else { return };
    if let Err(error) = layers.store.shrink(layers.room) {
        eprintln!("ebaudit: the cache can't be tidied: {}", printable(&error.to_string()));
    }
}
