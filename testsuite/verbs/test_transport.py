# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The transport over verbs alone (test_verbs.c): datagrams, groups, full queues,
things missing on a host, a port and a device that disappear and come back."""
import pytest

from transfer import BUILD


@pytest.mark.one_host
@pytest.mark.alone("transport")
def test_transport(request):
    if not (BUILD / "testsuite/verbs/test_verbs").exists():
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")
    [job] = request.getfixturevalue("alone")("transport")
    assert job.code == 0 and "100%: Checks: " in job.out, str(job)
