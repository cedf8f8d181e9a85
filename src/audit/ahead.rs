//! The layer of archives that nobody has verified yet: unpacked and verified by one reading of each.

use std::collections::HashMap;
use std::sync::Arc;

use super::context::Context;
use super::failure::Failure;
use super::layers::{self, Archive};
use super::source;
use crate::phase::runner;
use crate::source::Distfile;
use crate::source::unpack::Clock;
use crate::tree::layer::Layer;

/// Makes the layer of these distfiles if all of them are here and one is to be verified yet.
///
/// The layer comes to be only if the archives are what the Manifest means. None where nothing is gained so, or anything goes
/// wrong: then each file is verified before it is unpacked, and told of as ever, unless the run is to end.
pub fn layer(context: &Context, wanted: &[Distfile], eapi: &str, clock: &Clock) -> Result<Option<Arc<Layer>>, Failure> {
    let layer = made(context, wanted, eapi, clock);
    match runner::interrupted() {
        true => Err(Failure::interrupted("unpacking")),
        false => Ok(layer),
    }
}

fn made(context: &Context, wanted: &[Distfile], eapi: &str, clock: &Clock) -> Option<Arc<Layer>> {
    let layers = context.layers.as_ref()?;
    let (mut archives, mut copies) = (Vec::new(), HashMap::new());
    for distfile in wanted {
        let copy = context.store.copy(distfile)?;
        if let Some(archive) = Archive::of(distfile, copy.path.clone(), eapi) {
            copies.insert(archive.name.clone(), (distfile, copy));
            archives.push(archive);
        }
    }
    if copies.values().all(|(_, copy)| copy.is_verified()) {
        return None;
    }
    let (limits, most) = (&context.options.limits, context.options.most);
    let key = layers::key(&archives, limits, most)?;
    let made = layers.store.obtain(&key, most, &|| source::wait(context), |tree| {
        layers::unpack(&archives, limits, |archive, limits| {
            let (distfile, copy) = &copies[&archive.name];
            context.store.unpack_copy(copy, distfile, archive.kind, tree, limits, clock)
        })
    });
    made.ok()
}
