//! The configuration of a plan as files that can be copied to etc/portage.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::plan::Answer;

/// The name of the files in the package.* folders.
const NAME: &str = "ebaudit-plan";

/// Writes `DIR/package.use/ebaudit-plan` and its like, each line under its reason, and `DIR/env/…` as they are named.
pub fn write(dir: &Path, answer: &Answer) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("can't make {}", dir.display()))?;
    for (file, lines) in &answer.config {
        let path = if file.starts_with("env/") { dir.join(file) } else { dir.join(file).join(NAME) };
        let mut text = format!("# ebaudit plan {}\n", answer.goal.join(" "));
        for line in lines {
            if let Some(why) = answer.config_reasons.get(&format!("{file}: {line}")) {
                text.push_str(&format!("# {}\n", why.replace('\n', " ")));
            }
            text.push_str(line);
            text.push('\n');
        }
        let folder = path.parent().unwrap_or(dir);
        fs::create_dir_all(folder).with_context(|| format!("can't make {}", folder.display()))?;
        fs::write(&path, text).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(())
}
