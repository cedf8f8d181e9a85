//! Progress on a terminal, and nothing elsewhere.

use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::printable;
use crate::source::Progress;

/// A bar over the ebuilds, and one for each file that is being fetched; on standard error.
#[derive(Clone)]
pub struct Bars {
    all: MultiProgress,
    ebuilds: ProgressBar,
    files: Arc<Mutex<HashMap<String, ProgressBar>>>,
}

impl Bars {
    /// Hidden ones where standard error is no terminal, or `quiet`.
    pub fn new(quiet: bool) -> Bars {
        let hidden = quiet || !std::io::stderr().is_terminal();
        let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let all = MultiProgress::with_draw_target(target);
        let ebuilds = all.add(ProgressBar::new(0));
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {wide_msg}") {
            ebuilds.set_style(style);
        }
        if !hidden {
            ebuilds.enable_steady_tick(Duration::from_millis(200));
        }
        Bars { all, ebuilds, files: Arc::default() }
    }

    /// How many ebuilds there are.
    pub fn expect(&self, total: usize) {
        self.ebuilds.set_length(total as u64);
    }

    pub fn message(&self, text: &str) {
        self.ebuilds.set_message(printable(text));
    }

    pub fn done(&self) {
        self.ebuilds.inc(1);
    }

    pub fn clear(&self) {
        self.ebuilds.finish_and_clear();
        let _ = self.all.clear();
    }

    fn file(&self, name: &str) -> Option<ProgressBar> {
        self.files.lock().ok()?.get(name).cloned()
    }
}

impl Progress for Bars {
    fn begin(&self, name: &str, total: Option<u64>) {
        let bar = self.all.add(total.map_or_else(ProgressBar::no_length, ProgressBar::new));
        if let Ok(style) = ProgressStyle::with_template("  {wide_msg} {bytes}/{total_bytes} {bytes_per_sec}") {
            bar.set_style(style);
        }
        bar.set_message(printable(name));
        if let Ok(mut files) = self.files.lock() {
            files.insert(name.to_owned(), bar);
        }
    }

    fn advance(&self, name: &str, done: u64) {
        if let Some(bar) = self.file(name) {
            bar.set_position(done);
        }
    }

    fn end(&self, name: &str, _good: bool) {
        if let Some(bar) = self.file(name) {
            bar.finish_and_clear();
        }
        if let Ok(mut files) = self.files.lock() {
            files.remove(name);
        }
    }
}
