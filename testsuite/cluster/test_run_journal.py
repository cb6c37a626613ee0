# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The journal of runs: a line of JSON for each, with what its tasks have used."""
import json

import pytest

from run_lab import batch, begin, end_run, lab  # noqa: F401

pytestmark = pytest.mark.storm_only

#: argv: seconds of CPU time, MB
BURN = """
import sys, time
held = bytearray(int(sys.argv[2]) << 20)
held[::4096] = b"x" * len(held[::4096])
while time.process_time() < float(sys.argv[1]):
    pass
"""


def journal(one, name="journal"):
    return [json.loads(line) for line in (one.dir / name).read_text().splitlines()]


def test_lines(lab):
    """A line for each run that asks, by option or variable, also from other nodes: who ran
    where and when, how tasks ended, and what they used."""
    one = begin(lab, rf"""
cat >burn.py <<'EOF'{BURN}EOF
storm run --journal=journal -N2 -n4 python3 burn.py 0.3 50
storm run -N4 true
export STORM_RUN_JOURNAL=journal
storm run -N4 -n4 sh -c '[ $SLURM_PROCID != 2 ] || kill -9 $$; exit $SLURM_PROCID' 2>err
printf '0 echo\n* /nowhere\n' >file; storm run -N2 -n2 -D /tmp --multi-prog file 2>err
storm run -n1 -w n3 storm run -n1 -w n2 echo $'a "b\n\xff\xc3\xa4'
storm run -N1 --journal= true
""")
    assert one.finish().code == 0, one.log()
    burn, ends, multi, inner, outer = journal(one)
    assert [x["run"] for x in (burn, ends, multi, outer, inner)] == [1, 3, 4, 5, 6]
    assert burn["command"] == ["python3", "burn.py", "0.3", "50"]
    assert (burn["nodes"], burn["tasks"], burn["cpus"], burn["status"]) == ("n[1-2]", 4, 4, 0)
    assert burn["cwd"] == str(one.dir) or burn["cwd"].startswith("/home/user")
    assert burn["ends"] == [{"tasks": "0-3", "exit": 0}]
    assert burn["queued_s"] <= burn["started_s"] <= burn["ended_s"] - 0.3
    assert [(x["node"], x["tasks"]) for x in burn["usage"]] == [("n1", "0-1"), ("n2", "2-3")]
    for use in (x["rusage"] for x in burn["usage"]):
        assert 0.5 < use["user_s"] + use["system_s"] < 3, use
        assert 50 << 10 < use["max_rss_kb"] < 200 << 10, use
        assert use["minor_faults"] > 2 * 50 * 256 * 0.5 and use["switches_involuntary"] >= 0
    assert ends["status"] == 137
    assert sorted(ends["ends"], key=lambda e: e["tasks"]) == [
        {"tasks": "0", "exit": 0}, {"tasks": "1", "exit": 1},
        {"tasks": "2", "signal": 9, "core": False}, {"tasks": "3", "exit": 3}]
    assert multi["multi_prog"] and multi["cwd"] == "/tmp"
    assert {"tasks": "1", "error": "the program: No such file or directory"} in multi["ends"]
    assert inner["command"][1].encode(errors="surrogateescape") == b'a "b\n\xff\xc3\xa4'
    assert outer["nodes"] == "n3" and inner["nodes"] == "n2"


def test_no_journal(lab):
    """A file that cannot be written is said once by its run, which does not fail by it; nor
    does one whose disk is full."""
    out = batch(lab, """
storm run --journal=/nowhere/x -N2 echo fine; echo $?
storm run --journal=/dev/full -N1 true; echo $?
storm run --journal=. -n1 sh -c 'exit 3'; echo $?
""")
    assert sorted(out[:3]) == [
        "fine", "fine",
        "storm run: error: the journal /nowhere/x: No such file or directory"], out
    assert out[3:5] == ["0", "storm run: error: the journal /dev/full: No space left on device"]
    assert out[5] == "0" and out[6].endswith(": Is a directory") or \
        out[7].endswith(": Is a directory"), out
    assert out[-1] == "3"


def test_killed_client(lab):
    """A run whose client is killed has a line, too; and so has one that never began."""
    one = begin(lab, """
export STORM_RUN_JOURNAL=journal
storm run -N4 -n8 sleep 1000 & first=$!
until storm ps | grep -q sleep; do sleep 0.05; done
storm run -n1 true & second=$!
until storm ps | grep -q true; do sleep 0.05; done
kill $second; wait $second; kill -9 $first
until [ $(wc -l <journal) = 2 ]; do sleep 0.05; done
""")
    assert one.finish().code == 0, one.log()
    second, first = journal(one)
    assert second["started"] is None and second["ends"] == [] and second["status"] == 143
    assert first["ends"] == [{"tasks": "0-7", "signal": 9, "core": False}]


def test_each(lab):
    """The run of storm each's pullers, with what their tasks used."""
    one = begin(lab, rf"""
cat >burn.py <<'EOF'{BURN}EOF
storm each --journal=journal --joblog=tasks python3 burn.py 0.05 1 '#' {{}} ::: $(seq 20)
""")
    assert one.finish().code == 0, one.log()
    run, = journal(one)
    used = sum(x["rusage"]["user_s"] + x["rusage"]["system_s"] for x in run["usage"])
    assert 1 <= used < 10 and len((one.dir / "tasks").read_text().splitlines()) == 21
