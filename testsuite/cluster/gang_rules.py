# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The rules that traces of gang scheduling (doc/gang-trace.md) must keep, whatever
happened meanwhile.

	on a node	a job that is stopped has no turn in this slot; a job
			that runs has one, or fills another's gaps, or the trace
			gives a reason; one that has a turn, and does not pay
			with it, does not give way; jobs of one slot share no
			core; every slot of a map comes in every round; a job
			that is held has no slot, and runs only to handle a
			signal or to stop for a debugger; strobes increase; a
			strobe's plan counts once
	between nodes	one strobe names one slot, and one map is the same

No rule depends on how long a thing took, with one exception: a step that begins
cannot be stopped for a while, which is counted in slots, and is some seconds at
least: a busy machine begins a step no sooner because slots are short.
"""
import collections

#: reasons for which jobs run out of turn; "starting" has a limit of its own
REASONS = ("signal", "script", "debugger")
SHOWN = 3
#: ns in which a step may begin
YOUNG = 5_000_000_000


class Step:
    def __init__(self, script, at):
        self.script = script
        self.begun = at
        self.stands = False
        self.why = "starting"       # it runs
        self.age = 0                # slots since the trace was complete
        self.outside = 0            # slots in which no map had its job
        self.told = False           # that they are too many


class NodeTrace:
    """The trace of one node, checked against the rules; `faults` are the
    violations."""

    def __init__(self, node, trace, cores, free, grace, since,
                 yields=False, young=YOUNG):
        self.node, self.cores, self.free = node, cores, free
        self.grace, self.yields, self.young = grace, yields, young
        self.at = 0                 # of the latest event
        self.faults = []
        self.maps = {}              # version: {job: slots as bits}
        self.rows = {}              # version: number of slots
        self.newest = None
        self.steps = {}
        # The ring has overwritten events; steps may have begun in them.
        self.partial = bool(trace) and trace[0]["n"] > since
        self.twins = {}             # of the same name: {key: how many are left}
        self.now = None             # (version, slot); None: everything runs
        self.last = -1              # strobe
        self.plan = -1              # the last strobe whose plan counted
        self.paid = set()           # jobs that skip this turn
        self.round = []             # slots of one version in their order
        self.loose = False          # jobs that are stopped: unknown for now
        self.heard = -1             # greatest strobe of the events before this
        self.planned = False        # the next slot event has no strobe
        self.meant = {}             # strobe: (version, slot)
        self.obeyed = {}            # strobe: time
        self.switches = 0
        self.turns = collections.Counter()      # turns given, by job
        for e in trace:
            self.event(e)
        self.settled({"n": "end"})
        for key, step in self.steps.items():
            self.expect(not step.stands, {"n": "end"}, f"{key} stands still")

    def expect(self, good, e, what):
        if not good:
            self.faults.append(f"{self.node}: event {e['n']}: {what}")
        return good

    def is_free(self, job):
        return self.free is None or job in self.free

    # -- a state that lasted --------------------------------------------------

    def has_turn(self, job):
        """None: it is not in the map, or about to leave it."""
        version, slot = self.now
        slots = self.maps[version].get(job)
        if slots is None or job not in self.maps.get(self.newest, {}):
            return None
        return bool(slots >> slot & 1)

    def is_held(self, job):
        return self.maps[self.now[0]].get(job) == 0

    def settled(self, e):
        """Check, before the next strobe, that all jobs are in the state that
        the last strobe ordered."""
        if self.loose:
            self.loose = False
        elif not self.now:
            for key, step in self.steps.items():
                self.expect(not step.stands, e, f"{key} stands though all "
                            "should run")
        elif self.now[0] in self.maps:
            for key, step in self.steps.items():
                self.step_settled(e, key, step, self.has_turn(key[0]))

    def step_settled(self, e, key, step, turn):
        if step.stands:
            self.expect(turn is False or key[0] in self.paid, e,
                        f"{key} stands, slot {self.now}, "
                        f"turn {turn}")
        elif turn and key[0] not in self.paid:
            self.expect(step.why != "fills", e,
                        f"{key} gives way in its own turn, slot {self.now}")
        elif turn is False and not step.script:
            # a turn that is paid with goes to others
            excused = step.why in REASONS or \
                step.why == "starting" and self.begins(step, step.age) or \
                not self.is_held(key[0]) and (
                    step.why == "fills" or self.paid)
            self.expect(excused, e, f"{key} runs out of its turn, slot "
                        f"{self.now}, why {step.why}")
        if turn is None and not self.is_free(key[0]):
            step.outside += 1
            if not step.told and not self.begins(step, step.outside):
                step.told = True
                self.expect(False, e, f"{key}: its job is in no map for "
                            f"{step.outside} slots")
        step.age += 1

    def begins(self, step, slots):
        """Whether a step may still be about to begin."""
        return slots < self.grace or self.at < step.begun + self.young

    # -- events -----------------------------------------------------------------

    def event(self, e):
        self.at = e["at"]
        if e["what"] in ("slot", "missed"):
            self.settled(e)
        handler = getattr(self, "on_" + e["what"], None)
        if handler:
            handler(e)
        self.planned = e["what"] == "planned"
        if e["what"] == "open":
            self.now = None
            # Some were continued by others, and are stopped again only in the
            # next slot.
            self.loose = e["why"] == "freed"
        elif e["what"] not in ("map", "job"):
            # A slot that is logged late, as there was no step before, was not
            # new.
            self.heard = max(self.heard, e.get("strobe", -1))
            self.now = (e["version"], e["slot"]) if "slot" in e else None

    def on_begin(self, e):
        """An agent starts: what was stopped was continued when its predecessor
        died."""
        self.steps.clear()
        self.partial = False
        self.twins.clear()
        self.forget_maps()

    def forget_maps(self):
        self.maps.clear()
        self.newest = None
        self.round.clear()

    def on_map(self, e):
        self.newest = e["version"]
        self.maps[self.newest] = {}
        self.rows[self.newest] = e["a"]

    def on_job(self, e):
        if self.newest is None:     # its map was overwritten in the ring
            return
        slots = e["a"] | e["b"] << 32
        self.expect(slots or self.rows[self.newest] > 1, e,
                    f"job {e['job']} is held where there are no turns")
        self.expect(not slots >> self.rows[self.newest], e,
                    f"job {e['job']} has slots that there are not")
        others = self.maps[self.newest]
        for job, other in others.items():
            self.expect(not slots & other or self.apart(job, e["job"]), e,
                        f"jobs {job} and {e['job']} share cores and a slot")
        others[e["job"]] = slots

    def apart(self, a, b):
        """Whether they can have been on other cores. (A requeued job may have
        had several sets, or none that was seen.)"""
        sets = self.cores.get(a), self.cores.get(b)
        return not all(sets) or any(not x & y for x in sets[0]
                                    for y in sets[1])

    def on_slot(self, e):
        if not self.planned:
            self.expect(e["strobe"] > self.last, e,
                        f"strobe {e['strobe']} after {self.last}")
        # A job that runs when the map changes continues to the end of its
        # quantum. Then comes the job that has waited longest, and from there
        # on all in order.
        fresh = e["strobe"] >> 32 != self.last >> 32 or self.now is None or \
            self.now[0] != e["version"]
        self.paid.clear()
        if not self.planned:
            self.last = e["strobe"]
            self.meant[e["strobe"]] = (e["version"], e["slot"])
            if e["strobe"] > self.heard:
                self.obeyed[e["strobe"]] = e["at"]
        self.switches += 1
        rows = self.rows.get(e["version"], 0)
        self.expect(e["slot"] < rows or not rows, e, "no such slot")
        if fresh:
            self.round.clear()
        else:
            self.round.append(e["slot"])
        recent = self.round[-rows:] if rows else []
        self.expect(len(set(recent)) == len(recent), e,
                    f"of {rows} slots some come more often: {recent}")

    def on_pays(self, e):
        self.paid.add(e["job"])

    def on_missed(self, e):
        self.round.clear()

    def on_planned(self, e):
        """Only a strobe can plan another slot."""
        self.expect(e["strobe"] > self.plan, e, "two slots by one plan")
        self.plan = e["strobe"]

    def on_step(self, e):
        # A requeued job's earlier step may still exist. The trace does not
        # show which of the two stops or continues.
        key = self.named(e)
        if key in self.twins or self.steps.pop(key, None):
            self.twins[key] = self.twins.get(key, 1) + 1
        else:
            self.steps[key] = Step(e["b"], e["at"])

    def on_stop(self, e):
        if self.named(e) in self.twins:
            return
        step = self.known(e, stands=False)
        if self.expect(step and not step.stands, e, "stops, but does not run"):
            step.stands = True

    def known(self, e, stands):
        """The step; it stands so if it is seen for the first time in a trace
        that lacks its begin."""
        key = self.named(e)
        if self.partial and key not in self.steps:
            self.steps[key] = Step(script=False, at=self.at)
            self.steps[key].stands = stands
        return self.steps.get(key)

    def named(self, e):
        return (e["job"], e["step"])

    def on_gone(self, e):
        key = self.named(e)
        if key in self.twins:
            self.twins[key] -= 1
            if not self.twins[key]:
                del self.twins[key]
        else:
            step = self.steps.pop(key, None)
            self.expect(not step or not step.stands, e,
                        "is gone, but did not run")
        if not self.steps:          # slots are not logged now
            self.round.clear()

    def on_open(self, e):
        self.round.clear()
        for key, step in self.steps.items():
            self.expect(not step.stands or e["why"] == "freed", e,
                        f"{key} stands still, though all go on")
        if e["why"] == "closed":
            self.forget_maps()

    def on_continue(self, e):
        if self.named(e) in self.twins:
            return
        step = self.known(e, stands=True)
        held = step and (step.stands or step.why == "fills" != e["why"] or
                         self.yields and e["why"] == "fills")
        if not self.expect(held, e, "goes on, but runs"):
            return
        step.stands = False
        step.why = e["why"]
        if e["why"] == "slot":
            self.turns[e["job"]] += 1


def between(nodes):
    """Violations that only two traces together show."""
    faults, strobes, maps = [], {}, {}
    for t in nodes:
        for strobe, slot in t.meant.items():
            node, other = strobes.setdefault(strobe, (t.node, slot))
            if other != slot:
                faults.append(f"strobe {strobe}: {node} has {other}, "
                              f"{t.node} {slot}")
        for version, jobs in t.maps.items():
            for job, slots in jobs.items():
                node, other = maps.setdefault((version, job), (t.node, slots))
                if other != slots:
                    faults.append(f"map {version}, job {job}: slots {other:x} "
                                  f"on {node}, {slots:x} on {t.node}")
    return faults


def skews(nodes):
    """Nanoseconds from the first to the last node that changed to a slot, for
    each strobe that several nodes obeyed. (All have one clock here.)"""
    at = collections.defaultdict(list)
    for t in nodes:
        for strobe, when in t.obeyed.items():
            at[strobe].append(when)
    return sorted(max(v) - min(v) for v in at.values() if len(v) > 1)


def judge(traces, cores=None, free=(), grace=250, since=None, yields=False,
          young=YOUNG):
    """Check {node: its trace}. Returns the NodeTraces and the violations.
    cores: {node: {job: [set of cores that it had there, ...]}}; free: jobs
    that may have steps while no map has them, because Slurm suspends or ends
    them (None: any); grace, young: slots and ns after which a step that begins is
    complete, and its job in a map; since: {node: number of the event with which its trace
    begins, if the ring still had it} (0); yields: steps that run may give way."""
    nodes = [NodeTrace(n, t, (cores or {}).get(n, {}), free, grace,
                       (since or {}).get(n, 0), yields, young)
             for n, t in traces.items()]
    faults = [f for t in nodes for f in t.faults[:SHOWN]]
    return nodes, faults + between(nodes)[:SHOWN]
