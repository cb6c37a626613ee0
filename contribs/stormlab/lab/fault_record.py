# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The faults that are in force in a lab: faults.json in its directory."""
import json

from . import slurmconf
from .sysdep import start_time


def _path(lab):
    return lab.dir + "/faults.json"


def load(lab):
    try:
        with open(_path(lab)) as f:
            return json.load(f)
    except FileNotFoundError:
        return {"faults": [], "groups": []}


def save(lab, all_of_them):
    slurmconf.write(_path(lab), json.dumps(all_of_them))


def _alive(helper):
    return helper and start_time(helper[0]) == helper[1]


def in_force(lab):
    """A list of dicts: kind, host, what, since (s since 1970), and what each kind
    has of its own. A flood that has ended is none."""
    return [f for f in load(lab)["faults"]
            if f["kind"] != "flood" or _alive(f["helper"])]


def groups(lab):
    """The control groups that faults have made for the lab."""
    return load(lab)["groups"]
