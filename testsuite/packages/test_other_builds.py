# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The packages as lintian sees them; and RPMs, built from their spec and installed."""
import re
import shutil
import subprocess

import pytest

from bare_hosts import Hosts
from conftest import TOP

PLUGINS = "/usr/lib/x86_64-linux-gnu/slurm-wlm"


def test_lintian(release, debs):
    if not shutil.which("lintian"):
        pytest.skip("SKIP: install the package lintian")
    done = subprocess.run(["lintian", *release.debs.glob("*.changes")], text=True,
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0 and not done.stdout, done.stdout


def build_rpms(folder):
    """From the distribution's tar file, with the source of the installed Slurm."""
    made = subprocess.run(["make", "-C", TOP / "_build", "dist-xz"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert made.returncode == 0, made.stdout[-3000:]
    tar, = (TOP / "_build").glob("slurm-storm-*.tar.xz")
    tar = tar.rename(folder / tar.name)
    configured = (TOP / "_build/configured-with").read_text()
    source = re.search(r"--with-slurm-src=(\S+)", configured)[1]
    # Debian's rpm knows nothing of Debian's packages
    done = subprocess.run(
        ["rpmbuild", "-tb", "--nodeps", tar, "--define", f"_topdir {folder}/rpm", "--define", f"slurm_src {source}",
         "--define", f"slurm_lib {PLUGINS}", "--define", "slurm_evr 22.05.8-1"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return sorted(folder.glob("rpm/RPMS/*/*.rpm"))


def test_rpms(release, tmp_path):
    """They launch on hosts whose Slurm is Debian's."""
    if release.option:
        pytest.skip("SKIP: RPMs are built for this machine's Slurm alone")
    if not shutil.which("rpmbuild"):
        pytest.skip("SKIP: install the package rpm")
    rpms = [p for p in build_rpms(tmp_path) if "-debug" not in p.name]
    spec = (TOP / "contribs/rpm/slurm-storm.spec").read_text()
    assert len(rpms) == 1 + len(re.findall("^%package", spec, re.M)), rpms
    hosts = Hosts(release.archive(), tmp_path)
    try:
        hosts.up()
        done = subprocess.run(
            ["rpm", "--root", hosts.root, "--nodeps", "--noscripts", "-i", *rpms],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert done.returncode == 0, done.stdout
        (hosts.root / "etc/slurm/plugstack.conf").write_text(
            "include /etc/slurm/plugstack.conf.d/*\n")
        hosts.install(["ldconfig"])
        hosts.restart_nodes()
        hosts.serve()
        hosts.launches(*hosts.srun_argv("--launch=storm", "-vv", "--bcast=/tmp/h",
                                        "hostname"))
    finally:
        hosts.down()
