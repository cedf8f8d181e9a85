#!/usr/bin/env python3
"""Measures what an ebuild costs, for the estimate of docs/scale.md.

    measure.py [--bin EBAUDIT] [--made] [--real REPO DISTDIR CPV…]… > costs.jsonl

Each ebuild is a run of its own (--jobs 1, no result cache); a line of the output says what it was and what the run took: seconds of the
processors (the program's and those of all that it waited for), bytes of distfiles, bytes and files of the unpacked tree. With --made the
ebuilds and archives are made here: without a distfile, and with trees of 1 and 20 MB as .tar.gz, .tar.xz and .tar.bz2.
At the end, on standard error: seconds = ebuild + a·MB of distfiles + b·MB unpacked + c·1,000 files, by least squares.

Processor seconds, not those of the clock; but other work that shares the processors shows in them, too: the same measurement on a disk
under a heavier load came to three times as much. Measure on tmpfs (TMPDIR) and on a machine that has nothing else to do.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent.parent
WORDS = ("include return static const struct install prefix libdir if else endif set target option find package error value index "
         "buffer size length name type void char int unsigned double check test build source header module version").split()


def run(words, env=None):
    """Exit status, seconds of the processors, seconds of the clock."""
    began = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, used.ru_utime + used.ru_stime, time.monotonic() - began


def dist(directory):
    """DIST lines of a Manifest: name to size."""
    try:
        lines = (directory / "Manifest").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return {}
    return {w[1]: int(w[2]) for w in (line.split() for line in lines) if len(w) > 2 and w[0] == "DIST" and w[2].isdigit()}


def one(program, repository, target, distdir, scratch, extra=()):
    report = scratch / "report.json"
    report.unlink(missing_ok=True)
    words = [program, "audit", str(target), "--offline", "--no-cache", "--jobs", "1", "--format", "json", "-o", str(report),
             "--cache-dir", str(scratch / "cache"), "--work-dir", str(scratch / "work"), "--distdir", str(distdir), "-q", *extra]
    (scratch / "work").mkdir(exist_ok=True)
    status, cpu, clock = run(words)
    if not report.exists():
        return {"cpv": str(target), "status": f"no report, {status}"}
    ebuild = json.loads(report.read_text())["ebuilds"][0]
    folder = repository / pathlib.Path(ebuild["path"]).parent
    version = ebuild["cpv"].rsplit("/", 1)[1][len(folder.name) + 1:]
    plain = version.split("-r")[0]
    sizes = {n: s for n, s in dist(folder).items() if (distdir / n).exists() and (plain in n or len(list(folder.glob("*.ebuild"))) == 1)}
    return {"cpv": ebuild["cpv"], "status": ebuild["status"], "cpu": round(cpu, 4), "clock": round(clock, 4),
            "dist": sum(sizes.values()), "names": sorted(sizes), "bytes": ebuild["tree"]["bytes"], "files": ebuild["tree"]["files"],
            "edits": len(ebuild["edits"]), "report": len(json.dumps(ebuild, separators=(",", ":")))}


def text(rng, size):
    out = []
    have = 0
    while have < size:
        line = " ".join(rng.choices(WORDS, k=rng.randint(2, 11))) + f" {rng.randrange(10 ** 6)}\n"
        out.append(line)
        have += len(line)
    return "".join(out)


def made(program, scratch):
    """Self-made ebuilds."""
    repository, distdir = scratch / "made", scratch / "distfiles"
    distdir.mkdir()
    for name, content in [("profiles/repo_name", "made\n"), ("profiles/categories", "app-misc\n"), ("metadata/layout.conf", "masters =\n")]:
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(content)
    rng = random.Random(1)
    pool = text(rng, 32 << 20)

    def ebuild(name, archive, folder):
        directory = repository / "app-misc" / name
        directory.mkdir(parents=True)
        uri = f'SRC_URI="https://example.org/{archive.name}"\n' if archive else ""
        edit = 'sed -i -e "s/include/INCLUDE/" 0/0.c || die' if archive else 'echo a > b || die; sed -i -e s/a/b/ b || die'
        (directory / f"{name}-1.ebuild").write_text(
            f'EAPI=8\nDESCRIPTION=x\nHOMEPAGE=https://example.org/\n{uri}LICENSE=MIT\nSLOT=0\nKEYWORDS="~amd64"\nS="${{WORKDIR}}{folder}"\n'
            f"src_prepare() {{\n\tdefault\n\t{edit}\n}}\n")
        if archive:
            data = archive.read_bytes()
            (directory / "Manifest").write_text(
                f"DIST {archive.name} {len(data)} BLAKE2B {hashlib.blake2b(data).hexdigest()} SHA512 {hashlib.sha512(data).hexdigest()}\n")
        return directory / f"{name}-1.ebuild"

    found = [ebuild(f"none{n}", None, "") for n in range(5)]
    for size in (1, 20):
        tree = scratch / "tree" / f"t{size}"
        count = 0
        have = 0
        while have < size << 20:
            length = min(int(rng.lognormvariate(8.3, 1.2)), 1 << 20)
            at = rng.randrange(len(pool) - length)
            path = tree / str(count // 50) / f"{count % 50}.c"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pool[at:at + length])
            have += length
            count += 1
        for suffix, tool in (("gz", "gzip"), ("xz", "xz"), ("bz2", "bzip2")):
            archive = distdir / f"made{size}{suffix}-1.tar.{suffix}"
            subprocess.run(["tar", "-C", str(tree.parent), f"--use-compress-program={tool}", "-cf", str(archive), tree.name], check=True)
            found.append(ebuild(f"made{size}{suffix}", archive, f"/{tree.name}"))
        shutil.rmtree(tree)
    for path in found:
        yield {"kind": "made", **one(program, repository, path, distdir, scratch)}


def fit(rows):
    """Least squares of cpu over (1, MB of distfiles, MB unpacked, thousand files), weights 1/cpu, no library needed."""
    vectors = [([1.0, r["dist"] / 1e6, r["bytes"] / 1e6, r["files"] / 1e3], r["cpu"]) for r in rows]
    n = 4
    a = [[sum(x[i] * x[j] / y for x, y in vectors) for j in range(n)] + [sum(x[i] for x, y in vectors)] for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(a[k][i]))
        a[i], a[pivot] = a[pivot], a[i]
        if abs(a[i][i]) < 1e-12:
            return None
        for k in range(n):
            if k != i:
                factor = a[k][i] / a[i][i]
                a[k] = [p - factor * q for p, q in zip(a[k], a[i])]
    return [a[i][n] / a[i][i] for i in range(n)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("EBAUDIT", str(HERE / "target/release/ebaudit")))
    parser.add_argument("--made", action="store_true")
    parser.add_argument("--real", nargs="+", action="append", default=[], metavar="WORD")
    parser.add_argument("--option", action="append", default=[], help="handed on to ebaudit audit")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="measure-") as folder:
        scratch = pathlib.Path(folder)

        def note(row):
            rows.append(row)
            print(json.dumps(row), flush=True)

        if args.made:
            for row in made(args.bin, scratch):
                note(row)
        for repository, distdir, *cpvs in args.real:
            repository, distdir = pathlib.Path(repository), pathlib.Path(distdir)
            for cpv in cpvs:
                category, pf = cpv.split("/")
                found = list((repository / category).glob(f"*/{pf}.ebuild"))
                if found:
                    note({"kind": "real", "repository": repository.name, **one(args.bin, repository, found[0], distdir, scratch, args.option)})
    good = [r for r in rows if r["status"] == "audited"]
    print(f"{len(good)} of {len(rows)} audited, {sum(r['cpu'] for r in good):.1f} s of the processors", file=sys.stderr)
    if len(good) > 5 and (costs := fit(good)):
        print("seconds = {:.3f} + {:.4f} · MB of distfiles + {:.4f} · MB unpacked + {:.4f} · 1,000 files".format(*costs), file=sys.stderr)


if __name__ == "__main__":
    main()
