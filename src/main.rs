//! Starts the command line; under the name of a traced tool it is the tracer, under that of the unpacker the unpacker,
//! under that of the sandbox the process that builds the walls around a phase.

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(tool) = ebaudit::phase::tracer::started_as() {
        ebaudit::phase::tracer::main(tool)
    }
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let is = |applet: &str| std::path::Path::new(&name).ends_with(applet);
    if is("ebaudit-unpack") {
        std::process::exit(ebaudit::source::unpack::applet(words));
    }
    if is(ebaudit::phase::sandbox::APPLET) {
        std::process::exit(ebaudit::phase::sandbox::main());
    }
    ebaudit::cli::main()
}
