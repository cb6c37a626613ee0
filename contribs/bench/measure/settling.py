# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Wait until the machine is idle, before something is measured."""
import pathlib
import time


class Count:
    """How often settle() waited, and how often in vain; how long it waits at
    most, in seconds."""
    waits = vain = 0
    limit = 5


def idle_ticks():
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(words[4]), sum(map(int, words[1:9]))


def settle():
    """The last run may still have work to do (steps end, the kernel frees
    pages), which the next must not include."""
    Count.waits += 1
    end = time.monotonic() + Count.limit
    while time.monotonic() < end:
        idle, ticks = idle_ticks()
        time.sleep(0.1)
        idle_now, ticks_now = idle_ticks()
        if idle_now - idle > 0.9 * (ticks_now - ticks):
            return
    Count.vain += 1


def busy():
    """A sentence about waits in vain, or nothing."""
    return f"The machine was busy with something else before {Count.vain} " \
        f"of {Count.waits} runs." if Count.vain else ""
