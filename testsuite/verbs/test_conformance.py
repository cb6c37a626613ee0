# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The library's conformance suite on the machines' kernel, where time goes
otherwise than here: a part of the suite in each machine, all at once."""
import pytest

from alone import CASES, PARTS
from needs import need_verbs
from transfer import VALGRIND


def built():
    need_verbs("unit", "test_conformance")


def passed(jobs):
    bad = [j for j in jobs if j.code != 0
           or "100%: Checks: " not in j.out or "Checks: 0," in j.out]
    assert not bad, "\n".join(map(str, bad))


@pytest.mark.skipif(VALGRIND, reason="SKIP: by valgrind each part is a test")
@pytest.mark.one_host
@pytest.mark.alone("conformance")
def test_conformance(alone):
    passed(alone("conformance"))
    built()


if VALGRIND:
    @pytest.mark.parametrize("part", range(PARTS))
    @pytest.mark.parametrize("case", CASES["verbs"])
    @pytest.mark.alone("conformance")
    def test_by_valgrind(alone, case, part):
        built()
        [job] = [j for j in alone("conformance")
                 if j.name == f"conformance: {case}, {part}"]
        passed([job])
