//! Starts the command line; under the name of a traced tool it is the tracer, under that of the unpacker the unpacker.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(tool) = ebaudit::phase::tracer::started_as() {
        ebaudit::phase::tracer::main(tool)
    }
    ebaudit::cli::main()
}
