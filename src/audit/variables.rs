//! The variables that an ebuild sees: PMS's from its name, then those that its metadata settle.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::gentoo::profile::UseState;
use crate::gentoo::repository::EbuildFile;
use crate::source::unpack::Limits;
use crate::tree::untrusted;

/// PMS 11.1: what is known before the ebuild is sourced. `limits` bound what `unpack` writes.
pub fn of_name(ebuild: &EbuildFile, eapi: &str, limits: &Limits) -> BTreeMap<String, OsString> {
    let cpv = &ebuild.cpv;
    let pairs = [
        ("P", cpv.p()),
        ("PN", cpv.pn().to_owned()),
        ("PV", cpv.pv().to_owned()),
        ("PR", cpv.pr().to_owned()),
        ("PVR", cpv.pvr().to_owned()),
        ("PF", cpv.pf()),
        ("CATEGORY", cpv.category.clone()),
        ("EAPI", eapi.to_owned()),
        ("MERGE_TYPE", "source".to_owned()),
    ];
    let mut variables: BTreeMap<String, OsString> = pairs.map(|(n, v)| (n.to_owned(), v.into())).into();
    variables.insert("EB_LIMITS".to_owned(), limits.to_string().into());
    variables.insert("FILESDIR".to_owned(), ebuild.dir().join("files").into());
    variables
}

/// Writes the text that the prelude sources once USE and A are known.
pub fn write_settled(path: &Path, flags: &UseState, archives: &[String], unpacked: bool) -> io::Result<()> {
    untrusted::write(path, settled(flags, archives, unpacked).as_bytes())
}

/// That text.
pub fn settled(flags: &UseState, archives: &[String], unpacked: bool) -> String {
    let mut text = String::new();
    for (name, value) in flags.variables() {
        // they were there before the ebuild was sourced: what it assigned itself (LLVM_SLOT=20) holds
        let value = quoted(value);
        let value = if name == "USE" { value } else { format!("${{{name}-{value}}}") };
        text.push_str(&format!("export {name}={value}\n"));
    }
    let mut set = |name: &str, value: &str| {
        text.push_str(&format!("export {name}={}\n", quoted(value)));
    };
    set("A", &archives.join(" "));
    set("EB_IUSE_EFFECTIVE", &flags.effective().iter().cloned().collect::<Vec<_>>().join(" "));
    set("EB_UNPACKED", if unpacked { "1" } else { "" });
    text
}

/// A word of bash with this value.
pub fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "'\\''"))
}
