//! Hashing a tree against md5 of the same bytes in memory, both on all cores; started by `benches/run`.
//!
//! `tree_hash ROOT PACK_DIR REPETITIONS` prints a line a repetition, in seconds: md5 in memory, the snapshot, the
//! snapshot that keeps the contents in a pack, the snapshot of an unchanged tree that is known already.

use std::path::Path;
use std::time::Instant;

use ebaudit::tree::{Most, Pack, Snapshot};
use rayon::prelude::*;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|w| w != "--bench").collect();
    let [root, pack_dir, repetitions] = &words[..] else {
        // `cargo test --all-targets` starts every bench without a word
        println!("tree_hash ROOT PACK_DIR REPETITIONS");
        return;
    };
    let (root, pack_dir) = (Path::new(root), Path::new(pack_dir));
    let files: Vec<_> = walkdir::WalkDir::new(root)
        .into_iter()
        .flatten()
        .filter(|f| f.file_type().is_file())
        .map(|f| f.into_path())
        .collect();
    let contents: Vec<Vec<u8>> = files.iter().map(|f| std::fs::read(f).expect("the tree is readable")).collect();
    let take = |known: Option<&Snapshot>, pack: Option<&Pack>| {
        let began = Instant::now();
        let snapshot = Snapshot::take(
            root,
            known,
            pack,
            Most { entries: usize::MAX, depth: usize::MAX - 1, bytes: u64::MAX, until: None },
        )
        .expect("the tree is readable");
        (began.elapsed().as_secs_f64(), snapshot)
    };
    for _ in 0..repetitions.parse().expect("a number of repetitions") {
        let began = Instant::now();
        let sums: Vec<_> = contents.par_iter().map(|c| md5::compute(c).0).collect();
        let memory = began.elapsed().as_secs_f64();
        let (plain, snapshot) = take(None, None);
        // the same work was done
        for (file, sum) in files.iter().zip(&sums) {
            assert_eq!(snapshot.md5(file.strip_prefix(root).expect("below the root")), Some(*sum));
        }
        let pack = Pack::create(pack_dir).expect("the folder of the pack is writable");
        let (packed, _) = take(None, Some(&pack));
        drop(pack);
        let (known, _) = take(Some(&snapshot), None);
        println!("{memory:.6} {plain:.6} {packed:.6} {known:.6}");
    }
}
