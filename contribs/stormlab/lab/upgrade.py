# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Another release of Slurm for a host that runs: the directories with programs
and libraries of that release's root file system are mounted over the host's own,
and STORM's stage over the other stage.

It is as if packages had been upgraded. What runs keeps the files that it has
open. What starts from then on is of the new release, in the same name spaces,
with the same addresses, configuration, state and munged.
"""
import os

from . import slurmconf
from .sysdep import CLONE_NEWNS, MS_BIND, MS_RDONLY, MS_REMOUNT, LabError, \
    clone_mount, mount, move_mount, setns

#: what a release's packages bring, and what the linker needs to find it
REPLACED = ("/usr", "/etc/alternatives", "/etc/ld.so.cache")


def _mount_inside(pid, trees):
    """In the mount name space of `pid`, attach {path: tree}, read-only."""
    space = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY)
    setns(space, CLONE_NEWNS)
    for path, tree in trees.items():
        if not os.path.exists(path):
            os.makedirs(path)
        move_mount(tree, path)
        mount(None, path, None, MS_BIND | MS_REMOUNT | MS_RDONLY)


def show(pid, rootfs, stage):
    """Show a host, by its first process, the programs of the root file system
    and a stage. Other processes than those that start later see no change."""
    trees = {path: clone_mount(rootfs + path) for path in REPLACED}
    if stage:
        trees[slurmconf.STAGE] = clone_mount(stage)
    # A process with threads cannot enter a mount name space.
    answer, ours = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            _mount_inside(pid, trees)
            status = 0
        except OSError as e:
            os.write(ours, str(e).encode())
        finally:
            os._exit(status)
    os.close(ours)
    for tree in trees.values():
        os.close(tree)
    _, status = os.waitpid(child, 0)
    with os.fdopen(answer, "rb") as f:
        why = f.read().decode()
    if status:
        raise LabError(f"cannot show {rootfs} in the host: "
                       f"{why or 'no reason given'}")
