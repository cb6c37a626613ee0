# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Wait until the machine is idle, before something is measured."""
import pathlib
import sys
import time


def idle_ticks():
    words = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(words[4]), sum(map(int, words[1:9]))


def settle(limit=5):
    """The last run may still have work to do (steps end, the kernel frees
    pages), which the next must not include."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        idle, ticks = idle_ticks()
        time.sleep(0.1)
        idle_now, ticks_now = idle_ticks()
        if idle_now - idle > 0.9 * (ticks_now - ticks):
            return
    print(f"{pathlib.Path(sys.argv[0]).name}: the machine is still busy after "
          f"{limit} s", file=sys.stderr)
