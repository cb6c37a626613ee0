# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run: how the output of many tasks becomes one."""
import re

import pytest

from harness import until
from run_lab import begin, batch, end_run, lab, said  # noqa: F401

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
    assert one.log().splitlines()[-3:-1] == ["name? name? end", "end"] and \
        re.search(r"\n\.{3,}\ncode 0$", one.log()), one.log()
