//! `ebaudit cache`: what is kept for later runs, how much it takes, and whether it is sound.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Subcommand;

use super::args::bytes;
use super::{audit, exit};
use crate::report::{plural, printable};
use crate::tree::layer::LayerStore;

#[derive(Debug, clap::Args)]
pub struct CacheArgs {
    /// Where the cache is [default: XDG_CACHE_HOME/ebaudit, else ~/.cache/ebaudit]
    #[arg(long, value_name = "DIR", global = true)]
    cache_dir: Option<PathBuf>,

    #[command(subcommand)]
    command: CacheCommand,
}

#[derive(Debug, Subcommand)]
enum CacheCommand {
    /// Say what the cache takes of the disk
    Size,
    /// Remove unpacked sources that no run uses, those unused for the longest time first; with --to or with --all
    Prune(PruneArgs),
    /// Read all unpacked sources again, and remove those that are not what they were
    Verify,
}

/// How much is to go, one of these.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct PruneArgs {
    /// Until they take no more than this
    #[arg(long, value_name = "BYTES[K|M|G]", value_parser = bytes)]
    to: Option<u64>,

    /// All of them, fetched distfiles and results, too
    #[arg(long)]
    all: bool,
}

/// Does what is asked and says so; the exit status of the contract.
pub fn run(args: &CacheArgs) -> Result<u8> {
    let cwd = std::env::current_dir().context("can't tell the current directory")?;
    let dir = audit::cache_dir(args.cache_dir.as_deref(), &cwd);
    let mut out = io::stdout().lock();
    let done = match &args.command {
        CacheCommand::Size => size(&dir, &mut out)?,
        CacheCommand::Prune(args) => prune(&dir, args.to.filter(|_| !args.all), &mut out)?,
        CacheCommand::Verify => verify(&dir, &mut out)?,
    };
    Ok(done)
}

/// The store, where there is one.
fn layers(dir: &Path) -> Result<Option<LayerStore>> {
    let dir = dir.join("layers");
    match fs::symlink_metadata(&dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => LayerStore::open(&dir).map(Some).with_context(|| format!("can't open {}", dir.display())),
    }
}

fn size(dir: &Path, out: &mut impl Write) -> Result<u8> {
    let mut sum = 0;
    for item in sorted(dir)? {
        let name = item.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (bytes, what) = match (name.as_str(), layers(dir)?) {
            ("layers", Some(store)) => {
                let room = store.room()?;
                (room.iter().map(|r| r.bytes).sum(), plural(room.len(), "unpacked source"))
            }
            _ => {
                let (files, bytes) = walk(&item);
                (bytes, plural(files, "file"))
            }
        };
        sum += bytes;
        say(out, format_args!("{:>9}  {}  {what}", human(bytes), printable(&name)))?;
    }
    say(out, format_args!("{:>9}  {}", human(sum), printable(&dir.display().to_string())))?;
    Ok(exit::DONE)
}

fn prune(dir: &Path, to: Option<u64>, out: &mut impl Write) -> Result<u8> {
    let (mut gone, mut bytes) = (0, 0);
    if let Some(store) = layers(dir)? {
        (gone, bytes) = store.shrink(to.unwrap_or(0))?;
    }
    say(out, format_args!("removed {}, {}", plural(gone, "unpacked source"), human(bytes)))?;
    if to.is_some() {
        return Ok(exit::DONE);
    }
    // the layers have locks of their own; what is fetched or found is written under another name first
    for item in sorted(dir)?.into_iter().filter(|item| !item.ends_with("layers")) {
        let (files, bytes) = walk(&item);
        let removed = match item.is_dir() {
            true => crate::tree::remove(&item),
            false => fs::remove_file(&item),
        };
        removed.with_context(|| format!("can't remove {}", item.display()))?;
        let name = item.file_name().unwrap_or_default().to_string_lossy().into_owned();
        say(out, format_args!("removed {} of {}, {}", plural(files, "file"), printable(&name), human(bytes)))?;
    }
    Ok(exit::DONE)
}

fn verify(dir: &Path, out: &mut impl Write) -> Result<u8> {
    let all = layers(dir)?.map(|store| store.verify()).transpose()?.unwrap_or_default();
    let broken: Vec<_> = all.iter().filter_map(|v| Some((&v.key, v.broken.as_ref()?))).collect();
    for (key, (why, removed)) in &broken {
        let end = if *removed { "removed" } else { "in use, not removed" };
        say(out, format_args!("{key}: {}: {end}", printable(why)))?;
    }
    say(out, format_args!("{}, {} broken", plural(all.len(), "unpacked source"), broken.len()))?;
    Ok(if broken.is_empty() { exit::DONE } else { exit::FINDINGS })
}

fn sorted(dir: &Path) -> Result<Vec<PathBuf>> {
    let items = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        items => items.with_context(|| format!("can't read {}", dir.display()))?,
    };
    let mut items: Vec<PathBuf> = items.flatten().map(|item| item.path()).collect();
    items.sort();
    Ok(items)
}

/// Files and bytes on the disk below a folder, or of a file.
fn walk(path: &Path) -> (usize, u64) {
    let files = walkdir::WalkDir::new(path).into_iter().flatten().filter(|item| item.file_type().is_file());
    files
        .fold((0, 0), |(count, bytes), item| (count + 1, bytes + item.metadata().map_or(0, |meta| meta.blocks() * 512)))
}

fn say(out: &mut impl Write, text: std::fmt::Arguments) -> Result<()> {
    match writeln!(out, "{text}") {
        // a reader that went away
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("can't write to standard output"),
        _ => Ok(()),
    }
}

fn human(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    match units.iter().find(|(shift, _)| bytes >> shift > 0) {
        Some((shift, unit)) => format!("{:.1}{unit}", bytes as f64 / (1u64 << shift) as f64),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people() {
        assert_eq!([0, 1023, 1536, 5 << 30].map(human), ["0", "1023", "1.5K", "5.0G"]);
    }
}
