//! Whether the exit status of a call is an answer to its callers: the last call of a function gives the function's.

use std::borrow::Cow;

use super::inventory::{Call, unquoted};
use super::site::{Site, Sources};
use crate::phase::stack::Frame;

/// `frames` is the stack of the call, innermost first.
pub fn asked(site: &Site, frames: &[Frame], sources: &mut Sources) -> bool {
    let Some(call) = site.call() else { return false };
    let function = Some(site.origin.function.as_str());
    let mut callers = frames.iter().skip_while(|frame| Some(frame.function.as_str()) != function).skip(1);
    // a stack may be as deep as an ebuild writes it: no recursion
    let mut call = Cow::Borrowed(call);
    loop {
        if call.asked {
            return true;
        }
        let Some(name) = call.function.as_deref().filter(|_| call.ends_function) else { return false };
        let Some(caller) = callers.next().and_then(|frame| sources.call_of(frame, name)) else { return false };
        call = Cow::Owned(caller);
    }
}

/// Whether a command runs a function, by itself or as what it is handed.
pub fn runs(call: &Call, function: &str) -> bool {
    call.words.iter().any(|word| unquoted(&word.text) == function)
}
