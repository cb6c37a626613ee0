# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The kinds of faults: what each does, and how it is undone.

Each has three functions. plan() refuses, or returns what the record is to have of it
beside kind, host and what. begin() does it; `faults` are all in force, with this one.
undo() may find it half done, or undone already; `rest` are all others.
"""
import contextlib
import os
import signal
import stat
import subprocess
import sys

from . import cgroups, fault_record, host as hosts, net, slurmconf, wires
from .sysdep import (LabError, in_namespace, kill_process, pids_in_namespace,
                     start_time, wait_for, wait_process)

HELPER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "helper.py")

#: s until a process has gone
LONG = 120

#: The most that flood sends in a second, and its longest time in s
MOST_RATE, MOST_SECONDS = 100_000, 600

#: what `stop` has other names for
PROGRAMS = {"strober": "storm_strober", "nursery": "storm_nursery",
            "launcher": "storm_launcher", "keeper": "storm_launcher",
            "head": "storm_launcher"}


def ports(lab, host, faults):
    """The ports of the bridges to a host, which a delay puts elsewhere."""
    names = wires.networks(host, lab.record.get("networks", 1))
    split = any(f["kind"] == "delay" and f["host"] == host and f["helpers"]
                is not None for f in faults)
    return [name + "~" if split else name for name in names]


# -- helpers --------------------------------------------------------------------

def start_helper(lab, *argv, network=None, mounts=None):
    """Returns (pid, start time)."""
    switch = lab.pid(hosts.SWITCH)
    line = ["nsenter", "-t", str(switch), "-p"]
    fds = []
    if network:
        line.append(f"--net=/proc/{network}/ns/net")
    if mounts:
        fds = [os.open(f"/proc/{mounts}/ns/mnt", os.O_RDONLY)]
        argv = [argv[0], str(fds[0]), *argv[1:]]
    line += ["--", sys.executable or "python3", "-I", HELPER, *map(str, argv)]
    try:
        done = subprocess.run(line, stdin=subprocess.DEVNULL, text=True, cwd="/",
                              capture_output=True, pass_fds=fds, timeout=LONG,
                              start_new_session=True, check=False)
    finally:
        for fd in fds:
            os.close(fd)
    word, _, number = done.stdout.strip().rpartition(" ")
    if word != "ready":
        raise LabError((done.stdout + done.stderr).strip()
                       or f"{argv[0]} did not start")
    pid = in_namespace(switch, int(number)) if int(number) else None
    return pid, pid and start_time(pid)


def _end_helper(helper):
    fd = kill_process(*helper) if helper and helper[1] is not None else None
    if fd is not None and not wait_process(fd, LONG):
        raise LabError(f"process {helper[0]} still runs {LONG} s after SIGKILL")


# -- the links ------------------------------------------------------------------

def _links(lab, host, faults):
    """Make a host's links such as these faults want them."""
    mine = [f for f in faults if f["host"] == host]
    kinds = {f["kind"] for f in mine}
    switch = lab.pid(hosts.SWITCH)
    loss = sum(f["loss"] for f in mine
               if f["kind"] == "delay" and f["helpers"] is None)
    where = ports(lab, host, faults)
    # A host that needs no rule needs no nft.
    if {"cut-in", "cut-out", "delay"} & kinds or \
            os.path.exists(f"{lab.dir}/hosts/{host}/fault-rules"):
        with open(f"{lab.dir}/hosts/{host}/fault-rules", "w"):
            pass
        wires.lose(switch, host, where, 100 if "cut-in" in kinds else loss,
                   100 if "cut-out" in kinds else loss)
    wires.plug(switch, where, not {"kill", "cut"} & kinds)


def _switch_flags(lab, faults):
    """What the bridge's ports have beside: a new one has the kernel's values."""
    switch = lab.pid(hosts.SWITCH)
    if not lab.record["multicast"]:
        net.set_multicast(switch, [ports(lab, h, faults)[0] for h in lab.hosts],
                          False)
    aged = [f for f in faults if f["kind"] == "age"]
    if aged:
        _forget(lab, faults)


def _forget(lab, faults):
    aged = [f for f in faults if f["kind"] == "age"]
    wires.forget(lab.pid(hosts.SWITCH),
                 [ports(lab, h, faults)[0] for h in lab.hosts],
                 {ports(lab, f["host"], faults)[0] for f in aged},
                 min((f["seconds"] for f in aged), default=None))


class Cut:
    """cut, cut-in, cut-out: the host's links, or one direction of them."""

    @staticmethod
    def plan(_lab, _fault):
        return {}

    @staticmethod
    def begin(lab, fault, faults):
        _links(lab, fault["host"], faults)

    @staticmethod
    def undo(lab, fault, rest):
        _links(lab, fault["host"], rest)


class Delay(Cut):
    """delay: frames are late, lost, doubled, and overtake each other."""

    @staticmethod
    def plan(_lab, fault):
        for key in ("loss", "duplicate"):
            if not 0 <= fault[key] <= 100:
                raise LabError(f"{key} {fault[key]:g}: must be from 0 to 100")
        for key in ("ms", "jitter"):
            if not 0 <= fault[key] <= 60_000:
                raise LabError(f"{key} {fault[key]:g}: must be from 0 to 60000 ms")
        by_helper = fault["ms"] or fault["jitter"] or fault["duplicate"]
        if not by_helper and not fault["loss"]:
            raise LabError("a delay of 0 ms without loss is no fault")
        return {"helpers": [] if by_helper else None}

    @staticmethod
    def begin(lab, fault, faults):
        names = wires.networks(fault["host"], lab.record.get("networks", 1))
        switch = lab.pid(hosts.SWITCH)
        if fault["helpers"] is not None:
            wires.split(switch, names, lab.record["mtu"])
            _switch_flags(lab, faults)
            for k, name in enumerate(names):
                fault["helpers"].append(start_helper(
                    lab, "wire", name, name + "+", fault["ms"], fault["jitter"],
                    fault["loss"], fault["duplicate"], fault["seed"] + k,
                    network=switch))
        _links(lab, fault["host"], faults)

    @staticmethod
    def undo(lab, fault, rest):
        if fault["helpers"] is not None:
            for helper in fault["helpers"]:
                _end_helper(helper)
            wires.join(lab.pid(hosts.SWITCH), wires.networks(
                fault["host"], lab.record.get("networks", 1)))
            _switch_flags(lab, rest)
        _links(lab, fault["host"], rest)


class Age:
    """age: the switch forgets who wants multicast, and nobody asks."""

    @staticmethod
    def plan(lab, fault):
        if not lab.record["multicast"]:
            raise LabError("the switch drops all multicast already; let it pass "
                           "with: stormlab multicast on")
        if not 0.1 <= fault["seconds"] <= 3600:
            raise LabError(f"{fault['seconds']:g} s: must be from 0.1 to 3600")
        return {}

    @staticmethod
    def begin(lab, _fault, faults):
        _forget(lab, faults)

    @staticmethod
    def undo(lab, _fault, rest):
        _forget(lab, rest)


# -- processes ------------------------------------------------------------------

def _programs(lab, host, what):
    """The pids of a program; the three kinds of storm_launcher are told apart by
    their arguments."""
    found = lab.pids(host, PROGRAMS.get(what, what))
    if PROGRAMS.get(what) != "storm_launcher":
        return found
    option = {"keeper": b"--keep", "head": b"--head"}.get(what)

    def is_one(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            return False
        return option in words if option else \
            not any(w.startswith(b"--") for w in words)

    return [pid for pid in found if is_one(pid)]


def _signal(pids, number):
    """To those of the processes that are still there; pids: [(pid, start time)]"""
    for pid, started in pids:
        fd = kill_process(pid, started, number)
        if fd is not None:
            os.close(fd)


class Stop:
    """stop: SIGSTOP to a program, by default the agent."""

    @staticmethod
    def plan(lab, fault):
        found = [(p, start_time(p))
                 for p in _programs(lab, fault["host"], fault["what"])]
        if not found:
            raise LabError(f"{fault['host']} runs no {fault['what']}")
        return {"pids": found}

    @staticmethod
    def begin(lab, fault, _faults):
        _signal(fault["pids"], signal.SIGSTOP)
        lab.wait_stopped(fault["host"], fault["what"],
                         [p for p, _ in fault["pids"]])

    @staticmethod
    def undo(_lab, fault, _rest):
        _signal(fault["pids"], signal.SIGCONT)


class Pause:
    """pause: all processes of the host stand in a control group."""

    @staticmethod
    def plan(lab, fault):
        tops = lab.record["cgroups"] + fault_record.groups(lab)
        group, top = cgroups.host_group(lab.name, fault["host"], tops)
        return {"group": group, "top": top}

    @staticmethod
    def begin(lab, fault, _faults):
        pid = lab.pid(fault["host"])
        cgroups.freeze(fault["group"], lambda: [
            p for p in pids_in_namespace(pid) if start_time(p) is not None])

    @staticmethod
    def undo(_lab, fault, _rest):
        cgroups.thaw(fault["group"])


class Kill(Cut):
    """kill: power loss. First the cables, so that nobody sees how connections end,
    then all processes by one system call."""

    @staticmethod
    def begin(lab, fault, faults):
        host = fault["host"]
        _links(lab, host, faults)
        pid = lab.pid(host)
        space = os.open(f"/proc/{pid}/ns/pid", os.O_RDONLY)
        try:
            lab.pid(host)               # it is still this process's
            if os.path.samestat(os.fstat(space), os.stat("/proc/self/ns/pid")):
                raise LabError(f"host {host} has no pid namespace of its own")
            done = subprocess.run(
                ["nsenter", f"--pid=/proc/self/fd/{space}", "--", "sh", "-c",
                 "kill -s KILL -- -1"], pass_fds=[space], check=False, cwd="/",
                capture_output=True, text=True)
        finally:
            os.close(space)
        left = lambda: [p for p in pids_in_namespace(pid)  # noqa: E731
                        if p != pid and start_time(p) is not None]
        if done.returncode and left():
            raise LabError(f"cannot kill host {host}: {done.stderr.strip()}")
        # A loss of power also ends what else stopped them.
        for other in [f for f in faults if f["host"] == host and
                      f["kind"] in ("pause", "stop", "hang")]:
            KINDS[other["kind"]].undo(lab, other, [])
            faults.remove(other)
        wait_for(lambda: not left(), LONG, f"processes of host {host} do not end")
        # Connections would still end in good order when the cable is back, and so
        # would packets that wait until a neighbour's address is known.
        for argv in (["ss", "-tKa"], ["ip", "neigh", "flush", "all"]):
            subprocess.run(net.enter(pid, argv), check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @staticmethod
    def undo(lab, fault, rest):
        host = fault["host"]
        pid = lab.pid(host)
        if not lab.pids(host, "munged"):
            for path in ("/run", "/tmp", "/dev/shm"):
                _empty(f"/proc/{pid}/root{path}")
            lab.run(["sh", "-c", "mkdir -p /run/munge /run/slurm /run/lock && "
                     "case $1 in ctl) chown slurm:slurm /run/slurm;; esac",
                     "sh", host], host=host, cwd="/", check=True)
        _links(lab, host, rest)
        for daemon in hosts.daemons_of(host):
            if not lab.pids(host, daemon):
                lab.restart(host, daemon)


def _empty(path):
    """Remove what is in a file system, but for what is mounted there."""
    own = os.lstat(path).st_dev

    def clear(directory):
        whole = True
        for entry in list(os.scandir(directory)):
            st = entry.stat(follow_symlinks=False)
            if st.st_dev != own:
                whole = False
            elif not stat.S_ISDIR(st.st_mode):
                os.unlink(entry.path)
            elif clear(entry.path):
                with contextlib.suppress(OSError):
                    os.rmdir(entry.path)
            else:
                whole = False
        return whole

    clear(path)


# -- files ----------------------------------------------------------------------

def _mounted(pid, path):
    """The type of what is mounted at a path of a host, None: nothing."""
    kind = None
    with open(f"/proc/{pid}/mountinfo") as f:
        for line in f:
            left, right = line.split(" - ", 1)
            if left.split()[4] == path:
                kind = right.split()[0]
    return kind


class Fill:
    """fill: the disk of a path is full; its limit is what it holds."""

    @staticmethod
    def plan(lab, fault):
        pid, path = lab.pid(fault["host"]), fault["what"]
        if _mounted(pid, path) != "tmpfs":
            raise LabError(f"{fault['host']}: {path} is no file system of the "
                           "host's own; it has /tmp, /var/tmp, /run, /dev/shm, "
                           "/var/spool, and what 'stormlab disk' makes")
        st = os.statvfs(f"/proc/{pid}/root{path}")
        free = st.f_bfree * st.f_frsize
        if not 0 <= fault["left"] <= free:
            raise LabError(f"{fault['left']} bytes left: must be from 0 to {free}, "
                           f"which {path} of {fault['host']} has")
        return {"size": st.f_blocks * st.f_frsize}

    @staticmethod
    def _resize(lab, fault, size):
        done = lab.run(["mount", "-o", f"remount,size={size}", fault["what"]],
                       host=fault["host"], cwd="/")
        return done.stderr.strip() if done.returncode else None

    @staticmethod
    def _filler(lab, fault):
        return f"/proc/{lab.pid(fault['host'])}/root{fault['what']}/.stormlab-full"

    @staticmethod
    def begin(lab, fault, _faults):
        where = f"/proc/{lab.pid(fault['host'])}/root{fault['what']}"
        for _ in range(20):             # somebody can write meanwhile
            st = os.statvfs(where)
            used = (st.f_blocks - st.f_bfree) * st.f_frsize
            if not used:                # a limit of 0 is none
                with open(Fill._filler(lab, fault), "wb") as f:
                    f.write(bytes(st.f_frsize))
                continue
            error = Fill._resize(lab, fault, used + fault["left"])
            if not error:
                return
        raise LabError(f"{fault['host']}: {error}")

    @staticmethod
    def undo(lab, fault, _rest):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(Fill._filler(lab, fault))
        error = Fill._resize(lab, fault, fault["size"])
        if error:
            raise LabError(f"{fault['host']}: {error}")


class Hang:
    """hang: a file system that answers nothing hides what a path has."""

    @staticmethod
    def plan(lab, fault):
        pid, path = lab.pid(fault["host"]), fault["what"]
        if not os.path.isdir(f"/proc/{pid}/root{path}"):
            raise LabError(f"{fault['host']} has no directory {path}")
        if not os.path.exists("/dev/fuse"):
            raise LabError("this machine has no /dev/fuse, by which a file system "
                           "hangs")
        return {"helper": None}

    @staticmethod
    def begin(lab, fault, _faults):
        fault["helper"] = start_helper(lab, "hang", fault["what"],
                                        mounts=lab.pid(fault["host"]))

    @staticmethod
    def undo(lab, fault, _rest):
        pid = lab.pid(fault["host"])
        _end_helper(fault["helper"])
        while _mounted(pid, fault["what"]) == "fuse.stormlab":
            start_helper(lab, "unmount", fault["what"], mounts=pid)


class Flood:
    """flood: datagrams that nobody wants, to the agent's port."""

    @staticmethod
    def plan(lab, fault):
        if not 1 <= fault["rate"] <= MOST_RATE:
            raise LabError(f"rate {fault['rate']}: must be from 1 to {MOST_RATE}")
        if not 0 < fault["seconds"] <= MOST_SECONDS:
            raise LabError(f"{fault['seconds']:g} s: must be above 0 and at most "
                           f"{MOST_SECONDS}")
        return {"helper": None}

    @staticmethod
    def begin(lab, fault, _faults):
        fault["helper"] = start_helper(
            lab, "flood", slurmconf.address_of(fault["host"]), lab.agent_port(),
            fault["rate"], fault["seconds"],
            network=lab.pid("ctl" if fault["host"] == "login" else "login"))

    @staticmethod
    def undo(_lab, fault, _rest):
        _end_helper(fault["helper"])


KINDS = {"kill": Kill, "stop": Stop, "pause": Pause, "cut": Cut, "cut-in": Cut,
         "cut-out": Cut, "delay": Delay, "fill": Fill, "hang": Hang,
         "flood": Flood, "age": Age}

#: what `what` is without one
DEFAULTS = {"stop": "agent", "fill": "/tmp", "hang": "/tmp"}

OPTIONS = {"delay": {"ms": 0, "jitter": 0, "loss": 0, "duplicate": 0, "seed": 1},
           "fill": {"left": 0}, "flood": {"rate": 5000, "seconds": 10},
           "age": {"seconds": 2}}
