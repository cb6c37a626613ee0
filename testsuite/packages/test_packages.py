# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The Debian packages on bare hosts: see README."""
import re
import shutil
import subprocess

import pytest

from bare_hosts import NODES, until

NAMES = ("slurm-storm-client", "slurm-storm-node", "slurm-storm-ctld", "libstorm0",
         "libstorm-dev", "stormlab")


def field(deb, name):
    return subprocess.run(["dpkg-deb", "-f", deb, name], check=True, text=True,
                          capture_output=True).stdout.strip()


def renamed(deb, folder, **fields):
    """A copy of a package with other fields, as a later build has them."""
    work = folder / "work"
    subprocess.run(["dpkg-deb", "-R", deb, work], check=True)
    control = work / "DEBIAN" / "control"
    text = control.read_text()
    for name, (old, new) in fields.items():
        line = re.search(rf"^{name}: .*$", text, re.M)[0]
        text = text.replace(line, line.replace(old, new))
    control.write_text(text)
    # files of their own, not links to those that are installed
    subprocess.run(["dpkg-deb", "-b", work, folder / deb.name], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(work)


def apt(hosts, *args, shown=None):
    return hosts.install(["apt-get", "-q", "-y", "-o", "APT::Sandbox::User=root",
                          *args], shown=shown, check=False)


def install(hosts, folder):
    names = sorted(f"/mnt/{p.name}" for p in folder.iterdir())
    done = apt(hosts, "install", *names, shown=folder)
    assert done.returncode == 0, done.stdout


def known(hosts):
    """Those of the packages that dpkg still has, or has configuration of."""
    listed = hosts.run("ctl", ["dpkg-query", "-W", "-f", "${Package} "]).stdout
    return [name for name in listed.split() if name in NAMES]


def launches_by_storm(hosts):
    hosts.serve()
    done = hosts.srun("--launch=storm", "-vv", "--bcast=/tmp/h", "hostname")
    assert sorted(done.stdout.split()) == ["n1", "n2"], done
    assert re.search(r"storm: launches StepId=\S+ on 2 nodes, by multicast",
                     done.stderr), done.stderr
    assert "falling back" not in done.stderr, done.stderr


def test_lintian(release, debs):
    if not shutil.which("lintian"):
        pytest.skip("SKIP: install the package lintian")
    done = subprocess.run(["lintian", *release.debs.glob("*.changes")], text=True,
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == 0 and not done.stdout, done.stdout


def test_bare_hosts_launch_by_slurm(hosts):
    done = hosts.srun("hostname")
    assert sorted(done.stdout.split()) == ["n1", "n2"] and not done.stderr, done
    assert "unrecognized option '--launch=storm'" in \
        hosts.srun("--launch=storm", "hostname").stderr


def test_another_slurm_is_refused(hosts, debs, tmp_path):
    """The packages are for one revision of Slurm's."""
    assert set(debs) == set(NAMES)
    slurm = hosts.version()
    for name, needs in (("client", "slurm-client"), ("node", "slurmd"),
                        ("ctld", "slurmctld")):
        assert f"{needs} (= {slurm})" in field(debs[f"slurm-storm-{name}"],
                                               "Depends").split(", ")
    deb = debs["slurm-storm-node"]
    renamed(deb, tmp_path, Depends=(f"slurmd (= {slurm})",
                                    f"slurmd (= {slurm}.1)"))
    done = apt(hosts, "install", f"/mnt/{deb.name}", shown=tmp_path)
    assert done.returncode != 0 and "slurmd (=" in done.stdout, done.stdout


def test_install(hosts, debs, tmp_path):
    """One restart of slurmd, and not a line of configuration."""
    for deb in debs.values():
        shutil.copy(deb, tmp_path)
    install(hosts, tmp_path)
    hosts.restart_nodes()
    launches_by_storm(hosts)
    said = hosts.run("ctl", ["sbcast_storm", "--version"]).stdout
    assert "the same here: libslurmfull.so" in said, said
    for page in ("storm.7", "storm_agent.8", "stormlab.1"):
        assert list(hosts.root.glob(f"usr/share/man/man?/{page}.gz")), page


def test_upgrade(hosts, debs, tmp_path):
    """A later build of the same version: slurmd's restart replaces the agent."""
    old = {node: hosts.agent(node) for node in NODES}
    assert all(old.values())
    for deb in debs.values():
        version = field(deb, "Version")
        renamed(deb, tmp_path, Version=(version, version + "+more"),
                **{"Depends": (version, version + "+more")})
    install(hosts, tmp_path)
    hosts.restart_nodes()
    for node in NODES:
        until(lambda: hosts.agent(node) not in (None, old[node]), "a new agent")
        assert f"replacing the agent (pid {old[node]}): it does not run " \
            "/usr/libexec/slurm-storm/storm_agent as it is now" in hosts.log(node)
    launches_by_storm(hosts)


def test_plugins_alone(hosts):
    """A login host has no agent, and slurmd says so once."""
    done = apt(hosts, "remove", "slurm-storm-node")
    assert done.returncode == 0, done.stdout
    hosts.restart_nodes()
    for node in NODES:
        (line,) = [l for l in hosts.log(node).splitlines()
                   if "this host has no /usr/libexec/slurm-storm/storm_agent" in l]
        assert "error" not in line


def test_removed(hosts):
    """What stays is configuration, which does nothing."""
    done = apt(hosts, "remove", *known(hosts))
    assert done.returncode == 0, done.stdout
    left = hosts.changes(hosts.before)
    assert set(left) == {"etc/slurm/storm-plugstack.conf"}, left
    for node in NODES:
        hosts.restart(node, "slurmd")
        started = hosts.log(node).rsplit("slurmd version", 1)[1]
        assert "storm" not in started and "spank" not in started, started
    hosts.restart("ctl", "slurmctld")
    hosts.settle()
    done = hosts.srun("hostname")
    assert sorted(done.stdout.split()) == ["n1", "n2"] and not done.stderr, done
    for node in NODES:
        until(lambda: not hosts.agent(node), f"the end of the agent on {node}")


def test_purged(hosts):
    """Nothing is left."""
    assert set(known(hosts)) == {"slurm-storm-client", "slurm-storm-node"}
    done = apt(hosts, "purge", *known(hosts))
    assert done.returncode == 0, done.stdout
    assert not hosts.changes(hosts.before)
    assert not known(hosts)
