# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The library's conformance suite on the machines' kernel, where time goes
otherwise than here: a case of the suite in each machine, all at once."""
from conftest import SECONDS, program

CASES = ["udp", "udp, three in a hundred lost"]


def test_conformance(machines):
    suite = program("unit", "test_conformance")
    commands = []
    for i, case in enumerate(CASES):
        commands.append(machines.start(
            i % machines.count, f"CK_RUN_CASE='{case}' {suite}"))
    assert machines.wait(commands, 2 * SECONDS), str(commands[0])
    for c in commands:
        assert c.code == 0 and "100%: Checks: " in c.out, str(c)
        assert "Checks: 0" not in c.out, str(c)
