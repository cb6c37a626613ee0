# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A whole Slurm cluster inside the machines, the plugins from the stage:
slurmctld in the first, slurmd and storm's agent in all of them.  What srun
does goes by the transport that storm.conf names, and the machines' own
counters say so."""
import hashlib
import json
import os
import pathlib
import re
import sys

import pytest

import vm
from transfer import (SECONDS, has_verbs, program, sanitized,
                      until)

sys.path.insert(0, str(vm.TOP / "contribs" / "stormlab"))

from lab import slurmconf  # noqa: E402
from lab.cluster import Plan, slurm_plugin_dir, stage_dir  # noqa: E402

SIZE = 12_000_000
AGENT = f"{slurmconf.STAGE}/libexec/slurm-storm/storm_agent"
#: emulation is slow, and its processor may be somebody else's
SLURM_CONF = [
    ("SlurmctldHost", "rx0(10.77.0.1)"), ("MessageTimeout", "100"),
    ("SlurmdTimeout", "600"), ("SlurmctldTimeout", "600"),
    ("BatchStartTimeout", "200"), ("TCPTimeout", "60"),
]
STORM_CONF = [
    ("Interface", "eth0"), ("OpenTimeout", "60s"), ("OpTimeout", "120s"),
    ("DeadTimeout", "60s"), ("MulticastTimeout", "30s"),
]


class Slurm:
    """The cluster, with storm's datagrams by this transport."""

    def __init__(self, machines, transport):
        self.machines, self.transport = machines, transport
        self.stage = os.path.realpath(stage_dir())
        directory = f"slurm-{transport}"
        root = machines.dir / directory
        nodes = f"n[1-{machines.count}]"
        more = [("Transport", transport)]
        if transport == "verbs":
            more.append(("TransportFallback", "no"))
        slurmconf.write_etc(Plan(
            name="machines", dir=str(root), nodes=machines.count, cpus=2,
            mtu=1500, switch="storm", stage=self.stage,
            slurm_plugins=slurm_plugin_dir(), visible=[], cgroups=[], instead={},
            conf=SLURM_CONF + [("NodeName", f"{nodes} CPUs=2 RealMemory=400 "
                                            "State=UNKNOWN"),
                               ("NodeName", "login NodeAddr=10.77.0.1 CPUs=1 "
                                            "State=FUTURE")],
            storm_conf=STORM_CONF + more))
        (root / "etc/hosts").write_text(
            "127.0.0.1 localhost\n" + "".join(
                f"10.77.0.{i + 1} rx{i} n{i + 1}\n"
                for i in range(machines.count)))
        self.good(machines.run(f"{vm.HERE}/slurm-host {self.stage} "
                               f"{directory}", timeout=SECONDS))
        until(lambda: self.idle() == machines.count, "idle nodes")
        until(lambda: all(c.code == 0 for c in self.stats_commands()),
              "agents")

    @staticmethod
    def good(commands):
        for c in commands:
            assert c.code == 0, str(c)
        return commands

    def idle(self):
        text = self.machines.run("sinfo -h -p all -o '%D %t'", [0])[0].out
        return sum(int(n) for n, s in re.findall(r"(\d+) (\S+)", text)
                   if s == "idle")

    def srun(self, args, env="", timeout=SECONDS):
        """As an ordinary user, on the first machine."""
        return self.machines.run(
            "cd /home/user; rm -f timeline; export HOME=/home/user "
            f"STORM_TIMELINE=/home/user/timeline {env}; "
            "setpriv --reuid 20001 --regid 20001 --clear-groups "
            f"--inh-caps=-all srun --launch=storm {args}; code=$?; "
            "cp timeline /machines/vm0/; exit $code", [0], timeout)[0]

    def timeline(self):
        return json.loads((self.machines.dir / "vm0/timeline").read_text())

    def stats_commands(self):
        return self.machines.run(f"{AGENT} --node n$((RXE_INDEX + 1)) --stats")

    def stats(self):
        """Counters of each agent, by machine."""
        return [json.loads(c.out) for c in self.good(self.stats_commands())]

    def log(self):
        return "".join(c.out for c in self.machines.run(
            "tail -n 30 /var/log/slurm/*.log"))

    def packets(self):
        """What each RDMA device has sent and received."""
        return [sum(int(n) for n in c.out.split()) for c in self.machines.run(
            "cd /sys/class/infiniband/$RXE_DEV/ports/1/hw_counters && "
            "cat sent_pkts rcvd_pkts")]

    def stop(self):
        self.machines.run("for d in slurmd slurmctld storm_agent munged; do pkill -x $d; done "
                          "|| true", timeout=SECONDS)


@pytest.fixture(scope="module", params=[
    "verbs", pytest.param("udp", marks=pytest.mark.long)])
def slurm(machines, request):
    if request.param == "verbs" and not has_verbs(program("verbs", "across")):
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")
    if sanitized(program("verbs", "across")):
        pytest.skip("SKIP: Slurm's programs take sanitized plugins in the "
                    "cluster tests alone")
    s = Slurm(machines, request.param)
    yield s
    s.stop()


def by_storm(slurm, run):
    """It went by storm, by multicast, and by the transport it was to."""
    assert run.code == 0, f"{run}\n{slurm.log()}"
    t = slurm.timeline()
    for step in t.get("steps", [t]):
        assert step["fallback"] is None and not step["resent"], str(t)
        assert step["launch"] == "storm" and step["multicast"], str(t)


def test_launch(slurm):
    n = slurm.machines.count
    before = slurm.packets()
    run = slurm.srun(f"-N {n} -l hostname")
    by_storm(slurm, run)
    assert sorted(run.out.splitlines()) == [f"{i}: rx{i}" for i in range(n)]
    went = [a - b for a, b in zip(slurm.packets(), before)]
    assert all(went) if slurm.transport == "verbs" else not any(went), went


def test_bcast(slurm):
    """A program of 12 MB to all nodes, and run there."""
    n = slurm.machines.count
    shell = pathlib.Path("/bin/busybox").read_bytes()
    big = slurm.machines.dir / "big"
    big.write_bytes(shell + os.urandom(SIZE - len(shell)))
    os.chmod(big, 0o755)
    before = slurm.packets()
    run = slurm.srun(f"-N {n} -l --bcast=/tmp/busybox /machines/big sha256sum "
                     "/tmp/busybox")
    by_storm(slurm, run)
    whole = hashlib.sha256(big.read_bytes()).hexdigest()
    assert sorted(run.out.splitlines()) == [
        f"{i}: {whole}  /tmp/busybox" for i in range(n)], str(run)
    went = [a - b for a, b in zip(slurm.packets(), before)]
    if slurm.transport == "verbs":
        # all of it, at every machine, in packets of at most 4096 bytes
        assert min(went) > SIZE / 4096, went
    else:
        assert not any(went), went
    slurm.good(slurm.machines.run("rm -f /tmp/busybox"))


def test_exit_codes(slurm):
    n = slurm.machines.count
    run = slurm.srun(f"-N {n} sh -c 'exit $((SLURM_PROCID == 1 ? 7 : 0))'")
    assert run.code == 7, f"{run}\n{slurm.log()}"
