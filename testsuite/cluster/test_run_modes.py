# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run where multicast is switched off, or never arrives, and where one of 20 datagrams
is lost at each receiver: what it promises is the same."""
import os
import re
import signal

import pytest

from conftest import make
from harness import until
from run_lab import (NODES, STARTED, WAITS, batch, begin, end_run, ended,  # noqa: F401
                     printed, the_launcher)

pytestmark = pytest.mark.storm_only


@pytest.fixture(scope="module", params=["relay", "deaf", "drop"])
def modal(request):
    c = make(f"run-{request.param}", NODES, mode=request.param, standing=False)
    yield c
    c.down()


@pytest.fixture
def lab(modal):
    return modal


def test_all(lab):
    """Runs one after the other and at once, on some nodes and on all; their arguments, codes,
    input and output; a run inside a run; many tasks."""
    out = batch(lab, r"""
for k in $(seq 20); do storm run -N$((1 + k % 4)) true || echo failed; done
for k in $(seq 6); do storm run -N2 -n2 sh -c 'exit $1' x $k & pids="$pids $!"; done 2>err
for p in $pids; do wait $p; echo code $?; done
X=$(head -c 100000 /dev/zero | tr '\0' x); export X
storm run -N4 -n8 sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME ${#X}' | sort
unset X; head -c 300000 /dev/urandom >in
sha256sum <in; storm run -N4 -n8 sha256sum <in
storm run -N4 -n4 -l seq 20000 | awk '{ split($1, r, ":"); if ($2 != ++n[r[1]]) bad++ }
  END { for (k in n) print k, n[k], bad + 0 }' | sort
storm run -N1 -w n3 storm run -N4 -n4 sh -c 'echo inner $SLURM_PROCID' | sort
seq 500 | storm each 'echo {}' | sort -n | cksum; seq 500 | cksum
""")
    assert out[:6] == [f"code {k}" for k in range(1, 7)], out
    assert out[6:14] == [f"{k} n{k // 2 + 1} 100000" for k in range(8)], out
    assert len(set(out[14:23])) == 1, out
    assert out[23:27] == [f"{k} 20000 0" for k in range(4)], out
    assert out[27:31] == [f"inner {k}" for k in range(4)], out
    assert out[31] == out[32] and len(out) == 33, out


def test_signal_and_loss(lab):
    """A signal comes to all tasks. A launcher that dies is named, and the next run starts
    anew."""
    one = begin(lab, """
storm run -N4 true
env --default-signal=INT storm run -N4 sh -c 'touch first.$SLURM_PROCID; exec sleep 1000' & run=$!
until [ $(ls first.* 2>/dev/null | wc -l) = 4 ]; do sleep 0.05; done; kill -INT $run; wait $run
echo code $?
storm run -N4 sh -c 'touch up.$SLURM_PROCID; exec sleep 1000'; echo lost $?
storm run -N4 true; echo next $?
""")
    until(lambda: len(list(one.dir.glob("up.*"))) == NODES, lambda: "the tasks: " + one.log())
    os.kill(the_launcher(lab, "n3"), signal.SIGKILL)
    ended(lab, one, "^code 130$", "^lost 137$",
          "^storm run: error: the launcher on node n3 is lost: ")
    assert len(STARTED.findall(one.log())) == 2 and not re.search(
        r"is lost", WAITS.sub("", one.log()).split("lost 137")[1]), one.log()
