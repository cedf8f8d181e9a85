//! What is known of single packages, from experience.

use super::universe::Instance;

/// Packages that build for an hour or more on a common machine.
const HEAVY: &[&str] = &[
    "app-office/libreoffice",
    "dev-lang/rust",
    "dev-qt/qtwebengine",
    "gui-libs/webkit-gtk",
    "llvm-core/clang",
    "llvm-core/llvm",
    "mail-client/thunderbird",
    "media-gfx/blender",
    "net-libs/nodejs",
    "net-libs/webkit-gtk",
    "sci-libs/caffe2",
    "sci-libs/composable-kernel",
    "sci-libs/hipBLASLt",
    "sci-libs/miopen",
    "sci-libs/rccl",
    "sci-libs/rocBLAS",
    "sci-libs/rocFFT",
    "sci-libs/rocSOLVER",
    "sci-libs/rocSPARSE",
    "sci-libs/tensorflow",
    "sci-ml/caffe2",
    "sci-ml/pytorch",
    "sys-devel/gcc",
    "www-client/chromium",
    "www-client/firefox",
];

/// Whether a package is known to build for long.
pub fn is_heavy(name: &str) -> bool {
    HEAVY.contains(&name)
}

/// The environment that a package is known to need to build at all: the file below etc/portage/env, why, and its lines.
pub fn environment(instance: &Instance) -> Option<(&'static str, &'static str, &'static [&'static str])> {
    let major = instance.cpv.version.as_str().split('.').next().unwrap_or("");
    match (&*instance.name, major) {
        ("llvm-runtimes/openmp", "23") => Some((
            "ebaudit-openmp.conf",
            "its build writes the names of its own threads, which the sandbox takes for an attack",
            &["SANDBOX_PREDICT=\"/proc/self/task/\""],
        )),
        _ => None,
    }
}
