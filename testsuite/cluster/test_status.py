# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm status: one question to the agents of all nodes, which names those that do not
answer, and why."""
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import time

import pytest

from harness import HERE, LONG, MACHINES, Lab, chosen, sanitized, stage_dir, until
from lab.slurmconf import STAGE
from tree import TOP

pytestmark = pytest.mark.storm_only

STATUS = ["storm", "status"]
#: what users may call a job
HOSTILE = "x\033[31m</script>\"\u202e\u5c71\n\\"
SHOWN = "x?[31m</script>\"???????\\"  # in JSON


def new_lab(name, nodes, conf=()):
    made = Lab(f"status{os.getpid()}-{name}")
    made.up(nodes, conf=["SchedulerType=sched/storm", *conf], storm_conf=["Health=1s"])
    return made


@pytest.fixture(scope="module")
def lab():
    made = new_lab("four", 4)
    try:
        until(lambda: asked(made)["gang"] == {"member": "n[1-4]"}, "all to be members")
        yield made
    finally:
        made.down()


def status(lab, *words, user="user"):
    return lab.run([*STATUS, *words], cwd="/", user=user)


def asked(lab, *words, user="user"):
    """{key: {value: nodes}, or a sum}, and what stands beside it."""
    done = status(lab, "--json", *words, user=user)
    whole = json.loads(done.stdout)
    found = {"silent": {s["nodes"]: s["reason"] for s in whole["no_answer"]},
             "datagrams": whole["datagrams"], "code": done.returncode}
    for one in whole["state"]:
        if "value" in one:
            found.setdefault(one["key"], {})[one["value"]] = one["nodes"]
        else:
            found[one["key"]] = one["sum"]
    return found


@pytest.mark.every_release
def test_all_is_well(lab):
    before = asked(lab)
    done = lab.run(["srun", "-N4", "-n4", "--launch=storm", "--bcast=/tmp/status",
                    "/bin/true"], cwd="/tmp", user="user")
    assert done.returncode == 0, done.stderr
    done = status(lab)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "4 of 4 agents answer"
    assert [line.split()[:2] for line in lines[1:4]] == [
        ["build", "n[1-4]:"], ["health", "n[1-4]:"], ["gang", "n[1-4]:"]], done.stdout
    now = asked(lab)
    assert (now["launches"] - before["launches"], now["files"] - before["files"]) == (4, 4)
    size = lab.run(["stat", "-c", "%s", "/bin/true"], cwd="/").stdout
    assert now["bytes"] - before["bytes"] == 4 * int(size)
    assert (now["code"], now["silent"], now["health"]) == (0, {}, {"well": "n[1-4]"})


def top(lab, *words, user="user"):
    return lab.run(["storm", "top", *words], cwd="/", user=user)


def on_terminal(lab, steps, *words):
    """storm top on a terminal of 30 lines and 90 columns: run_terminal.py has the steps."""
    return lab.run(["env", "TERM=xterm", "python3", f"{TOP}/testsuite/cluster/run_terminal.py",
                    json.dumps(steps), "storm", "top", *words], cwd="/", user="user").stdout


def completed(lab, line):
    """What bash offers for the last word of a line, each word of which stands alone."""
    words = re.findall(r"=|[^ =]+", line) + ([""] if line.endswith(" ") else [])
    share, etc = STAGE + "/share/bash-completion/completions", STAGE + "/etc/bash_completion.d"
    # compopt works within readline alone
    script = f"""compopt() {{ :; }}
. {share}/storm; . {etc}/storm_srun.bash
COMP_WORDS=({" ".join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}
$(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\).*/\\1/') {words[0]} x y
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = lab.run(["bash", "-c", script], cwd="/", user="user")
    # Slurm's own needs the package bash-completion
    assert done.returncode == 0 and (not done.stderr or "srun" in words), done.stderr
    return [line for line in done.stdout.splitlines() if line]


def test_completion(lab):
    """Subcommands and options as --help has them; nodes, jobs and files where such are
    asked for; and of srun --launch alone, beside what Slurm's own completion knows."""
    verbs = completed(lab, "storm ")
    assert {"status", "jobs", "run", "hold", "release", "--help"} <= set(verbs), verbs
    assert completed(lab, "storm sta") == ["stack", "status"]
    assert completed(lab, "storm status --no") == ["--nodelist="]
    assert completed(lab, "storm status --nodelist=n1,n") == [f"n1,n{i}" for i in range(1, 5)]
    assert completed(lab, "storm map -w n2") == ["n2"]
    assert "--ntasks=" in completed(lab, "storm run --")
    assert "/etc/passwd" in completed(lab, "storm run -N 2 ls /etc/pass")
    assert "--force" in completed(lab, "sbcast_storm --f")
    assert completed(lab, "storm jobs ") == []
    assert completed(lab, "srun --launch=") == ["storm", "slurm"]
    assert completed(lab, "srun --launch=st") == ["storm"]
    assert completed(lab, "srun --lau") == ["--launch="]
    job = lab.run(["sbatch", "--parsable", "-N1", "--wrap", "sleep 100"], cwd="/tmp",
                  user="user").stdout.strip()
    try:
        until(lambda: completed(lab, "storm stack ") == [job], "the job")
    finally:
        lab.run(["scancel", job], cwd="/", user="user")


def shared(lab):
    return json.loads(lab.run(["storm", "jobs", "--json"], cwd="/", user="user").stdout)


def waited(lab, job):
    """The part of a step's launch in which it waited for its turn, if it did."""
    done = lab.run(["srun", f"--jobid={job}", "--overlap", "-N4", "-n4", "--launch=storm",
                    "printenv", "SLURM_STEP_ID"], cwd="/tmp", user="user")
    assert done.returncode == 0, done.stderr
    record = told(lab, f"{job}.{done.stdout.split()[0]}")
    return record and next((p for p in record["phases"] if p["phase"] == "slot"
                            and p.get("waited_for") == "its job's turn"), None)


def test_turns(lab):
    """The quantum, where jobs take turns; and storm jobs has both, each with the other."""
    assert "quantum" not in asked(lab)
    done = lab.run(["storm", "jobs"], cwd="/", user="user")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    jobs = []
    for _ in range(2):
        done = lab.run(["sbatch", "-pshared", "-N4", "-n16", "--mem=10", "-o/dev/null",
                        "-J", HOSTILE,
                        "--wrap", "srun sleep 300"], cwd="/tmp", user="user")
        assert done.returncode == 0, done.stderr
        jobs.append(done.stdout.split()[-1])
    try:
        until(lambda: asked(lab).get("quantum") == {"50 ms": "n[1-4]"},
              lambda: f"all to take turns: {asked(lab)}")
        until(lambda: all("got" in j for j in shared(lab)), "a share of each")
        one, two = shared(lab)
        assert [one["job"], two["job"]] == jobs
        assert (one["with"], two["with"]) == ([jobs[1]], [jobs[0]])
        assert (one["turns"], one["of"], one["quantum"]) == (1, 2, 0.05)
        # storm why has the nodes whose tasks have waited longest for their turn
        slow = until(lambda: waited(lab, jobs[0]), "a step to begin in the other's turn")
        assert re.fullmatch("n[1-4]", slow["slowest"]) and slow["ms"] > 0, slow
        done = lab.run(["storm", "jobs", jobs[0]], cwd="/", user="user")
        assert done.returncode == 0 and len(done.stdout.splitlines()) == 2, done.stdout
        see_on_top(lab, jobs)
    finally:
        lab.run(["scancel", "-u", "user"], cwd="/", user="user")
    lab.wait_idle()


def see_on_top(lab, jobs):
    """Both jobs take turns on all four nodes, and have a name that no terminal may obey."""
    done = top(lab, "--once")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert all(c == "\n" or " " <= c <= "~" for c in done.stdout), repr(done.stdout)
    rows = [line.split() for line in done.stdout.splitlines()]
    at = rows.index(["SLOT", "n1", "n2", "n3", "n4"])
    for slot, row in enumerate(rows[at + 1:at + 3]):
        assert row[0] == str(slot) and row[1:] in [[j] * 4 for j in jobs], done.stdout
    assert "quantum 50 ms on n[1-4]" in done.stdout and "4 members" in done.stdout
    assert "/s)" not in done.stdout, done.stdout
    assert re.search(r"^SLOT +n2 +n3$", top(lab, "-1", "-w", "n[2-3]").stdout, re.M)
    assert "x\\x1b[31m" in done.stdout, done.stdout
    whole = json.loads(top(lab, "--json", "--delay=0.5").stdout)
    assert [job["name"] for job in whole["jobs"]] == [SHOWN, SHOWN], whole
    column, = whole["matrix"]
    assert (column["nodes"], column["count"], column["silent"]) == ("n[1-4]", 4, False)
    assert [s["slot"] for s in column["slots"]] == [0, 1], column
    assert sorted(s["jobs"][0] for s in column["slots"]) == sorted(jobs), column
    assert whole["rates"]["launches"] >= 0 and whole["agents"]["no_answer"] == [], whole
    said = on_terminal(lab, [["steps", "h"], ["PgDn", "h"], ["steps", [5, 20]],
                             ["j/k", "jjkG"], ["", [24, 80]], ["h help", "q"]], "-d0.5")
    assert said.endswith("\nended 0, terminal as before\n"), said
    assert f"{jobs[0]} " in said and "\033[31m</script>" not in said, said


def see_that_it_stays(lab):
    """While nobody can be asked, an older answer stays on the screen, as it was."""
    munge = "/run/munge/munge.socket.2"
    steps = [["agents answer", ""], ["cannot be asked", ""], ["is 2 s old", "q", "drawn anew"]]
    shown = lab.popen(["env", "TERM=xterm", "timeout", "60", "python3",
                       f"{TOP}/testsuite/cluster/run_terminal.py", json.dumps(steps),
                       "storm", "top", "-d0.5"], cwd="/", user="user", stdout=subprocess.PIPE)
    said = b""
    while b"agents answer" not in said:
        said += (piece := os.read(shown.stdout.fileno(), 4096))
        assert piece, said
    lab.run(["mv", munge, f"{munge}.away"], cwd="/", check=True)
    try:
        said = shown.communicate(timeout=60)[0].decode(errors="replace")
    finally:
        lab.run(["mv", f"{munge}.away", munge], cwd="/", check=True)
    assert said.endswith("\nended 0, terminal as before\n"), said
    said = said.rpartition("storm top ")[2]   # the last that was drawn
    assert re.search("[23] of 4 agents answer", said) and "no answer n" in said, said


def test_top_needs_a_terminal(lab):
    """It says so, and names the option that does not."""
    for words, text in (([], "top needs a terminal: storm top --once"),
                        (["-d0.4"], "-d 0.4 is no number of seconds from 0.5"),
                        (["-dnan"], "-d nan is no"), (["everything"], "takes no everything")):
        done = top(lab, *words)
        assert done.returncode == 2 and text in done.stderr, done.stderr
    for term in ("TERM=dumb", "TERM=", "TERM=nonesuch"):
        done = lab.run(["script", "-qec", f"{term} storm top", "/dev/null"], cwd="/", user="user")
        assert done.returncode == 2 and f"{term} is no terminal" in done.stdout, done.stdout
        assert "storm top --once" in done.stdout and "\033" not in done.stdout, done.stdout


def test_some_do_not_answer(lab):
    """Each is named with its reason, and the others' state is whole.  The domain gets
    another epoch without them."""
    (before, nodes), = asked(lab)["epoch"].items()
    assert nodes == "n[1-4]"
    lab.fault("cut", "n2")
    lab.fault("stop", "n3")
    try:
        now = asked(lab)
        text = status(lab).stdout
        drawn = lab.run(["storm", "map"], cwd="/", user="user")
        live = top(lab, "--once")
        see_that_it_stays(lab)
        until(lambda: all(int(e) > int(before) for e in asked(lab, "-w", "n1,n4")["epoch"]),
              "another epoch")
    finally:
        lab.heal()
    assert now["code"] == 1
    assert set(now["silent"]) == {"n2", "n3"}, now
    assert "nothing answers on TCP port" in now["silent"]["n2"], now
    assert "is stopped, or hangs" in now["silent"]["n3"], now
    assert list(now["health"].values()) == ["n[1,4]"], now
    assert drawn.returncode == 1 and re.search(r"^n1 [.#]xx[.#]$", drawn.stdout, re.M), drawn.stdout
    assert live.returncode == 1 and "2 of 4 agents answer" in live.stdout, live.stdout
    assert re.search(r"^no answer n2: nothing answers", live.stdout, re.M), live.stdout
    assert re.search(r"^SLOT +n1 +n2! +n3! +n4$|no job runs", live.stdout, re.M), live.stdout
    assert text.startswith("2 of 4 agents answer\nno answer  n2: nothing answers"), text
    until(lambda: asked(lab)["gang"] == {"member": "n[1-4]"}, "all to be members again")


def test_some_are_not_well(lab):
    """A full disk, and an agent whose slurmd stands."""
    lab.fault("fill", "n4")
    try:
        until(lambda: asked(lab)["health"].get("space") == "n4",
              lambda: f"n4 to be full: {asked(lab)}")
        assert asked(lab)["code"] == 1
        # one that was cut off learns late that it is no member, and joins
        until(lambda: asked(lab, "-w", "n[1-2]")["code"] == 0, "the others to be well")
    finally:
        lab.heal()
    until(lambda: asked(lab)["code"] == 0, "n4 to be well")


def launch(lab, *words, user="user"):
    return lab.run(["srun", "-N4", "-n4", "--launch=storm", *words], cwd="/tmp", user=user)


def why(lab, *words, user="user"):
    done = lab.run(["storm", "why", *words], cwd="/", user=user)
    return done.returncode, done.stdout, done.stderr


def test_why_without_a_fault(lab):
    """What STORM has not is an option; what it launched, or does not exist, is unknown."""
    done = lab.run(["script", "-qec", "srun -N4 -n4 --launch=storm --pty printenv "
                    "SLURM_JOB_ID SLURM_STORM_FALLBACK", "/dev/null"],
                   cwd="/tmp", user="user")
    job = re.search(r"^(\d+)\s*$", done.stdout, re.M)[1]
    assert f"{job}.0" in why(lab, job)[1] and "  option: --pty" in why(lab, job)[1]
    before = asked(lab)["steps"]
    done = launch(lab, "printenv", "SLURM_JOB_ID")
    assert asked(lab)["steps"] - before == 1
    assert "no-answer" not in why(lab, done.stdout.split()[0])[1]
    assert why(lab, "7.x")[0] == why(lab, "1", "2")[0] == 2
    assert why(lab, "4000000.1")[0] == 1


def told(lab, step, user="user"):
    """What the agents say of a step that STORM launched, or None."""
    out = json.loads(why(lab, step, "--json", user=user)[1] or "[]")
    return next((one for one in out if one["launch"] == "storm"), None)


def told_of(lab, user):
    """What they say of a launch of this user's.  srun may end before it has told them."""
    return until(lambda: told(lab, launch(lab, "printenv", "SLURM_JOB_ID",
                                          user=user).stdout.split()[0], user=user),
                 "srun's word of a launch")


@pytest.mark.every_release
def test_why_it_was_slow(lab):
    """slurmd of one node stands for a while.  The chart names that node, beside the medians,
    to the step's user and to root."""
    lab.fault("stop", "n3", "slurmd")
    before = asked(lab)["launches"]
    run = lab.popen(["srun", "-N4", "-n4", "--launch=storm", "sh", "-c",
                     "echo $SLURM_JOB_ID; read end"], user="user", cwd="/tmp", text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        try:
            until(lambda: asked(lab)["launches"] - before == 3, "the others to launch")
            since = time.monotonic()
            asked(lab)
            stood = time.monotonic() - since
        finally:
            lab.heal()
        job = run.stdout.readline().strip()
        slow = until(lambda: told(lab, f"{job}.0"), "srun's word of it")
    finally:
        run.communicate()
    until(lambda: asked(lab)["code"] == 0, "n3 to be well")
    fast = told_of(lab, user="user")  # beside it, not slow
    fast = told(lab, fast["step"], user="root")
    assert (slow["nodes"], slow["tasks"], slow["reported_by"]) == (4, 4, "user")
    phases = {p["phase"]: p for p in slow["phases"]}
    assert phases["exec"]["slowest"] == "n3", slow
    assert phases["exec"]["waited_for"] in ("its slurmd", "its slurmstepd"), slow
    assert slow["ms"] >= phases["exec"]["ms"] >= stood * 1000
    known = [one for one in json.loads(why(lab, "--json", user="root")[1])
             if one["launch"] == "storm"]
    assert fast["median_of"] == len(known) >= 2
    assert abs(statistics.median(one["ms"] for one in known) - fast["median"]) < 0.01, known
    code, out, err = why(lab, job)
    assert (code, err) == (0, ""), out + err
    assert re.search(r"^ {4}start tasks +\d.*\n {8}slowest: n3, by its slurm", out, re.M), out
    assert "reported by srun of user" in out and max(map(len, out.splitlines())) <= 80, out
    assert re.search(rf"^{job}\.0  20\S+  storm: .* ms \(median .*\), start tasks ", why(lab)[1],
                     re.M), why(lab)
    # another user hears nothing of it, and it is no part of that user's medians
    code, out, err = why(lab, job, user="other")
    assert (code, out) == (1, "") and "no agent knows" in err, out + err
    mine = told_of(lab, user="other")
    assert (mine["median_of"], mine["reported_by"]) == (1, "other")


@pytest.mark.long
def test_why_not_the_wait_for_nodes(lab):
    """A step that waits for another one of its allocation is not slow to launch."""
    run = lab.popen(["salloc", "-QN4", "-n4", "sh", "-c", """
        srun -N4 -n4 --launch=storm sleep 8 </dev/null &
        until squeue -hs -j$SLURM_JOB_ID | grep -q "[.]0 "; do sleep 0.1; done
        echo $SLURM_JOB_ID
        srun -N4 -n4 --launch=storm sh -c "read end"
        wait"""], user="user", cwd="/tmp", text=True, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE)
    try:
        job = run.stdout.readline().strip()
        since = time.monotonic()
        late = until(lambda: told(lab, f"{job}.1"), "srun's word of it")
        waited = time.monotonic() - since
    finally:
        run.communicate()
    assert waited > 5, waited
    assert "step_create" not in [p["phase"] for p in late["phases"]], late
    assert min(p["start"] for p in late["phases"]) == 0 and late["ms"] < 5000, late
    assert "more than 5 s: not counted" in why(lab, f"{job}.1")[1]
    assert "step_create" in [p["phase"] for p in told(lab, f"{job}.0")["phases"]]


@pytest.mark.parametrize("words", [["--bcast=/tmp/slow"]] + [[]] * LONG)
def test_why_the_transfer_was_slow(lab, words):
    """What n3 gets and says comes late."""
    lab.fault("delay", "n3", ms=120)
    run = lab.popen(["srun", "-N4", "-n4", "--launch=storm", *words, "/bin/sh", "-c",
                     "echo $SLURM_JOB_ID; read end"], user="user", cwd="/tmp", text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        try:
            job = run.stdout.readline().strip()
        finally:
            lab.heal()
        slow = until(lambda: told(lab, job), "srun's word of it")
    finally:
        run.communicate()
    found = [(p["slowest"], p["waited_for"], p["ms"] >= 120) for p in slow["phases"]
             if p["phase"] in ("write", "verify") and "slowest" in p]
    until(lambda: asked(lab)["code"] == 0, "n3 to be well")
    assert found == [("n3", "the transfer", True)], slow


@pytest.mark.skipif(sanitized() or chosen() != MACHINES,
                    reason="SKIP: the program is built here, and without the sanitizers")
def test_why_of_no_launch(lab):
    """A user's own program tells an agent of a step that is not there, or is another's:
    nobody counts it."""
    boaster = lab.dir + "/home/boaster"
    lib = stage_dir() + "/lib"
    subprocess.run(["cc", "-std=gnu11", "-I", TOP, "-o", boaster,
                    HERE.parent / "programs" / "boaster.c", "-L", lib, "-lstorm",
                    f"-Wl,-rpath,{lib}"], check=True)
    before = told_of(lab, user="other")
    job = before["step"].split(".")[0]
    address = lab.run(["getent", "hosts", "n1"], cwd="/").stdout.split()[0]
    before = told(lab, job, user="root")  # beside all medians
    for step in (job, "4000000"):
        done = lab.run(["/home/boaster", "n1", address, "0", step, "0"], cwd="/", user="user")
        assert done.stdout.splitlines() == ["event 1: done", "event 3: done"], done
    assert told(lab, "4000000", user="root") is None
    assert told(lab, job, user="root") == before and before["nodes"] == 4


@pytest.mark.every_release
def test_why_slurm_launched_it(lab):
    """Counted once, by the first node whose agent is there, and kept with its reason,
    which its user and root may see."""
    before = asked(lab)
    for node in ("n1", "n3"):
        lab.fault("stop", node)
    try:
        done = launch(lab, "sh", "-c", "echo $SLURM_JOB_ID $SLURM_STORM_FALLBACK")
    finally:
        lab.heal()
    assert done.returncode == 0 and "falling back" in done.stderr, done.stderr
    job, = set(done.stdout.split())  # and no word of it in a task
    until(lambda: asked(lab)["gang"] == {"member": "n[1-4]"}, "all to be members again")
    now = asked(lab)
    assert now["fallback no-answer"] - before.get("fallback no-answer", 0) == 1, now
    assert now["steps"] == before["steps"], now
    assert "by Slurm in STORM's place: no-answer " in status(lab).stdout
    code, out, err = why(lab, job)
    assert (code, err) == (0, ""), out + err
    first, remedy = out.splitlines()
    assert first.startswith(f"{job}.0  20") and "  no-answer: " in first, out
    assert "n[1,3]" in first and "storm check -w" in remedy, out
    one, = json.loads(why(lab, f"{job}.0", "--json", user="root")[1])
    assert (one["step"], one["cause"], one["node"]) == (f"{job}.0", "no-answer", "n2")
    # another user hears nothing of it
    code, out, err = why(lab, job, user="other")
    assert (code, out) == (1, "") and "no agent knows" in err, out + err
    # srun goes round those nodes for a while, and says so
    done = launch(lab, "true")
    assert "s ago; falling back" in done.stderr, done.stderr
    assert asked(lab)["fallback no-answer"] - now["fallback no-answer"] == 1


def test_a_list_of_nodes(lab):
    assert asked(lab, "-w", "n2,n4")["health"] == {"well": "n[2,4]"}
    done = status(lab, "-w", "n1,nobody")
    assert done.returncode == 1
    assert "no answer  nobody: Slurm has no address for it" in done.stdout
    assert "1 of 2 agents answer" in done.stdout
    done = status(lab, "everything")
    assert done.returncode == 2 and "takes no everything" in done.stderr


def test_slurmctld_is_not_needed(lab):
    """It stands."""
    pid, = lab.pids("ctl", "slurmctld")
    os.kill(pid, signal.SIGSTOP)
    try:
        assert asked(lab)["health"] == {"well": "n[1-4]"}
        # it goes on with what the agents say, and ^C does not wait for slurmctld
        said = on_terminal(lab, [["steps", ""], ["no answer yet", "\x03"]], "-d0.5")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert said.endswith("\nended 130, terminal as before\n"), said
    assert "slurmctld does not say its jobs" in said, said


def test_as_few_datagrams_for_many():
    """What comes to the asker does not grow with the nodes."""
    big = new_lab("many", 24)
    try:
        until(lambda: asked(big)["gang"] == {"member": "n[1-24]"}, "members")
        few = asked(big, "-w", "n[1-8]")
        many = asked(big)
        assert many["health"] == {"well": "n[1-24]"}
        assert many["datagrams"] <= few["datagrams"] + 8, (few, many)
        for node in (2, 3, 11, 19, 20, 24):  # also behind each other in the tree
            big.fault("pause", f"n{node}")  # slurmd replaces an agent that stands alone
        try:
            now = asked(big)
        finally:
            big.heal()
        assert list(now["silent"]) == ["n[2-3,11,19-20,24]"], now
        assert list(now["health"].values()) == ["n[1,4-10,12-18,21-23]"], now
    finally:
        big.down()


def test_private_nodes():
    """slurm.conf hides nodes from users: they see versions alone. And jobs: they see theirs."""
    made = new_lab("private", 2, ["PrivateData=nodes,jobs"])
    try:
        made.run(["sbatch", "-N2", "-o/dev/null", "--wrap", "sleep 300"], cwd="/tmp", user="user")
        until(lambda: "all" in top(made, "-1").stdout.split(), "the job to run")
        for user, hidden in (("user", True), ("other", True), ("root", False)):
            text = top(made, "--once", user=user).stdout
            assert ("not to be seen: PrivateData" in text) == hidden, text
            assert ("steps " in text) != hidden, text
            assert ("no job runs that you may see" in text) == (user == "other"), text
        made.run(["scancel", "-u", "user"], cwd="/", user="user")
        mine, all_of_it = asked(made), asked(made, user="root")
        assert set(mine) == {"silent", "datagrams", "code", "build"}, mine
        assert {"health", "launches", "sessions"} <= set(all_of_it)
    finally:
        made.down()
