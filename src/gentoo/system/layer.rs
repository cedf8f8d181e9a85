//! What one layer of configuration says of USE flags.
//!
//! Portage stacks words: each adds a flag, takes one away, or clears all (`-*`, `prefix_*`). What is left of a flag in
//! the end is what the last word that speaks of it says, so a layer is kept as the answer it has for each flag.

use std::collections::HashMap;

/// The words of a layer, boiled down.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    /// By flag: when it was spoken of last, and what was said.
    exact: HashMap<String, (u32, bool)>,
    /// `prefix_*`, likewise.
    prefixes: Vec<(String, u32, bool)>,
    /// When `-*` came last.
    cleared: Option<u32>,
    time: u32,
}

impl Layer {
    /// A list of mask or force files: `flag`, `-flag`, `-*` (portage.util.stack_lists).
    pub fn list_word(&mut self, word: &str) {
        match word.strip_prefix('-') {
            Some("*") => self.clear(),
            Some(flag) => self.say(flag, false),
            None => self.say(word, true),
        }
    }

    /// A word of USE: as [`Layer::list_word`], and `prefix_*` and `-prefix_*` for all flags of a prefix.
    pub fn use_word(&mut self, word: &str) {
        match word.strip_prefix('-') {
            Some("*") => self.clear(),
            Some(flag) => {
                if let Some(prefix) = wildcard(flag) {
                    self.say_prefix(prefix, false);
                }
                self.say(flag, false);
            }
            None => {
                let flag = word.strip_prefix('+').unwrap_or(word);
                match wildcard(flag) {
                    Some(prefix) => self.say_prefix(prefix, true),
                    None if flag.is_empty() => {}
                    None => self.say(flag, true),
                }
            }
        }
    }

    /// The words of a value of USE.
    pub fn use_words(&mut self, value: &str) {
        value.split_whitespace().for_each(|word| self.use_word(word));
    }

    /// A USE_EXPAND variable of a layer above the profile: it replaces all values that weaker layers gave. Words
    /// with a sign are passed over, as by Portage.
    pub fn replace_expanded(&mut self, name: &str, value: &str) {
        let prefix = format!("{}_", name.to_lowercase());
        self.say_prefix(&prefix, false);
        for word in value.split_whitespace().filter(|word| !word.starts_with(['+', '-'])) {
            self.say(&format!("{prefix}{word}"), true);
        }
    }

    /// A layer with variables of its own, in Portage's order: the unprefixed ones, USE with what stands in `more`
    /// behind it, then USE_EXPAND.
    pub fn of_variables<'a>(
        get: impl Fn(&str) -> Option<&'a str>,
        expand: &[String],
        unprefixed: &[String],
        more: &[&Layer],
    ) -> Layer {
        let mut layer = Layer::default();
        for name in unprefixed {
            let words = get(name).unwrap_or_default().split_whitespace();
            words.for_each(|word| layer.list_word(word));
        }
        layer.use_words(get("USE").unwrap_or_default());
        more.iter().for_each(|words| layer.append(words));
        for name in expand {
            if let Some(value) = get(name) {
                layer.replace_expanded(name, value);
            }
        }
        layer
    }

    /// What it says of a flag; `own` is whether the flag stands in the ebuild's IUSE, to which `prefix_*` is confined.
    pub fn says(&self, flag: &str, own: bool) -> Option<bool> {
        let mut last = self.cleared.map(|time| (time, false));
        for (prefix, time, on) in &self.prefixes {
            if (own || !on) && flag.starts_with(prefix.as_str()) && last.is_none_or(|(before, _)| *time > before) {
                last = Some((*time, *on));
            }
        }
        if let Some(&(time, on)) = self.exact.get(flag)
            && last.is_none_or(|(before, _)| time > before)
        {
            last = Some((time, on));
        }
        last.map(|(_, on)| on)
    }

    /// Puts another layer's words behind these.
    pub fn append(&mut self, other: &Layer) {
        let base = self.time;
        if let Some(time) = other.cleared {
            self.cleared = Some(base + time);
            // all that was said before is void
            self.exact.clear();
            self.prefixes.clear();
        }
        self.prefixes.extend(other.prefixes.iter().map(|(prefix, time, on)| (prefix.clone(), base + time, *on)));
        self.exact.extend(other.exact.iter().map(|(flag, (time, on))| (flag.clone(), (base + time, *on))));
        self.time = base + other.time;
    }

    /// The flags that it turns on by name, and those it turns off.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        self.exact.keys().map(String::as_str)
    }

    fn tick(&mut self) -> u32 {
        self.time += 1;
        self.time
    }

    fn clear(&mut self) {
        self.exact.clear();
        self.prefixes.clear();
        self.cleared = Some(self.tick());
    }

    fn say(&mut self, flag: &str, on: bool) {
        let time = self.tick();
        match self.exact.get_mut(flag) {
            Some(said) => *said = (time, on),
            None => {
                self.exact.insert(flag.to_owned(), (time, on));
            }
        }
    }

    fn say_prefix(&mut self, prefix: &str, on: bool) {
        let time = self.tick();
        self.prefixes.push((prefix.to_owned(), time, on));
    }
}

/// The prefix of `prefix_*`.
fn wildcard(flag: &str) -> Option<&str> {
    flag.strip_suffix('*').filter(|prefix| prefix.ends_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn layer(words: &str) -> Layer {
        let mut layer = Layer::default();
        layer.use_words(words);
        layer
    }

    #[test]
    fn the_last_word_counts() {
        let said = layer("a -a b +c -* d e_x -e_* e_y f_* -f_z");
        for (flag, on) in
            [("a", false), ("b", false), ("d", true), ("e_x", false), ("e_y", true), ("f_q", true), ("f_z", false)]
        {
            assert_eq!(said.says(flag, true), Some(on), "{flag}");
        }
        assert_eq!(said.says("f_q", false), Some(false));
        assert_eq!(layer("a").says("b", true), None);
    }

    #[test]
    fn expanded_variables_replace() {
        let value = |name: &str| match name {
            "USE" => Some("a -x_old y"),
            "X" => Some("new -odd"),
            "ARCH" => Some("amd64"),
            _ => None,
        };
        let said = Layer::of_variables(value, &["X".into(), "Z".into()], &["ARCH".into()], &[&layer("-y")]);
        let says = |flag| said.says(flag, true);
        assert_eq!((says("x_new"), says("x_old"), says("x_odd")), (Some(true), Some(false), Some(false)));
        assert_eq!((says("a"), says("y"), says("amd64"), says("z_q")), (Some(true), Some(false), Some(true), None));
    }

    #[test]
    fn appended_words_come_later() {
        let mut whole = layer("a b c_x");
        whole.append(&layer("-b -c_* c_y"));
        let says = |flag| whole.says(flag, true);
        assert_eq!(
            (says("a"), says("b"), says("c_x"), says("c_y")),
            (Some(true), Some(false), Some(false), Some(true))
        );
        whole.append(&layer("-* d"));
        assert_eq!((whole.says("a", true), whole.says("d", true)), (Some(false), Some(true)));
    }
}
