# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Random mixes of jobs and faults under gang scheduling (mix_plan.py): some here,
and any number by `testsuite/cluster/mixes --seeds A-B`. Also tests of the rules
for their traces (gang_rules.py): they must find violations.
"""
import copy
import os

import pytest

import gang_rules
import mix_plan
import mix_play
from conftest import make, need_cgroup2
from gang import Gang
from harness import LONG

pytestmark = pytest.mark.storm_only

#: {policy of the gang partition: how many}
SEEDS = {"gang": 200, "flexible": 200, "yield": 100} if LONG else \
    {"gang": 10, "flexible": 4, "yield": 2}


@pytest.fixture(scope="module")
def labs(request):
    need_cgroup2()
    labs = mix_play.Labs(lambda nodes, **shape: make(
        "mixes", nodes, kind=Gang, **shape), request.param)
    yield labs
    labs.down()


@pytest.mark.parametrize("labs, seed", [
    (policy, seed) for policy in SEEDS for seed in range(SEEDS[policy])],
    indirect=["labs"])
def test_mix(labs, seed):
    plan = mix_plan.make_plan(seed, mix_plan.shape(seed))
    _, faults, _ = mix_play.play(labs.of(seed), plan)
    assert not faults, "\n".join(
        [str(plan), *faults, "again: testsuite/cluster/mixes --policy "
         f"{labs.policy} --seeds {seed}"])


# -- the rules ------------------------------------------------------------------

def events(*rows):
    """Short form of a trace: (what, strobe or None, slot, then by name)."""
    out = []
    for n, (what, strobe, slot, given) in enumerate(rows):
        e = {"n": n, "at": 1000 * n, "what": what, **given}
        if slot is not None:
            e.update(slot=slot, version=given.get("version", 7),
                     strobe=strobe)
        out.append(e)
    return out


def good():
    """Two jobs take turns, one ends."""
    one, two = {"job": 1, "step": 0}, {"job": 2, "step": 0}
    rows = [("begin", None, None, {"a": 9, "b": 0}),
            ("step", None, None, {**one, "a": 1, "b": 0}),
            ("step", None, None, {**two, "a": 1, "b": 0}),
            ("map", None, None, {"version": 7, "a": 2, "b": 2}),
            ("job", None, None, {"version": 7, "job": 1, "a": 1, "b": 0}),
            ("job", None, None, {"version": 7, "job": 2, "a": 2, "b": 0}),
            ("slot", 11, 0, {}), ("stop", 11, 0, two)]
    for i in range(4):
        goes, comes = (one, two) if i % 2 == 0 else (two, one)
        rows += [("slot", 12 + i, 1 - i % 2, {}),
                 ("stop", 12 + i, 1 - i % 2, goes),
                 ("continue", 12 + i, 1 - i % 2, {**comes, "why": "slot"})]
    # now job 1 has its turn, and job 2 is stopped
    rows += [("continue", 15, 0, {**two, "why": "silence"}),
             ("open", 15, 0, {"why": "silence"}),
             ("gone", None, None, one), ("gone", None, None, two)]
    return events(*rows)


def faults_of(trace, cores=((1, {0}), (2, {0}))):
    return gang_rules.judge(
        {"n1": trace}, {"n1": {job: [set] for job, set in cores}},
        grace=3, young=0)[1]


def find(trace, what, nth=0):
    return [i for i, e in enumerate(trace) if e["what"] == what][nth]


def test_rules_are_kept():
    assert not faults_of(good())


def drop(what, nth):
    def change(trace):
        del trace[find(trace, what, nth)]
    return change


def put(what, nth, **values):
    def change(trace):
        trace[find(trace, what, nth)].update(values)
    return change


@pytest.mark.parametrize("change, says", [
    (drop("stop", 2), "out of its turn"),
    (drop("continue", 1), "stands"),
    (drop("continue", -1), "though all go on"),
    (put("slot", 2, strobe=12), "strobe 12 after 12"),
    (put("slot", 2, slot=1), "more often"),
    (put("job", 1, a=1), "share cores and a slot"),
    (put("job", 1, a=0), "out of its turn"),    # held, and yet it runs
    (put("job", 1, a=4), "slots that there are not"),
    (drop("step", 0), "does not run"),
    (put("continue", 1, why="fills"), "in its own turn"),
])
def test_rules_that_are_broken(change, says):
    trace = good()
    change(trace)
    assert [f for f in faults_of(trace) if says in f], faults_of(trace)


def test_jobs_on_other_cores_may_share_a_slot():
    trace = good()[:6]
    put("job", 1, a=1)(trace)
    assert not faults_of(trace, [(1, {0}), (2, {1})])


def test_a_turn_that_is_paid_with_goes_to_another():
    trace = good()
    for what, nth in ("stop", 2), ("stop", 1), ("continue", 1), ("continue", 0):
        drop(what, nth)(trace)
    assert faults_of(trace)
    i = find(trace, "slot", 1)
    trace.insert(i + 1, {**trace[i], "what": "pays", "job": 2, "step": 0})
    assert not faults_of(trace)


def test_slots_without_a_step_are_not_in_the_trace():
    """Also if the last steps there were two of one name."""
    one, two = {"job": 1, "step": 0}, {"job": 2, "step": 0}
    known = good()[:1] + good()[3:6]
    for names in (one,), (one, one):
        rows = [("step", None, None, {**step, "a": 1, "b": 1})
                for step in names]
        rows += [("slot", 11, 0, {}), ("slot", 12, 1, {})]
        rows += [("gone", 12, 1, step) for step in names]
        # slot 0 comes meanwhile
        rows += [("step", 13, 0, {**two, "a": 1, "b": 1}),
                 ("slot", 14, 1, {}), ("gone", 14, 1, two)]
        trace = known + events(*rows)
        assert not faults_of(trace), names


def test_a_step_whose_job_was_requeued_has_two_of_its_name():
    trace = good()
    for after, what in ((("step", 0), "step"), (("gone", 0), "gone")):
        i = find(trace, *after)
        trace.insert(i + 1, {**trace[i], "what": what})
    assert not faults_of(trace)


def test_a_ring_that_has_overwritten_the_beginning():
    trace = good()
    for n in range(1, len(trace)):
        assert not faults_of(trace[n:]), n
    rest = trace[find(trace, "slot"):]
    drop("stop", 2)(rest)
    assert [f for f in faults_of(rest) if "goes on, but runs" in f]
    assert gang_rules.judge({"n1": rest}, since={"n1": rest[0]["n"]})[1]


def test_nodes_that_disagree():
    a, b = good(), copy.deepcopy(good())
    assert not gang_rules.judge({"n1": a, "n2": b})[1]
    put("slot", 1, slot=0)(b)
    assert [f for f in gang_rules.judge({"n1": a, "n2": b})[1]
            if "strobe 12" in f]
    b = good()
    put("job", 0, a=3)(b)
    assert [f for f in gang_rules.judge({"n1": a, "n2": b})[1]
            if "map 7, job 1" in f]


def test_a_seed_is_a_plan():
    lab = mix_plan.shape(3)
    assert str(mix_plan.make_plan(3, lab)) == str(mix_plan.make_plan(3, lab))
    assert os.linesep in str(mix_plan.make_plan(4, lab))
