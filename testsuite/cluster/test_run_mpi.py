# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run --mpi: ranks of MPICH by PMI-1 find each other, and end with each other."""
import re

import pytest

import mpis
from harness import until
from run_lab import (batch, begin, end_run, lab, listens, said,  # noqa: F401
                     the_head)

pytestmark = pytest.mark.storm_only


@pytest.fixture
def mpich(lab):
    """A command of a program of MPICH's, for a script."""
    mpis.need("mpich")
    path = lab.bin / "mpi_sum.mpich"
    if not path.exists():
        mpis.build("mpich", "mpi_sum.c", path)
    return f"/home/user/bin/{path.name}"


def ring(ranks):
    """What the ranks of mpi_sum print."""
    return [f"rank {k} of {ranks} sum {ranks * (ranks - 1) // 2} token "
            f"{k + 1 if k else ranks if ranks > 1 else 0}" for k in range(ranks)]


def test_pmi1(lab, mpich):
    """Ranks on one node, on two, on all, and of uneven numbers, also in a run inside a run.
    Without --mpi each is alone."""
    out = batch(lab, f"""
for n in "-N1 -n2" "-N2 -n4" "-N4 -n8" "-N4 -n7"; do
  storm run --mpi=pmi1 $n {mpich} | sort -V; echo end $?; done
storm run -N1 -n1 storm run --mpi=pmi1 -N3 -n3 {mpich} | sort
storm run -N2 -n2 {mpich}
storm run --mpi=none -n1 sh -c 'env | grep -c PMI_; true'
""")
    assert out[:25] == [line for n in (2, 4, 8, 7)
                        for line in [*sorted(ring(n), key=lambda s: int(s.split()[1])),
                                     "end 0"]], out
    assert out[25:28] == ring(3) and out[28:30] == 2 * ring(1), out[25:]
    assert out[30:] == ["0"], out[30:]


def test_pmi1_multi_prog(lab, mpich):
    """Ranks of several programs are ranks of one another."""
    out = batch(lab, f"""
printf '%s\\n' '0,3 {mpich}' "* sh -c 'exec {mpich}'" >file
storm run --mpi=pmi1 -N2 -n4 --multi-prog file | sort
""")
    assert out == ring(4), out


def test_pmi1_abort(lab, mpich):
    """MPI_Abort in one rank ends all, with its code."""
    out = batch(lab, f"storm run --mpi=pmi1 -N2 -n4 {mpich} 2 9 >out; echo code $?")
    # MPICH says it, too, before or behind
    assert "storm run: error: n2: task 2: MPI_Abort with code 9" in out, out
    assert out[-1] == "code 9", out


def test_pmi1_never_joins(lab, mpich):
    """A rank that ends before MPI_Init does not leave the others waiting: neither those of
    its node, nor those of others."""
    out = batch(lab, f"""
for r in 3 2; do
  storm run --mpi=pmi1 -N$r -n$r sh -c '
    [ $SLURM_PROCID != 1 ] || exit 5; exec {mpich}'; echo code $?; done
storm run --mpi=pmi1 -N1 -n2 sh -c '[ $SLURM_PROCID != 1 ] || exit 5; exec {mpich}'
echo code $?
""")
    text = "\n".join(out)
    assert len(re.findall("^storm run: error: n2: task 1: Exited with exit code 5$",
                          text, re.M)) == 2, text
    assert len(re.findall(
        "^storm run: error: n[12]: task 1(: it)? has ended, and others wait for it in MPI$",
        text, re.M)) == 3, text
    assert len(re.findall("^code (?!0)", text, re.M)) == 3, text


def test_pmi1_crash(lab, mpich):
    """A rank that dies within MPI ends the others."""
    one = begin(lab, f"""
storm run --mpi=pmi1 -N2 -n4 sh -c 'echo $$ >pid.$SLURM_PROCID; exec {mpich} 99 1' >out
echo code $?
""")
    until(lambda: (one.dir / "out").exists()
          and (one.dir / "out").read_text().count("token") == 4, lambda: one.log())
    lab.lab.run(["kill", "-SEGV", (one.dir / "pid.3").read_text().strip()], host="n2",
                user="user", cwd="/")
    said(one, "storm run: error: n2: task 3: it has ended without MPI_Finalize")
    one.finish()
    assert re.search(r"^storm run: error: n2: task 3: Segmentation fault", one.log(),
                     re.M), one.log()
    assert not re.search("^code 0$", one.log(), re.M), one.log()


def test_mpi_refused(lab):
    out = batch(lab, "storm run true; storm run --mpi=pmi2 true; echo $?")
    assert out == ["storm run: --mpi=pmi2: storm run has none, pmi1 for MPICH and its "
                   "relatives, and pmix for Open MPI", "2"]


def test_mpi_list(lab):
    out = batch(lab, "storm run true; storm run --mpi=list; echo $?")
    assert [line.strip() for line in out] == ["MPI types are...", "none", "pmi1", "pmix", "0"]


#: A rank that says what no rank says; its argument chooses
BAD_WORDS = """import os, socket, sys
s = socket.socket(fileno=os.dup(int(os.environ["PMI_FD"])))
def ask(line):
    s.sendall(line)
    return s.makefile("rb").readline()
what = sys.argv[1]
ask(b"cmd=init pmi_version=1 pmi_subversion=1\\n")
if what == "long":
    s.sendall(5000 * b"x")
elif what == "noise":
    s.sendall(bytes(range(256)) + b"\\n")
elif what == "much":
    lines = [ask(b"cmd=put kvsname=s key=k%d value=" % k + 1000 * b"v" + b"\\n")
             for k in range(3000)]
    print("refused", sum(b"rc=-1" in line for line in lines) > 500)
    sys.exit()
elif what == "deaf":    # asks, and reads no answer
    s.setblocking(False)
    sent = 0
    try:
        while sent < 100 << 20:
            sent += s.send(1000 * b"cmd=get_maxes\\n")
    except BlockingIOError:
        print("stopped", sent < 10 << 20)
    sys.exit()
s.recv(1)
print("closed", flush=True)
"""


def test_pmi1_bad_words(lab):
    """A rank that says what is no PMI-1, too much, or hears nothing, ends its own run at
    most: the launcher goes on."""
    one = begin(lab, f"""
cat >bad.py <<'END'
{BAD_WORDS}
END
storm run true
for what in long noise much deaf; do
  storm run --mpi=pmi1 -N1 python3 bad.py $what; echo $what $?; done
storm run -N4 true; echo next $?
""")
    assert one.finish().code == 0, one.log()
    log = one.log()
    for line in ("storm run: error: n1: task 0: PMI: a line of more than 2048 bytes",
                 "storm run: error: n1: task 0: PMI: a zero in a line", "refused True",
                 "stopped True", "much 0", "deaf 0", "next 0"):
        assert f"{line}\n" in log, log
    assert "long 0" not in log and "noise 0" not in log, log
    assert log.count("started launchers") == 1, log


#: argv: the head's port. PROOF and PMI_PROOF of another user, then a fence
STRANGER = """import socket, struct, subprocess, sys
def frame(kind, body):
    return struct.pack(">IB", len(body), kind) + body
fence = frame(71, bytes([1]) + bytes(8) + struct.pack(">III", 1, 0, 3))
mine = subprocess.run(["munge", "-n"], capture_output=True, check=True).stdout.strip()
for first in (frame(70, mine + bytes(1)), frame(70, b"noise" + bytes(1)), b""):
    s = socket.create_connection(("n1", int(sys.argv[1])))
    s.sendall(first + fence)
    got = b""
    try:
        while piece := s.recv(1000):
            got += piece
    except ConnectionError:
        pass
    print("closed", len(got))
"""


def test_stranger(lab, mpich):
    """Another user brings nothing to a fence by the head's port, and hears nothing."""
    one = begin(lab, f"""
storm run true
storm run --mpi=pmi1 -N4 -n4 sh -c 'touch up$SLURM_PROCID
  until [ -e go ]; do sleep 0.05; done; exec {mpich}' | sort
""")
    until(lambda: len(list(one.dir.glob("up?"))) == 4, lambda: "ranks: " + one.log())
    port, = listens(the_head(lab))
    done = lab.lab.run(["python3", "-c", STRANGER, str(port)], host="n2", user="other",
                       cwd="/")
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert done.stdout == 3 * "closed 0\n", done
    assert all(line in one.log() for line in ring(4)), one.log()
