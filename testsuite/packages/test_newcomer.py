# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A new administrator: a cluster of Debian's with its Slurm, this folder, and README.md.

The commands are README's, and run as they stand there. systemd is not there:
"systemctl restart slurmd" is done by hand, also where a package does it.
"""
import os
import re
import subprocess

import pytest

from bare_hosts import NODES, Hosts, Root, until
from conftest import TOP

#: what README's commands may use that a host with Slurm alone does not have
NOT_BARE = ("libibverbs1", "librdmacm1", "librdmacm1t64", "libjson-c5")


def commands():
    """README's: [to build], [to install], [to run], [to go back]."""
    text = (TOP / "README.md").read_text().split("\n## Install\n")[1]
    blocks = re.findall(r"\n\n((?:    .*\n)+)", text.split("\n| package |")[0])
    return [[line.split("  #")[0].strip() for line in block.splitlines()]
            for block in blocks]


def shell(root, line, folder, shown=None, **env):
    done = root.install(["bash", "-c", f"cd {folder} && {line}"], check=False,
                        shown=shown, answer="y\n", timeout=3000, **env)
    print(done.stdout)
    assert done.returncode == 0, f"{line}: {done.stdout}"
    return done.stdout


@pytest.fixture(scope="module")
def hosts(release, tmp_path_factory):
    """A working Slurm, and nothing that STORM's packages would bring."""
    h = Hosts(release.archive(), tmp_path_factory.mktemp("newcomer"))
    try:
        there = h.install(["dpkg-query", "-W", "-f", "${Package} "]).stdout.split()
        h.install(["apt-get", "-y", "purge", "--autoremove",
                   *[p for p in NOT_BARE[:3] if p in there]])
        h.install(["apt-get", "-o", "Acquire::Check-Valid-Until=false", "update"])
        h.up()
        h.before = h.picture()
        yield h
    finally:
        h.down()


@pytest.fixture(scope="module")
def built(release, tmp_path_factory):
    """The folder of a host that has built the packages. It is another host than those
    that install them, which get no compiler."""
    (line,) = commands()[0]
    host = Root(release.archive(), tmp_path_factory.mktemp("builder"))
    top = host.root / "root/slurm-storm"
    top.mkdir()
    files = subprocess.Popen(["tar", "-C", TOP, "--exclude=./_*", "--exclude=./.?*",
                              "-cf", "-", "."], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-C", top, "-xf", "-"], stdin=files.stdout, check=True)
    files.stdout.close()
    assert files.wait() == 0
    given = os.environ.get("STORM_SLURM_TARBALL")
    try:
        shell(host, line, "/root/slurm-storm", shown=given,
              **({"STORM_SLURM_TARBALL": "/mnt"} if given else {}))
        yield top
    finally:
        host.down()


def test_few_commands():
    build, install, run, back = commands()
    assert len(build) + len(install) <= 3
    assert install[-1] == "systemctl restart slurmd"
    assert sum("restart" in line for line in build + install) == 1
    assert len(run) == len(back) == 1


def test_there(hosts, built):
    hosts.settle()
    *install, restart = commands()[1]
    for line in install:
        shell(hosts, line, "/mnt", shown=built)
    assert restart == "systemctl restart slurmd"
    hosts.restart_nodes()
    hosts.serve()
    hosts.launches(*commands()[2][0].split())
    conf = [p for p in hosts.changes(hosts.before) if p.startswith("etc/slurm/")]
    assert sorted(conf) == ["etc/slurm/plugstack.conf.d/storm.conf",
                            "etc/slurm/storm-plugstack.conf"], conf


def test_nothing_is_missing(hosts):
    """storm_check, as README's next page says."""
    for host in ("ctl", "n1"):
        done = hosts.run(host, ["storm_check"], check=False)
        assert done.returncode == 0 and "missing" not in done.stdout, done.stdout
    done = hosts.run("ctl", ["storm_check", "-w", "n[1-2]"], "user", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "n[1-2]: TCP port 8383; UDP port 8383 and back, by the group too" \
        in done.stdout, done.stdout


def test_and_back(hosts):
    (line,) = commands()[3]
    info = hosts.root / "var/lib/dpkg/info"
    last = (info / "slurm-storm-node.postrm").read_text()
    shell(hosts, line, "/")
    assert not hosts.changes(hosts.before)
    for node in NODES:
        # dpkg saw no host's /run
        hosts.run(node, ["sh", "-c", last, "postrm", "purge"])
    hosts.restart_nodes()
    for node in NODES:
        until(lambda: not hosts.agent(node), f"the end of the agent on {node}")
        assert not hosts.run(node, ["find", "/run", "/tmp", "-name", "*storm*"]).stdout
    done = hosts.srun("hostname")
    assert sorted(done.stdout.split()) == ["n1", "n2"] and not done.stderr, done
