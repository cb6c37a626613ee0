# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What `testsuite/run verbs --device NAME` does on a host that has a device: here
the host is one of the machines, and the device its own."""
import re

import pytest

from transfer import BUILD


@pytest.mark.alone("device")
def test_device(request):
    if not (BUILD / "testsuite/verbs/test_verbs").exists():
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")
    [job] = request.getfixturevalue("alone")("device")
    assert job.code == 0, str(job)
    # the device itself, and the transport over it
    assert re.search(r"^2 passed, \d+ skipped", job.out, re.M), str(job)
