"""The way without ebaudit: real Portage unpacks and prepares, md5sum and diff say what prepare changed; timed by `benches/reference`."""
import os
import pathlib
import shlex
import shutil
import subprocess
import time
import venv

VERSION = "3.0.83"
STEPS = ("unpack", "md5", "copy", "prepare", "md5 again", "diff")
FEATURES = ("-sandbox -usersandbox -userpriv -userfetch -usersync -network-sandbox -pid-sandbox -ipc-sandbox -mount-sandbox -news "
            "-ebuild-locks -distlocks -xattr")


class Portage:
    """Portage of a virtual environment, with a configuration of its own below `top`; needs no Gentoo and no ::gentoo."""

    def __init__(self, top):
        self.top = top
        given = os.environ.get("PORTAGE_VENV")
        self.venv = pathlib.Path(given) if given else top / "venv"
        if not given:
            venv.create(self.venv, with_pip=True)
            pip = [self.venv / "bin/pip", "--quiet", "--disable-pip-version-check", "install", f"portage=={VERSION}"]
            subprocess.run(pip, check=True)
        if not (self.venv / "bin/ebuild").exists():
            raise SystemExit(f"no Portage in {self.venv}")

    def configure(self, overlay, distfiles):
        """Makes the overlay the main repository, with a profile that says no more than amd64."""
        profile = overlay / "profiles/bench"
        profile.mkdir(exist_ok=True)
        (profile / "make.defaults").write_text('ARCH="amd64"\nACCEPT_KEYWORDS="amd64"\nUSERLAND="GNU"\nKERNEL="linux"\nELIBC="glibc"\n')
        (profile / "eapi").write_text("8\n")
        (overlay / "profiles/arch.list").write_text("amd64\n")
        etc = self.top / "config/etc/portage"
        for d in (etc / "repos.conf", self.top / "bin", self.top / "tmp", self.top / "depcache"):
            d.mkdir(parents=True, exist_ok=True)
        for tool in ("find", "make", "sed", "tar", "xargs"):  # their names where Portage lies in a prefix
            link = self.top / "bin" / f"g{tool}"
            if not link.is_symlink() and shutil.which(tool):
                link.symlink_to(shutil.which(tool))
        (etc / "make.profile").unlink(missing_ok=True)
        (etc / "make.profile").symlink_to(profile)
        (etc / "repos.conf/bench.conf").write_text(f"[DEFAULT]\nmain-repo = bench\n[bench]\nlocation = {overlay}\nauto-sync = no\n")
        values = {"ACCEPT_KEYWORDS": "**", "ACCEPT_LICENSE": "*", "FEATURES": FEATURES, "PORTAGE_USERNAME": "root", "PORTAGE_GRPNAME": "root",
                  "PORTAGE_TMPDIR": self.top / "tmp", "PORTAGE_DEPCACHEDIR": self.top / "depcache", "GENTOO_MIRRORS": "",
                  "FETCHCOMMAND": "/bin/false", "RESUMECOMMAND": "/bin/false", "CHOST": "x86_64-pc-linux-gnu"}
        (etc / "make.conf").write_text("".join(f'{k}="{v}"\n' for k, v in values.items()))
        self.env = {k: v for k, v in os.environ.items() if k in ("HOME", "TERM")} | {
            "PATH": f"{self.venv}/bin:{self.top}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8", "NOCOLOR": "1",
            "PORTAGE_CONFIGROOT": str(self.top / "config"), "DISTDIR": str(distfiles)}

    def phases(self, ebuild, *phases):
        log = self.top / "log"
        with log.open("wb") as out:
            done = subprocess.run(["ebuild", ebuild, *phases], env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False)
        if done.returncode:
            raise SystemExit(f"ebuild {ebuild.name} {' '.join(phases)} failed:\n{log.read_text(errors='replace')[-3000:]}")

    def way(self, ebuild):
        """One ebuild: the seconds of each step, and the files that prepare changed, relative to WORKDIR."""
        build = self.top / "tmp/portage" / ebuild.parts[-3] / ebuild.stem
        tree, orig = build / "work", build / "orig"
        seconds = {}

        def step(name, work, *words):
            t0 = time.perf_counter()
            out = work(*words)
            seconds[name] = time.perf_counter() - t0
            return out

        def diffs(changed):
            for path in changed:
                subprocess.run(["diff", "-u", orig / path, tree / path], stdout=subprocess.PIPE, check=False)

        step("unpack", self.phases, ebuild, "clean", "unpack")
        before = step("md5", sums, tree)
        step("copy", lambda: subprocess.run(["cp", "-al", tree, orig], check=True))
        step("prepare", self.phases, ebuild, "prepare")
        after = step("md5 again", sums, tree)
        changed = sorted(p for p in after if before.get(p) != after[p])
        step("diff", diffs, changed)
        shutil.rmtree(build)
        return seconds, changed


def sums(tree):
    """{path: md5} of the regular files of a tree, by find and md5sum."""
    out = subprocess.run(f"cd {shlex.quote(str(tree))} && find . -type f -print0 | xargs -0 -r md5sum", shell=True, check=True, stdout=subprocess.PIPE)
    return {line[36:]: line[:32] for line in out.stdout.decode(errors="surrogateescape").splitlines()}
