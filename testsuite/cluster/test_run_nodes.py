# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm run in a task on any node of the job, a run inside a run included: by the door
of that node's launcher, in a sealed stream to the head."""
import os
import re
import signal

import pytest

from harness import until
from run_lab import (batch, begin, cmdline, end_run, ended, files, lab,  # noqa: F401
                     listens, name_is_taken, said, STARTED, the_head, the_launcher,
                     VERSION, WAITS)

pytestmark = pytest.mark.storm_only


@pytest.mark.every_release
def test_nested(lab):
    """The tasks on the client's node get its own descriptors; output, exit codes and
    messages of all others come to it."""
    lines = batch(lab, r"""
cat >inner.sh <<'END'
echo inner on $SLURMD_NODENAME
echo >out.txt
storm run -N4 -n4 sh -c 'echo $SLURMD_NODENAME $(stat -Lc %F /proc/$$/fd/1)' >>out.txt
echo code $?
grep n out.txt | sort
storm run -N2 -n2 sh -c 'exit $((3 + SLURM_PROCID))' 2>err.txt
echo code $?
cat err.txt
storm run -N1 -w n2 storm run -N1 -w n4 storm run -N1 -w n3 sh -c 'echo three $SLURMD_NODENAME'
head -c 3000000 /dev/zero | tr '\0' x >big.txt
storm run -N1 -w n2 cat big.txt | cksum
storm run -N1 -w n3 cat big.txt | cksum
cksum <big.txt
storm run -N1 -w n2 yes | head -n 1
echo last $?
END
storm run -N1 -w n3 sh inner.sh
echo outer $?
""")
    until(lambda: not files(lab), lambda: f"{files(lab)} to be removed")
    # of yes; on another way than what was written after it
    lines = [line for line in lines if "Broken pipe" not in line]
    assert lines[:2] == ["inner on n3", "code 0"], lines
    assert lines[2:6] == ["n1 fifo", "n2 fifo", "n3 regular file", "n4 fifo"], lines
    assert lines[6] == "code 4", lines
    assert sorted(lines[7:9]) == [
        f"storm run: error: n{n}: task {n - 1}: Exited with exit code {n + 2}"
        for n in (1, 2)], lines
    assert lines[9] == "three n3", lines
    assert len(set(lines[10:13])) == 1 and lines[13] == "y", lines
    assert lines[-2:] == ["last 0", "outer 0"], lines


def test_waits_for_parent(lab):
    """A run that waits for the CPUs of the run in which it is says so."""
    one = begin(lab, """
storm run -N4 -n8 sh -c 'if [ $SLURM_PROCID = 5 ]; then storm run -N1 true
  else until [ -e go ]; do sleep 0.05; done; fi'; echo code $?
""")
    said(one, "waits for CPUs: run 1, in which this is, has 8 of 8\n")
    (one.dir / "go").touch()
    one.finish()
    assert "code 0\n" in one.log(), one.log()


def test_ps(lab):
    """What runs, what waits and what is free, asked for on the head's node and on another
    one. No byte of a command reaches the terminal as it is; launchers are not started."""
    one = begin(lab, r"""
storm ps; echo none $?
storm run -N4 -n6 sh -c 'if [ $SLURM_PROCID -gt 1 ]; then echo >there.$SLURM_PROCID
  until [ -e go ]; do sleep 0.05; done; fi' $'a\e[1mb\n' &
until [ -e there.2 -a -e there.3 -a -e there.4 -a -e there.5 ]; do sleep 0.05; done
storm run -N2 -n4 true waits &
until storm ps | tee ps.txt | grep -q waits; do sleep 0.05; done
until [ $(awk '$1 == 1 { print $5 }' ps.txt) = 4 ]; do storm ps >ps.txt; done
cat ps.txt
storm ps -x; echo usage $?
touch go
wait
storm run -N1 -w n3 storm ps
""")
    assert one.finish().code == 0, one.log()
    text = one.log()
    assert "storm ps: no launchers are there: the first storm run starts them\nnone 0\n" \
        in text, text
    assert "CPUs: 8, of which 4 are free\n" in text, text
    runs = [line.split(None, 7) for line in text.splitlines()
            if re.match(r"\d+ +(runs|waits) ", line)]
    assert [r[:2] + r[3:7] for r in runs] == [
        ["1", "runs", "6", "4", "6", "n[1-4]"], ["2", "waits", "4", "4", "4", "-"],
        ["3", "runs", "1", "1", "1", "n3"]], text
    assert [r[7] for r in runs][1:] == ["true waits", "storm ps"], text
    assert runs[0][7].endswith(r" a\x1b[1mb\x0a"), text
    assert "CPUs: 8, of which 7 are free\n" in text, text
    assert 'storm ps: it takes no "-x"; see storm ps --help\nusage 2\n' in text, text


#: argv: words. Prints how often each is in a packet of this host, once stdin ends
SNIFF = """import select, socket, sys
words = [w.encode() for w in sys.argv[1:]]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)
print("listens", flush=True)
seen = {w: 0 for w in words}
bytes_seen = 0
end = False
while not end or select.select([s], [], [], 0.3)[0]:
    for f in select.select([s, sys.stdin], [], [])[0] if not end else [s]:
        if f is s:
            p = s.recv(70000)
            bytes_seen += len(p)
            for w in words:
                seen[w] += w in p
        else:
            end = True
print(*seen.values(), bytes_seen)
"""


def test_carrier_is_sealed(lab):
    """On the way between a client's node and the head no packet has a word of its
    arguments, environment or output. (What a task on another node than its client's
    writes is in some: it shows that packets are seen.)"""
    sniff = lab.lab.popen(["python3", "-c", SNIFF, "argument", "environs", "said-so",
                           "in-plain"], host="n3", stdin=-1, stdout=-1, text=True)
    try:
        assert sniff.stdout.readline() == "listens\n"
        one = begin(lab, """
cat >inner.sh <<'END'
export WORD=environs-of-it
storm run -N1 -w n1 sh -c 'echo said-so; echo $WORD; head -c 500000 /dev/zero; : argument' >out.bin
wc -c <out.bin
echo in-plain
END
storm run -N1 -w n3 sh inner.sh
""")
        assert one.finish().code == 0, one.log()
        assert "500023" in one.log(), one.log()
        out, _ = sniff.communicate("")
    finally:
        sniff.kill()
    *seen, total = map(int, out.split())
    assert total > 500000 and seen[:3] == [0, 0, 0] and seen[3], out


def waiting(lab):
    """A job in which a client on n2 waits for its task on n3."""
    one = begin(lab, """
storm run -N1 -w n2 sh -c 'storm run -N1 -w n3 sh -c "echo begun; sleep 300"; echo inner $?'
storm run true; echo next $?
""")
    said(one, "begun\n")
    return one


def test_other_user_on_a_node(lab):
    """The door of n2 is this user's alone; and who knows no key opens no carrier."""
    one = waiting(lab)
    path, = [p for p in lab.listing("n2", "/tmp/storm-20001") if p.endswith(".sock")]
    assert path.endswith(".n2.sock")
    tried = lab.lab.run(["python3", "-c", "import socket, sys\n"
                         "socket.socket(socket.AF_UNIX).connect(sys.argv[1])",
                         f"/tmp/storm-20001/{path}"], host="n2", user="other", cwd="/")
    assert "PermissionError" in tried.stderr, tried.stderr
    port, = listens(the_head(lab))
    tried = lab.lab.run(["python3", "-c", KEYLESS, str(port), VERSION], host="n4", user="other",
                        cwd="/")
    assert tried.stdout.split() == ["closed", "closed", "closed"], \
        tried.stdout + tried.stderr
    assert "inner" not in one.log(), one.log()
    pid, = lab.lab.pids("n3", "sleep")
    os.kill(pid, signal.SIGTERM)
    one.finish()
    assert re.search("^inner 143$", one.log(), re.M), one.log()


#: argv: the head's port, the version. A door of n3 without the key, one of another version, and one
#: that sends records at once
KEYLESS = """import socket, struct, sys
version = int(sys.argv[2])
def tried(version, more=b"", then=b""):
    s = socket.create_connection(("n1", int(sys.argv[1])))
    body = struct.pack(">II", version, 2) + bytes(16) + more
    s.sendall(struct.pack(">IB", len(body), 22) + body)
    s.settimeout(20)
    answer = b""
    try:
        while True:
            if len(answer) >= 21 and then:
                s.sendall(then)
                then = b""
            got = s.recv(4096)
            if not got:
                break
            answer += got
    except ConnectionResetError:
        pass
    except TimeoutError:
        return "open"
    return "closed"
text = struct.pack(">IB", 0, 1)
print(tried(version, then=struct.pack(">I", len(text)) + text + bytes(16)))
print(tried(1))
print(tried(version, more=bytes(40)))
"""


def test_name_is_taken_on_a_node(lab):
    """Another user has made the directory on n2: a client there names its owner."""
    name_is_taken(lab, "n2", "storm run -N2 storm run -N1 true")


def test_client_on_a_node_killed(lab):
    """Its run ends, and all others go on."""
    one = waiting(lab)
    pids = lab.lab.pids("n2", "storm")
    assert len(pids) == 1, pids
    os.kill(pids[0], signal.SIGKILL)
    until(lambda: not lab.lab.pids("n3", "sleep"), "the end of its task")
    ended(lab, one, "^inner 137$")


def test_launcher_of_a_door_killed(lab):
    """The node is lost, and with it its clients' runs."""
    one = waiting(lab)
    os.kill(the_launcher(lab, "n2"), signal.SIGKILL)
    ended(lab, one, "the launcher on node n2 is lost")


def test_first_client_in_a_task(lab):
    """A task on another node than the first starts launchers as the batch script does. With
    control groups they end with its step, and it says so; here the keeper stays."""
    one = begin(lab, r"""
srun --overlap -N1 -n1 -w n3 sh -c 'storm run -N4 hostname | sort
  storm run -N2 -n2 sh -c "exit $((3 + SLURM_PROCID))"; echo code $?
  storm run -N1 -w n3 stat -Lc %F /proc/self/fd/1 >own; cat own
  echo >up; until [ -e go ]; do sleep 0.05; done'
storm run -N4 true; echo next $?
""")
    until((one.dir / "up").exists, lambda: "the runs: " + one.log())
    names = sorted(files(lab))
    assert [name.split(":")[0] for name in names if name.endswith(".sock")] == \
        ["n1", "n2", "n3", "n4"], names
    keepers = [node for node in lab.names for pid in lab.lab.pids(node, "storm_launcher")
               if b"--keep" in cmdline(pid)]
    assert keepers == ["n3"] and the_head(lab), keepers
    (one.dir / "go").touch()
    assert one.finish().code == 0, one.log()
    log, times = STARTED.subn("", WAITS.sub("", one.log()))
    assert times == 1, one.log()
    lines = [line for line in log.splitlines() if line]
    assert any("the launchers end with step" in line for line in lines), lines
    assert [line for line in lines if re.match(r"(n\d|code|regular|next)\b", line)] == \
        ["n1", "n2", "n3", "n4", "code 3", "regular empty file",
         "next 0"], lines
    until(lambda: not files(lab), lambda: f"{files(lab)} to be removed")


def test_first_clients_at_once(lab):
    """Of clients that start launchers on four nodes at the same moment one does, and all
    are served by these."""
    one = begin(lab, r"""
srun --overlap -N4 -n4 sh -c 'echo >up.$SLURM_PROCID
  until [ -e up.0 -a -e up.1 -a -e up.2 -a -e up.3 ]; do sleep 0.01; done
  storm run -N4 hostname; echo code $?; echo >over.$SLURM_PROCID
  until [ -e over.0 -a -e over.1 -a -e over.2 -a -e over.3 ]; do sleep 0.01; done'
""")
    assert one.finish().code == 0, one.log()
    log, times = STARTED.subn("", WAITS.sub("", one.log()))
    assert times == 1, one.log()
    lines = sorted(line for line in log.splitlines() if re.match(r"(n\d$|code)", line))
    assert lines == 4 * ["code 0"] + [f"n{k}" for k in (1, 2, 3, 4) for _ in range(4)], \
        one.log()
    until(lambda: not files(lab), lambda: f"{files(lab)} to be removed")
