#!/usr/bin/env python3
"""compare_atoms.py --dump DUMP-SYSTEM REPOSITORY… [--versions N] -- holds the order of versions and the matching of dependency
atoms against real Portage's vercmp and match_from_list.

Taken are all versions and all atoms of the repositories' metadata/md5-cache: each two versions (at most N of them, picked evenly),
each atom without USE against all versions of its package.  To be run by the Python of an environment that has Portage.
"""
import argparse
import os
import re
import subprocess
import sys

from portage.dep import Atom, match_from_list
from portage.exception import InvalidAtom
from portage.versions import _pkg_str, vercmp


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--dump", required=True)
    parser.add_argument("--versions", type=int, default=1000)
    args = parser.parse_args()
    packages, atoms = {}, set()
    for location in args.repositories:
        base = os.path.join(location, "metadata/md5-cache")
        for category in os.listdir(base):
            if not os.path.isdir(os.path.join(base, category)):
                continue
            for pf in os.listdir(os.path.join(base, category)):
                with open(os.path.join(base, category, pf), encoding="utf-8") as f:
                    entry = dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line)
                cpv = _pkg_str("%s/%s" % (category, pf), slot=entry.get("SLOT", "0"), repo="r", eapi="8")
                packages.setdefault(cpv.cp, []).append(cpv)
                for key in ("DEPEND", "RDEPEND", "BDEPEND", "PDEPEND", "IDEPEND"):
                    atoms.update(re.sub(r"\[.*", "", word).lstrip("!") for word in entry.get(key, "").split() if "/" in word)
    questions, answers = [], []
    versions = sorted({cpv.version for found in packages.values() for cpv in found})
    versions = versions[::max(1, len(versions) // args.versions)]
    for a in versions:
        for b in versions:
            result = vercmp(a, b)
            questions.append("vercmp %s %s" % (a, b))
            answers.append(str((result > 0) - (result < 0)))
    pairs = len(questions)
    for text in sorted(atoms):
        try:
            atom = Atom(text, allow_repo=True)
        except InvalidAtom:
            continue
        for cpv in packages.get(atom.cp, ()):
            questions.append("match %s %s %s %s r" % (text, cpv, cpv.slot, cpv.sub_slot))
            answers.append("1" if match_from_list(atom, [cpv]) else "0")
    done = subprocess.run([args.dump, "--atoms"], input="".join(q + "\n" for q in questions), capture_output=True, text=True, check=True)
    wrong = [(q, o, t) for q, o, t in zip(questions, done.stdout.split(), answers) if o != t]
    for question, ours, theirs in wrong[:20]:
        print("%s: ours %s, Portage's %s" % (question, ours, theirs))
    print("%d pairs of %d versions, %d matches of %d atoms: %d differences" % (
        pairs, len(versions), len(questions) - pairs, len(atoms), len(wrong)))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
