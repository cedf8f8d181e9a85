#!/usr/bin/env python3
"""random_system.py SEED ROOT PORTAGE-CONFIG [--repos DIR…] -- lays out a machine with configuration of all shapes, for compare_system.py.

Without --repos its repositories, ebuilds and profiles are made up too.  With --repos, directories of real repositories,
the main one first and with a profile default/linux/amd64/23.0, only etc/portage and the records are.  PORTAGE-CONFIG is
Portage's share/portage/config.
"""
import argparse
import hashlib
import os
import random
import shutil

LICENSES = ["MIT", "GPL-2", "GPL-3+", "BSD", "evil-EULA", "odd", "Apache-2.0"]
GROUPS = ["FREE", "GPL", "EULA", "LOOP", "NONE"]
EXPAND = {"LLVM_SLOT": ["20", "21", "22"], "PYTHON_TARGETS": ["python3_12", "python3_13"], "VIDEO_CARDS": ["amdgpu", "intel"]}
FLAGS = ["ssl", "doc", "test", "X", "static-libs", "debug", "nls", "abi", "build", "a@b"]
ARCHES = ["amd64", "x86", "arm64"]
KEYWORDS = ["amd64", "~amd64", "-amd64", "x86", "~x86", "-*", "~arm64", "arm64", "*", "~*"]
ACCEPT = ["~amd64", "amd64", "-~amd64", "**", "*", "~*", "-*", "x86", "~x86", "-amd64", "~arm64"]
EAPIS = ["8"] * 8 + ["7", "7", "6", "5", "4", "3", "2", "0", "9"]
SUFFIX = ["", "", "", "-r1", "-r3", "_p1", "_rc2", "a", "_pre", "_alpha1-r2", ".0", ".05"]


class Machine:
    def __init__(self, seed, root, portage_config, repos):
        self.r = random.Random(seed)
        self.root, self.portage_config, self.real = root, portage_config, repos
        self.flags = FLAGS + ["%s_%s" % (k.lower(), v) for k, values in EXPAND.items() for v in values]
        self.packages = {}

    def write(self, path, text, mode="w"):
        path = path if os.path.isabs(path) else os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, encoding="utf-8") as f:
            f.write(text)

    def lines(self, path, items):
        """A file, or a directory of files with things in it that are to be passed over."""
        items = list(items)
        if not items and self.r.random() < 0.7:
            return
        noise = ["# remark", "", "   ", "  # indented"]
        items = [x for i in items for x in ([self.r.choice(noise), i] if self.r.random() < 0.3 else [i])]
        items = [i + " # tail" if self.r.random() < 0.1 and i and i[0] != "#" and "mask" not in path else i for i in items]
        if self.r.random() < 0.35 and not path.endswith(("world", "parent", "packages", "eapi", "categories", "arch.list", "license_groups")):
            for item in items:
                self.write("%s/%s" % (path, self.r.choice(["10-a", "20/b", "zz", "Big"])), item + "\n", "a")
            self.write(path + "/.hidden", "*/* hidden\n")
            self.write(path + "/old~", "*/* old\n")
            self.write(path + "/CVS/x", "*/* cvs\n")
        else:
            self.write(path, "".join(i + "\n" for i in items))

    def some(self, items, low, high):
        return [self.r.choice(items) for _ in range(self.r.randint(low, high))]

    # -- atoms

    def atom(self, wild=True, repo=True, slot=True, odd=True):
        r = self.r
        name = r.choice(sorted(self.packages))
        version = r.choice(self.packages[name])[0]
        category, package = name.split("/")
        kind = r.random()
        if wild and kind < 0.2:
            shapes = ["*/" + package, category + "/*", "*/*", category[:1] + "*/" + package, "*/%s*" % package[:2],
                      "=%s/%s-*%s*" % (category, package, version[:1]), "=*/*-*9999*", "=*/%s-*%s*" % (package, version[-1:])]
            atom = r.choice(shapes)
        elif kind < 0.5:
            atom = name
        else:
            operator = r.choice(["=", ">=", "<=", "<", ">", "~", "=*"])
            if operator == "=*":
                cut = version[:r.randint(1, len(version))].rstrip("._-")
                atom = "=%s-%s*" % (name, cut if cut and cut[0].isdigit() else version)
            elif operator == "~":
                atom = "~%s-%s" % (name, version.split("-r")[0])
            else:
                atom = "%s%s-%s" % (operator, name, version)
        if slot and r.random() < 0.2:
            atom += ":" + r.choice(["0", "1", "2", "0/1", "0/2", "=", "0="])
        if repo and r.random() < 0.15:
            atom += "::" + r.choice(self.repo_names)
        if odd and r.random() < 0.03:
            atom = r.choice(["odd", "a/b/c", name + "-1", ">=" + name, "=" + name + "-1-1", name + ":", "=a/**"])
        return atom

    def use_words(self, expand=False, user=False):
        out = []
        for _ in range(self.r.randint(1, 4)):
            kind = self.r.random()
            if expand and kind < 0.25:
                variable = self.r.choice(sorted(EXPAND))
                out.append(self.r.choice([variable, variable.lower()]) + ":")
                out += [w for v in self.some(EXPAND[variable], 1, 2) for w in ([self.r.choice(["", "-"]) + v])]
                if self.r.random() < 0.5:
                    out.insert(len(out) - 1, "-*")
                continue
            flag = self.r.choice(self.flags)
            if user and kind > 0.95:
                flag = self.r.choice(["*", "llvm_slot_*", "python_targets_*", "video_cards_*"])
                out.append("-" + flag if flag == "*" or self.r.random() < 0.5 else flag)
                continue
            out.append(("-" if self.r.random() < 0.4 else "") + flag)
        return out

    # -- repositories

    def repositories(self):
        if self.real:
            self.repo_names, self.locations = [], {}
            for location in self.real:
                with open(location + "/profiles/repo_name", encoding="utf-8") as f:
                    name = f.read().strip()
                self.repo_names.append(name)
                self.locations[name] = location
                for category in os.listdir(location):
                    directory = os.path.join(location, category)
                    if "-" not in category and category != "virtual" or not os.path.isdir(directory):
                        continue
                    for package in os.listdir(directory):
                        if not os.path.isdir(os.path.join(directory, package)):
                            continue
                        for ebuild in os.listdir(os.path.join(directory, package)):
                            if ebuild.endswith(".ebuild") and ebuild.startswith(package + "-"):
                                key = "%s/%s" % (category, package)
                                self.packages.setdefault(key, []).append((ebuild[len(package) + 1:-7], name))
        else:
            self.repo_names = ["main", "over", "third"][:self.r.randint(1, 3)]
            self.locations = {n: "%s/var/db/repos/%s" % (self.root, n) for n in self.repo_names}
            names = ["%s/%s" % (c, p) for c in ("app-a", "app-b", "dev") for p in ("foo", "bar", "foo-bar", "lib+x")]
            for name in names:
                for repo in self.repo_names:
                    if self.r.random() < 0.7:
                        for version in sorted({"%d%s%s" % (self.r.randint(0, 11), self.r.choice(["", ".1", ".02"]), self.r.choice(SUFFIX))
                                        for _ in range(self.r.randint(1, 4))} | ({"9999"} if self.r.random() < 0.2 else set())):
                            self.packages.setdefault(name, []).append((version, repo))
            for repo in self.repo_names:
                self.repository(repo)
        conf = ["[DEFAULT]", "main-repo = " + self.repo_names[0]]
        for name in self.repo_names:
            conf += ["[%s]" % name, "location = " + self.locations[name]]
            if self.r.random() < 0.6:
                conf.append("priority = %d" % self.r.choice([-5, 0, 10, 50]))
        self.write("etc/portage/repos.conf", "\n".join(conf) + "\n")

    def repository(self, name):
        r, where = self.r, self.locations[name]
        main = self.repo_names[0]
        self.write(where + "/profiles/repo_name", name + "\n")
        masters = [] if name == main else r.choice([[main], [main], [], [n for n in self.repo_names if n < name or n == main]])
        masters = [m for m in masters if m != name]
        layout = ["masters = " + " ".join(masters), "cache-formats = md5-dict", "thin-manifests = true"]
        if r.random() < 0.5:
            layout.append("profile-formats = " + r.choice(["portage-2", "portage-1", "portage-2 profile-set",
                                                           "portage-2 profile-repo-deps", "portage-2 profile-license"]))
        self.write(where + "/metadata/layout.conf", "\n".join(layout) + "\n")
        self.write(where + "/eclass/.keep", "")
        if r.random() < 0.7 or name == main:
            self.write(where + "/profiles/eapi", r.choice(["8", "7", "5", "9", "6"]) + "\n")
        self.write(where + "/profiles/categories", "app-a\napp-b\n" + ("dev\n" if name == main else ""))
        if name == main:
            self.write(where + "/profiles/arch.list", "".join(a + "\n" for a in ARCHES))
        self.write(where + "/profiles/license_groups",
                   "FREE @GPL MIT BSD\nGPL GPL-2 GPL-3+\nEULA evil-EULA\nLOOP @LOOP MIT\nNONE\n" if name == main else "EULA odd\n")
        self.flag_files(where + "/profiles", masks=True)
        if r.random() < 0.3:
            self.write(where + "/profiles/make.defaults", self.variables(["USE", "LLVM_SLOT", "PYTHON_TARGETS"]))
        for package, versions in self.packages.items():
            for version, repo in versions:
                if repo == name:
                    self.ebuild(where, package, version)

    def ebuild(self, where, name, version):
        r = self.r
        flags = sorted(set(self.some(self.flags, 0, 9)))
        iuse = [r.choice(["", "", "+", "-"]) + f for f in flags]
        if flags and r.random() < 0.1:
            iuse.append(flags[0])
        slot = r.choice(["0", "0", "0", "1", "0/1", "0/2", "2/2.1", ""] if r.random() < 0.1 else ["0", "0", "1", "0/1", "0/2", "2/2.1"])
        eapi = r.choice(EAPIS) if r.random() < 0.97 else "77"
        if eapi in ("0", "2", "3", "4"):
            slot = slot.split("/")[0]
        if eapi == "0":
            iuse = [f.lstrip("+-") for f in iuse]
        licence = []
        for _ in range(r.randint(0, 3)):
            item = r.choice(LICENSES)
            shape = r.random()
            if shape < 0.2:
                item = "|| ( %s %s ( %s %s ) )" % tuple(self.some(LICENSES, 4, 4))
            elif shape < 0.45 and flags:
                item = "%s%s? ( %s )" % (r.choice(["", "!"]), r.choice(flags), item)
            licence.append(item)
        if r.random() < 0.02:
            licence.append("|| ( MIT")
        meta = {"EAPI": eapi, "SLOT": slot, "KEYWORDS": " ".join(self.some(KEYWORDS, 0, 3)), "LICENSE": " ".join(licence),
                "IUSE": " ".join(iuse), "DESCRIPTION": "stub"}
        if r.random() < 0.2:
            meta["RESTRICT"] = r.choice(["test", "mirror", "bindist", "!test? ( test )" if "test" in flags else "fetch"])
        if r.random() < 0.2:
            meta["PROPERTIES"] = r.choice(["interactive", "live", "ssl? ( interactive )" if "ssl" in flags else "live"])
        body = "EAPI=%s\n" % eapi + "".join('%s="%s"\n' % kv for kv in sorted(meta.items()) if kv[0] != "EAPI" and kv[1])
        category, package = name.split("/")
        self.write("%s/%s/%s-%s.ebuild" % (where, name, package, version), body)
        entry = {k: v for k, v in meta.items() if v}
        entry.update(DEFINED_PHASES="-", _md5_=hashlib.md5(body.encode()).hexdigest())
        self.write("%s/metadata/md5-cache/%s/%s-%s" % (where, category, package, version),
                   "".join("%s=%s\n" % kv for kv in sorted(entry.items())))

    # -- profiles

    def variables(self, names):
        out = []
        for name in names:
            if self.r.random() < 0.6:
                continue
            if name == "USE":
                value = " ".join(self.use_words(user=True))
                value = self.r.choice(["", "", "${USE} "]) + value
            elif name in EXPAND:
                value = " ".join(self.r.choice(["", "", "-"]) + v for v in self.some(EXPAND[name], 0, 2))
            elif name == "ACCEPT_KEYWORDS":
                value = " ".join(self.some(ACCEPT, 1, 2))
            elif name == "ACCEPT_LICENSE":
                value = " ".join(self.license_words())
            elif name == "FEATURES":
                value = self.r.choice(["test", "-test", "nostrip"])
            elif name == "ACCEPT_RESTRICT":
                value = self.r.choice(["* -bindist", "-*", "* -test", "-fetch"])
            else:
                value = self.r.choice(["* -interactive", "-*", "* -live"])
            out.append('%s="%s"\n' % (name, value))
        self.r.shuffle(out)
        return "".join(out)

    def license_words(self):
        return [self.r.choice(["", "", "-"]) + self.r.choice(["*"] + LICENSES + ["@" + g for g in GROUPS])
                for _ in range(self.r.randint(1, 3))]

    def flag_files(self, where, masks=False, user=False):
        r = self.r
        plain = lambda: [r.choice(["", "", "-"]) + r.choice(self.flags + ["amd64", "elibc_glibc"]) for _ in range(r.randint(0, 3))]
        package = lambda: ["%s %s" % (self.atom(wild=user, repo=user or r.random() < 0.1), " ".join(self.use_words(expand=user)))
                           for _ in range(r.randint(0, 4))]
        for kind in (".mask", ".force"):
            for stable in ("", ".stable"):
                if r.random() < 0.5:
                    self.lines("%s/use%s%s" % (where, stable, kind), plain())
                if r.random() < 0.5:
                    self.lines("%s/package.use%s%s" % (where, stable, kind), package())
        for name in ("package.use", "package.use.stable"):
            if r.random() < 0.4:
                self.lines("%s/%s" % (where, name), package())
        if r.random() < 0.2:
            self.lines(where + "/use.stable", plain())
        if masks:
            for name in ("package.mask", "package.unmask"):
                if r.random() < 0.6:
                    self.lines("%s/%s" % (where, name), self.mask_lines(False))

    def mask_lines(self, user):
        out = []
        for _ in range(self.r.randint(0, 4)):
            if self.r.random() < 0.4:
                out += ["# reason %d" % self.r.randint(0, 99), "# second line"][:self.r.randint(1, 2)]
            atom = self.atom(wild=user, repo=user)
            if self.r.random() < 0.2 and self.seen_masks:
                atom = "-" + self.r.choice(self.seen_masks)
            else:
                self.seen_masks.append(atom)
            out.append(atom)
            if self.r.random() < 0.5:
                out.append("")
        return out

    def profiles(self):
        r = self.r
        if self.real:
            kinds = ["", "/desktop", "/systemd", "/no-multilib", "/llvm", "/desktop/plasma", "/desktop/gnome", "/hardened"]
            base = self.locations[self.repo_names[0]] + "/profiles/default/linux/amd64/23.0"
            kinds = [k for k in kinds if os.path.isdir(base + k)]
            os.symlink(base + r.choice(kinds), self.root + "/etc/portage/make.profile")
            return
        main = self.locations[self.repo_names[0]] + "/profiles"
        base = ['ARCH="amd64"', 'ACCEPT_KEYWORDS="%s"' % r.choice(["amd64", "amd64", "~amd64", "amd64 ~amd64"]),
                'CHOST="x86_64-pc-linux-gnu"', 'ELIBC="glibc"', 'KERNEL="linux"', 'IUSE_IMPLICIT="prefix abi"',
                'USE_EXPAND="%s ELIBC KERNEL"' % " ".join(sorted(EXPAND)), 'USE_EXPAND_HIDDEN="ELIBC KERNEL"',
                'USE_EXPAND_IMPLICIT="ARCH ELIBC KERNEL"', 'USE_EXPAND_UNPREFIXED="ARCH"',
                'USE_EXPAND_VALUES_ARCH="amd64 x86"', 'USE_EXPAND_VALUES_ELIBC="glibc musl"', 'USE_EXPAND_VALUES_KERNEL="linux"',
                'PROFILE_ONLY_VARIABLES="ARCH ELIBC KERNEL USE_EXPAND_HIDDEN"']
        names = ["base", "left", "right", "top"]
        for name in names:
            where = main + "/p/" + name
            os.makedirs(where)
            defaults = base if name == "base" else []
            self.write(where + "/make.defaults", "".join(x + "\n" for x in defaults) + self.variables(
                ["USE", *EXPAND, "ACCEPT_LICENSE", "FEATURES", "ACCEPT_KEYWORDS"] if name != "base" else ["USE", *EXPAND]))
            if r.random() < 0.8:
                self.write(where + "/eapi", r.choice(["8", "7", "5", "6", "9", "4"]) + "\n")
            self.flag_files(where, masks=True)
            for file in ("package.keywords", "package.accept_keywords"):
                if r.random() < 0.3:
                    self.lines(where + "/" + file, ["%s %s" % (self.atom(False, False), " ".join(self.some(ACCEPT, 0, 2))) for _ in range(2)])
            if r.random() < 0.6:
                self.lines(where + "/packages", [r.choice(["*", "", "-*", "-"]) + self.atom(False, False) for _ in range(3)])
            if r.random() < 0.3:
                self.lines(where + "/package.provided", ["virtual/x-%d" % r.randint(1, 3), "-virtual/x-1", "odd"][:r.randint(1, 3)])
        self.write(main + "/p/left/parent", "../base\n")
        self.write(main + "/p/right/parent", "../base # twice\n")
        self.write(main + "/p/top/parent", "../left\n../right\n")
        os.symlink(main + "/p/top", self.root + "/etc/portage/make.profile")

    # -- the user

    def user(self):
        r, etc = self.r, self.root + "/etc/portage"
        make_conf = self.variables(["USE", *EXPAND, "ACCEPT_LICENSE", "ACCEPT_KEYWORDS", "FEATURES", "ACCEPT_RESTRICT", "ACCEPT_PROPERTIES"])
        make_conf += 'PORTAGE_TMPDIR="%s/var/tmp"\nDISTDIR="%s/var/cache/distfiles"\n' % (self.root, self.root)
        if r.random() < 0.3:
            self.write(etc + "/more.conf", 'USE="${USE} nls -ssl"\n__LOCAL="x"\n')
            make_conf += 'source "%s/more.conf"\n' % etc
        if r.random() < 0.3:
            self.write(etc + "/make.conf/1", make_conf)
            self.write(etc + "/make.conf/2", 'USE="${USE} doc"\n' if r.random() < 0.5 else "# nothing\n")
        else:
            self.write(etc + "/make.conf", make_conf)
        many = 12 if not self.real else 60
        per = lambda words, n=many: ["%s %s" % (self.atom(), " ".join(words())) for _ in range(r.randint(0, n))]
        self.lines(etc + "/package.use", per(lambda: self.use_words(True, True)) + (["*/* %s" % " ".join(self.use_words(True, True))] if r.random() < 0.5 else []))
        self.lines(etc + "/package.accept_keywords", per(lambda: self.some(ACCEPT, 0, 3)))
        if r.random() < 0.3:
            self.lines(etc + "/package.keywords", per(lambda: self.some(ACCEPT, 0, 3), 3))
        self.lines(etc + "/package.mask", [x for _ in range(many // 6) for x in self.mask_lines(True)])
        self.lines(etc + "/package.unmask", [x for _ in range(many // 6) for x in self.mask_lines(True)])
        self.lines(etc + "/package.license", per(self.license_words, 5) + (["*/* " + " ".join(self.license_words())] if r.random() < 0.3 else []))
        self.lines(etc + "/package.properties", per(lambda: self.some(["live", "-live", "-*", "*", "interactive"], 1, 2), 3))
        self.lines(etc + "/package.accept_restrict", per(lambda: self.some(["test", "-test", "-*", "*", "bindist"], 1, 2), 3))
        env = ["one.conf", "two.conf", "deep/three"]
        for name in env:
            self.write(etc + "/env/" + name, self.variables(["USE", *EXPAND, "FEATURES"]))
        self.lines(etc + "/package.env", per(lambda: self.some(env, 1, 2), 4) + (["*/* one.conf"] if r.random() < 0.2 else []))
        if r.random() < 0.6:
            os.makedirs(etc + "/profile", exist_ok=True)
            self.flag_files(etc + "/profile", masks=True, user=True)
            self.write(etc + "/profile/make.defaults", self.variables(["USE", *EXPAND]))
            if r.random() < 0.3:
                self.lines(etc + "/profile/package.provided", ["virtual/y-2"])
            if r.random() < 0.3:
                self.lines(etc + "/profile/packages", ["*" + self.atom(False, False), self.atom(False, False)])
            if r.random() < 0.2:
                self.write(etc + "/profile/eapi", "8\n")
        if r.random() < 0.3:
            self.write(etc + "/license_groups", "MINE odd @EULA\nFREE Apache-2.0\n")

    def records(self):
        r = self.r
        names = sorted(self.packages)
        for name in r.sample(names, min(len(names), 30)):
            version, repo = r.choice(self.packages[name])
            where = "var/db/pkg/%s-%s/" % (name, version)
            fields = {"EAPI": "8", "SLOT": r.choice(["0", "0/1", "1", "2/2", ""]), "repository": repo, "USE": " ".join(self.some(self.flags, 0, 5)),
                      "IUSE": " ".join(r.choice(["", "+", "-"]) + f for f in self.some(self.flags, 0, 5)), "KEYWORDS": "amd64 ~x86",
                      "LICENSE": "MIT", "BUILD_TIME": "17", "SIZE": "5", "CATEGORY": name.split("/")[0], "PF": "%s-%s" % (name.split("/")[1], version)}
            for key in ("DEPEND", "BDEPEND", "RDEPEND", "PDEPEND", "IDEPEND"):
                if r.random() < 0.6:
                    atoms = [r.choice(["", "", "!", "!!"]) + self.atom(False, False, odd=False) for _ in range(r.randint(1, 4))]
                    fields[key] = " ".join("|| ( %s dev/null )" % a if r.random() < 0.2 and a[0] != "!" else a for a in atoms)
            for key, value in fields.items():
                self.write(where + key, value + "\n")
        self.lines("var/lib/portage/world", [self.atom(False) for _ in range(8)])
        if not self.real:
            for repo in self.repo_names:
                if r.random() < 0.6:
                    for quarter in ("1Q-2024", "3Q-2023", "2Q-2024"):
                        self.write("%s/profiles/updates/%s" % (self.locations[repo], quarter), "".join(self.updates()))

    def updates(self):
        r = self.r
        names = sorted(self.packages)
        for _ in range(r.randint(0, 3)):
            if r.random() < 0.6:
                yield "move %s %s\n" % (r.choice(names), r.choice(names + ["app-a/new%d" % r.randint(0, 3)]))
            else:
                yield "slotmove %s %s %s\n" % (self.atom(False, False, False), *r.sample(["0", "1", "2"], 2))

    def lay_out(self):
        shutil.rmtree(self.root, ignore_errors=True)
        for d in ("etc/portage", "var/db/pkg", "var/lib/portage", "var/tmp", "var/cache/distfiles", "var/cache/edb", "var/log",
                  "usr/bin", "share/portage", "usr/share/portage"):
            os.makedirs(os.path.join(self.root, d))
        for d in ("share/portage", "usr/share/portage"):
            os.symlink(self.portage_config, os.path.join(self.root, d, "config"))
        self.seen_masks = []
        self.repositories()
        self.profiles()
        self.user()
        self.records()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("root")
    parser.add_argument("portage_config")
    parser.add_argument("--repos", nargs="*", default=[])
    args = parser.parse_args()
    Machine(args.seed, os.path.abspath(args.root), args.portage_config, args.repos).lay_out()


if __name__ == "__main__":
    main()
