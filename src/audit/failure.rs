//! Why an ebuild could not be audited.

use super::rules::Rule;
use crate::report::model::Status;

/// The status, the rule and one line that a person can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub status: Status,
    pub rule: Option<Rule>,
    pub reason: String,
    /// In the ebuild.
    pub line: Option<u32>,
}

impl Failure {
    fn new(status: Status, rule: Rule, reason: impl Into<String>) -> Failure {
        Failure { status, rule: Some(rule), reason: one_line(&reason.into()), line: None }
    }

    /// With what explains why a phase may have failed.
    pub fn in_view_of(self, known: Option<String>) -> Failure {
        match known.filter(|_| matches!(self.status, Status::PrepareFailed | Status::UnpackFailed)) {
            Some(known) => Failure { reason: format!("{}; {known}", self.reason), ..self },
            None => self,
        }
    }

    /// Left out on purpose.
    pub fn skipped(reason: impl Into<String>) -> Failure {
        Failure { status: Status::Skipped, rule: None, reason: one_line(&reason.into()), line: None }
    }

    pub fn invalid(reason: impl Into<String>) -> Failure {
        Failure::new(Status::Invalid, Rule::InvalidEbuild, reason)
    }

    pub fn unsupported(reason: impl Into<String>) -> Failure {
        Failure::new(Status::Unsupported, Rule::Unsupported, reason)
    }

    pub fn fetch(reason: impl Into<String>) -> Failure {
        Failure::new(Status::FetchFailed, Rule::FetchFailed, reason)
    }

    pub fn digest(reason: impl Into<String>) -> Failure {
        Failure::new(Status::FetchFailed, Rule::BadDigest, reason)
    }

    pub fn unpack(reason: impl Into<String>) -> Failure {
        Failure::new(Status::UnpackFailed, Rule::UnpackFailed, reason)
    }

    pub fn prepare(reason: impl Into<String>) -> Failure {
        Failure::new(Status::PrepareFailed, Rule::PrepareFailed, reason)
    }

    pub fn timed_out(reason: impl Into<String>) -> Failure {
        Failure::new(Status::TimedOut, Rule::TimedOut, reason)
    }

    /// The run was ended from outside while `what` went on, which says nothing against the ebuild.
    pub fn interrupted(what: &str) -> Failure {
        Failure::timed_out(format!("{what} was interrupted"))
    }

    pub fn too_large(reason: impl Into<String>) -> Failure {
        Failure::new(Status::TooLarge, Rule::TooLarge, reason)
    }

    pub fn at(self, line: Option<u32>) -> Failure {
        Failure { line, ..self }
    }
}

/// Characters of a reason; what an ebuild says may be of any length.
const LONGEST: usize = 4000;

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        assert_eq!(Failure::prepare("a\n b").reason, "a b");
        assert_eq!(Failure::prepare("ä".repeat(1 << 20)).reason.chars().count(), LONGEST + 1);
    }
}
