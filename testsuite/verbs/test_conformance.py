# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The library's conformance suite on the machines' kernel, where time goes
otherwise than here: a case of the suite in each machine, all at once."""
import pytest

from transfer import SECONDS, has_verbs, program

CASES = {
    "udp": ["udp", "udp, three in a hundred lost"],
    "verbs": ["verbs", "verbs, three in a hundred lost",
              "verbs, along the chain"],
}


@pytest.mark.one_host
def test_conformance(machines):
    suite = program("unit", "test_conformance")
    cases = [(t, c) for t in CASES for c in CASES[t]
             if t != "verbs" or has_verbs(suite)]
    # one after the other where there are fewer machines than cases
    lines = [""] * machines.count
    for i, (transport, case) in enumerate(cases):
        lines[i % machines.count] += (
            f"CK_TIMEOUT_MULTIPLIER=4 CK_RUN_CASE='{case}' "
            f"STORM_TRANSPORT={transport} {suite} && ")
    commands = [machines.start(i, line + "true")
                for i, line in enumerate(lines)]
    machines.wait(commands, 3 * SECONDS)
    bad = [c for c in commands if c.code != 0 or "100%: Checks: " not in c.out
           or "Checks: 0," in c.out]
    assert not bad, "\n".join(map(str, bad))
    if not has_verbs(suite):
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")
