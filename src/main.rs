fn main() {
    if let Some(tool) = ebaudit::phase::tracer::started_as() {
        ebaudit::phase::tracer::main(tool)
    }
}
