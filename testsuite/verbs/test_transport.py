# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The transport over verbs by itself (test_verbs.c): datagrams, groups, queues
that are full, what is missing on a host, a port and a device that go and come
back."""
import pytest

from transfer import BUILD, SECONDS, program


@pytest.mark.one_host
def test_transport(machines):
    if not (BUILD / "testsuite/verbs/test_verbs").exists():
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")
    [c] = machines.run(f"CK_TIMEOUT_MULTIPLIER=4 "
                       f"{program('verbs', 'test_verbs')}", [0], 3 * SECONDS)
    assert c.code == 0 and "100%: Checks: " in c.out, str(c)
