//! The configuration that Portage gets for one job: nothing of the machine's, so that the same ebuild has the same report.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::context::Context;
use super::variables::quoted;
use crate::gentoo::profile::{BUILT_IN, UseState};
use crate::gentoo::repository::EbuildFile;
use crate::phase::job::{JobDir, find_program};
use crate::phase::portage::name_of;
use crate::phase::tracer::env;

/// Portage's isolation needs rights that the sandbox took away, and is not needed within it.
const FEATURES: &str = "-sandbox -usersandbox -userpriv -userfetch -usersync -network-sandbox -pid-sandbox -ipc-sandbox \
     -mount-sandbox -news -ebuild-locks -distlocks -xattr -ccache -distcc";

/// GNU's tools under the names that Portage may want.
const GNU: [&str; 5] = ["find", "make", "sed", "tar", "xargs"];

/// Writes `etc/portage` and what belongs to it, with USE as it was computed.
pub fn configure(
    context: &Context,
    ebuild: &EbuildFile,
    job: &JobDir,
    flags: &UseState,
    skip_setup: bool,
) -> io::Result<()> {
    let root = job.config();
    let etc = root.join("etc/portage");
    // the folder itself is mounted within the sandbox already
    for item in fs::read_dir(&root)?.flatten() {
        fs::remove_dir_all(item.path())?;
    }
    for dir in [root.join("bin"), etc.join("repos.conf"), etc.join("package.use"), job.portage_tmp().join("depcache")] {
        fs::create_dir_all(dir)?;
    }
    for tool in GNU {
        if let Some(path) = find_program(tool).filter(|_| find_program(&format!("g{tool}")).is_none()) {
            symlink(path, root.join("bin").join(format!("g{tool}")))?;
        }
    }
    fs::write(etc.join("repos.conf/all.conf"), repositories(context))?;
    profile(context, &etc.join("make.profile"))?;
    if let Some(local) = context.profile.local() {
        symlink(fs::canonicalize(local)?, etc.join("profile"))?;
    }
    let words: Vec<String> =
        flags.iuse().iter().map(|(flag, on)| if *on { flag.clone() } else { format!("-{flag}") }).collect();
    fs::write(etc.join("package.use/all"), format!("={} {}\n", ebuild.cpv, words.join(" ")))?;
    let id = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let pairs = [
        ("ACCEPT_KEYWORDS", "**".to_owned()),
        ("ACCEPT_LICENSE", "*".to_owned()),
        ("FEATURES", FEATURES.to_owned()),
        ("PORTAGE_USERNAME", name_of("passwd", id.0)),
        ("PORTAGE_GRPNAME", name_of("group", id.1)),
        ("PORTAGE_TMPDIR", job.root().display().to_string()),
        ("PORTAGE_DEPCACHEDIR", job.portage_tmp().join("depcache").display().to_string()),
        ("DISTDIR", job.distdir().display().to_string()),
        ("GENTOO_MIRRORS", String::new()),
        ("FETCHCOMMAND", "/bin/false".to_owned()),
        ("RESUMECOMMAND", "/bin/false".to_owned()),
    ];
    fs::write(etc.join("make.conf"), pairs.map(|(name, value)| format!("{name}=\"{value}\"\n")).concat())?;
    fs::write(etc.join("bashrc"), bashrc(context, job, skip_setup))
}

fn repositories(context: &Context) -> String {
    let main = context.set.masters.first().unwrap_or(&context.set.repository);
    let mut text = format!("[DEFAULT]\nmain-repo = {}\n", main.name);
    let overrides = context.set.eclass_overrides();
    let others = overrides.iter().filter(|other| !context.set.all().any(|one| one.name == other.name));
    for repository in context.set.all().chain(others) {
        text += &format!("\n[{}]\nlocation = {}\nauto-sync = no\n", repository.name, repository.location.display());
        if repository.name == context.set.repository.name {
            // those that were found, as --repository and repos.conf say
            let masters: Vec<&str> = context.set.masters.iter().map(|master| master.name.as_str()).collect();
            text += &format!("masters = {}\n", masters.join(" "));
            let names: Vec<&str> = overrides.iter().map(|other| other.name.as_str()).collect();
            if !names.is_empty() {
                text += &format!("eclass-overrides = {}\n", names.join(" "));
            }
        }
    }
    text
}

/// The audit's own profile; the built-in one as a folder.
fn profile(context: &Context, link: &Path) -> io::Result<()> {
    match context.profile.source.path() {
        Some(path) => symlink(fs::canonicalize(path)?, link),
        None => {
            fs::create_dir(link)?;
            fs::write(link.join("eapi"), "8\n")?;
            fs::write(link.join("make.defaults"), BUILT_IN)
        }
    }
}

/// Portage hands no variables of the environment to later phases: they stand here.
fn bashrc(context: &Context, job: &JobDir, skip_setup: bool) -> String {
    let run = &context.run;
    let paths = [
        ("EB_PRELUDE", run.prelude()),
        ("EB_BIN", run.bin()),
        ("EB_CTL", job.ctl()),
        (env::REAL, run.sandbox.real(run)),
        (env::TRACE, job.trace().path().to_owned()),
    ];
    let mut text: String =
        paths.iter().map(|(n, p)| format!("export {n}={}\n", quoted(&p.to_string_lossy()))).collect();
    text += &format!("export EB_SKIP_SETUP={}\n", if skip_setup { "1" } else { "" });
    if context.options.portage.as_ref().is_some_and(|portage| portage.is_venv()) {
        // its prefix is the virtual environment, where no ebuild is meant to install to
        text += "export EPREFIX= BROOT= EROOT=${ROOT} ESYSROOT=${SYSROOT} ED=${D}\n";
    }
    text + "[[ ${EBUILD_PHASE} == depend ]] || source \"${EB_PRELUDE}/hooks.bash\"\n"
}
