# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Evaluate the scalability model of the STORM paper, and set the simulator's
times beside it.

Equations (1) to (9), Tables 3 and 5, Fig. 8 and 9, then today's networks with
this machine's constants: how long a launch takes beside its transfer, and how
many bytes a second a node can take. They are measured on a lab of one node, or
read from an earlier run (--from), or given.
"""
import functools
import json
import math
import os
import pathlib
import statistics
import subprocess

from benches.launch import Launch
from measure import paper, target
from measure.background import build_option, built
from measure.files import make_program
from measure.result import NotRun
from measure.simulated import simulate
from measure.turns import numbers, pick, take_turns

HELP = "the paper's model, the simulator, today's networks"
SOURCE = "TC'06 (1) to (9), Tables 2, 3 and 5, Fig. 8 and 9"
QUICK = {"nodes": [4, 16], "repeat": 1, "large": 24_000_000}
TODAY = ("gbe", "100gbe", "ndr")
MB = 1 << 20
SIZE = 12 * MB  # the paper's
SMALL = 12_000_000
MOST = 5  # % between the simulator and the model
CURVE = [4 ** i for i in range(1, 8)]


def options(parser):
    target.options(parser, site=False)
    parser.add_argument("--nodes", default=[4, 16, 64, 256, 1024],
                        type=numbers, metavar="LIST", help="numbers of nodes "
                        "that are simulated (default: 4,16,64,256,1024)")
    parser.add_argument("--from", dest="results", metavar="DIR",
                        type=pathlib.Path, help="take the constants from the "
                        "model.json of an earlier run in DIR")
    parser.add_argument("--exec", type=float, metavar="MS",
                        help="what a launch takes beside its transfer")
    parser.add_argument("--host", type=float, metavar="MB/S",
                        help="what a node can take, 10^6 bytes a second")
    parser.add_argument("--repeat", type=int, default=5, metavar="N",
                        help="runs for each constant (default: 5)")
    parser.add_argument("--large", type=int, default=120_000_000,
                        metavar="BYTES", help="the greater of the two files "
                        "that give the node's rate (default: 120 MB)")
    build_option(parser)
    parser.set_defaults(no_multicast=False)     # of launch


def evaluate(args, *constants):
    """The JSON of contribs/bench/model."""
    program = built(args, "model")
    return json.loads(subprocess.run(
        [program, *map(str, constants)], check=True, text=True,
        capture_output=True).stdout)


def by_nodes(model, network):
    return {int(p["nodes"]): p for p in model["networks"][network]["points"]}


def half_up(value, digits):
    """As the paper rounds: 22.725 is 22.73."""
    return f"{value + 1e-9:.{digits}f}"


# ----------------------------------------------------------------- tables

def table3(result, model):
    metres = [f"{m} m" for m in range(10, 100, 10)]
    table = result.table("Table 3: bandwidth of QsNet, by nodes and cable",
                         by=("nodes",), columns={"switches": "", **{
                             m: "MB/s" for m in metres}})
    same = 0
    for row in model["table3"]:
        printed = paper.TABLE3[int(row["nodes"])]
        texts = [half_up(v, 0) for v in row["mb_s"]]
        same += sum(t == str(p) for t, p in zip(texts, printed))
        table.row((int(row["nodes"]),), {
            "switches": row["switches"],
            **{m: int(t) if t == str(p) else f"{t}, printed {p}"
               for m, t, p in zip(metres, texts, printed)}})
    result.note(f"Table 3: {same} of {9 * len(paper.TABLE3)} digits as printed.")


def formula(one, slope):
    sign = "-" if one["base"] < 0 else "+"
    n = "lg n" if one["logarithmic"] else "n"
    return f"t = {slope:g} {n} {sign} {abs(one['base']):g}"


def table5(result, model):
    table = result.table(
        "Table 5: other launchers, seconds on 4,096 nodes",
        by=("launcher", "MB"),
        columns={"line": "", "by this line": "s", "printed": "s",
                 "a line of the same digits": "", "by that line": "s",
                 "measured (Table 4)": "s", "on nodes": ""})
    for one in model["launchers"]:
        by_line, printed = (half_up(one[k], 2) for k in ("by_line", "printed"))
        more = {} if by_line == printed else {
            "a line of the same digits": formula(one, one["fine_slope"]),
            "by that line": half_up(one["by_fine_slope"], 2)}
        table.row((one["name"], int(one["mb"])), {
            "line": formula(one, one["slope"]), "by this line": by_line,
            "printed": printed, **more, "measured (Table 4)": one["measured"],
            "on nodes": one["measured_nodes"]})
    storm = by_nodes(model, "qsnet")[4096]["launch"]
    table.row(("STORM", 12), {
        "line": "(7)", "by this line": half_up(storm, 2), "printed": "0.11",
        "measured (Table 4)": 0.11, "on nodes": 64})
    result.note("Table 5: of rsh, RMS and BProc the printed line does not give "
                "the printed time. Its numbers are rounded: 0.934 x 4096 + "
                "1.266 = 3826.93, but 3827.10 needs 0.934041.")
    for one in model["launchers"]:
        if one["name"] in paper.CROSSOVERS:
            result.note(
                f"{one['name']} is the faster one from 2^"
                f"{math.log2(one['crossover']):.0f} = "
                f"{one['crossover'] / 1e9:.2f} billion nodes on (paper: "
                f"approximately {paper.CROSSOVERS[one['name']]}).")


def pipeline(result, model):
    table = result.table("(2): min(read, broadcast), by where buffers are",
                         by=("buffers",),
                         columns={"model": "MB/s", "printed": "MB/s"})
    for name, printed in paper.PIPELINES.items():
        table.row((name.replace("_", " "),),
                  {"model": model["pipeline_mb_s"][name], "printed": printed})


def error(took, by_model):
    return (took / by_model - 1) * 100


def figure8(args, result, model):
    """Transfers and launches over the paper's network, simulated."""
    c, points = model["constants"], by_nodes(model, "qsnet")
    rest = c["exec"] + c["timeslice"]
    seen = {"es40": simulate("qsnet", args.nodes, SIZE, rest, int(c["bus"])),
            "ideal": simulate("qsnet", args.nodes, SIZE, rest)}
    table = result.table(
        "Fig. 8: launch of 12 MB over QsNet, (7) to (9)", by=("nodes",),
        columns={"ES40": "ms", "ES40, simulated": "ms", "ES40 differs": "%",
                 "ideal": "ms", "ideal, simulated": "ms", "ideal differs": "%"},
        plot={"x": "nodes", "log": "x", "curves": ["ES40", "ideal"],
              "points": ["ES40, simulated", "ideal, simulated"],
              "y": ["ES40", "ES40, simulated", "ideal", "ideal, simulated"]})
    worst = 0
    for n in sorted({*CURVE, *args.nodes}):
        cells = {}
        for name, key, label in (("es40", "launch", "ES40"),
                                 ("ideal", "launch_without_bus", "ideal")):
            cells[label] = points[n][key] * 1e3
            if n in seen[name]:
                took = seen[name][n]["launch"]
                cells[label + ", simulated"] = took * 1e3
                cells[label + " differs"] = error(took, points[n][key])
                transfer = error(seen[name][n]["transfer"],
                                 points[n][key] - rest)
                worst = max(worst, abs(transfer), abs(cells[label + " differs"]))
        table.row((n,), cells)
    judge(result, "QsNet, (7) to (9)", worst)
    result.note(f"The paper: {paper.LAUNCH_64} ms measured on 64 nodes, "
                f"{paper.LAUNCH_16384} modelled on 16,384.")


def judge(result, what, worst):
    result.note(f"{what}: the simulator's transfers and launches differ by at "
                f"most {worst:.2f} % from the model ({MOST} % allowed).")
    assert worst <= MOST, f"{what}: {worst:.2f} % is more than {MOST}"


def figure9(result, model):
    names = [one["name"] for one in model["launchers"]]
    table = result.table(
        "Fig. 9a: launchers, by the lines and by (7)", by=("nodes",),
        columns={**{n: "s" for n in names}, "STORM": "s",
                 "Cplant's own Table 1": "s"},
        plot={"x": "nodes", "y": [*names, "STORM", "Cplant's own Table 1"],
              "curves": [*names, "STORM"], "points": ["Cplant's own Table 1"],
              "log": "xy"})
    relative = result.table(
        "Fig. 9b: times STORM's", by=("nodes",),
        columns={"Cplant": "", "BProc": ""},
        plot={"x": "nodes", "y": ["Cplant", "BProc"], "log": "x",
              "curves": ["Cplant", "BProc"]})
    points = by_nodes(model, "qsnet")
    for n in sorted({*CURVE, *paper.CPLANT}):
        took = {one["name"]: line_time(one, n) for one in model["launchers"]}
        row = {**took}
        if n in points:
            row["STORM"] = points[n]["launch"]
        if n in paper.CPLANT:
            row["Cplant's own Table 1"] = paper.CPLANT[n]
        table.row((n,), row)
    for n in CURVE:
        storm = points[n]["launch"]
        relative.row((n,), {one["name"]: line_time(one, n) / storm
                            for one in model["launchers"]
                            if one["name"] in ("Cplant", "BProc")})


def line_time(one, nodes):
    x = math.log2(nodes) if one["logarithmic"] else nodes
    return one["slope"] * x + one["base"]


# -------------------------------------------------------------- constants

def measure(args, result):
    """[ms beside the transfer], [bytes a second of a node]"""
    with target.open_target(args, result, 1) as where, \
            where.allocation(1) as job:
        app, one = where.shared / "app", Launch(where, args, job, 1)

        def launch(size):
            app.unlink(missing_ok=True)
            os.link(where.shared / size, app)
            return one.storm("idle")

        for name, size in ("small", SMALL), ("large", args.large):
            make_program(where.shared / name, size)
        found = take_turns({name: functools.partial(launch, name)
                            for name in ("small", "large")}, args.repeat)
        for runs in found.values():
            if isinstance(runs, NotRun):
                raise runs
        where.clear("app", job)
    sends = {k: statistics.median(pick(v, "send")) for k, v in found.items()}
    slower = sends["large"] - sends["small"]
    if slower <= 0:
        raise NotRun("the greater file took no longer than the smaller one: "
                     "the machine is too busy")
    return (pick(found["small"], "execute"),
            (args.large - SMALL) / slower * 1e3)


def earlier(directory):
    """The same, of a result of this subcommand."""
    path = directory / "model.json"
    if not path.exists():
        raise NotRun(f"there is no {path}")
    for table in json.loads(path.read_text())["tables"]:
        if table["title"] == CONSTANTS:
            cells = table["rows"][0]["cells"]
            return ([cells["beside the transfer"]["median"]],
                    cells["a node takes"]["median"] * 1e6)
    raise NotRun(f"{path} has no constants")


CONSTANTS = "This machine's constants"


def constants(args, result):
    """(seconds beside the transfer, bytes a second of a node)"""
    if args.exec and args.host:
        execute, host, source = [args.exec], args.host * 1e6, "given"
    elif args.results:
        execute, host = earlier(args.results)
        source = f"read from {args.results}"
    else:
        execute, host = measure(args, result)
        source = "measured on a lab of one node, links without a limit"
    result.table(CONSTANTS, by=("source",),
                 columns={"beside the transfer": "ms",
                          "a node takes": "10^6 bytes/s"}).row(
        (source,), {"beside the transfer": execute, "a node takes": host / 1e6})
    return statistics.median(execute) / 1e3, host


# ------------------------------------------------------------------ today

def today(args, result, model):
    """The networks of today, with constants of ours. Latency is counted: at
    100 Gbit/s it is a part of the whole."""
    execute, host = constants(args, result)
    found = {network: network_today(args, model["networks"][network], network,
                                    execute, host) for network in TODAY}
    compare(result, "Today: 12 MB to all nodes, no host in the way; with the "
            "rounds", {k: v[0] for k, v in found.items()})
    compare(result, "Today: launch of 12 MB with this machine's constants",
            {k: v[1] for k, v in found.items()})
    result.note("The rounds are not the paper's: its transfer has no latency. "
                "Each is a message to all nodes and the answers up the tree.")


def network_today(args, about, network, execute, host):
    """[(nodes, model, simulated or None), ...] of transfers and of launches,
    seconds."""
    bus = int(host * about["packet"] / (about["packet"] - about["header"]))
    ours = by_nodes(evaluate(args, "--bus", bus, "--exec", execute,
                             "--timeslice", 0), network)
    free = simulate(network, args.nodes, SIZE, 0)
    loaded = simulate(network, args.nodes, SIZE, execute, bus)
    transfers, launches = [], []
    for n in sorted({*CURVE, *args.nodes}):
        p = ours[n]
        transfers.append((n, SIZE / p["broadcast"] + p["rounds"],
                          free.get(n, {}).get("transfer")))
        # a launch has a transfer's rounds twice: the file's, the message's
        launches.append((n, p["launch"] + 2 * p["rounds"],
                         loaded.get(n, {}).get("launch")))
    return transfers, launches


def compare(result, title, found):
    table = result.table(
        title, by=("network", "nodes"),
        columns={"model": "ms", "simulated": "ms", "differs": "%"},
        plot={"x": "nodes", "y": ["model", "simulated"], "log": "x",
              "facets": ["network"], "curves": ["model"],
              "points": ["simulated"]})
    worst = 0
    for network, points in found.items():
        for n, by_model, took in points:
            cells = {"model": by_model * 1e3}
            if took is not None:
                cells["simulated"] = took * 1e3
                cells["differs"] = error(took, by_model)
                worst = max(worst, abs(cells["differs"]))
            table.row((network, n), cells)
    judge(result, title, worst)


def run(args, result):
    model = evaluate(args)
    beyond = [n for n in args.nodes if n not in by_nodes(model, "qsnet")]
    if beyond:
        raise NotRun(f"--nodes {beyond[0]}: give powers of two up to 16384")
    pipeline(result, model)
    table3(result, model)
    table5(result, model)
    figure8(args, result, model)
    figure9(result, model)
    try:
        today(args, result, model)
    except NotRun as e:
        result.not_run("Today's networks", str(e))
