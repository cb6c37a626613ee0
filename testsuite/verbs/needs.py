# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What tests skip without."""
import pytest

from transfer import has_verbs, program, sanitized


def need_verbs(folder="verbs", name="across"):
    if not has_verbs(program(folder, name)):
        pytest.skip("SKIP: libstorm was built without verbs: install "
                    "libibverbs-dev and librdmacm-dev, and build again")


def need_plain_plugins():
    if sanitized(program("verbs", "across")):
        pytest.skip("SKIP: Slurm's programs take sanitized plugins in the "
                    "cluster tests alone")
