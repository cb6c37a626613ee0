# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The library's conformance suite on the machines' kernel, where time goes
otherwise than here: a case of the suite in each machine, all at once."""
import pytest

from transfer import has_verbs, program


@pytest.mark.one_host
@pytest.mark.alone("conformance")
def test_conformance(alone):
    bad = [j for j in alone("conformance") if j.code != 0
           or "100%: Checks: " not in j.out or "Checks: 0," in j.out]
    assert not bad, "\n".join(map(str, bad))
    if not has_verbs(program("unit", "test_conformance")):
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")
