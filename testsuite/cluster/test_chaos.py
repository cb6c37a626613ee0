# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Chaos: many kinds of jobs and a fault every 2 s, and each job's end is the truth.
`testsuite/cluster/chaos --seed N --seconds S` plays more."""
import json

import pytest

import chaos_judge
import chaos_plan
import chaos_play
from accounting import need_slurmdbd
from chaos_judge import Trouble, Unit, judge
from conftest import make, need_cgroup2
from harness import LONG

pytestmark = pytest.mark.storm_only


def test_the_same_seed_gives_the_same_plan():
    one, other = chaos_plan.make_plan(7, 180), chaos_plan.make_plan(7, 180)
    assert one == other and str(one) == str(other)
    assert chaos_plan.make_plan(8, 180) != one
    # of a longer one it is the begin but for the jobs' numbers
    assert len(one.jobs) > 90 and len(one.faults) > 60


def test_what_a_plan_has():
    plan = chaos_plan.make_plan(1, 1800)
    assert len(plan.jobs) > 1000
    assert {j.kind for j in plan.jobs} == set(chaos_plan.JOBS)
    assert {f.kind for f in plan.faults} == set(chaos_plan.FAULTS)
    assert len({j.name for j in plan.jobs}) == len(plan.jobs)
    for fault in plan.faults:
        together = [f for f in plan.faults
                    if f.at <= fault.at < f.at + f.hold + chaos_plan.REST]
        assert [f.node for f in together].count(fault.node) == 1
        assert len([f for f in together if fault.at < f.at + f.hold]) <= \
            chaos_plan.BROKEN


GOOD_OUT = "0: begin\n1: begin\n1: end\n0: end\n"


def unit(**given):
    values = {"name": "launch1", "kind": "launch", "tasks": 2, "state": "COMPLETED",
              "nodes": ["n1", "n2"], "began": 100, "ended": 110, "code": 0,
              "out": GOOD_OUT,
              "marks": {"begun": {0: 1, 1: 1}, "ended": {0: 1, 1: 1}}}
    return Unit(**{**values, **given})


CUT = Trouble("cut", "n2", 105, 109)
ELSEWHERE = Trouble("cut", "n3", 105, 109)
EARLIER = Trouble("cut", "n2", 50, 60)
FAILED = {"state": "NODE_FAIL", "code": 143, "out": "0: begin\n",
          "err": "srun: error: Node failure on n2\n"}


@pytest.mark.parametrize("given,troubles,found", [
    ({}, [], []),
    ({}, [CUT], []),
    (FAILED, [CUT], []),
    (FAILED, [], ["no cause", "blames"]),
    (FAILED, [ELSEWHERE, EARLIER], ["no cause", "blames"]),
    ({**FAILED, "err": "srun: error: Timed out\n"}, [CUT], ["unnamed"]),
    ({**FAILED, "code": 0}, [CUT], ["code"]),
    ({"code": 1}, [], ["code"]),
    ({"out": "0: begin\n0: end\n"}, [CUT], ["lost output"]),
    ({"out": "0: begin\n0: end\n", "marks": {"begun": {0: 1}, "ended": {0: 1}}},
     [CUT], ["incomplete"]),
    ({"out": GOOD_OUT + "0: begin\n"}, [CUT], ["twice", "lost output"]),
    ({"marks": {"begun": {0: 2, 1: 1}, "ended": {0: 1, 1: 1}}}, [CUT], ["twice"]),
    ({"state": "RUNNING"}, [CUT], ["hung"]),
    ({"state": ""}, [CUT], ["unrecorded"]),
    ({**FAILED, "state": "TIMEOUT", "hangs": True, "code": -9}, [CUT], ["hangs"]),
    ({"kind": "each", "tasks": 3, "out": "1: end\n0: end\n2: end\n", "marks": {}},
     [], []),
    ({"kind": "each", "tasks": 3, "out": "1: end\n0: end\n2: end\n1: end\n",
      "marks": {}}, [], ["twice"]),
])
def test_judge(given, troubles, found):
    assert [kind for kind, _, _ in judge(unit(**given), troubles)] == found


def test_what_stock_does_as_well():
    """It is counted apart, and only with srun's own words."""
    err = "srun: StepId=101.0 aborted before step completely launched.\n"
    (_, _, why), = judge(unit(state="TIMEOUT", err=err), [CUT])
    assert "srun exits with 0" in why
    (_, _, why), = judge(unit(state="TIMEOUT"), [CUT])
    assert why is None
    err = "srun: error: eio_handle_mainloop: Abandoning IO 60 secs after job shutdown " \
        "initiated\n"
    (_, _, why), = judge(unit(out="0: begin\n0: end\n", err=err), [CUT])
    assert "output left" in why
    for marks, known in (({"begun": {0: 1}, "ended": {0: 1}}, True),
                         ({"begun": {0: 1, 1: 1}, "ended": {0: 1}}, False)):
        (_, _, why), = judge(unit(state="TIMEOUT", hangs=True, marks=marks), [CUT])
        assert bool(why) == known


def test_named():
    assert chaos_judge.named("srun: error: Node failure on n[2-3,7] of n12\n"
                             "storm: nothing of n5\n") == {"n2", "n3", "n7", "n12"}
    assert chaos_judge.named("storm each: the launchers cannot be started: the launcher "
                             "on node n4: node was lost\n") == {"n4"}


# -- half an hour of it -----------------------------------------------------------

@pytest.mark.skipif(not LONG, reason="SKIP: it takes half an hour: --long")
def test_chaos(seed=6):
    """A minute of it takes three, and the test command has none left."""
    need_cgroup2()
    need_slurmdbd()
    lab = make("chaos", chaos_plan.NODES, kind=chaos_play.ChaosLab)
    try:
        result = chaos_play.play(lab, chaos_plan.make_plan(seed, 1800))
    finally:
        lab.down()
    assert not result["untruths"] and not result["others"], \
        json.dumps(result, indent=1) + \
        f"\nagain: testsuite/cluster/chaos --seed {seed}"
