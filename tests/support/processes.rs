//! Which processes a run left behind.

#![allow(dead_code)] // not every test asks

use std::fs;

use super::overlay::Place;

/// A word that only processes of this place have among their arguments.
pub fn mark(place: &Place) -> String {
    format!("hostile-{}", place.path().file_name().unwrap().to_string_lossy())
}

/// Processes that have the mark, or whose current directory is in this place.
pub fn of(place: &Place) -> Vec<String> {
    let mark = mark(place);
    let mut found = Vec::new();
    for item in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = item.file_name().to_string_lossy().parse::<u32>() else { continue };
        if pid == std::process::id() {
            continue;
        }
        let line = fs::read(item.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let dir = fs::read_link(item.path().join("cwd")).unwrap_or_default();
        if line.contains(&mark) || dir.starts_with(place.path()) {
            found.push(format!("{pid} {line} in {}", dir.display()));
        }
    }
    found
}
