# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What storm_sim, the simulator, says a transfer and a launch take."""
import json
import pathlib
import subprocess
import tempfile

from lab.release import stage_dir

from .result import NotRun

MESSAGE = 4096  # bytes of a launch's message


def scenario(network, size, execute, bus):
    """One file to all nodes, then a launch of what runs so many seconds."""
    link = {"name": network, "frames": True}
    if bus:
        link["bus"] = bus
    return {"nodes": 1, "network": link, "operations": [
        {"do": "open"}, {"do": "transfer", "size": size, "succeeds": True},
        {"do": "launch", "size": MESSAGE, "seconds": execute}]}


def simulate(network, nodes, size, execute, bus=None):
    """{n: {"transfer": seconds, "launch": seconds}} for each of `nodes`; the
    launch is of the file: the transfer and what follows."""
    program = pathlib.Path(stage_dir()) / "bin" / "storm_sim"
    if not program.exists():
        raise NotRun(f"there is no {program}: run contribs/prepare build")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(scenario(network, size, execute, bus), file)
        file.flush()
        done = subprocess.run(
            [program, "--nodes=" + ",".join(map(str, nodes)), file.name],
            capture_output=True, text=True)
    if done.returncode:
        raise NotRun(f"storm_sim: {done.stderr.strip()}")
    found = {}
    runs = json.loads(done.stdout)
    for run in runs if isinstance(runs, list) else [runs]:
        took = {op["do"]: op["seconds"] for op in run["operations"]}
        found[run["nodes"]] = {"transfer": took["transfer"],
                               "launch": took["transfer"] + took["launch"]}
    return found
