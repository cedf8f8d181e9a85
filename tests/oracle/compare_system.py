#!/usr/bin/env python3
"""Compares what ebaudit reads of a machine with what real Portage makes of it, for every ebuild and every record.

    compare_system.py --dump DUMP-SYSTEM ROOT [--show N] [--sample N] [--update]

DUMP-SYSTEM is the example program of that name (cargo build --example dump-system); ROOT has etc/portage, var/db/pkg,
var/db/repos or wherever its repos.conf points, and share/portage/config.  To be run by the Python of an environment that
has Portage.  With --sample every Nth name is compared.  With --update Portage applies profiles/updates to ROOT before it is
asked, so that records and world are compared as moved; ROOT is changed by that.  Exit status 1 if there is a difference.

Compared for ebuilds: USE, forced and masked flags (those of IUSE_EFFECTIVE), slot and sub-slot, package.mask with the file
and comment, keywords with Portage's own hint, licences, PROPERTIES, RESTRICT, validity; for records: name, slot, USE, IUSE,
dependencies, keywords, licence, build time, size; besides the order of candidates, names, @system, @profile, world.
"""
import argparse
import json
import os
import subprocess
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--dump", required=True)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--update", action="store_true")
    return parser.parse_args()


class Differences:
    def __init__(self, show):
        self.show, self.count, self.by_field, self.skipped = show, 0, {}, 0

    def same(self, where, field, ours, theirs):
        if ours == theirs:
            return
        self.count += 1
        self.by_field[field] = self.by_field.get(field, 0) + 1
        if self.by_field[field] <= self.show:
            if isinstance(ours, (list, set)) and isinstance(theirs, (list, set)) and field in ("enabled", "forced", "masked"):
                ours, theirs = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
                print("%s %s: only ours %s, only Portage's %s" % (where, field, ours, theirs))
            else:
                print("%s %s: ours %r, Portage's %r" % (where, field, ours, theirs))


def name_of(cpv):
    category, pf = cpv.split("/")
    parts = pf.split("-")
    if parts[-1][0] == "r" and parts[-1][1:].isdigit():
        parts.pop()
    return "%s/%s" % (category, "-".join(parts[:-1]))


def dump(program, root):
    done = subprocess.run([program, root], capture_output=True, text=True, env=dict(os.environ, RUST_BACKTRACE="1"))
    if done.returncode != 0:
        sys.exit("%s: %s" % (program, done.stderr))
    out = {"ebuild": {}, "record": {}, "world": [], "problem": [], "order": {}}
    for line in done.stdout.splitlines():
        item = json.loads(line)
        kind = item["kind"]
        if kind == "ebuild":
            out["ebuild"][(item["cpv"], item["repository"])] = item
            out["order"].setdefault(name_of(item["cpv"]), []).append((item["cpv"], item["repository"]))
        elif kind == "record":
            out["record"][item["cpv"]] = item
        elif kind == "system":
            out["system"] = item
        else:
            out[kind].append(item)
    return out


def main():
    args = arguments()
    root = os.path.abspath(args.root)
    ours = dump(args.dump, root)
    os.environ.update(PORTAGE_OVERRIDE_EPREFIX=root, PORTAGE_USERNAME="root", PORTAGE_GRPNAME="root")
    for name in list(os.environ):
        if name not in ("PATH", "HOME", "LC_ALL") and not name.startswith(("PORTAGE_", "PYTHON")):
            del os.environ[name]
    import portage
    portage._internal_caller = True
    from _emerge.Package import Package
    from _emerge.RootConfig import RootConfig
    from portage._sets import load_default_config
    from portage.package.ebuild.config import config
    from portage.package.ebuild.getmaskingreason import getmaskingreason
    from portage.package.ebuild.getmaskingstatus import _getmaskingstatus
    trees = portage.create_trees(eprefix=root)
    here = trees._target_eroot
    if args.update:
        update(here, trees)
        trees = portage.create_trees(eprefix=root)
    portdb, vardb = trees[here]["porttree"].dbapi, trees[here]["vartree"].dbapi
    settings = config(clone=trees[here]["vartree"].settings)
    setconfig = load_default_config(settings, trees[here])
    root_config = RootConfig(settings, trees[here], setconfig)
    differences = Differences(args.show)
    ebuilds = compare_ebuilds(portage, args, ours, portdb, settings, root_config, differences,
                              (Package, getmaskingreason, _getmaskingstatus, config))
    records = compare_records(ours, vardb, differences)
    compare_rest(ours, portdb, settings, setconfig, differences)
    for problem in ours["problem"][:args.show]:
        print("problem:", problem["text"])
    print("%d ebuilds (%d without a cache entry not compared), %d records, %d world atoms, %d problems: %d differences %s" % (
        ebuilds, differences.skipped, records, len(ours["world"]), len(ours["problem"]), differences.count, differences.by_field or ""))
    sys.exit(differences.count > 0)


def update(here, trees):
    """Has Portage apply the updates to records and world, the files in the order that PMS 4.4.4 demands and scandir does
    not give.  The configuration stays as ebaudit read it."""
    from portage import _global_updates
    unsorted = _global_updates.grab_updates

    def in_order(path, prev_mtimes=None):
        def key(item):
            quarter, _, year = os.path.basename(item[0]).partition("Q-")
            return (year, quarter)
        return sorted(unsorted(path, prev_mtimes=prev_mtimes), key=key)
    _global_updates.grab_updates = in_order
    _global_updates.update_config_files = lambda *args, **kwargs: None
    _global_updates._do_global_updates(here, trees, {}, quiet=True, if_mtime_changed=False)


def compare_ebuilds(portage, args, ours, portdb, settings, root_config, differences, modules):
    Package, getmaskingreason, getmaskingstatus, config = modules
    pkgsettings = config(clone=settings)
    keys = list(portdb._aux_cache_keys)
    count = 0
    for name in sorted(portdb.cp_all())[::args.sample]:
        theirs = []
        for tree in portdb.porttrees:
            repo = portdb.repositories.get_repo_for_location(tree)
            theirs += [(cpv, repo.name) for cpv in portdb.cp_list(name, mytree=tree)]
        expected = [(str(c), c.repo) for c in reversed(portdb.cp_list(name))]
        differences.same(name, "order", ours["order"].get(name, []), expected)
        for cpv, repo in theirs:
            where = "%s::%s" % (cpv, repo)
            mine = ours["ebuild"].get((str(cpv), repo))
            if mine is None:
                differences.same(where, "missing", None, where)
                continue
            if "metadata can't be had" in (mine["invalid"] or ""):
                # Portage would source it, which dump-system has nobody for
                differences.skipped += 1
                continue
            count += 1
            try:
                metadata = dict(zip(keys, portdb.aux_get(cpv, keys, myrepo=repo)))
            except portage.exception.PortageKeyError:
                metadata = None
            if metadata is None:
                differences.same(where, "metadata", mine["invalid"] is None, False)
                continue
            package = Package(built=False, cpv=cpv, installed=False, metadata=metadata, root_config=root_config,
                              type_name="ebuild")
            pkgsettings.setcpv(package)
            effective = set(package.iuse.all) | set(pkgsettings._iuse_effective)
            supported = portage.eapi_is_supported(metadata["EAPI"])
            differences.same(where, "invalid", bool(mine["invalid"]), bool(package.invalid) or not supported)
            if not supported:
                continue
            differences.same(where, "slot", (mine["slot"], mine["subslot"]), (package.slot, package.sub_slot))
            use = set(pkgsettings["PORTAGE_USE"].split())
            differences.same(where, "enabled", set(mine["enabled"]), use)
            if portage.eapi.eapi_has_iuse_effective(metadata["EAPI"]):
                differences.same(where, "forced", set(mine["forced"]), set(pkgsettings.useforce) & effective)
                differences.same(where, "masked", set(mine["masked"]), set(pkgsettings.usemask) & effective)
            compare_masks(differences, where, mine, package, settings, portdb, getmaskingreason, getmaskingstatus, metadata, use)
    if args.sample == 1:
        differences.same("all", "count", len(ours["ebuild"]), count + differences.skipped)
    return count


def compare_masks(differences, where, mine, package, settings, portdb, getmaskingreason, getmaskingstatus, metadata, use):
    obstacles = {item[0]: item[1:] for item in mine["obstacles"]}
    masks = package.masks or {}
    differences.same(where, "mask", "mask" in obstacles, "package.mask" in masks)
    if "mask" in obstacles and "package.mask" in masks:
        comment, path = getmaskingreason(package.cpv, metadata=metadata, settings=settings, portdb=portdb,
                                         return_location=True, myrepo=package.repo)
        by_user, origin, text = obstacles["mask"]
        # where several lines mask, the user's own is told of, and Portage may tell of another that says the same
        same_file = path is not None and os.path.realpath(origin.rpartition(":")[0]) == os.path.realpath(path)
        if says_same(origin, masks["package.mask"]):
            if same_file:
                words = " ".join(line.lstrip("#") for line in (comment or "").splitlines()).split()
                differences.same(where, "mask comment", text.split(), [w for w in words if w])
        elif not by_user:
            differences.same(where, "mask origin", origin, path)
    hints = {r.category: r.unmask_hint for r in getmaskingstatus(package, settings, portdb, myrepo=package.repo)}
    hint = None
    if "KEYWORDS" in masks:
        hint = hints["KEYWORDS"].value if hints.get("KEYWORDS") else "**"
    differences.same(where, "keyword", obstacles.get("keyword", [None])[0], hint)
    licenses = masks.get("LICENSE")
    differences.same(where, "license", set(obstacles.get("license", [[]])[0]), set(licenses or ()))
    for key in ("PROPERTIES", "RESTRICT"):
        differences.same(where, key, set(obstacles.get(key, [[]])[0]), set(masks.get(key) or ()))
    by_default = {f[1:] for f in metadata["IUSE"].split() if f[0] == "+"}
    differences.same(where, "by_default", set(mine["by_default"]) <= (by_default & use), True)


def says_same(origin, atom):
    path, _, number = origin.rpartition(":")
    with open(path, encoding="utf-8", errors="replace") as f:
        line = f.read().split("\n")[int(number) - 1]
    return line.split()[0].partition("::")[0] == str(atom).partition("::")[0]


def compare_records(ours, vardb, differences):
    fields = ("EAPI", "DEPEND", "BDEPEND", "RDEPEND", "PDEPEND", "IDEPEND", "LICENSE", "repository")
    count = 0
    theirs = {str(cpv) for cpv in vardb.cpv_all()}
    for cpv in sorted(theirs):
        item = ours["record"].get(cpv)
        if item is None:
            differences.same(cpv, "record missing", None, cpv)
            continue
        count += 1
        package = vardb._pkg_str(cpv, None)
        differences.same(cpv, "record slot", (item["slot"], item["subslot"]), (package.slot, package.sub_slot))
        for field, value in zip(fields, vardb.aux_get(cpv, fields)):
            differences.same(cpv, "record " + field, item[field], value)
        use, iuse, keywords, time, size = vardb.aux_get(cpv, ["USE", "IUSE", "KEYWORDS", "BUILD_TIME", "SIZE"])
        differences.same(cpv, "record USE", set(item["USE"]), set(use.split()))
        differences.same(cpv, "record IUSE", set(item["IUSE"]), {f.lstrip("+-") for f in iuse.split()})
        differences.same(cpv, "record KEYWORDS", item["KEYWORDS"], keywords.split())
        differences.same(cpv, "record BUILD_TIME", item["BUILD_TIME"], int(time) if time.isdigit() else None)
        differences.same(cpv, "record SIZE", item["SIZE"], int(size) if size.isdigit() else None)
    differences.same("all", "records", sorted(set(ours["record"]) - theirs), [])
    return count


def compare_rest(ours, portdb, settings, setconfig, differences):
    system = ours["system"]
    differences.same("all", "arch", system["arch"], settings.configdict["defaults"].get("ARCH", ""))
    differences.same("all", "accept_keywords", system["accept_keywords"], settings["ACCEPT_KEYWORDS"].split())
    provided = sorted(cpv for cpvs in settings.pprovideddict.values() for cpv in cpvs)
    differences.same("all", "provided", sorted(system["provided"]), provided)
    theirs = {name for name in portdb.cp_all()}
    differences.same("all", "names", sorted(theirs - set(system["names"])), [])
    sets = setconfig.getSets()
    for name in ("system", "profile"):
        mine = {w["atom"] for w in ours["world"] if w["origin"] == "@" + name}
        differences.same("all", name, mine, {str(a) for a in sets[name].getAtoms()} if name in sets else set())
    mine = {w["atom"] for w in ours["world"] if w["origin"].startswith(("var/lib/portage/world:", "var/lib/portage/world/"))}
    differences.same("all", "world", mine, {str(a) for a in sets["selected-packages"].getAtoms()})


if __name__ == "__main__":
    main()
