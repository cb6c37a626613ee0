# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Releases of Slurm that a lab can run. 22.05 is the machine's installation.
The others are stock Slurm of a later Debian, each in a root file system that
contribs/prepare makes and keeps in its cache. The hosts of a lab see it in
place of the machine's directories. In 26.05-source Slurm is not stock, but
built from the source that STORM was built with.
"""
import os
import re

from .sysdep import LabError

MACHINES = "22.05"
RELEASES = (MACHINES, "24.11", "26.05", "26.05-source")


def top_dir():
    """The root of the source tree that this file lies in."""
    return os.path.realpath(os.path.join(os.path.dirname(__file__),
                                         "../../.."))


def chosen(given=None):
    """The release that was asked for, by a caller or by STORM_SLURM."""
    release = given or os.environ.get("STORM_SLURM") or MACHINES
    if release not in RELEASES:
        raise LabError(f"Slurm {release!r}: choose one of "
                       + ", ".join(RELEASES))
    return release


def number(release=None):
    """A release, however it was built."""
    return chosen(release).removesuffix("-source")


def stage_of(release):
    """Where contribs/prepare stages STORM for a release."""
    suffix = "" if release == MACHINES else "-" + release
    return f"{top_dir()}/_stage{suffix}"


def stage_dir(release=None):
    """The stage of the release that was asked for, or STORM_STAGE."""
    return os.environ.get("STORM_STAGE") or stage_of(chosen(release))


def _cache():
    return os.path.realpath(os.environ.get("STORM_CACHE")
                            or top_dir() + "/.cache")


def other_source(release=None):
    """Where contribs/prepare took a source for that of the binaries, their two
    versions; else None."""
    try:
        with open(f"{_cache()}/slurm-source-{chosen(release)}/origin") as f:
            found = re.search(r"(\d+\.\d+\.\d+)[^/ ]* \d+ for (\d+\.\d+\.\d+)",
                              f.read())
    except FileNotFoundError:
        return None
    if not found or chosen(release).endswith("-source"):
        return None
    return found.groups() if found[1] != found[2] else None


def root_of(release):
    """The root file system of a release; None for the machine's own."""
    if release == MACHINES:
        return None
    root = f"{_cache()}/root-{release}"
    mark, mode = ("slurm", "slurm-source") if release.endswith("-source") \
        else ("root", "packages")
    if not os.path.exists(f"{root}/etc/stormlab-{mark}"):
        raise LabError(f"{root} is missing, a root file system with Slurm "
                       f"{release}; make it with: contribs/prepare {mode} "
                       f"--slurm {release}")
    return root
