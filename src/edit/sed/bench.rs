//! Where sed is run again: a private directory with the files of a call as they were before it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::argv::Flags;
use super::call::Call;
use super::probe::{Probe, Whence};
use super::run::{End, Limits, Sed};
use super::script::Script;
use super::tally::Tallies;
use crate::edit::budget::NO_END;

/// Input that gives a run a second more.
const A_SECOND: u64 = 4 << 20;

/// A private directory with the files of a call, in which sed may run.
pub(super) struct Bench<'a> {
    pub call: &'a Call<'a>,
    pub quiet: bool,
    sed: &'a Sed,
    limits: Limits,
    dir: tempfile::TempDir,
}

impl<'a> Bench<'a> {
    pub(super) fn new(call: &'a Call, script: &Script, sed: &'a Sed, limits: Limits) -> io::Result<Self> {
        let dir = crate::edit::scratch::dir()?;
        for (index, target) in call.targets.iter().enumerate() {
            target.before.place(&dir.path().join(index.to_string()))?;
        }
        let size: u64 = call.targets.iter().map(|t| t.before.size()).sum();
        let time = limits.time + Duration::from_secs(size / A_SECOND);
        let limits = Limits { time, ..limits };
        Ok(Bench { call, quiet: call.invocation.quiet || script.quiet, sed, limits, dir })
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Runs script parts on targets; `sink` takes the output.
    pub(super) fn run(
        &self,
        parts: &[(Flags, Vec<u8>)],
        quiet: bool,
        targets: &[usize],
        sink: impl FnMut(&[u8]),
    ) -> Result<(), String> {
        // -l 0: `l` never breaks its line
        let mut arguments: Vec<OsString> = vec!["-l".into(), "0".into()];
        if quiet {
            arguments.push("-n".into());
        }
        if self.call.invocation.separate {
            arguments.push("-s".into());
        }
        let mut seen = Flags::default();
        for (index, (flags, text)) in parts.iter().enumerate() {
            add_flags(&mut arguments, &mut seen, *flags);
            let name = format!("script{index}");
            fs::write(self.dir().join(&name), text).map_err(|error| format!("the script can't be written: {error}"))?;
            arguments.extend(["-f".into(), name.into()]);
        }
        add_flags(&mut arguments, &mut seen, Flags { sandbox: false, ..self.call.invocation.flags });
        arguments.push("--".into());
        arguments.extend(targets.iter().map(|target| OsString::from(target.to_string())));
        let variables = self.call.environment.variables();
        let run = self.sed.run(self.dir(), &arguments, &variables, self.limits, sink);
        let run = run.map_err(|error| format!("sed can't be run: {error}"))?;
        match run.end {
            // 2: an input file is missing, as in the call
            End::Exit(0 | 2) => Ok(()),
            End::Exit(_) => Err(format!("sed refuses the script: {}", run.complaint())),
            End::Signal => Err("sed was killed".to_string()),
            End::OutOfTime => Err(format!("sed {NO_END} {} s", self.limits.time.as_secs_f32())),
            End::TooMuchOutput => Err("sed writes without an end".to_string()),
        }
    }

    /// Runs the probe on all targets.
    pub(super) fn probe<'s>(&self, script: &'s Script) -> Result<Tallies<'s>, String> {
        let count = self.call.targets.len();
        let separate = self.call.invocation.separate;
        let delimiter = if self.call.invocation.flags.null_data { b'\0' } else { b'\n' };
        let mut tallies = Tallies::new(script, count, separate, delimiter);
        let all: Vec<usize> = (0..count).collect();
        // `--posix` lacks the command that tells the file
        let apart = separate && script.pieces.iter().any(|piece| piece.flags.posix);
        let runs: Vec<&[usize]> = match all.len() {
            0 => Vec::new(),
            _ if apart => all.chunks(1).collect(),
            _ => vec![&all],
        };
        for targets in runs {
            let whence = match targets {
                [_] => Whence::Single,
                _ if separate => Whence::Name,
                _ => Whence::Line,
            };
            let mut last_lines = Vec::new();
            if whence == Whence::Line {
                let mut last = 0;
                for target in &self.call.targets {
                    let lines = target.before.lines(delimiter);
                    last += lines.map_err(|error| format!("an input file can't be read: {error}"))?;
                    last_lines.push(last);
                }
            }
            let probe = Probe::new(script, self.quiet, whence);
            tallies.begin(&probe.nonce, whence, targets[0], last_lines);
            self.run(&probe.parts, true, targets, |chunk| tallies.feed(chunk))?;
        }
        Ok(tallies)
    }
}

/// What ends a line.
pub(super) fn delimiter(call: &Call) -> u8 {
    if call.invocation.flags.null_data { b'\0' } else { b'\n' }
}

fn add_flags(arguments: &mut Vec<OsString>, seen: &mut Flags, wanted: Flags) {
    let options = [
        (wanted.extended && !seen.extended, "-E"),
        (wanted.null_data && !seen.null_data, "-z"),
        (wanted.posix && !seen.posix, "--posix"),
    ];
    arguments.extend(options.into_iter().filter(|(new, _)| *new).map(|(_, option)| OsString::from(option)));
    *seen = wanted;
}
