# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A whole Slurm cluster on the machines, with the plugins from the stage: slurmctld
on the first, slurmd and STORM's agent on all of them, as n1, n2, ...
"""
import hashlib
import json
import os
import pathlib
import re
import sys

import vm
from vm import SECONDS, until

sys.path.insert(0, str(vm.TOP / "contribs" / "stormlab"))

from lab import slurmconf  # noqa: E402
from lab.cluster import Plan, slurm_plugin_dir  # noqa: E402
from lab.release import chosen, root_of, stage_dir  # noqa: E402

AGENT = f"{slurmconf.STAGE}/libexec/slurm-storm/storm_agent"
#: emulation is slow, and other programs may use its processor
SLURM_CONF = [
    ("SlurmctldHost", "rx0(10.77.0.1)"), ("MessageTimeout", "100"),
    ("SlurmdTimeout", "600"), ("SlurmctldTimeout", "600"),
    ("BatchStartTimeout", "200"), ("TCPTimeout", "60"),
]
STORM_CONF = [
    ("Interface", "eth0"), ("OpenTimeout", "60s"), ("OpTimeout", "120s"),
    ("DeadTimeout", "60s"), ("MulticastTimeout", "30s"), ("LaunchNodes", "2"),
]
#: as an ordinary user
AS_USER = "setpriv --reuid 20001 --regid 20001 --clear-groups --inh-caps=-all"


def machines_of_release():
    """What vm.Machines needs so that the machines have the release of Slurm that
    was asked for."""
    return {"root": root_of(chosen()) or "/",
            "visible": [str(vm.TOP), os.path.realpath(stage_dir())]}


def write_units(directory):
    """For systemd, before the machines boot: the settings that the strober
    needs, as in storm_strober(8)."""
    drop_in = directory / "units/slurmctld.service.d"
    drop_in.mkdir(parents=True)
    (drop_in / "storm.conf").write_text(
        "[Service]\nLimitRTPRIO=20\nLimitMEMLOCK=infinity\n")


class Slurm:
    """Configure and start the cluster, and wait until it is idle. conf,
    storm_conf: pairs in addition to those above."""

    def __init__(self, machines, directory, conf=(), storm_conf=(), cpus=2,
                 memory=400):
        self.machines, self.directory = machines, directory
        self.names = [f"n{i + 1}" for i in range(machines.count)]
        self.stage = os.path.realpath(stage_dir())
        root = machines.dir / directory
        nodes = f"n[1-{machines.count}]"
        rootfs = root_of(chosen())
        slurmconf.write_etc(Plan(
            name="machines", dir=str(root), nodes=machines.count, cpus=cpus,
            mtu=1500, switch="storm", stage=self.stage,
            slurm_plugins=slurm_plugin_dir(rootfs), visible=[], cgroups=[],
            instead={}, slurm=chosen(), rootfs=rootfs,
            conf=SLURM_CONF + [("NodeName", f"{nodes} CPUs={cpus} "
                                            f"RealMemory={memory} State=UNKNOWN"),
                               ("NodeName", "login NodeAddr=10.77.0.1 CPUs=1 "
                                            "State=FUTURE")] + list(conf),
            storm_conf=list({**dict(STORM_CONF), **dict(storm_conf)}.items())))
        (root / "etc/hosts").write_text(
            "127.0.0.1 localhost\n" + "".join(
                f"10.77.0.{i + 1} rx{i} n{i + 1}\n"
                for i in range(machines.count)))
        self.good(machines.run(f"{vm.HERE}/slurm-host {self.stage} "
                               f"{directory}", timeout=SECONDS))
        until(lambda: self.idle() == machines.count, "idle nodes")
        until(lambda: all(c.code == 0 for c in self.stats_commands()),
              "agents")

    def stop(self):
        """End the daemons, where they are no units."""
        self.machines.run("for d in slurmd slurmctld storm_agent munged; do "
                          "pkill -x $d; done || true", timeout=SECONDS)

    @staticmethod
    def good(commands):
        for c in commands:
            assert c.code == 0, str(c)
        return commands

    def idle(self):
        text = self.machines.run("sinfo -h -p all -o '%D %t'", [0])[0].out
        return sum(int(n) for n, s in re.findall(r"(\d+) (\S+)", text)
                   if s == "idle")

    def start(self, command, env=""):
        """Run a command as an ordinary user on the first machine, with srun's
        timeline."""
        return self.machines.start(
            0, "cd /home/user; rm -f timeline; export HOME=/home/user "
            f"STORM_TIMELINE=/home/user/timeline {env}; "
            f"{AS_USER} {command}; code=$?; "
            "[ ! -e timeline ] || cp timeline /machines/vm0/; exit $code")

    def srun(self, args, env="", timeout=SECONDS):
        run = self.start(f"srun --launch=storm {args}", env)
        assert self.machines.wait([run], timeout), (
            f"not done after {timeout} s: {run}")
        return run

    def bcast(self, size=4_000_000):
        """Broadcast a program of that size to all machines by srun and run it
        there; it must be the same everywhere. Returns the finished command."""
        shell = pathlib.Path("/bin/busybox").read_bytes()
        big = self.machines.dir / "big"
        big.write_bytes(shell + os.urandom(size - len(shell)))
        os.chmod(big, 0o755)
        count = self.machines.count
        run = self.srun(f"-N{count} -l --bcast=/tmp/busybox /machines/big "
                        "sha256sum /tmp/busybox")
        self.by_storm(run)
        whole = hashlib.sha256(big.read_bytes()).hexdigest()
        assert sorted(run.out.splitlines()) == [
            f"{i}: {whole}  /tmp/busybox" for i in range(count)], str(run)
        self.good(self.machines.run("rm /tmp/busybox"))
        return run

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

    def by_storm(self, run):
        """Check that STORM launched it, and by multicast."""
        assert run.code == 0, f"{run}\n{self.log()}"
        t = self.timeline()
        for step in t.get("steps", [t]):
            assert step["fallback"] is None and not step["resent"], \
                f"{t}\n{self.log()}"
            assert step["launch"] == "storm" and step["multicast"], str(t)
