//! The command line.

mod args;
mod audit;
mod bounds;
mod cache;
mod changes;
mod choose;
mod drop_in;
mod exit;
mod fix;
mod layers;
mod load;
mod merge;
mod output;
mod plan;
mod pool;
mod progress;
mod shard;

use std::process::ExitCode;

use clap::Parser;

/// Runs the command that the words of this process ask for.
pub fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // help and version go to standard output and are no error
            let code = if error.use_stderr() { exit::USAGE } else { exit::DONE };
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    let done = std::panic::catch_unwind(move || match args.command {
        args::Command::Audit(args) => audit::run(*args),
        args::Command::Merge(args) => merge::run(&args),
        args::Command::Plan(args) => plan::run(*args),
        args::Command::Cache(args) => cache::run(&args),
    });
    match done {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(error)) => {
            eprintln!("ebaudit: {}", crate::report::printable(&told(&error)));
            ExitCode::from(exit::USAGE)
        }
        Err(_) => {
            eprintln!("ebaudit: an internal error, sorry; please report it with the text above");
            ExitCode::from(exit::INTERNAL)
        }
    }
}

/// The error and its causes in one line, none of them twice.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    text
}

pub use args::Args;
