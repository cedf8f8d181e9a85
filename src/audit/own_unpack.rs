//! Layers of an src_unpack of the ebuild's own, or of an eclass.
//!
//! Such a phase may read anything that it can see and leave more than a tree. So a layer's name is a digest of all that it can
//! see, the shell before it included, and with the tree is kept what it left beside: what became of the shell, what it printed,
//! and its traced calls. Where it left anything else, or what can't be had again for sure, there is no layer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::context::Context;
use super::inputs::{Digests, Inputs};
use super::job::Facts;
use super::layers::{Layers, Way};
use super::machine::machine;
use super::source::Source;
use crate::gentoo::repository::EbuildFile;
use crate::phase::job::JobDir;
use crate::phase::output::Printed;
use crate::phase::runner::{self, Walls};
use crate::phase::sandbox::{Seen, Tier};
use crate::phase::state::{self, Shell};
use crate::phase::trace::{Bytes, Ended, Record};
use crate::source::Distfile;
use crate::tree::layer::{self, Layer, Made};
use crate::tree::{Most, Snapshot, untrusted};

/// To be raised whenever what is kept beside a tree is read otherwise.
const RECIPE: u32 = 2;

/// Bytes of contents that traced calls of the phase saw; one that saw more is run each time.
const MOST_CONTENTS: usize = 8 << 20;

/// Traced calls; likewise.
const MOST_CALLS: usize = 5000;

/// How long is waited for processes that are about to end, and between two looks.
const WAIT: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(5);

/// Whether what src_unpack of this ebuild makes can be kept: what it unpacks, by digests, if so.
pub fn asked(
    context: &Context,
    ebuild: &EbuildFile,
    facts: &Facts,
    way: Option<Way>,
    distfiles: &[Distfile],
) -> Option<String> {
    way?;
    // without walls anything may be left anywhere; and a trial's text is run only once
    if context.run.sandbox.tier() == Tier::None || facts.script != ebuild.path {
        return None;
    }
    let mut text = String::new();
    for file in distfiles {
        if file.hashes.is_empty() {
            return None;
        }
        text += &format!("{} {} {:?}\n", file.name, file.size, file.hashes);
    }
    Some(text)
}

/// A job as it is right before its src_unpack.
#[derive(Debug)]
pub struct Begun {
    key: String,
    shell: Shell,
    seen: Seen,
    aside: Vec<String>,
    told: BTreeMap<OsString, u64>,
    traced: u64,
    printed: Printed,
    inputs: Inputs,
    eclasses: Vec<(String, String)>,
}

/// What a phase left beside the tree.
#[derive(Serialize, Deserialize)]
struct Left {
    /// Commands of bash.
    shell: Bytes,
    bytes: u64,
    tail: Bytes,
    calls: Vec<Record>,
    contents: Vec<Bytes>,
}

impl Begun {
    /// None where this job's src_unpack can't have a layer.
    pub fn look(
        context: &Context,
        ebuild: &EbuildFile,
        facts: &Facts,
        job: &JobDir,
        walls: &mut Walls,
    ) -> Option<Begun> {
        let (layers, asked) = (context.layers.as_ref()?, facts.asked.as_ref()?);
        let is_empty = |dir: &Path| fs::read_dir(dir).is_ok_and(|mut items| items.next().is_none());
        if !is_empty(&job.workdir()) {
            return None;
        }
        let seen = alone(job, walls)?;
        let shell = Shell::read(&job.ctl().join(state::BEFORE)).ok()?;
        let inputs = Inputs::of(context, ebuild, &Digests::default()).filter(|now| now.text == facts.text)?;
        let eclasses = layers.digests.eclasses(context, &facts.metadata.as_ref()?.inherited, &inputs.text)?;
        let aside = aside(context, job)?;
        let mut sum = Sha256::new();
        let mut add = |part: &[u8]| {
            sum.update((part.len() as u64).to_le_bytes());
            sum.update(part);
        };
        add(format!("own {RECIPE}").as_bytes());
        add(layers.machine.get_or_init(|| machine(context)).as_bytes());
        add(job.build().as_os_str().as_bytes());
        add(inputs.digest.as_bytes());
        add(format!("{eclasses:?} {aside:?}").as_bytes());
        add(asked.as_bytes());
        shell.visible().for_each(&mut add);
        let key = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let (told, traced, printed) = (told(job).ok()?, job.trace().length(), walls.printed().ok()?);
        Some(Begun { key, shell, seen, aside, told, traced, printed, inputs, eclasses })
    }

    /// The layer of an earlier run, and what it left beside.
    pub fn known(&self, layers: &Layers) -> Option<(Arc<Layer>, Known)> {
        let layer = layers.store.find(&self.key)?;
        let left = serde_json::from_slice(layer.left()?).ok()?;
        Some((layer, Known(left)))
    }

    /// Keeps what src_unpack came to, where that can be had again. WORKDIR is then the same as the layer.
    pub fn keep(self, context: &Context, ebuild: &EbuildFile, job: &JobDir, walls: &mut Walls) -> Option<Source> {
        let layers = context.layers.as_ref()?;
        let left = self.left(job, walls).filter(|_| self.is_unchanged(context, ebuild, job, layers))?;
        let left = serde_json::to_vec(&left).ok().filter(|left| left.len() <= MOST_LEFT)?;
        let mut ours = false;
        let make = |tree: &Path| -> io::Result<Made> {
            ours = true;
            // who needs more time is looked at without a layer
            let made = layer::adopt(&job.workdir(), tree, context.most())?;
            Ok(Made { left: Some(left.clone()), ..made })
        };
        // whoever makes it now may come to another tree, if the phase is not the same each time
        let layer = match layers.store.obtain(&self.key, context.options.most, &|| false, make) {
            Ok(layer) => layer,
            Err(_) => {
                if ours {
                    let _ = layers.store.remove(&self.key);
                }
                return None;
            }
        };
        match layer.of_origin(&job.workdir()) {
            Ok(snapshot) if ours => Some(Source::Copy(layer, snapshot)),
            Ok(_) => None,
            // somebody is at work there still, and what the layer has of it nobody knows
            Err(_) => {
                layers.store.discard(&self.key, layer);
                None
            }
        }
    }

    /// Whether nothing but WORKDIR and the shell became another one, and what the name was made of is the same still.
    fn is_unchanged(&self, context: &Context, ebuild: &EbuildFile, job: &JobDir, layers: &Layers) -> bool {
        let same = told(job).is_ok_and(|told| told == self.told) && aside(context, job).as_ref() == Some(&self.aside);
        // somebody may have edited them meanwhile
        same && Inputs::of(context, ebuild, &Digests::default()).as_ref() == Some(&self.inputs)
            && layers.digests.eclasses_are_older(context, &self.eclasses, layers.began)
            && !runner::interrupted()
    }

    fn left(&self, job: &JobDir, walls: &mut Walls) -> Option<Left> {
        alone(job, walls).filter(|seen| *seen == self.seen)?;
        let shell = Shell::read(&job.ctl().join(state::AFTER)).ok()?;
        // where src_prepare will come from
        let cwd = Path::new(std::ffi::OsStr::from_bytes(shell.cwd()));
        fs::canonicalize(cwd).ok().filter(|real| real.is_dir() && real.starts_with(job.workdir()))?;
        let commands = shell.from(&self.shell)?;
        let printed = walls.printed().ok()?.since(&self.printed);
        let trace = job.trace();
        let calls = trace.records_since(self.traced).ok().flatten()?;
        if calls.len() > MOST_CALLS || calls.iter().any(|call| call.ended == Ended::Unseen) {
            return None;
        }
        let mut contents: BTreeMap<&str, Bytes> = BTreeMap::new();
        let mut bytes = 0;
        for md5 in calls.iter().flat_map(Record::contents) {
            // what was too large for the trace is not there for the report of this run either
            if let (false, Some(data)) = (contents.contains_key(md5), trace.blob(md5)) {
                bytes += data.len();
                if bytes > MOST_CONTENTS {
                    return None;
                }
                contents.insert(md5, Bytes(data));
            }
        }
        let contents = contents.into_values().collect();
        Some(Left { shell: Bytes(commands), bytes: printed.bytes, tail: Bytes(printed.tail), calls, contents })
    }
}

/// Bytes that are kept beside a tree; a layer in use has them in memory.
const MOST_LEFT: usize = 16 << 20;
/// Bytes beside WORKDIR with which there is no layer.
const ASIDE: u64 = 256 << 20;

/// What an earlier run of the phase left beside its tree.
pub struct Known(Left);

impl Known {
    /// Has it here as if the phase had just run.
    pub fn leave(self, job: &JobDir, walls: &mut Walls) -> io::Result<()> {
        let left = self.0;
        for data in &left.contents {
            job.trace().keep_again(&data.0)?;
        }
        untrusted::write(&job.ctl().join(state::KNOWN), &left.shell.0)?;
        job.trace().add_again(left.calls)?;
        walls.print(&Printed { bytes: left.bytes, tail: left.tail.0 });
        Ok(())
    }
}

/// What is seen of the job once nothing but its shell is running, and that waits for us.
fn alone(job: &JobDir, walls: &mut Walls) -> Option<Seen> {
    let began = std::time::Instant::now();
    let answer = job.ctl().join(state::ANSWER);
    loop {
        let seen = walls.look().ok()?;
        if seen.processes == 1 && seen.reads(&answer) {
            return Some(seen);
        }
        if began.elapsed() > WAIT || runner::interrupted() {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

/// Digests of what lies in the folders of the job beside WORKDIR.
fn aside(context: &Context, job: &JobDir) -> Option<Vec<String>> {
    let most = Most { bytes: ASIDE, ..context.most() };
    let digest =
        |dir: std::path::PathBuf| Snapshot::take(&dir, None, None, most).ok().map(|taken| taken.tree_md5(&dir));
    [job.temp(), job.home(), job.image()].into_iter().map(digest).collect()
}

/// What the prelude and the programs of the phase told so far, by name and length.
fn told(job: &JobDir) -> io::Result<BTreeMap<OsString, u64>> {
    let mut found = BTreeMap::new();
    for item in fs::read_dir(job.ctl())? {
        let item = item?;
        let name = item.file_name();
        if !["phase", state::AFTER].iter().any(|own| name == *own) {
            found.insert(name, item.metadata()?.len());
        }
    }
    Ok(found)
}
