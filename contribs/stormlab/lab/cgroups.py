# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Control groups of their own for the hosts, where Slurm is to use them.

Slurm names its groups by node, so n1 of two labs would share them, and it
leaves some behind. A host therefore becomes the root of a cgroup namespace:
in each hierarchy a group TOP/HOST below the one that stormlab itself is in,
where TOP is stormlab.NAME. Hosts do without when slurm.conf names no cgroup
plugin, for moving processes between groups is slow.
"""
import os

from .sysdep import CLONE_NEWCGROUP, MS_NODEV, MS_NOEXEC, MS_NOSUID, mount, \
    unshare


def wanted(conf):
    """conf: the pairs given for slurm.conf"""
    return any("cgroup" in value for key, value in conf
               if key.lower() in ("proctracktype", "taskplugin",
                                  "jobacctgathertype"))


def _own_groups():
    """{hierarchy: path}, a hierarchy being its set of controllers."""
    own = {}
    with open("/proc/self/cgroup") as f:
        for line in f:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            own[frozenset(controllers.split(","))] = path
    return own


def hierarchies():
    """All mounted ones: [(mount point, type, options, our own group)]"""
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
    # A new cpuset takes no process before it is told its CPUs.
    for name in ("cpuset.cpus", "cpuset.mems"):
        parent = f"{os.path.dirname(path)}/{name}"
        if os.path.exists(f"{path}/cpuset.cpu_exclusive"):
            with open(parent) as f, open(f"{path}/{name}", "w") as g:
                g.write(f.read())


def freezer_wanted(storm_conf):
    """Do agents stop steps by groups of version 1?"""
    return any(key.lower() == "freezer" and value.lower() == "freezer"
               for key, value in storm_conf)


def prepare(lab, all_of_them=True, freezer=False):
    """The top group of a lab in each hierarchy, or in that of version 2 (and the
    freezer) alone, for where a group has its share of real time there is none
    for its children; yields their paths."""
    tops = []
    for _, kind, controllers, own in hierarchies():
        if not (all_of_them or kind == "cgroup2" or
                freezer and controllers == "freezer"):
            continue
        top = f"{own}/stormlab.{lab}"
        tops.append(top)
        _make(top)
    return tops


def enter(tops, host):
    """Move this process into its host's groups and make them its roots.
    Returns what mount_all needs."""
    mounts = [h[:3] for h in hierarchies()]
    for top in tops:
        _make(f"{top}/{host}")
        with open(f"{top}/{host}/cgroup.procs", "w") as f:
            f.write("0")
    unshare(CLONE_NEWCGROUP)
    return mounts


def mount_all(mounts, root):
    """Show the namespace's groups where the machine shows all."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    if any(point != "/sys/fs/cgroup" for point, _, _ in mounts):
        mount("tmpfs", root + "/sys/fs/cgroup", "tmpfs", flags, "mode=755")
    for point, kind, controllers in mounts:
        os.makedirs(root + point, exist_ok=True)
        mount(kind, root + point, kind, flags, controllers or None)


def remove(tops):
    """After the death of all that was in them."""
    for top in tops:
        for path, _, _ in os.walk(top, topdown=False):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                pass
