# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Figures that the papers print, and where a result has ours.

TC'06: "STORM: Scalable Resource Management for Large-Scale Parallel Computers".
Cplant: "Scalable Parallel Application Launch on Cplant" (SC'01). ICPP'04:
"Architectural Support for System Software on Large-Scale Clusters". ICPP'01:
"Gang Scheduling with Lightweight User-Level Communication". Pakin:
"Unresponsiveness-Tolerant Collective Communication" (2001).
"""
import dataclasses

#: TC'06 Table 3: MB/s by nodes, and by 10 to 90 m of cable
TABLE3 = {
    4: (320, 320, 320, 315, 291, 271, 253, 238, 224),
    16: (320, 319, 295, 274, 256, 240, 226, 213, 202),
    64: (298, 277, 258, 242, 228, 215, 204, 194, 184),
    256: (261, 244, 230, 217, 206, 195, 186, 177, 170),
    1024: (232, 219, 207, 197, 187, 178, 171, 163, 157),
    4096: (209, 198, 188, 180, 172, 164, 158, 152, 146),
}
#: TC'06 section 4.4.1: the bounds of (2), MB/s
PIPELINES = {"main_memory": 175, "nic_memory": 120}
#: TC'06 section 5.1: nodes from which another launcher is the faster one
CROSSOVERS = {"BProc": "1 billion", "Cplant": "17 billion"}
#: Cplant's own Table 1: seconds of all phases of a launch of 12 MB, by nodes
CPLANT = {64: 12.0113, 128: 15.9089, 256: 17.4464, 512: 18.5391,
          1010: 20.2597}
#: TC'06 section 4.4.2: ms for 12 MB on 16,384 nodes; and what 64 nodes took
LAUNCH_16384 = 135
LAUNCH_64 = 110

#: in `where`: the last value in the table, which is the greatest by default
MOST = "most"


@dataclasses.dataclass
class Printed:
    """A figure of a paper. Ours is in the result of subcommand `bench`: in the
    first table that has `columns` and the names of `where`, the row that `where` chooses by its names."""
    source: str
    what: str
    printed: str
    how: str  # measured or modelled, by the paper
    bench: str
    columns: tuple
    where: dict = dataclasses.field(default_factory=dict)
    ours: str = "measured"
    options: str = ""  # without which `bench` does not have it
    title: str = ""  # a part of the table's


BIGGEST = {"size": MOST, "nodes": MOST}
ALL = (
    Printed("TC'06 Fig. 2a", "launch of 12 MB on 64 idle nodes",
            "110 ms: 96 to send, 14 to execute", "measured", "launch",
            ("storm", "send", "execute"), {"load": "idle", **BIGGEST}),
    Printed("TC'06 Fig. 2b", "the same, all CPUs busy", "1 s", "measured",
            "launch", ("storm", "send", "execute"),
            {"load": "cpu", **BIGGEST}, options=" --load cpu"),
    Printed("TC'06 Fig. 2c", "the same, network busy", "1.5 s", "measured",
            "launch", ("storm", "send", "execute"),
            {"load": "network", **BIGGEST}, options=" --load network"),
    Printed("Cplant Table 1", "launch of 12 MB on 1,010 nodes",
            "20.3 s, 9.6 of them the fan-out", "measured", "launch",
            ("storm", "send", "execute"), {"load": "idle", **BIGGEST}),
    Printed("TC'06 Table 4", "RMS, launch of 12 MB on 64 nodes; here: stock "
            "srun --bcast", "5.9 s", "measured", "launch", ("stock",),
            {"load": "idle", **BIGGEST}),
    Printed("TC'06 Fig. 3", "two jobs, quantum 2 ms: makespan / one after the "
            "other", "no degradation", "measured", "gang", ("overhead",),
            {"turns": "gang", "MPL": 2, "quantum": 2}),
    Printed("TC'06 4.3.1", "the same, quantum 0.3 ms: the shortest that a node "
            "kept up with", "runs", "measured", "gang", ("overhead",),
            {"turns": "gang", "MPL": 2, "quantum": 0.3},
            options=" --quantum 0.3"),
    Printed("TC'06 Fig. 5", "eight jobs, quantum 50 ms", "minimal overhead",
            "measured", "gang", ("overhead",),
            {"turns": "gang", "MPL": 8, "quantum": 50},
            options=" --figure 5"),
    Printed("ICPP'01 4.3", "RMS, which needs quanta of 30 s", "10 % slower",
            "measured", "gang", ("overhead",),
            {"turns": "gang", "MPL": 2, "quantum": 10}),
    Printed("ICPP'01 Fig. 3", "walk, jobs on one node that fit in its memory: "
            "slowdown", "about 1.1", "measured", "gang", ("storm", "stock"),
            {"memory": MOST, "MPL": 2}, options=" --walk memory"),
    Printed("ICPP'01 Fig. 4", "walk by quantum: slowdown", "quanta must be "
            "30 s or more; below, up to 90 % slower", "measured", "gang",
            ("storm", "stock"), {"quantum": 10, "MPL": 2},
            options=" --walk quantum"),
    Printed("ICPP'01 Fig. 5", "walk, exchanges of a byte: slowdown", "the same "
            "for 0 to 1M exchanges", "measured", "gang", ("storm", "stock"),
            {"exchanges": MOST, "MPL": 2}, options=" --walk granularity"),
    Printed("ICPP'01 Fig. 6", "walk, bytes of an exchange: slowdown", "nearly "
            "the same; less above 32 KB", "measured", "gang",
            ("storm", "stock"), {"message": MOST, "MPL": 2},
            options=" --walk message"),
    Printed("ICPP'01 4.1", "walk, two jobs that do not fit in memory", "30 to "
            "200 times as long", "measured", "gang", ("storm", "stock"),
            {"array, % of memory": MOST}, options=" --walk swap"),
    Printed("ICPP'01 Fig. 8", "walk by nodes, one job: slowdown", "1.2 on one, "
            "1.3 on 15", "measured", "gang", ("storm", "stock"),
            {"nodes": MOST, "MPL": 1}, options=" --walk nodes"),
    Printed("Pakin Fig. 5.4", "a barrier of 4 nodes, back to back",
            "20 to 29 us", "measured", "noise", ("storm", "stock"),
            {"beside": "alone", "nodes": MOST, "spins": 0},
            title="a barrier, mean"),
    Printed("Pakin (5.1)", "slow barriers by computation: alpha of the fit",
            "1,876,505 spins, 100 to 150 of them a us", "measured", "noise",
            ("alpha", "R squared"), {"beside": "alone", "by": "stock"}),
    Printed("TC'06 Fig. 7", "COMPARE-AND-WRITE by QsNet's hardware on 1,024 "
            "nodes", "6 us more than on one", "measured", "prims",
            ("compare",), {"load": "idle", "nodes": MOST}),
    Printed("ICPP'04 Table 2", "COMPARE on Gigabit Ethernet, n nodes",
            "46 lg n us", "measured", "prims", ("compare",),
            {"load": "idle", "nodes": MOST}),
    Printed("TC'06 Fig. 8", "launch of 12 MB on 16,384 nodes", "135 ms",
            "modelled", "model", ("ES40",), {"nodes": 16384}, "modelled"),
    Printed("TC'06 Fig. 8", "the same on 64 nodes, by (8)", "110 ms",
            "measured", "model", ("ES40", "ES40, simulated"), {"nodes": 64},
            "modelled"),
    Printed("TC'06 Table 3", "QsNet, 4,096 nodes, 90 m", "146 MB/s", "modelled",
            "model", ("90 m",), {"nodes": 4096}, "modelled"),
    Printed("TC'06 Table 5", "STORM on 4,096 nodes", "0.11 s", "modelled",
            "model", ("by this line",), {"launcher": "STORM"}, "modelled"),
)
