# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The files in /etc of a lab's hosts: slurm.conf, storm.conf, users, hosts.

The values suit a cluster that runs for minutes: timers are much shorter than
on a production site.
"""
import os
import re

from . import cgroups, release
from .sysdep import LabError

#: path of the stage directory in the hosts
STAGE = "/run/stormlab/stage"

#: the agents' port if storm.conf sets none
STORM_PORT = 8383
#: ... and slurmctld's
CTL_PORT = 6817

#: (name, uid), with gid = uid; these users exist only inside the lab
USERS = (("user", 20001), ("other", 20002))

SLURM_CONF = """\
ClusterName={cluster}
SlurmctldHost=ctl({ctl})
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
PluginDir={plugindir}
SwitchType={switch}
{launch}MailProg=/bin/true
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
PriorityType=priority/basic
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
ReturnToService=2
SlurmdParameters=config_overrides
TreeWidth=50
MessageTimeout=20
SlurmctldTimeout=60
SlurmdTimeout=300
InactiveLimit=0
BatchStartTimeout=20
KillWait=5
UnkillableStepTimeout=60
CompleteWait=0
EpilogMsgTime=100
MinJobAge=300
SlurmctldDebug=info
SlurmdDebug=info
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
NodeName={nodes} CPUs={cpus} RealMemory=1000 State=UNKNOWN
# slurmctld wakes an srun that waits for a busy node through the name of srun's
# host, but knows only nodes' addresses: without this line srun sleeps over 1 min
NodeName=login NodeAddr={login} CPUs=1 State=FUTURE
PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
PartitionName=short Nodes={nodes} MaxTime=1 State=UP OverSubscribe=YES
PartitionName=shared Nodes={nodes} MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
"""

NSSWITCH = "passwd: files\ngroup: files\nshadow: files\nhosts: files\n" \
           "networks: files\nprotocols: files\nservices: files\n"


def node_names(count):
    return [f"n{i}" for i in range(1, count + 1)]


def address_of(host):
    """A host's address; all labs use the same, in separate networks."""
    if host == "ctl":
        return "10.83.0.1"
    if host == "login":
        return "10.83.0.2"
    index = int(host[1:]) - 1
    return f"10.83.{1 + index // 250}.{1 + index % 250}"


def parse_pairs(pairs, option):
    """['Key=Value', ...] -> [(key, value), ...]"""
    parsed = []
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not re.fullmatch(r"[A-Za-z_]+", key):
            raise LabError(f"{option} {pair!r}: expected Key=Value")
        parsed.append((key, value))
    return parsed


def merge(text, overrides):
    """Replace some keys in a configuration file of lines `Key=Value`. An
    override takes the place of the first line of its kind, because order can
    matter (NodeName before PartitionName). Each partition's PartitionName is
    a kind, and so is login's NodeName."""
    def kind(key, value):
        key = key.lower()
        name = value.split()[0].lower() if value.strip() else ""
        if key == "partitionname" or (key, name) == ("nodename", "login"):
            return key + "=" + name
        return key

    given = {}
    for key, value in overrides:
        given.setdefault(kind(key, value), []).append(f"{key}={value}")
    out = []
    for line in text.splitlines():
        key, sign, value = line.partition("=")
        if not sign or line.startswith("#"):
            out.append(line)
            continue
        which = kind(key, value)
        if which not in given:
            out.append(line)
        else:
            out += given[which]
            given[which] = []
    for lines in given.values():
        out += lines
    return "\n".join(out) + "\n"


def gang_lines(nodes, cpus, jobs, given):
    """What a gang partition for so many jobs on a core needs of slurm.conf, but
    for the keys that were given."""
    names = f"n[1-{nodes}]" if nodes > 1 else "n1"
    local = max(jobs, 4)
    lines = [("SchedulerType", "sched/storm"),
             ("SelectTypeParameters", "CR_CPU_Memory"),
             ("PreemptMode", "OFF"),
             ("PartitionName",
              f"shared Nodes={names} MaxTime=INFINITE State=UP "
              f"OverSubscribe=FORCE:{local} "
              f"DefMemPerCPU={1000 // cpus // local}"),
             ("PartitionName",
              f"gang Nodes={names} MaxTime=INFINITE State=UP "
              f"OverSubscribe=FORCE:{jobs} "
              f"DefMemPerCPU={1000 // cpus // jobs}")]
    taken = {key.lower() for key, _ in given} - {"partitionname"}
    return [l for l in lines if l[0].lower() not in taken]


def write(path, text, mode=0o644):
    """Replace a file atomically. Do not use it for a file that is itself
    bind-mounted: the mount would keep showing the old inode."""
    fd = os.open(path + ".new", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)
    with os.fdopen(fd, "w") as f:
        f.write(text)
    os.chmod(path + ".new", mode)
    os.rename(path + ".new", path)


def _cgroup_conf(plan):
    if plan.slurm == release.MACHINES:
        return "CgroupAutomount=no\nCgroupPlugin=autodetect\n"
    kind = "autodetect" if cgroups.wanted(plan.conf) else "disabled"
    return f"CgroupPlugin={kind}\n"


#: Slurm takes no other files for GPUs than devices
GPUS = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random")


def _write_gpus(path, conf):
    """What plays the GPUs of a line NodeName=... Gres=gpu:N."""
    counts = [int(n) for key, value in conf if key.lower() == "nodename"
              for n in re.findall(r"\bGres=gpu:(\d+)", value)]
    if counts:
        write(path, "".join(f"Name=gpu File={file}\n"
                            for file in GPUS[:max(counts)]))


def _with_users(path, lines, taken):
    with open(path) as f:
        kept = [l for l in f.read().splitlines()
                if l and l.split(":", 1)[0] not in taken]
    return "\n".join(kept + lines) + "\n"


def write_etc(plan):
    """Fill DIR/etc and DIR/home; plan is a cluster.Plan."""
    etc = plan.dir + "/etc"
    os.makedirs(etc + "/slurm")
    nodes = f"n[1-{plan.nodes}]" if plan.nodes > 1 else "n1"
    dirs = plan.slurm_plugins
    if plan.stage:
        dirs = f"{STAGE}/lib/slurm-storm:{dirs}"
    text = SLURM_CONF.format(
            cluster=re.sub(r"[^a-z0-9]", "", plan.name) or "lab",
            ctl=address_of("ctl"), plugindir=dirs, cpus=plan.cpus,
            switch="switch/" + plan.switch, nodes=nodes,
            launch="LaunchType=launch/slurm\n"
            if plan.slurm == release.MACHINES else "",
            login=address_of("login"))
    write(etc + "/slurm/slurm.conf", merge(text, plan.conf))
    write(etc + "/slurm/cgroup.conf", _cgroup_conf(plan))
    _write_gpus(etc + "/slurm/gres.conf", plan.conf)
    if plan.stage:
        write(etc + "/slurm/plugstack.conf",
              "optional spank_storm.so\n")
    else:
        write(etc + "/slurm/plugstack.conf", "# empty: Slurm alone\n")
    write_storm_conf(plan.dir, plan.storm_conf)

    hosts = ["ctl", "login"] + node_names(plan.nodes)
    write(etc + "/hosts", "127.0.0.1 localhost\n" + "".join(
            f"{address_of(h)} {h}\n" for h in hosts))
    write(etc + "/nsswitch.conf", NSSWITCH)
    taken = {name for name, _ in USERS}
    base = (plan.rootfs or "") + "/etc"
    write(etc + "/passwd", _with_users(base + "/passwd", [
            f"{name}:x:{uid}:{uid}:stormlab:/home/{name}:/bin/bash"
            for name, uid in USERS], taken))
    write(etc + "/group", _with_users(base + "/group", [
            f"{name}:x:{uid}:" for name, uid in USERS], taken))
    fd = os.open(etc + "/munge.key", os.O_CREAT | os.O_WRONLY, 0o400)
    os.write(fd, os.urandom(128))
    os.close(fd)

    os.makedirs(plan.dir + "/home")
    for name, uid in USERS:
        home = f"{plan.dir}/home/{name}"
        os.mkdir(home)
        os.chown(home, uid, uid)
        os.chmod(home, 0o750)


def read_storm_conf(lab_dir):
    try:
        with open(lab_dir + "/etc/slurm/storm.conf") as f:
            text = f.read()
    except FileNotFoundError:
        return []
    return [tuple(l.split("=", 1)) for l in text.splitlines()
            if "=" in l and not l.startswith("#")]


def write_storm_conf(lab_dir, pairs):
    """Write storm.conf; without pairs, delete it: most sites have none."""
    path = lab_dir + "/etc/slurm/storm.conf"
    if pairs:
        write(path, "".join(f"{k}={v}\n" for k, v in pairs))
    elif os.path.exists(path):
        os.unlink(path)
