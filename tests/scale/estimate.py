#!/usr/bin/env python3
"""What an audit of a large repository would take, from the Manifests of a real one and from measured costs (docs/scale.md).

    estimate.py [--ebuilds N] [--machines M,…] [--cores C] [--set NAME=VALUE]… REPOSITORY…

REPOSITORY is a directory with ebuilds and Manifests, or a git directory (bare or not, its HEAD is read). Each is a *sample*: its figures
are scaled to N ebuilds (default 30,000; 0: not scaled). Which distfiles an ebuild has is guessed from their names: those that have its version
(letters and digits compared). Those with none of the package's versions are of all its ebuilds or of one: work is told for both, the lower
figure first. All distfiles of a Manifest count that may belong to an ebuild there, whatever USE or ARCH they are for, so traffic is an
upper bound. The interval in brackets is that of 90 % of 400 resamplings of the packages: how much chance there is in the sample, not
whether it is like the whole.

The costs are measured ones (measure.py and docs/scale.md); --set ebuild=0.1 and the like change one. Names: ebuild (seconds of a
processor for an ebuild without a distfile), gz, xz, bz2, zip, other (seconds per MB of distfile), kept (seconds for an ebuild whose result
is in the cache), result (bytes of a kept result), unpacked_gz … (bytes unpacked per byte), failing (share of the ebuilds that are run each
time, since their failure is not kept), changed (share of the ebuilds that a day's commits touch; assumed), busy (share of the time that
the cores are at work; assumed), mbit (of a machine's connection; assumed).
"""
import argparse
import collections
import pathlib
import random
import re
import subprocess
import sys

COSTS = {
    "ebuild": 0.07, "gz": 0.0385, "xz": 0.131, "bz2": 0.267, "zip": 0.062, "other": 0.0385,
    "unpacked_gz": 2.9, "unpacked_xz": 10.7, "unpacked_bz2": 7.3, "unpacked_zip": 4.3, "unpacked_other": 1.0,
    "kept": 0.0005, "result": 11700, "failing": 0.03, "changed": 0.01, "busy": 0.8, "mbit": 1000,
}
FORMATS = [(r"\.(tar\.gz|tgz|crate|gz|gem|whl)$", "gz"), (r"\.(tar\.(xz|lzma)|txz|xz|tar\.zst|zst)$", "xz"), (r"\.(tar\.bz2|tbz2|tbz|bz2)$", "bz2"),
           (r"\.(zip|jar|7z)$", "zip")]


def kind(name):
    return next((kind for pattern, kind in FORMATS if re.search(pattern, name)), "other")


def texts(repository):
    """(package, names of its ebuilds, text of its Manifest), of a directory or the HEAD of a git directory."""
    repository = pathlib.Path(repository)
    ebuilds, manifests = collections.defaultdict(list), {}
    if (repository / "profiles").is_dir():
        for path in repository.glob("*/*/*.ebuild"):
            ebuilds[f"{path.parts[-3]}/{path.parts[-2]}"].append(path.name)
        for path in repository.glob("*/*/Manifest"):
            manifests[f"{path.parts[-3]}/{path.parts[-2]}"] = path.read_text(errors="surrogateescape")
    else:
        git = ["git", "-C", str(repository)]
        listed = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True).stdout
        wanted = {}
        for line in listed.decode(errors="surrogateescape").split("\0"):
            found = re.fullmatch(r"\d+ blob (\w+)\t([^/]+/[^/]+)/([^/]+)", line)
            if found and found[3].endswith(".ebuild"):
                ebuilds[found[2]].append(found[3])
            elif found and found[3] == "Manifest":
                wanted[found[2]] = found[1]
        batch = subprocess.run([*git, "cat-file", "--batch"], input="\n".join(wanted.values()).encode() + b"\n", capture_output=True,
                               check=True).stdout
        at = 0
        for package in wanted:
            end = batch.index(b"\n", at)
            size = int(batch[at:end].split()[2])
            manifests[package] = batch[end + 1:end + 1 + size].decode(errors="surrogateescape")
            at = end + 2 + size
    return [(package, names, manifests.get(package, "")) for package, names in sorted(ebuilds.items())]


class Package:
    def __init__(self, package, names, manifest, costs):
        name = package.split("/")[1]
        versions = [re.sub(r"-r\d+$", "", n[len(name) + 1:-len(".ebuild")]) for n in names]
        words = [line.split() for line in manifest.splitlines()]
        self.dist = {w[1]: int(w[2]) for w in words if len(w) > 2 and w[0] == "DIST" and w[2].isdigit()}
        # live ebuilds are skipped
        self.ebuilds = [v for v in versions if not re.fullmatch(r"(.*[._])?9{4,}.*", v)]
        # seconds if what has no version in its name is of one ebuild, and if it is of all
        self.seconds = self.most = costs["ebuild"] * len(self.ebuilds)
        self.largest = 0
        seen = set()
        plain = {v: re.sub(r"[^0-9a-z]", "", v.lower()) for v in set(versions)}
        unpacked = collections.Counter()
        for dist, size in self.dist.items():
            text = re.sub(r"[^0-9a-z]", "", dist.lower())
            named = max((v for v in plain if plain[v] in text), key=len, default=None)
            seconds = size / 1e6 * costs[kind(dist)]
            users = len(self.ebuilds) if named is None else self.ebuilds.count(named)
            if users:
                seen.add(dist)
                self.most += seconds * users
                self.seconds += seconds * (1 if named is None else users)
                if named is not None:
                    unpacked[named] += size * costs["unpacked_" + kind(dist)]
        self.largest = max(unpacked.values(), default=0)
        # a Manifest may have lines of ebuilds that are gone, or of live ones: nobody fetches them
        self.dist = {d: s for d, s in self.dist.items() if d in seen}


def sums(packages, costs):
    """Of a list of packages: ebuilds, least seconds, bytes of distfiles, bytes of them unpacked, most seconds."""
    out = [0, 0.0, 0, 0.0, 0.0]
    for p in packages:
        out[0] += len(p.ebuilds)
        out[1] += p.seconds
        out[2] += sum(p.dist.values())
        out[3] += sum(size * costs["unpacked_" + kind(dist)] for dist, size in p.dist.items())
        out[4] += p.most
    return out


def interval(packages, costs, n):
    """For 5 % and 95 % of the resamplings: seconds, bytes, bytes unpacked, scaled to n ebuilds."""
    rng = random.Random(1)
    each = [sums([p], costs) for p in packages]
    found = []
    for _ in range(400):
        total = [sum(column) for column in zip(*rng.choices(each, k=len(each)))]
        found.append([value * n / max(total[0], 1) for value in total[1:]])
    columns = [sorted(column) for column in zip(*found)]
    return [(c[len(c) // 20], c[-len(c) // 20]) for c in columns]


def hours(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.0f} min"


def tera(size):
    return f"{size / 1e12:.2f} TB" if size >= 1e12 else f"{size / 1e9:.0f} GB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ebuilds", type=int, default=30000)
    parser.add_argument("--machines", default="1,4,16")
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("repositories", nargs="+")
    args = parser.parse_args()
    costs = dict(COSTS)
    for word in args.set:
        name, _, value = word.partition("=")
        if name not in costs:
            parser.error(f"--set {word}: there is no cost {name}")
        costs[name] = float(value)
    for repository in args.repositories:
        packages = [Package(*text, costs) for text in texts(repository)]
        packages = [p for p in packages if p.ebuilds]
        ebuilds, seconds, size, unpacked, most = sums(packages, costs)
        if not ebuilds:
            sys.exit(f"{repository}: no ebuild that is not live")
        n = args.ebuilds or ebuilds
        scale = n / ebuilds
        low = interval(packages, costs, n)
        print(f"{pathlib.Path(repository).resolve().name}: {ebuilds} ebuilds (without live ones) of {len(packages)} packages, "
              f"{sum(len(p.dist) for p in packages)} distfiles, {tera(size)}, {size / ebuilds / 1e6:.1f} MB an ebuild")
        by = collections.Counter()
        for p in packages:
            for dist, length in p.dist.items():
                by[kind(dist)] += length
        print("  by format: " + ", ".join(f"{k} {100 * v / max(size, 1):.0f} %" for k, v in by.most_common()))
        print(f"  scaled to {n} ebuilds{'' if scale != 1 else ' (itself)'}:")
        seconds, size, unpacked, most = seconds * scale, size * scale, unpacked * scale, most * scale
        print(f"    cold: {seconds / 3600:.0f} ({low[0][0] / 3600:.0f} to {low[0][1] / 3600:.0f}) or {most / 3600:.0f} ({low[3][0] / 3600:.0f} to {low[3][1] / 3600:.0f}) hours of a core, "
              f"traffic and distfiles {tera(size)} ({tera(low[1][0])} to {tera(low[1][1])})")
        # what fails is run again each day, what commits touch as well
        again = costs["failing"] + costs["changed"]
        kept = n * (1 - again) * costs["kept"]
        daily = seconds * again + kept
        print(f"    daily: {daily / 3600:.1f} or {(most * again + kept) / 3600:.1f} hours of a core, {n * costs['kept'] / 60:.1f} min of them for what is kept; new distfiles at most "
              f"{tera(size * costs['changed'])}")
        print(f"    disk: results {n * costs['result'] / 1e9:.2f} GB; all sources unpacked would be {tera(unpacked)} ({tera(low[2][0])} to "
              f"{tera(low[2][1])}); the largest ebuild {max(p.largest for p in packages) / 1e9:.1f} GB")
        for machines in map(int, args.machines.split(",")):
            cores = machines * args.cores * costs["busy"]
            work, fetch = seconds / cores, size * 8 / (machines * costs["mbit"] * 1e6)
            print(f"    {machines:3} machines of {args.cores} cores: cold {hours(work)} or {hours(most / cores)} of work and {hours(fetch)} of fetching, "
                  f"{tera(size / machines)} of distfiles each; daily {hours(daily / cores)} or {hours((most * again + kept) / cores)}")


if __name__ == "__main__":
    main()
