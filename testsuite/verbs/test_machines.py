# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Tests of the machines themselves, on which the other tests depend."""
import re

import pytest

import vm
from transfer import BUILD


def good(commands):
    for c in commands:
        assert c.code == 0, str(c)
    return commands


@pytest.mark.one_host
def test_a_device_each(machines):
    for c in good(machines.run("ibv_devinfo -d $RXE_DEV")):
        assert re.search(r"state:\s+PORT_ACTIVE", c.out), str(c)


def test_they_meet(machines):
    """Over RDMA: a round trip of datagrams of a UD queue pair."""
    # whose place in the table is another one once the address was gone
    pingpong = ("gid=$(grep -l ':ffff:0a4d:' /sys/class/infiniband/$RXE_DEV/"
                "ports/1/gids/* 2>/dev/null); ping() { ibv_ud_pingpong "
                "-d $RXE_DEV -g ${gid##*/} -s 512 -n 50 $1; }; ")
    server = machines.start(0, pingpong + "ping")
    client = machines.start(1, pingpong + "for k in {1..100}; do"
                            " ping rx0 && exit; sleep 0.1; done; exit 1")
    assert machines.wait([server, client])
    good([server, client])
    assert "50 iters" in client.out, str(client)


def test_exit_codes_and_outputs(machines):
    for c in machines.run("echo out $RXE_INDEX; echo err >&2; "
                          "exit $((RXE_INDEX + 1))"):
        assert (c.code, c.out, c.err) == (c.machine + 1,
                                          f"out {c.machine}\n", "err\n")


def test_the_check_command(machines):
    """Nothing is missing on the first; what is removed from the last is
    reported."""
    check = f"{BUILD}/src/storm_check/storm_check --verbs"
    first = machines.start(0, f"{check} -d $RXE_DEV")
    last = machines.start(machines.count - 1,
                          f"ip link set eth1 down; {check} -d rxe1; code=$?; "
                          "ip -batch /run/network; exit $code")
    assert machines.wait([first, last])
    good([first])
    assert last.code == 1 and "rxe1" in last.out + last.err, str(last)


def test_two_go(machines):
    """One dies, another one shuts down; both boot again."""
    there, last = machines.count - 2, machines.count - 1
    waits = machines.start(last, "sleep 1000")
    gone = machines.start(there, "rxe-die")
    machines.kill(last)
    assert waits.code == vm.DIED
    assert machines.wait([gone]) and gone.code == 0
    good(machines.run("true", range(there)))
    machines.boot([there, last])
    good(machines.run("ibv_devinfo -d $RXE_DEV; test -e "
                      "/dev/infiniband/uverbs0", [there, last]))
