# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Separate control groups for the hosts, if Slurm uses control groups.

Slurm names its groups after the nodes, so n1 of two labs would share them, and
it leaves some behind. Therefore each host has its own cgroup namespace. Its
root, in each hierarchy, is the group TOP/HOST below stormlab's own group, where
TOP is stormlab.NAME. If slurm.conf names no cgroup plugin, hosts have no groups
of their own but for those of agents: to move processes between groups is slow.
"""
import contextlib
import os

from .sysdep import CLONE_NEWCGROUP, MS_NODEV, MS_NOEXEC, MS_NOSUID, LabError, \
    mount, unshare, wait_for


def wanted(conf):
    """Whether Slurm uses control groups; conf: pairs for slurm.conf."""
    return any("cgroup" in value for key, value in conf
               if key.lower() in ("proctracktype", "taskplugin",
                                  "jobacctgathertype"))


def agents_make(conf):
    """Whether the agents make groups, to stop steps: in a cluster domain each does,
    whether jobs share or not; conf: pairs for slurm.conf."""
    return any((key.lower(), value) == ("schedulertype", "sched/storm")
               for key, value in conf)


def _own_groups():
    """{hierarchy: path}, a hierarchy being its set of controllers."""
    own = {}
    with open("/proc/self/cgroup") as f:
        for line in f:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            own[frozenset(controllers.split(","))] = path
    return own


def hierarchies():
    """All mounted hierarchies: [(mount point, type, options, this process's
    group)]"""
    own = _own_groups()
    known = frozenset().union(*own) | {"cgroup2"}
    found = []
    with open("/proc/self/mountinfo") as f:
        for line in f:
            left, right = line.rstrip("\n").split(" - ", 1)
            root, point = left.split()[3:5]
            kind, _, options = right.split()[:3]
            if kind == "cgroup2":
                controllers = [""]
            elif kind == "cgroup":
                controllers = [o for o in options.split(",") if o in known]
            else:
                continue
            path = own.get(frozenset(controllers))
            if path is None or any(point == f[0] for f in found):
                continue
            inside = os.path.relpath(path, root) if root != "/" \
                else path.lstrip("/")
            found.append((point, kind, ",".join(c for c in controllers if c),
                          os.path.normpath(os.path.join(point, inside))))
    return found


def _make(path):
    os.makedirs(path, exist_ok=True)
    # A new cpuset accepts no process until its CPUs are set.
    for name in ("cpuset.cpus", "cpuset.mems"):
        parent = f"{os.path.dirname(path)}/{name}"
        if os.path.exists(f"{path}/cpuset.cpu_exclusive"):
            with open(parent) as f, open(f"{path}/{name}", "w") as g:
                g.write(f.read())


def freezer_wanted(storm_conf):
    """Whether the agents stop steps by the freezer of version 1."""
    return any(key.lower() == "freezer" and value.lower() == "freezer"
               for key, value in storm_conf)


def prepare(lab, all_of_them=True, freezer=False):
    """Make the top group of a lab in each hierarchy, and return the paths.
    With all_of_them false, only in that of version 2, and in that of the
    freezer if `freezer`: with the cpu controller of version 1 a new group has
    no real-time share, so the strober could not run in it."""
    tops = []
    for _, kind, controllers, own in hierarchies():
        if not (all_of_them or kind == "cgroup2" or
                freezer and controllers == "freezer"):
            continue
        top = f"{own}/stormlab.{lab}"
        tops.append(top)
        _make(top)
    return tops


def host_group(lab, host, tops):
    """A host's group of version 2, which freezes: (its path, the lab's top group).
    It is made if the lab has none."""
    point = next((h[0] for h in hierarchies() if h[1] == "cgroup2"), None)
    if point is None:
        raise LabError("this machine mounts no control groups of version 2, "
                       "which freeze a host")
    top = next((t for t in tops if t.startswith(point + "/") and
                os.path.exists(t + "/cgroup.events")), None) or \
        prepare(lab, all_of_them=False)[0]
    _make(f"{top}/{host}")
    return f"{top}/{host}", top


def _inside(group, pids):
    """Which of these processes are not in the group or in one below it."""
    point = next(h[0] for h in hierarchies() if h[1] == "cgroup2")
    name = "/" + os.path.relpath(group, point)
    out = []
    for pid in pids:
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/cgroup") as f:
                own = next(line.rstrip("\n")[3:] for line in f
                           if line.startswith("0::"))
            if own != name and not own.startswith(name + "/"):
                out.append(pid)
    return out


def freeze(group, pids):
    """Freeze a group, with all of the processes that pids() returns, which move
    there. Returns when all stand."""
    # A process can fork while others move.
    while outside := _inside(group, pids()):
        for pid in outside:
            with contextlib.suppress(ProcessLookupError):
                with open(f"{group}/cgroup.procs", "w") as f:
                    f.write(str(pid))
    _set_frozen(group, 1)
    if _inside(group, pids()):
        _set_frozen(group, 0)
        freeze(group, pids)


def thaw(group):
    """Let the processes of a group go on; groups below may keep theirs frozen."""
    if os.path.exists(group):
        _set_frozen(group, 0)


def _set_frozen(group, value):
    with open(f"{group}/cgroup.freeze", "w") as f:
        f.write(str(value))

    def done():
        with open(f"{group}/cgroup.events") as f:
            return f"frozen {value}\n" in f.read()

    # An empty group and one of frozen processes alone are frozen as well.
    if value:
        wait_for(done, 60, f"{group} does not freeze", 0.001)


def enter(tops, host):
    """Move this process into its host's groups and make them its roots.
    Returns the mounts for mount_all()."""
    mounts = [h[:3] for h in hierarchies()]
    for top in tops:
        _make(f"{top}/{host}")
        with open(f"{top}/{host}/cgroup.procs", "w") as f:
            f.write("0")
    unshare(CLONE_NEWCGROUP)
    return mounts


def mount_all(mounts, root):
    """Mount the namespace's groups where the machine mounts all groups."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    if any(point != "/sys/fs/cgroup" for point, _, _ in mounts):
        mount("tmpfs", root + "/sys/fs/cgroup", "tmpfs", flags, "mode=755")
    for point, kind, controllers in mounts:
        os.makedirs(root + point, exist_ok=True)
        mount(kind, root + point, kind, flags, controllers or None)


def _rmdirs(top, ignored):
    """Remove a group and those in it, where none of these errors occurs."""
    for path, _, _ in os.walk(top, topdown=False):
        with contextlib.suppress(ignored):
            os.rmdir(path)


def remove(tops):
    """Remove the groups. All processes in them must have ended; the kernel may
    find a group busy a little longer."""
    def gone(top):
        _rmdirs(top, OSError)
        return not os.path.exists(top)

    for top in tops:
        wait_for(lambda t=top: gone(t), 60, f"control group {top} stays")


def idle_trees():
    """Where agents make their cpu groups: one path, or none."""
    return [f"{own}/slurm-storm" for _, kind, controllers, own
            in hierarchies()
            if kind == "cgroup" and "cpu" in controllers.split(",")]


def remove_idle(hosts):
    """Remove the agents' cpu groups of these hosts, and of steps that they had.
    Labs share them: those of another lab's steps have processes and stay, and
    its agent makes the others again."""
    for tree in idle_trees():
        for host in hosts:
            _rmdirs(f"{tree}/{host}", OSError)
        with contextlib.suppress(OSError):
            os.rmdir(tree)
