#!/usr/bin/env python3
"""Compares what `ebaudit audit` says prepare did with what real Portage's `ebuild … unpack` and `prepare` left behind.

    compare_trees.py --bin EBAUDIT --trees DIR --known FILE [--known FILE] --root DIR [--path-dependent FILE]
                     [--eprefix PREFIX] [--filter S] [--jobs N] [--timeout SECONDS] [--show N] [--args "…"] [--json FILE] [--failed]
    compare_trees.py --selftest

--trees holds a file REPOSITORY::CATEGORY+PF.json an ebuild, made by real Portage:
    {"unpacked": {PATH: MD5 | "-> TARGET"}, "prepared": {…} or null, "error": null or text}, paths relative to WORKDIR.
--known holds a JSON object a line: repository, cpv, path (of the ebuild in its repository), env (USE and its like).
--root holds repos/NAME and distfiles/.
--path-dependent names the files whose contents depend on where WORKDIR lies: {EBUILD: {"unpacked": [PATH], "prepared": [PATH]}};
their names are compared, their contents are not.

An ebuild is equal when both unpack the same number of regular files, and the regular files that prepare changed, added and removed
are the same with the same md5 before and after. A Portage that lies in a virtual environment takes that for its EPREFIX, ebaudit
has none: with --eprefix an ebuild that differs is audited once more as a copy that sets the prefix, and told as equal "with the
prefix" if that makes it so. Trees on which Portage itself failed are left out unless --failed is given.
Exit status: 0 all equal, 1 some differ, 2 wrong usage.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def regular(value):
    """The md5 of a regular file; none for what is absent, a link or special."""
    return value if value and not value.startswith("-> ") and value != "special" else None


def portage_changes(tree):
    """{path: (md5 before, md5 after)} of the regular files that differ, none where there is no regular file."""
    before, after = tree["unpacked"] or {}, tree["prepared"] or {}
    pairs = {p: (regular(before.get(p)), regular(after.get(p))) for p in before.keys() | after.keys()}
    return {p: pair for p, pair in pairs.items() if pair[0] != pair[1]}


def plain(path):
    """A path of the report as the trees write it: there a backslash is not doubled."""
    return path.replace("\\\\", "\\")


def compare(tree, free, report):
    """Lines that say what differs; empty where all is equal."""
    if report.get("status") != "audited":
        return [f"not audited: {report.get('status')}: {report.get('reason')}"]
    said = []
    files = sum(regular(v) is not None for v in (tree["unpacked"] or {}).values())
    if report["tree"]["files"] != files:
        said.append(f"unpacked files: Portage {files}, ebaudit {report['tree']['files']}")
    want = portage_changes(tree)
    got = {plain(c["path"]): (c["before"], c["after"]) for c in report["changed"] if c["before"] or c["after"]}
    for path in sorted(want.keys() | got.keys()):
        w, g = want.get(path), got.get(path)
        if w is None:
            said.append(f"{path}: changed by ebaudit only ({word(g)})")
        elif g is None:
            said.append(f"{path}: changed by Portage only ({word(w)})")
        else:
            for i, when in enumerate(("unpacked", "prepared")):
                same = (w[i] is None) == (g[i] is None) if path in free.get(when, []) else w[i] == g[i]
                if not same:
                    said.append(f"{path}: {when} differently: Portage {w[i]}, ebaudit {g[i]}")
    return said


def word(pair):
    return "added" if pair[0] is None else "removed" if pair[1] is None else "modified"


def prefixed(repository, row, prefix, top):
    """A copy of the repository, by links but for this package, whose ebuild sets the prefix as Portage does; its path."""
    category = pathlib.Path(row["path"]).parts[0]
    for item in repository.iterdir():
        if item.name != category:
            (top / item.name).symlink_to(item)
    ebuild = top / row["path"]
    shutil.copytree((repository / row["path"]).parent, ebuild.parent, symlinks=True)
    lines = ebuild.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith("EAPI="))
    words = "".join(f"{name}={shlex.quote(prefix)}\n" for name in ("EPREFIX", "EROOT", "ESYSROOT", "BROOT"))
    ebuild.write_text("".join([*lines[:at + 1], words, *lines[at + 1:]]))
    return top


def audit(row, o, prefix=None):
    """The report of one ebuild, or an object with a status that says why there is none; and the seconds."""
    root = o.root.resolve()
    repos = {p.name: p for p in sorted((root / "repos").iterdir()) if p.is_dir() and not p.name.endswith(".part")}
    if prefix:
        with tempfile.TemporaryDirectory() as top:
            repos[row["repository"]] = prefixed(repos[row["repository"]], row, prefix, pathlib.Path(top))
            return start(row, o, root, repos)
    return start(row, o, root, repos)


def start(row, o, root, repos):
    cmd = [str(o.bin), "audit", str(repos[row["repository"]] / row["path"]), "--distdir", str(root / "distfiles")]
    for n, p in repos.items():
        cmd += ["--repository", f"{n}={p}"]
    cmd += ["--offline", "--format", "json", *shlex.split(o.args)]
    env = dict(os.environ, **{k: v for k, v in (row.get("env") or {}).items() if v})
    t0 = time.monotonic()
    p = subprocess.Popen(cmd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        out, err = p.communicate(timeout=o.timeout)
        how = f"exit status {p.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        how = f"no end within {o.timeout} s"
    seconds = time.monotonic() - t0
    try:
        return next(e for e in json.loads(out)["ebuilds"] if e["cpv"] == row["cpv"]), seconds
    except (ValueError, KeyError, TypeError, StopIteration):
        tail = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
        return {"status": "no-report", "reason": f"{how}: {tail[0][:200]}"}, seconds


def selftest():
    m = lambda c: c * 32
    tree = {"unpacked": {"a": m("1"), "l": "-> a", "gone": m("2"), "same": m("3")}, "prepared": {"a": m("4"), "l": "-> b", "new": m("5"), "same": m("3")}, "error": None}
    change = lambda p, b, a: {"path": p, "before": b, "after": a}
    good = {"status": "audited", "tree": {"files": 3},
            "changed": [change("a", m("1"), m("4")), change("gone", m("2"), None), change("new", None, m("5")), change("l", None, None)]}
    bad = lambda **k: {**good, **k}
    cases = [
        ("equal", {}, good, 0),
        ("number of files", {}, bad(tree={"files": 4}), 1),
        ("missing change", {}, bad(changed=good["changed"][1:]), 1),
        ("surplus change", {}, bad(changed=[*good["changed"], change("same", m("3"), m("6"))]), 1),
        ("other contents", {}, bad(changed=[change("a", m("1"), m("7")), *good["changed"][1:]]), 1),
        ("other contents by the path", {"prepared": ["a"]}, bad(changed=[change("a", m("1"), m("7")), *good["changed"][1:]]), 0),
        ("other contents before", {"prepared": ["a"]}, bad(changed=[change("a", m("8"), m("7")), *good["changed"][1:]]), 1),
        ("removed instead of changed", {"prepared": ["a"]}, bad(changed=[change("a", m("1"), None), *good["changed"][1:]]), 1),
        ("not audited", {}, {"status": "prepare-failed", "reason": "x"}, 1),
    ]
    for name, free, report, n in cases:
        said = compare(tree, free, report)
        if len(said) != n:
            raise SystemExit(f"selftest: {name}: {said}")
    print(f"selftest: {len(cases)} passed, 0 failed")
    return 0


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", type=pathlib.Path)
    a.add_argument("--trees", type=pathlib.Path, metavar="DIR")
    a.add_argument("--known", action="append", metavar="FILE")
    a.add_argument("--root", type=pathlib.Path, metavar="DIR")
    a.add_argument("--path-dependent", type=pathlib.Path, metavar="FILE")
    a.add_argument("--eprefix", default="", metavar="PREFIX", help="the EPREFIX of the Portage that made the trees")
    a.add_argument("--filter", default="", metavar="S", help="only ebuilds whose REPOSITORY::CATEGORY/PF contains S")
    a.add_argument("--jobs", type=int, default=1)
    a.add_argument("--timeout", type=float, default=300, metavar="SECONDS", help="bound for one ebuild")
    a.add_argument("--show", type=int, default=20, metavar="N", help="differences shown of one ebuild")
    a.add_argument("--args", default="", help="further words for ebaudit")
    a.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write one line an ebuild")
    a.add_argument("--failed", action="store_true", help="also the trees on which Portage itself failed")
    a.add_argument("--selftest", action="store_true")
    o = a.parse_args()
    if o.selftest:
        return selftest()
    if not (o.bin and o.trees and o.known and o.root):
        a.error("--bin, --trees, --known and --root are needed")
    try:
        o.bin = o.bin.resolve(strict=True)
        free = json.loads(o.path_dependent.read_text()) if o.path_dependent else {}
        rows = [json.loads(line) for f in o.known for line in open(f, encoding="utf-8")]
        rows = {f"{r['repository']}::{r['cpv']}".replace("/", "+"): r for r in rows}
        names = sorted(f.name.removesuffix(".json") for f in o.trees.glob("*.json"))
    except OSError as e:
        a.error(str(e))
    unknown = [n for n in names if n not in rows]
    names = [n for n in names if n in rows and o.filter in n.replace("+", "/", 1)]

    def one(name):
        tree = json.loads((o.trees / f"{name}.json").read_text())
        if tree["error"] and not o.failed:
            return name, None, 0.0, {}
        report, seconds = audit(rows[name], o)
        said = compare(tree, free.get(name, {}), report)
        if said and o.eprefix:
            again, _ = audit(rows[name], o, o.eprefix)
            rest = compare(tree, free.get(name, {}), again)
            return name, rest, seconds, report | {"prefix": len(said) if not rest else 0}
        return name, said, seconds, report

    facts, count = [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(max(1, o.jobs)) as pool:
        for name, said, seconds, report in pool.map(one, names):
            if said is None:
                count["left out"] += 1
                continue
            how = "differ" if said else "prefix" if report.get("prefix") else "equal"
            count[how] += 1
            facts.append({"ebuild": name, "result": how, "seconds": round(seconds, 2), "files": (report.get("tree") or {}).get("files"),
                          "changed": len(report.get("changed") or []), "differences": said})
            if how == "prefix":
                print(f"{name}: {report['prefix']} differences, none with the prefix", flush=True)
            if said:
                print(f"{name}: {len(said)} differences", *said[:o.show], sep="\n    ", flush=True)
    of = count["equal"] + count["prefix"] + count["differ"]
    print(f"{count['equal']} of {of} equal, {count['prefix']} more with the prefix, {count['differ']} differ; Portage itself failed on {count['left out']}" + (f"; not in --known: {', '.join(unknown)}" if unknown else ""))
    if o.json:
        o.json.write_text("".join(json.dumps(f) + "\n" for f in facts))
    return 1 if count["differ"] else 0


if __name__ == "__main__":
    sys.exit(main())
