# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""contribs/bench/storm_bench verbs runs; ../cluster runs its other subcommands."""
import json
import os
import subprocess

from transfer import BUILD, SECONDS
from vm import TOP


def test_quick(tmp_path):
    """It counts the datagrams of both transports."""
    done = subprocess.run(
        [TOP / "contribs/bench/storm_bench", "verbs", "--quick", "--json",
         tmp_path / "json"], text=True, timeout=SECONDS,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={**os.environ, "STORM_BUILD": str(BUILD)})
    assert done.returncode == 0, done.stdout
    table, = json.loads((tmp_path / "json").read_text())["tables"]
    cells = {row["by"]["what"]: row["cells"] for row in table["rows"]}
    for transport in ("udp", "verbs"):
        sent = cells["datagrams that the owner sends"][transport]
        assert sent["median"] > 1_000_000 / 4300, done.stdout
