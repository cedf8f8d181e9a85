//! Starts the command line; under the name of a traced tool it is the tracer, under that of the unpacker the unpacker.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(tool) = ebaudit::phase::tracer::started_as() {
        ebaudit::phase::tracer::main(tool)
    }
    let mut words = std::env::args_os();
    if words.next().is_some_and(|name| std::path::Path::new(&name).ends_with("ebaudit-unpack")) {
        std::process::exit(ebaudit::source::unpack::applet(words));
    }
    ebaudit::cli::main()
}
