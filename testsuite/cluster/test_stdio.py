# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""--label, --input, --output and --error with their patterns, stdin, large
output, --unbuffered, --pty."""
import os
import pty
import re
import select
import time

import pytest

from harness import compare, same, until


@pytest.mark.every_mode
def test_label(cluster):
    same(cluster, "-l -N8 -n16 {do} say hello err oops @3 exit 1", code=1)


def test_label_wide(cluster):
    """With ten tasks or more labels are padded."""
    stock, storm = same(cluster, "--label -N8 -n12 {do} say x", code=0)
    assert " 3: x" in storm.out and "11: x" in storm.out


def test_stderr_apart_from_stdout(cluster):
    same(cluster, "-N4 -n4 {do} say out%t err err%t", code=0)


def test_no_trailing_newline(cluster):
    same(cluster, ["-N2", "-n2", "sh", "-c",
                   "[ $SLURM_PROCID = 1 ] || printf 'no newline'"], code=0)


def test_large_output(cluster):
    same(cluster, "-N4 -n8 {do} lines 5000 100", code=0,
         whole=lambda run: len(run.out) == 8 * 5000 * 101)


def test_very_long_line(cluster):
    same(cluster, "-N2 -n2 {do} @0 lines 1 300000", code=0,
         whole=lambda run: len(run.out) == 300001)


@pytest.mark.storm_only
@pytest.mark.parametrize("end,code", [("", 0), ("kill 9", 137)])
def test_no_output_is_lost(cluster, end, code):
    """Tasks end before they have read all their input. (Stock loses output in
    nine of ten such runs.)"""
    for _ in range(5):
        run = cluster.srun("-N4 -n4 {do} lines 20000 100 " + end,
                           stdin=b"x" * 8_000_000)
        assert len(run.out) == 4 * 20000 * 101, str(run)
        assert run.code == code, str(run)
        assert "io error" not in run.err, str(run)
        cluster.by_storm(run)


def test_unbuffered(cluster):
    same(cluster, "-u -N2 -n2 {do} @0 lines 20 60", code=0)


@pytest.mark.every_mode
def test_stdin_to_all(cluster):
    same(cluster, "-N4 -n8 {do} sum", stdin="some input\n" * 500, code=0)


def test_stdin_to_one(cluster):
    same(cluster, "-i3 -N4 -n8 {do} sum", stdin="only for task 3\n", code=0)


def test_stdin_to_task_0_with_label(cluster):
    same(cluster, "-l -i0 -N2 -n4 {do} cat", stdin="line\n" * 10, code=0)


def test_stdin_empty(cluster):
    same(cluster, "-N4 -n4 {do} sum", stdin="", code=0)


def test_stdin_none(cluster):
    same(cluster, "-inone -N4 -n4 {do} sum", stdin="not for you\n", code=0)


def test_stdin_large(cluster):
    same(cluster, "-N2 -n4 {do} sum", stdin=os.urandom(3_000_000), code=0)


def test_stdin_nobody_reads(cluster):
    same(cluster, "-N4 -n4 {do} say bye", stdin=b"x" * 500_000, code=0)


def test_input_file(cluster):
    same(cluster, "--input=in.txt -N4 -n8 {do} sum", code=0,
         given={"in.txt": "from a file\n" * 100})


def test_input_file_each_its_own(cluster):
    """--input=in.%t is opened on the nodes, once for each task. (Stock's srun
    also sends the end of its own input. If that arrives before the task's end
    it kills slurmstepd, and srun waits for ever.)"""
    same(cluster, "--input=in.%t -N4 -n4 {do} cat", code=0,
         tries=(20, 1), timeout=5, between=cluster.forget_reports,
         given={f"in.{i}": f"input of {i}\n" for i in range(4)})


@pytest.mark.storm_only
@pytest.mark.parametrize("option", ["--input=in.%t", "-inone"])
def test_input_opened_on_nodes_needs_nothing_of_srun(cluster, option):
    """Tasks that live long enough for stock's slurmstepd to die."""
    run = cluster.srun(f"{option} -N2 -n4 {{do}} cat sleep 0.5 say end",
                       given={f"in.{i}": f"input of {i}\n" for i in range(4)},
                       stdin="not for them\n")
    assert run.code == 0 and run.out.count("end") == 4, str(run)
    assert run.out.count("input of") == (4 if "in." in option else 0)
    assert "not for them" not in run.out
    cluster.by_storm(run)


def test_input_file_missing(cluster):
    same(cluster, "--input=missing.txt -N2 -n2 {do} cat", code=1, storm=False,
         between=cluster.clean)     # the step stays


def test_input_file_missing_on_nodes(cluster):
    same(cluster, "--input=missing.%t -N2 -n2 {do} cat")


@pytest.mark.every_mode
def test_output_file(cluster):
    stock, storm = same(cluster, "-o to.txt -N8 -n16 {do} say x%t",
                        code=0, files=True)
    assert len(storm.files()["to.txt"].split()) == 16


def test_output_by_task(cluster):
    stock, storm = same(cluster, "-o out.%t -N4 -n8 {do} say to%t", code=0,
                        files=True)
    assert storm.files()["out.7"] == "to7\n"


def test_output_by_node_name(cluster):
    stock, storm = same(cluster, "-o out.%N -N4 -n8 {do} say to%t", code=0,
                        files=True)
    assert sorted(storm.files()["out.n4"].split()) == ["to6", "to7"]


def test_output_by_node_number(cluster):
    same(cluster, "-o out.%n -N4 -n4 {do} say to%t", code=0, files=True)


def test_output_by_job_and_step(cluster):
    """%j, %s, %J, %u, %x, zero-padded %5t"""
    stock, storm = same(
        cluster, "-J nom -o o.%j.%s.%u.%x.%5t -N2 -n2 {do} say y", code=0)
    for run in (stock, storm):
        names = sorted(run.files())
        assert len(names) == 2, str(run)
        assert re.fullmatch(rf"o\.{cluster.job}\.\d+\.user\..*\.00001",
                            names[1])


def test_output_percent_quoted(cluster):
    same(cluster, ["-N2", "-n2", "-o", r"o\\%t", "{do}", "say", "z"], code=0,
         files=True)


def test_output_and_error(cluster):
    same(cluster, "-o out.txt -e err.txt -N4 -n4 {do} say o%t err e%t",
         code=0, files=True)


def test_output_by_task_error_to_srun(cluster):
    same(cluster, "-o out.%t -e e.%t -N2 -n4 {do} say o err e", code=0,
         files=True)


def test_output_none(cluster):
    """Without -e, stderr goes to the same place as stdout."""
    stock, storm = same(cluster, "-o none -N4 -n4 {do} say x err y", code=0)
    assert storm.out == storm.err == ""


def test_error_none(cluster):
    stock, storm = same(cluster, "-e none -N4 -n4 {do} say seen err x",
                        code=0)
    assert storm.out.count("seen") == 4 and storm.err == ""


@pytest.mark.every_mode
def test_nothing_connected(cluster):
    """-i none -o none -e none: no stdio connection at all."""
    same(cluster, "-inone -onone -enone -N8 -n16 {do} say x @3 exit 2",
         code=2)


def test_nothing_connected_runs_till_the_end(cluster):
    """Without stdio srun still waits for the tasks."""
    stock, storm = same(cluster,
                        "-inone -onone -enone -N4 -n4 {do} sleep 0.3 "
                        "touch t.%t", code=0, files=True)
    assert sorted(storm.files()) == ["t.0", "t.1", "t.2", "t.3"]


def test_output_of_one_task(cluster):
    """-o 2: only task 2's output is forwarded."""
    stock, storm = same(cluster, "-o 2 -N4 -n4 {do} say from%t", code=0)
    assert storm.out == "from2\n"


def test_output_all(cluster):
    same(cluster, "-o all -N4 -n4 {do} say from%t", code=0)


def test_output_file_cannot_be_made(cluster):
    same(cluster, "-o /nonexistent/dir/file -N2 -n2 {do} say x", code=1,
         storm=False, between=cluster.clean)


def test_output_by_task_cannot_be_made(cluster):
    same(cluster, "-o /nonexistent/dir/%t -N2 -n2 {do} say x")


def test_output_append(cluster):
    stock, storm = same(cluster,
                        "--open-mode=append -o f -N2 -n2 {do} @0 say x",
                        given={"f": "before\n"}, code=0)
    assert storm.files() == stock.files() == {"f": "before\nx\n"}


def test_output_truncate(cluster):
    stock, storm = same(cluster,
                        "--open-mode=truncate -o f -N2 -n2 {do} @0 say x",
                        given={"f": "before\n"}, code=0)
    assert storm.files() == stock.files() == {"f": "x\n"}


def test_stdout_closed_early(cluster):
    """The reader of srun's output exits: srun ends as stock's does."""
    runs = []
    for launch in ("slurm", "storm"):
        runs.append(cluster.run(
            ["sh", "-c", '"$@" | head -n 1 | cut -c 1-4', "sh",
             *cluster.srun_argv("-N1 -n1 {do} lines 20000 80", launch)],
            label=launch))
    assert runs[0].out == runs[1].out != ""


# ---------------------------------------------------------------- a terminal

class Terminal:
    """srun on its own terminal, which the test reads and writes."""

    def __init__(self, cluster, args, launch, **options):
        self.master, slave = pty.openpty()
        # a new session with this as its controlling terminal
        self.proc = cluster.start(
            ["setsid", "-c", "-w", *cluster.srun_argv(args, launch)],
            tty=slave, label=launch, **options)
        os.close(slave)
        self.text = ""

    def read(self, timeout=0.1):
        if select.select([self.master], [], [], timeout)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:         # the other side is closed
                data = b""
            self.text += data.decode(errors="replace").replace("\r", "")
            return bool(data)
        return None

    def expect(self, pattern, timeout=120):
        end = time.monotonic() + timeout
        while not re.search(pattern, self.text):
            assert time.monotonic() < end and self.read() is not False, \
                f"no {pattern!r} in: {self.text!r}"

    def type(self, text):
        os.write(self.master, text.encode())

    def finish(self):
        end = time.monotonic() + 120
        while self.proc.running() and time.monotonic() < end:
            self.read(0.02)
        while self.read(0):
            pass
        os.close(self.master)
        run = self.proc.finish(1)
        run.out = self.text
        return run


def both_terminals(cluster, args, play):
    runs = []
    for launch in ("slurm", "storm"):
        t = Terminal(cluster, args, launch)
        play(t)
        runs.append(t.finish())
    return runs


def test_pty(cluster):
    """--pty: a terminal in the task, and it works both ways."""
    def play(t):
        t.expect("tty 1 1 1")
        t.type("hello there\n\x04")

    stock, storm = both_terminals(
        cluster, "--pty -N2 -n2 {do} tty cat say end exit 3", play)
    assert stock.code == storm.code == 3, f"{stock}\n{storm}"
    assert stock.out.count("hello there") == 2
    # on a busy machine the terminal's line may end before the task begins one
    assert [line for line in storm.normal()["out"] if line] == \
        [line for line in stock.normal()["out"] if line]


def test_pty_shell(cluster):
    def play(t):
        t.type("echo in-$((40+2)); exit 6\n")
        t.expect("in-42")

    stock, storm = both_terminals(cluster, "--pty -N1 -n1 /bin/sh", play)
    assert stock.code == storm.code == 6, f"{stock}\n{storm}"


def test_pty_ctrl_c_reaches_the_task(cluster):
    def play(t):
        t.expect("ready")
        t.type("\x03")
        t.expect("got signal 2")

    stock, storm = both_terminals(
        cluster, "--pty -N1 -n1 {do} catch 2 say ready await 2", play)
    assert stock.code == storm.code == 0, f"{stock}\n{storm}"


def test_terminal_without_pty(cluster):
    """srun on a terminal, tasks without one."""
    def play(t):
        t.expect("0: tty")

    stock, storm = both_terminals(cluster, "-N2 -n2 {do} tty", play)
    assert storm.normal()["out"] == stock.normal()["out"]
    cluster.by_storm(storm)


def connected_to(cluster, command):
    """The peers on the login host's ports that this command listens on."""
    listens = cluster.root("ss -Htlnp", host="login").splitlines()
    ports = {line.split()[3].rsplit(":", 1)[1]
             for line in listens if f'"{command}"' in line}
    there = cluster.root("ss -Htn state established", host="login")
    return [f[3] for f in map(str.split, there.splitlines())
            if f[2].rsplit(":", 1)[1] in ports]


def test_sattach(cluster):
    """sattach joins the output of a step that storm launched."""
    runs = []
    for launch in ("slurm", "storm"):
        s = cluster.start_srun(
            "-N2 -n4 {do} touch up.%t wait {dir}/go say seen%t", launch)
        until(lambda: (s.dir / "up.3").exists(), "the tasks to start")
        (step,) = cluster.steps()
        a = cluster.start(["sattach", step], label="sattach-" + launch)
        until(lambda: len(connected_to(cluster, "sattach")) >= 2,
              "both nodes' slurmstepd to connect to sattach")
        (s.dir / "go").touch()
        runs.append((s.finish(), a.finish()))
    for run, attached in runs:
        assert run.code == 0 and attached.code == 0, f"{run}\n{attached}"
        assert sorted(attached.out.split()) == [f"seen{i}" for i in range(4)]
        # A busy node may report exits to a sattach that has ended, and then
        # reports that error to srun.
        run.err = re.sub(r"^slurmstepd-n\d+: error: Failed to send "
                         r"MESSAGE_TASK_EXIT: .*\n", "", run.err, flags=re.M)
    compare(runs[0][0], runs[1][0])
    cluster.by_storm(runs[1][0])


def test_sattach_layout(cluster):
    outs = []
    for launch in ("slurm", "storm"):
        s = cluster.start_srun("-N2 -n4 {do} touch up.%t wait {dir}/go",
                               launch)
        until(lambda: (s.dir / "up.3").exists(), "the tasks to start")
        (step,) = cluster.steps()
        outs.append(cluster.run(["sattach", "--layout", step]).out)
        (s.dir / "go").touch()
        s.finish()
    assert outs[0].splitlines()[1:] == outs[1].splitlines()[1:]
