# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run --mpi=pmix: ranks of Open MPI by libpmix find each other, and end with each
other."""
import pathlib
import re

import pytest

import mpis
from harness import until
from run_lab import (batch, begin, end_run, lab, processes, said,  # noqa: F401
                     the_launcher)
from lab.release import stage_dir
from test_run_mpi import ring

pytestmark = pytest.mark.storm_only


@pytest.fixture(name="openmpi")
def _openmpi(lab):
    """A command of a program of Open MPI's, for a script."""
    mpis.need("openmpi")
    need_pmix()
    path = lab.bin / "mpi_sum.openmpi"
    if not path.exists():
        mpis.build("openmpi", "mpi_sum.c", path)
    return f"/home/user/bin/{path.name}"


@pytest.fixture(name="hello")
def _hello(lab):
    """Likewise of PMIx, without MPI."""
    need_pmix()
    path = lab.bin / "pmix_hello"
    if not path.exists():
        mpis.build_pmix("pmix_hello.c", path)
    return f"/home/user/bin/{path.name}"


def need_pmix():
    if not program().exists():
        pytest.skip("SKIP: STORM is built without PMIx; apt-get install libpmix-dev")
    if reason := mpis.lacks_pmix():
        pytest.skip("SKIP: " + reason)


def program():
    return pathlib.Path(stage_dir()) / "libexec/slurm-storm/storm_pmix"


def helpers(lab, node):
    return lab.lab.pids(node, "storm_pmix")


def test_resident(lab, openmpi):
    """srun --resident passes the type on; no step is made."""
    out = batch(lab, f"""
unset STORM_TIMELINE
storm run true
srun --launch=storm --resident --mpi=pmix -N2 -n4 {openmpi} | sort; echo end $?
squeue -h -s -j $SLURM_JOB_ID -o %i | grep -c '\\.[0-9]'
""")
    assert out == [*sorted(ring(4)), "end 0", "1"], out


def hellos(ranks):
    return [f"rank {k} of {ranks} next {1000 + (k + 1) % ranks}" for k in range(ranks)]


def in_order(lines):
    return sorted(lines, key=lambda s: int(s.split()[1]))


def test_pmix(lab, openmpi):
    """Ranks on one node, on two, on all, and of uneven numbers, one alone, also in a run
    inside a run."""
    out = batch(lab, f"""
for n in "-N1 -n2" "-N2 -n4" "-N4 -n8" "-N4 -n7" -n1; do
  storm run --mpi=pmix $n {openmpi} | sort -V; echo end $?; done
storm run -N1 -n1 storm run --mpi=pmix -N3 -n3 {openmpi} | sort
storm run --mpi=none -n1 sh -c 'env | grep -c PMIX_; true'
storm run -N2 -n2 env -u SLURM_STEP_ID -u SLURM_NODELIST {openmpi}
""")
    assert out[:27] == [line for n in (2, 4, 8, 7, 1)
                        for line in [*in_order(ring(n)), "end 0"]], out
    assert out[27:30] == ring(3), out[27:]
    assert out[30:] == ["0", *2 * ring(1)], out[30:]


def test_client(lab, hello):
    """A rank gets what others put, also from another node, and many runs do so at once
    and one after the other."""
    out = batch(lab, f"""
for k in $(seq 20); do storm run --mpi=pmix -N4 -n8 {hello} | sort -V; done
for k in $(seq 8); do storm run --mpi=pmix -N1 -n1 {hello} & done; wait
storm run --mpi=pmix -N4 -n4 sh -c 'ls -A /tmp/storm-*/*.pmix | grep -c "^[0-9]*$"' | sort -u
""")
    assert out[:160] == 20 * in_order(hellos(8)), out
    assert out[160:168] == 8 * hellos(1), out[160:]
    assert out[168:] == ["1"], out[168:]  # the directory of this run alone


def test_abort(lab, openmpi):
    """MPI_Abort in one rank ends all, with its code."""
    out = batch(lab, f"storm run --mpi=pmix -N2 -n4 {openmpi} 2 9 >out; echo code $?")
    assert any(line.startswith("storm run: error: n2: task 2: MPI_Abort with code 9")
               for line in out), out
    assert out[-1] == "code 9", out


def test_never_joins(lab, openmpi):
    """A rank that ends before MPI_Init does not leave the others waiting: neither those of
    its node, nor those of others."""
    out = batch(lab, f"""
for r in 3 2; do
  storm run --mpi=pmix -N$r -n$r sh -c '
    [ $SLURM_PROCID != 1 ] || exit 5; exec {openmpi}'; echo code $?; done
for code in 5 0; do storm run --mpi=pmix -N1 -n2 sh -c '
    [ $SLURM_PROCID != 1 ] || exit '$code'; exec {openmpi}'; echo code $?; done
""")
    text = "\n".join(out)
    assert len(re.findall("^storm run: error: n2: task 1: Exited with exit code 5$",
                          text, re.M)) == 2, text
    assert len(re.findall(
        "^storm run: error: n[12]: task 1(: it)? has ended, and others wait for it in MPI$",
        text, re.M)) == 4, text
    assert len(re.findall("^code (?!0)", text, re.M)) == 4, text


@pytest.mark.parametrize("what,nodes", [("early", 1), ("early", 4), ("leave", 4)])
def test_before_its_fence(lab, hello, what, nodes):
    """A rank that ends between PMIx_Init and the fence of all ends the run, if it says
    that it failed, or if ranks of other nodes wait for it."""
    out = batch(lab, f"storm run --mpi=pmix -N{nodes} -n{min(4, 2 * nodes)} {hello} {what} "
                ">out 2>err; echo code $?; cat err")
    assert out[0] != "code 0", out
    assert any("has ended without MPI_Finalize" in line or
               "has ended, and others wait for it in MPI" in line for line in out), out


def test_crash(lab, openmpi):
    """A rank that dies within MPI ends the others."""
    one = begin(lab, f"""
storm run --mpi=pmix -N2 -n4 sh -c 'echo $$ >pid.$SLURM_PROCID; exec {openmpi} 99 1' >out
echo code $?
""")
    until(lambda: (one.dir / "out").exists()
          and (one.dir / "out").read_text().count("token") == 4, lambda: one.log())
    lab.lab.run(["kill", "-SEGV", (one.dir / "pid.3").read_text().strip()], host="n2",
                user="user", cwd="/")
    said(one, "storm run: error: n2: task 3: it has ended without MPI_Finalize")
    one.finish()
    assert re.search(r"^storm run: error: n2: task 3: (Segmentation fault|Exited|Aborted)",
                     one.log(), re.M), one.log()
    assert not re.search("^code 0$", one.log(), re.M), one.log()


def test_helper_dies(lab, openmpi):
    """storm_pmix that is killed ends the runs that need it, with the node, leaves nothing,
    and the next run starts another one."""
    one = begin(lab, f"""
storm run --mpi=pmix -N2 -n4 {openmpi} 99 1 >out; echo code $?
ls -d /tmp/storm-*/*.pmix; touch gone
storm run --mpi=pmix -N4 -n4 {openmpi} | sort
""")
    until(lambda: (one.dir / "out").exists()
          and (one.dir / "out").read_text().count("token") == 4, lambda: one.log())
    pid, = helpers(lab, "n2")
    lab.lab.run(["kill", "-KILL", lab_pid(pid)], host="n2", user="user", cwd="/")
    said(one, "storm run: error: n2: storm_pmix, which its ranks need, has ended: Killed")
    assert one.finish().code == 0, one.log()
    assert all(line in one.log() for line in ring(4)), one.log()
    assert re.search("^code (?!0)", one.log(), re.M), one.log()


def test_cannot_begin(lab, hello):
    """A user's own settings that libpmix cannot use: the run says so, and the next one
    begins without them."""
    out = batch(lab, f"""
unset STORM_TIMELINE
storm run true
mkdir -p ~/.pmix; echo ptl=nonsense >~/.pmix/mca-params.conf
storm run --mpi=pmix -N1 -n1 {hello} 2>err; echo code $?; cat err
rm ~/.pmix/mca-params.conf
storm run --mpi=pmix -N2 -n2 {hello} >out; echo code $?
""")
    assert out == ["code 1", "storm run: error: n1: task 0: storm_pmix has ended before they "
                   "began: it gave up", "code 0"], out


def lab_pid(pid):
    """Its number in its node."""
    with open(f"/proc/{pid}/status") as f:
        return re.search(r"^NSpid:.*\t(\d+)$", f.read(), re.M)[1]


def test_launcher_dies(lab, openmpi):
    """No storm_pmix outlives its launcher, and its directory goes with it."""
    one = begin(lab, f"storm run --mpi=pmix -N4 -n4 {openmpi} 99 1 >out; echo code $?\n")
    until(lambda: (one.dir / "out").exists()
          and (one.dir / "out").read_text().count("token") == 4, lambda: one.log())
    lab.lab.run(["kill", "-KILL", lab_pid(the_launcher(lab, "n3"))], host="n3",
                user="user", cwd="/")
    until(lambda: not helpers(lab, "n3"), lambda: "storm_pmix of n3 to end")
    one.finish()
    assert not re.search("^code 0$", one.log(), re.M), one.log()
    until(lambda: not processes(lab, "storm_pmix"), lambda: "storm_pmix to end")


def test_not_installed(lab, openmpi):
    """A node without the package is named, and so is the package."""
    folder = program().parent
    lab.root(["sh", "-c", f"mkdir /run/without && cp {folder}/storm_launcher /run/without"
              f" && mount --bind /run/without {folder}"], host="n2")
    try:
        out = batch(lab, f"storm run --mpi=pmix -N4 -n4 {openmpi} >out; echo code $?; "
                    "storm run -N4 true && echo next")
    finally:
        lab.root(["sh", "-c", f"umount -l {folder} && rm -r /run/without"], host="n2")
    assert "storm run: error: n2: task 1: --mpi=pmix is not installed there: it needs " \
        "the package slurm-storm-pmix" in out, out
    assert out[-2] != "code 0" and out[-1] == "next", out


def test_direct(lab, openmpi, hello):
    """Data of a rank elsewhere that came to no fence is asked for there, as Open MPI does
    if its user wants that."""
    out = batch(lab, f"""
storm run --mpi=pmix -N4 -n8 {hello} direct | sort -V
OMPI_MCA_pmix_base_collect_data=0 storm run --mpi=pmix -N4 -n8 {openmpi} | sort -V
""")
    assert out == in_order(hellos(8)) + in_order(ring(8)), out


def test_direct_of_the_dead(lab, hello):
    """A rank that has ended gives nothing, and nobody waits for it."""
    out = batch(lab, f"storm run --mpi=pmix -N2 -n2 {hello} gone; echo code $?")
    assert out[0] == "PMIx_Get: NOT-FOUND" and out[-1] == "code 3", out


@pytest.mark.lab_with(cpus=256)
def test_many(fresh):
    """32 ranks of Open MPI, and 1,000 of PMIx alone, on 4 nodes meet."""
    mpis.need("openmpi")
    need_pmix()
    mpis.build("openmpi", "mpi_sum.c", fresh.bin / "mpi_sum.openmpi")
    mpis.build_pmix("pmix_hello.c", fresh.bin / "pmix_hello")
    one = begin(fresh, """
export OMPI_MCA_mpi_yield_when_idle=1
storm run --mpi=pmix -N4 -n32 /home/user/bin/mpi_sum.openmpi >sums; echo sums $?
storm run --mpi=pmix -N4 -n1000 /home/user/bin/pmix_hello >out
echo code $?; grep -c next out; sort -u out | wc -l
""", options=["--ntasks-per-node=250"])
    assert one.finish().code == 0, one.log()
    assert one.log().splitlines()[-4:] == ["sums 0", "code 0", "1000", "1000"], one.log()
    assert in_order((one.dir / "sums").read_text().splitlines()) == in_order(ring(32))


def test_other_user(lab, hello):
    """Who is not the user cannot be a rank: neither with the name of the run, nor with
    another one."""
    one = begin(lab, f"""
storm run --mpi=pmix -N1 -n2 sh -c 'env | grep ^PMIX_ >env.$SLURM_PROCID
  touch up$SLURM_PROCID; until [ -e go ]; do sleep 0.05; done; exec {hello}' | sort
""")
    until(lambda: len(list(one.dir.glob("up?"))) == 2, lambda: "ranks: " + one.log())
    env = (one.dir / "env.0").read_text().splitlines()
    for name in (None, "storm.guessed.1"):
        mine = [f"PMIX_NAMESPACE={name}" if name and v.startswith("PMIX_NAMESPACE=") else v
                for v in env]
        done = lab.lab.run(["env", *mine, "PMIX_MCA_ptl_base_max_retries=1", "timeout", "20",
                            "/home/user/bin/pmix_hello"], host="n1", user="other", cwd="/")
        assert done.returncode and "next" not in done.stdout, done
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert all(line in one.log() for line in hellos(2)), one.log()
