# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Commands of STORM with their timelines."""
import json

from .result import NotRun


def run_storm(where, argv, multicast=True, env=None):
    """Run srun --launch=storm or sbcast_storm, which must not fall back, and in
    a lab must use multicast, or must not. Returns its milliseconds and its
    steps' timelines."""
    path = where.shared / "timeline"
    path.unlink(missing_ok=True)
    took = where.timed(argv, env={**(env or {}),
                                  "STORM_TIMELINE": where.inside("timeline")})
    if not path.exists():
        raise NotRun(f"{argv[0]} did not run by STORM: "
                     + (where.shared / "stderr").read_text().strip())
    found = json.loads(path.read_text())
    steps = found.get("steps", [found])
    for step in steps:
        if step["fallback"]:
            raise NotRun(f"{argv[0]} fell back: {step['fallback']}")
        if where.lab and step["multicast"] != multicast:
            raise NotRun(f"{argv[0]}: multicast is {step['multicast']}")
    return took, steps


def cast_ms(step):
    """From the opening of the domain until all nodes have the file."""
    phases = step["phases"]
    return phases["verify"]["start"] + phases["verify"]["ms"] \
        - phases["open"]["start"]


def sent_ms(step):
    """From the first byte given to the network until all nodes have the file."""
    phases = step["phases"]
    return phases["verify"]["start"] + phases["verify"]["ms"] \
        - phases["send"]["start"]
