# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""slurmd refuses a launch: for each reason the exit code and the messages are
those of stock srun.

Not here: slurmd itself without memory. Its own threads and allocations then
fail, it ends, and what stock prints differs from run to run. A slurmstepd
without memory is here.
"""
import os
import re
import subprocess
import time

import pytest

from conftest import make
from harness import HERE, MACHINES, STOCK, chosen, compare, same, until

pytestmark = pytest.mark.storm_only

if chosen() == MACHINES:
    REVOKED = "Job credential revoked"
    NOT_THE_MAKER = "Invalid job credential"
    NO_CGROUP = "Plugin initialization failed"
else:
    # since 23.11 slurmd has one answer for most credentials that it refuses, and
    # unpacks none that it cannot verify
    REVOKED = "Invalid job credential"
    NOT_THE_MAKER = "Header lengths are longer than data received"
    NO_CGROUP = "Slurmd could not set up environment for batch job"

#: srun runs it after it has the step and its credential, before the launch
GATE = """\
#!/bin/sh
>held
until [ -e go ]; do sleep 0.02; done
"""


#: one task on each of two nodes; if only n2 refuses, n1's is killed
ALL = "-N2 -n2 {do} say ran"
PART = "-N2 -n2 {do} block"


def lab(request, what, nodes=2, **options):
    c = make("refuse-" + what, nodes, **options)
    request.addfinalizer(c.down)
    c.current = re.sub(r"\W+", "_", request.node.name)[:60]
    return c


@pytest.fixture
def two(request):
    """Two nodes; by gid, slurmd looks the user up instead of believing
    slurmctld."""
    return lab(request, "two",
               conf={"LaunchParameters": "disable_send_gids"})


def on(cluster, node, script):
    return cluster.root(["sh", "-ec", script], host=node)


def held(cluster, args, launch, **options):
    """An srun that has its credential and waits for {dir}/go."""
    one = cluster.start_srun(f"--prolog=./gate {args}", launch,
                             given={"gate": GATE}, prefix="chmod 755 gate",
                             **options)
    until(lambda: (one.dir / "held").exists() or not one.running(),
          "srun to be held")
    return one


def let_go(one):
    (one.dir / "go").touch()
    return one.finish()


def refused(runs, text, code=None, only=None):
    """Stock was refused for the reason that the test is about, STORM as stock
    was, and by the launch message that STORM cast."""
    stock, storm = runs
    assert stock.code != 0 and text in stock.err, f"stock itself: {stock}"
    compare(stock, storm, code=code, only=only)
    if not STOCK:
        (step,) = storm.steps
        assert step["fallback"] is None and not step["resent"], str(storm)


def in_part(cluster):
    """Only n2 refuses. A slurmstepd whose task is killed while it begins waits
    for srun now and then, of stock's launch too: then again."""
    for _ in range(10):
        runs = same(cluster, PART, storm=False, only=["out"])
        if not any("Timed out waiting for job step" in run.err
                   for run in runs):
            break
    compare(*runs, only=["code"])
    return runs


# -- the job's prolog ----------------------------------------------------------

def resume(cluster):
    """Each slurmd whose prolog failed drains its node, at its own time."""
    def idle():
        states = cluster.lab.node_states()
        for node, state in states.items():
            if state.startswith("drain"):
                cluster.lab.run(["scontrol", "update", f"nodename={node}",
                                 "state=resume"], cwd="/")
        return set(states.values()) == {"idle"} and \
            not cluster.root("squeue -h -o %i").strip()

    until(lambda: "drain" in cluster.root("sinfo -h -N -p all -o %T"),
          "a drained node")
    until(idle, "idle nodes")


#: a node's answer is either one: the first prolog that fails ends the job
PROLOG = rf"failed on node (\w+): (?:Job prolog failed|{REVOKED})$"


def prolog(request, what, nodes, script):
    c = lab(request, what, nodes=nodes, standing=False,
            conf={"Prolog": "/home/prolog"})
    with open(c.lab.dir + "/home/prolog", "w") as f:
        f.write("#!/bin/sh\n" + script)
        os.fchmod(f.fileno(), 0o755)
    return c


def test_prolog_fails(request):
    c = prolog(request, "prolog", 1, "exit 1\n")
    # whether srun still says "Prolog failure on node n1" is a race
    runs = same(c, "-N1 -n1 {do} say ran", code=182, alone=True, storm=False,
                only=["code", "out"], between=lambda: resume(c))
    assert all("Job prolog failed" in run.err for run in runs), runs


def test_prolog_fails_on_all_nodes(request):
    c = prolog(request, "prologs", 2, "exit 1\n")
    for launch in ("slurm", "storm"):
        run = c.srun(ALL, launch, alone=True)
        assert run.code in (182, 168) and run.out == "", str(run)
        assert "Job prolog failed" in run.err, str(run)
        assert sorted(re.findall(PROLOG, run.err, re.M)) == c.names, str(run)
        resume(c)


@pytest.mark.every_release
def test_prolog_fails_on_one_node(request):
    c = prolog(request, "prolog1", 4, "[ $SLURMD_NODENAME != n3 ]\n")
    for launch in ("slurm", "storm"):
        run = c.srun("-N4 -n4 {do} say ran", launch, alone=True)
        assert run.code in (182, 168), str(run)
        assert "n3: Job prolog failed" in run.err, str(run)
        resume(c)


# -- credentials -----------------------------------------------------------------

def test_credential_expired(request):
    c = lab(request, "expired", conf={"AuthInfo": "cred_expire=5"})
    both = [held(c, "-N2 -n2 -O --overlap {do} say ran", launch)
            for launch in ("slurm", "storm")]
    # slurmd counts whole seconds of its clock
    begun = time.time()
    until(lambda: time.time() > begun + 8, "the credentials to expire")
    refused([let_go(one) for one in both], "credential expired")


@pytest.mark.slurm_only("22.05 24.11", "slurmd takes the step's ids from the "
                        "credential, not from the launch message")
def test_credential_of_another_job(two):
    library = two.bin / "otherjob.so"
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
                    "-shared", "-fPIC", HERE.parent / "programs/otherjob.c",
                    "-o", library], check=True)
    refused(same(two, ALL, storm=False,
                 env={"LD_PRELOAD": "{bin}/otherjob.so"}),
            "Invalid job credential")


def test_credential_of_another_maker(two):
    """n2 believes another SlurmUser than the one that slurmctld runs as."""
    on(two, "n2", "sed s/^SlurmUser=.*/SlurmUser=other/ "
       "/etc/slurm/slurm.conf >/run/other.conf")
    on(two, "n2", "mount --bind /run/other.conf /etc/slurm/slurm.conf")
    two.lab.restart("n2", "slurmd")
    two.lab.wait_agents(["n2"])
    refused(in_part(two), "failed on node n2: " + NOT_THE_MAKER)


@pytest.mark.every_release
def test_job_gone(two):
    runs = []
    for launch in ("slurm", "storm"):
        one = held(two, ALL, launch)
        two.cancel(two.job)
        runs.append(let_go(one))
        two.job = two.allocate(2)
    refused(runs, REVOKED)


def test_node_drained_in_between(two):
    """A drained node finishes what it has, also what has not begun there."""
    runs = []
    for launch in ("slurm", "storm"):
        one = held(two, ALL, launch)
        two.root("scontrol update nodename=n2 state=drain reason=test")
        runs.append(let_go(one))
        two.root("scontrol update nodename=n2 state=resume")
    compare(*runs, code=0)
    two.by_storm(runs[1])


def test_node_down_in_between(two):
    runs = []
    for launch in ("slurm", "storm"):
        one = held(two, ALL, launch)
        two.root("scontrol update nodename=n2 state=down reason=test")
        until(lambda: not two.root(f"squeue -h -j {two.job} -t R,CG")
              .strip(), "the end of the job")
        runs.append(let_go(one))
        two.lab.wait_idle(300)  # n2 registers again
        two.job = two.allocate(2)
    compare(*runs)
    assert runs[0].code, str(runs[0])


# -- the user, the directory, the node's means --------------------------------------

def both_ways(cluster, script, text):
    """Run the script on n2, and then on n1, too."""
    on(cluster, "n2", script)
    refused(in_part(cluster), text)
    on(cluster, "n1", script)
    refused(same(cluster, ALL, storm=False), text)


def test_uid_unknown(two):
    """slurmd 22.05 only logs it. Its next launch would hang, by stock's srun
    too: it keeps the lock of its cache of groups. Later ones refuse."""
    on(two, "n2", "grep -v ^user: /etc/passwd >/run/passwd; "
       "mount --bind /run/passwd /etc/passwd")
    two.lab.restart("n2", "slurmd")

    def fresh_slurmd():
        two.lab.kill("n2", "slurmd")
        two.lab.restart("n2", "slurmd")

    if chosen() == MACHINES:
        same(two, ALL, between=fresh_slurmd)
    else:
        refused(in_part(two), "failed on node n2: Unspecified error")
    assert "uid=20001" in two.lab.log("n2", "slurmd")


def test_bad_cwd(two):
    """slurmstepd goes to /tmp instead, and says so."""
    stock, storm = same(two, f"--chdir=/not/there {ALL}")
    assert "/not/there" in stock.err, str(stock)


def test_no_slurmstepd(two):
    both_ways(two, "mount --bind /bin/false /usr/sbin/slurmstepd",
              "failed on node n2: Unspecified error")


def test_no_memory_for_slurmstepd(two):
    both_ways(two, "cp /usr/sbin/slurmstepd /run/slurmstepd; "
              "printf '#!/bin/sh\\nulimit -v 9000\\nexec /run/slurmstepd\\n' "
              ">/run/small; chmod 755 /run/small; "
              "mount --bind /run/small /usr/sbin/slurmstepd",
              "failed on node n2: Unspecified error")


def test_cgroup_cannot_be_made(request):
    c = lab(request, "cgroup", conf={"ProctrackType": "proctrack/cgroup"})
    on(c, "n2", "mount -o remount,ro,bind /sys/fs/cgroup/freezer")
    stock, storm = same(c, ALL)
    assert "task 1 launch failed: " + NO_CGROUP in stock.err, str(stock)


def test_cpu_binding_outside_of_the_step(request):
    """The one reason that comes with a text, which stays in slurmd's log."""
    c = lab(request, "bind", conf={"TaskPlugin": "task/affinity"})
    runs = same(c, f"--cpu-bind=mask_cpu:0xf00000 {ALL}", storm=False,
                only=["code"])
    for run in runs:
        assert re.search("failed on node n1: .*cpu bind", run.err), str(run)
    assert "CPU binding outside of job step allocation" in runs[0].err
    assert re.search("launch of step .*: CPU binding outside",
                     c.lab.log("n1", "slurmd"))
