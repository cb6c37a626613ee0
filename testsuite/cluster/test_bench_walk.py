# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""What test_bench.py does not reach of storm_bench gang: --walk and --figure. The
results' shape is judged, and no time."""
import json

import pytest

import mpis
from conftest import need_cgroup2
from harness import need_records, sanitized
from test_bench import check_table, storm_bench

pytestmark = [
    pytest.mark.storm_only,
    pytest.mark.skipif(sanitized(), reason="SKIP: with the sanitizers nothing "
                       "is measured"),
    pytest.mark.skipif(not mpis.first(), reason="SKIP: no MPI; apt-get install "
                       "mpich libmpich-dev")]


def tables(tmp_path, *argv):
    """{beginning of the title: rows}"""
    need_cgroup2()
    need_records()
    code, out = storm_bench("gang", *argv, "--quick", "--json",
                            tmp_path / "json")
    assert code == 0, out
    found = json.loads((tmp_path / "json").read_text())["tables"]
    for table in found:
        check_table(table)
    return {table["title"].split(",")[0].split(" (")[0]: table["rows"]
            for table in found}


@pytest.mark.long
def test_sweeps(tmp_path):
    """Each thing that the walk can vary has a table, with a job alone and two
    that take turns."""
    found = tables(tmp_path, "--walk",
                   "memory,quantum,granularity,message,jobs,nodes")
    for what in "memory", "the quantum", "exchanges of a byte", \
            "bytes of an exchange", "jobs on a processor", "nodes":
        rows = found[f"walk: slowdown by {what}"]
        assert {row["by"]["MPL"] for row in rows} == {1, 2}, rows


@pytest.mark.long
def test_too_large(tmp_path):
    """Jobs that ask for more than the node has together run one after the
    other; nothing else has told the node's memory from more."""
    found = tables(tmp_path, "--walk", "swap")
    asked = found["walk: two jobs that ask for memory"]
    assert {row["cells"]["run"]["text"] for row in asked
            if row["by"]["each asks, MB"] == 600} == {"one after the other"}
    assert [row["by"]["array, % of memory"] for row in
            found["walk: two jobs on a node of 32 MB with a swap file"]] == \
        [40, 60, 80]


def test_figure(tmp_path):
    """--figure sets what the figure varies."""
    rows = tables(tmp_path, "--figure", "4")["makespan /"]
    assert {row["by"]["MPL"] for row in rows} == {1, 2}
    assert {row["by"]["quantum"] for row in rows} == {50}
