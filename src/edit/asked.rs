//! Whether the exit status of a call is an answer to its callers: the last call of a function gives the function's.

use super::inventory::{Call, unquoted};
use super::site::{Site, Sources};
use crate::phase::stack::Frame;

/// `frames` is the stack of the call, innermost first.
pub fn asked(site: &Site, frames: &[Frame], sources: &mut Sources) -> bool {
    let Some(call) = site.call() else { return false };
    let function = Some(site.origin.function.as_str());
    let mut callers = frames.iter().skip_while(|frame| Some(frame.function.as_str()) != function).skip(1);
    answers(call, &mut callers, sources)
}

fn answers(call: &Call, callers: &mut dyn Iterator<Item = &Frame>, sources: &mut Sources) -> bool {
    let caller = |name| sources.call_of(callers.next()?, name);
    let function = call.function.as_deref().filter(|_| call.ends_function);
    call.asked || function.and_then(caller).is_some_and(|caller| answers(&caller, callers, sources))
}

/// Whether a command runs a function, by itself or as what it is handed.
pub fn runs(call: &Call, function: &str) -> bool {
    call.words.iter().any(|word| unquoted(&word.text) == function)
}
