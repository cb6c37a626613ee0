# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: how the output of many tasks becomes one."""
import os
import re
import signal

import pytest

from harness import until
from run_lab import (begin, batch, client, end_run, full, lab, launchers,  # noqa: F401
                     printed, said, the_head)

pytestmark = pytest.mark.storm_only

#: Lines that are written in two pieces, by tasks that are all on other nodes
HALVES = """halves() {
  for n in $(seq 400); do printf "$SLURM_PROCID$1 $n "; printf "$SLURM_PROCID$1 $n\\n"; done; }
halves out; halves err >&2
"""


def test_whole_lines(lab):
    """Lines of tasks on several nodes do not mix, whatever the pieces are in which they are
    written. Order within a task is kept, and no byte is added."""
    out = batch(lab, f"""
cat >halves <<'END'
{HALVES}END
storm run -N3 -n6 -x n1 bash ./halves 2>&1
storm run -N2 -n2 -x n1,n2 printf 'no end' >two; cat two; echo
head -c 3000000 /dev/urandom >in
storm run -N2 -n2 -x n1,n2 sh -c '[ $SLURM_PROCID = 1 ] || cat in' | cmp - in; echo same $?
""")
    lines, rest = out[:-2], out[-2:]
    assert rest == ["no endno end", "same 0"], rest
    assert all(re.fullmatch(r"(\d(out|err) \d+) \1", line) for line in lines), lines
    for task in range(6):
        for stream in ("out", "err"):
            assert [line.split()[1] for line in lines
                    if line.startswith(f"{task}{stream}")] == [str(n + 1) for n in range(400)]


def test_shared_file(lab):
    """In a file that is not appended to, tasks on the client's host overwrite nothing, though
    cat moves its offset from within the kernel."""
    assert batch(lab, """
head -c 4000000 /dev/zero | tr '\\0' x >in
for k in 1 2 3; do storm run -N4 -n8 cat in >out; wc -c <out; done
storm run -n1 -w n1 stat -Lc %F /proc/self/fd/1 >out; cat out
""") == 3 * ["32000000"] + ["regular empty file"]


def test_prompt(lab):
    """A line without an end comes when its task waits for an answer, and with -u as it is
    written, of a task that is never silent, too."""
    one = begin(lab, """
storm run -N2 -n2 -x n1,n2 sh -c 'printf "name? "; until [ -e go ]; do sleep 0.02; done; echo end'
storm run -u -N2 -n2 -x n1,n2 bash -c 'until grep -qF ... log; do printf .; done'; echo; echo code $?
""")
    said(one, "name? name? ")
    assert "end" not in one.log()
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    assert one.log().splitlines()[-4:-2] == ["name? name? end", "end"] and \
        re.search(r"\n\.{3,}\ncode 0$", one.log()), one.log()


def unfold(lines, tasks):
    """What each task has said, in its order."""
    said_by = [[] for _ in range(tasks)]
    for line in lines:
        ranks, text = re.fullmatch(r"\[([\d,-]+)\]: (.*)", line).groups()
        for part in ranks.split(","):
            first, _, last = part.partition("-")
            for rank in range(int(first), int(last or first) + 1):
                said_by[rank].append(text)
    return said_by


def test_fold(lab):
    """Equal lines of all tasks come once, with the numbers of those that said them, before
    the run's end is told. Each task's own lines are all there, in their order."""
    one = begin(lab, """
storm run -N4 -n8 --fold sh -c 'until [ -e go ] ; do
    touch up.$SLURM_PROCID; [ $(ls up.* | wc -l) -lt 8 ] || touch go; done
  printf "same\\n\\nno end"; echo err >&2; exit $((SLURM_PROCID == 5))' 2>&1 | sort
storm run -N4 -n8 --fold bash -c 'for k in $(seq 2000); do
  echo line $((k / (1 + SLURM_PROCID % 3))); done; seq $SLURM_PROCID' >many; echo code $?
storm run -n1 --fold echo one; wc -l <many
storm run -N2 -n2 --fold -o by.%t true; echo refused $?
""")
    out = printed(one)
    assert out[:5] == ["[0-7]: ", "[0-7]: err", "[0-7]: no end", "[0-7]: same",
                       "storm run: error: n3: task 5: Exited with exit code 1"], out
    assert out[5:7] == ["code 0", "[0]: one"] and 2000 < int(out[7]) < 16028, out
    assert out[8:] == ["storm run: by.%t: -l and --fold are not for a file for each task or "
                       "node", "refused 2"], out
    for rank, heard in enumerate(unfold((one.dir / "many").read_text().splitlines(), 8)):
        assert heard == [f"line {k // (1 + rank % 3)}" for k in range(1, 2001)] + \
            [str(k) for k in range(1, rank + 1)], rank


def peak(pid):
    """MB that it has had at most."""
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmHWM:\s*(\d+) kB", f.read())[1]) / 1024


def written(pids):
    """Bytes that each of them has written, where all their pipes are full; otherwise None."""
    if not all(map(full, pids)):
        return None
    sums = []
    for pid in pids:
        with open(f"/proc/{pid}/io") as f:
            sums.append(int(re.search(r"wchar: (\d+)", f.read())[1]))
    return sums


@pytest.mark.parametrize("options", ["-l", "--fold"])
def test_stopped_client(lab, options):
    """While a client is stopped its tasks stand, memory of head and launchers is bounded,
    and output of other runs comes. When it goes on nothing is lost."""
    one = begin(lab, f"""
storm run true
storm run {options} -N3 -n5 -x n1 sh -c 'until [ -e go ]; do touch up.$SLURM_PROCID; sleep 0.02; done
  yes "$SLURM_PROCID $(printf %0100d 0)" | head -n 150000' |
  awk '{{ n[$0]++ }} END {{ for (k in n) print substr(k, 1, 6), n[k] }}' | sort >counts &
until [ -e go ]; do sleep 0.05; done
until [ -e stuck ]; do storm run -n1 -w n4 echo other >>others; done; touch end
wait; sort -u others; cat counts
""")
    until(lambda: all((one.dir / f"up.{n}").exists() for n in range(5)),
          lambda: "the tasks: " + one.log())
    pid = client(lab)
    os.kill(pid, signal.SIGSTOP)
    (one.dir / "go").touch()

    def writers():
        return [pid for node in lab.names[1:] for pid in lab.lab.pids(node, "head")]

    def others():
        return (one.dir / "others").read_text().count("\n") if (one.dir / "others").exists() else 0

    def stand():
        """A head that reads on would have done so while it had another run."""
        them, count = writers(), others()
        assert len(them) == 5, "tasks have written all to a client that does not read"
        before = written(them)
        # one has begun and ended since
        until(lambda: others() >= count + 2, lambda: "another run: " + one.log())
        return before and writers() == them and written(them) == before
    until(lambda: len(writers()) == 5, lambda: "the writers: " + one.log())
    until(stand, lambda: f"{writers()} to stand")
    (one.dir / "stuck").touch()
    until((one.dir / "end").exists, lambda: "the other run: " + one.log())
    all_of_them = [the_head(lab)] + [p for node in lab.names for p in launchers(lab, node)]
    assert len(all_of_them) == 5 and max(map(peak, all_of_them)) < 64, \
        [*map(peak, all_of_them)]
    os.kill(pid, signal.SIGCONT)
    ranks = [f"[{n}]: {n}" if options == "--fold" else f"{n}: {n} 0" for n in range(5)]
    assert printed(one) == ["other"] + [f"{rank} 150000" for rank in ranks]
