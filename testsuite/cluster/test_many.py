# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""128 nodes: steps and broadcasts by stock Slurm and by STORM. With so many
hosts the machine's own limits show, such as that of the kernel's table of
neighbours."""
import os

import pytest

from conftest import make
from harness import SIZE, same

NODES = 128

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def many():
    c = make("many", NODES, storm_conf={"OpenTimeout": "30s"})
    yield c
    c.down()


def test_steps(many):
    for _ in range(3):
        _, storm = same(many, f"-N{NODES} hostname", code=0)
        assert sorted(storm.out.split()) == sorted(many.names)


def test_exit_codes(many):
    same(many, f"-N{NODES} {{do}} @5 exit 3 @100 exit 7", code=7)


def test_bcast_and_run(many):
    same(many, f"-N{NODES} --bcast=/tmp/app {{big}} say fine", code=0,
         between=lambda: many.remove("/tmp/app"))
    want = (many.bin / "big").read_bytes()
    assert all(many.file(n, "/tmp/app") == want for n in many.names)
    many.remove("/tmp/app")


@pytest.mark.storm_only
@pytest.mark.parametrize("program", ["sbcast", "sbcast_storm"])
def test_sbcast(many, program):
    data = os.urandom(SIZE)
    (many.home / "data").write_bytes(data)
    done = many.run([program, "/home/user/data", "/tmp/data"],
                    env={"SLURM_JOB_ID": str(many.job)})
    assert done.code == 0, str(done)
    assert all(many.file(n, "/tmp/data") == data for n in many.names)
    many.remove("/tmp/data")
    assert many.litter() == []
