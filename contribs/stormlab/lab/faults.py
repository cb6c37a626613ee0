# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Faults of a lab's hosts, and how each is healed: stormlab fault.

A fault is recorded, with all that is needed to undo it, before anything changes. So
heal, which may run after any crash, undoes exactly that.
"""
import os
import subprocess
import time

from . import fault_kinds
from .fault_kinds import DEFAULTS, KINDS, OPTIONS
from .fault_record import in_force, load, save
from .sysdep import LabError


class FaultRefused(LabError):
    """The fault is in force already, or there is none to heal."""
    status = 3


def text(fault):
    """A fault in words."""
    more = {"delay": "{ms:g} ms, jitter {jitter:g} ms, loss {loss:g} %, "
                     "duplicates {duplicate:g} %",
            "flood": "{rate} datagrams a second for {seconds:g} s",
            "age": "memberships last {seconds:g} s"}.get(fault["kind"], "")
    words = [fault["kind"], fault["host"], fault["what"] or "",
             more.format(**fault) and "(" + more.format(**fault) + ")"]
    return " ".join(w for w in words if w)


def ports(lab, host):
    """The ports of the bridges to a host, which a delay puts elsewhere."""
    return fault_kinds.ports(lab, host, in_force(lab))


def begin(lab, kind, host, what, options):
    """Put a fault in force. The caller holds the lab's lock."""
    lab.known(host)
    what = what or DEFAULTS.get(kind)
    known = OPTIONS.get(kind, {})
    if set(options) - set(known) or what and kind not in DEFAULTS:
        raise TypeError(f"fault {kind} has no option "
                        + ", ".join({*options} - {*known} or {what}))
    if kind in ("fill", "hang"):
        what = os.path.normpath(what)
        if not what.startswith("/") or what == "/":
            raise LabError(f"{what!r}: expected the absolute path of a directory")
    fault = {"kind": kind, "host": host, "what": what, "since": time.time(),
             **known, **options}
    record = load(lab)
    record["faults"] = faults = in_force(lab)
    mine = [f for f in faults if f["host"] == host]
    if any((f["kind"], f["what"]) == (kind, what) for f in mine):
        raise FaultRefused(f"{text(fault)}: is in force already; heal it first "
                           f"with: stormlab fault heal {host}")
    if any(f["kind"] == "kill" for f in mine) and not kind.startswith("cut"):
        raise FaultRefused(f"{host} has no power; give it back first with: "
                           f"stormlab fault heal {host}")
    if kind == "stop" and any(f["kind"] == "pause" for f in mine):
        raise FaultRefused(f"{host} is paused: all of its programs stand already")
    fault.update(KINDS[kind].plan(lab, fault))
    faults.append(fault)
    if "top" in fault and fault["top"] not in record["groups"]:
        record["groups"].append(fault["top"])
    save(lab, record)
    try:
        KINDS[kind].begin(lab, fault, faults)
    except BaseException:
        _undo(lab, record, fault)
        raise
    save(lab, record)


def _undo(lab, record, fault):
    rest = [f for f in record["faults"] if f is not fault]
    KINDS[fault["kind"]].undo(lab, fault, rest)
    record["faults"] = rest
    save(lab, record)


def heal(lab, names):
    """Undo all faults of these hosts, or of all, the last one first. One that
    cannot be undone stays in the record, and the others are undone."""
    for name in names:
        lab.known(name)
    record = load(lab)
    record["faults"] = in_force(lab)
    wanted = [f for f in record["faults"] if not names or f["host"] in names]
    if not wanted:
        raise FaultRefused("no fault is in force" + (
            " on " + ", ".join(names) if names else f" in lab '{lab.name}'"))
    errors = []
    for fault in reversed(wanted):
        try:
            _undo(lab, record, fault)
        except (LabError, OSError, subprocess.SubprocessError) as e:
            errors.append(f"{text(fault)}: {e}")
    if errors:
        raise LabError("not healed: " + "; ".join(errors))
    return wanted
