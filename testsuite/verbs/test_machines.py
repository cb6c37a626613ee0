# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The machines themselves: what is tested in them rests on this."""
import re

import pytest

import vm


def good(commands):
    for c in commands:
        assert c.code == 0, str(c)
    return commands


@pytest.mark.one_host
def test_a_device_each(machines):
    for c in good(machines.run("ibv_devinfo -d $RXE_DEV")):
        assert re.search(r"state:\s+PORT_ACTIVE", c.out), str(c)


def test_they_meet(machines):
    """By RDMA: datagrams of a UD queue pair, there and back."""
    server = machines.start(0, "ibv_ud_pingpong -g 1 -s 512 -n 50")
    client = machines.start(1, "for k in {1..100}; do"
                            " ibv_ud_pingpong -g 1 -s 512 -n 50 rx0 && exit;"
                            " sleep 0.1; done; exit 1")
    assert machines.wait([server, client], 120)
    good([server, client])
    assert "50 iters" in client.out, str(client)


def test_exit_codes_and_outputs(machines):
    for c in machines.run("echo out $RXE_INDEX; echo err >&2; "
                          "exit $((RXE_INDEX + 1))"):
        assert (c.code, c.out, c.err) == (c.machine + 1,
                                          f"out {c.machine}\n", "err\n")


def test_the_check_command(machines):
    """Nothing is missing here; and what is taken away is named."""
    check = vm.TOP / "contribs/verbs/storm_check_verbs"
    good(machines.run(f"{check} -d $RXE_DEV"))
    [c] = machines.run("ip link set eth1 down; "
                       f"{check} -d rxe1; code=$?; ip link set eth1 up; "
                       "exit $code", [machines.count - 1])
    assert c.code == 1 and "rxe1" in c.out + c.err, str(c)


def test_one_dies(machines):
    last = machines.count - 1
    waits = machines.start(last, "sleep 1000")
    machines.kill(last)
    assert waits.code == vm.DIED
    good(machines.run("true", range(last)))
    machines.boot([last])
    good(machines.run("ibv_devinfo -d $RXE_DEV", [last]))


def test_one_goes_by_itself(machines):
    last = machines.count - 1
    gone = machines.start(last, "rxe-die")
    assert machines.wait([gone], 60) and gone.code == 0
    machines.boot([last])
    good(machines.run("test -e /dev/infiniband/uverbs0", [last]))
