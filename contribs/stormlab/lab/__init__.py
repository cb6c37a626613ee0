# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A Slurm cluster on one machine, for tests and tools in Python.

    sys.path.insert(0, ".../contribs/stormlab")
    from lab import Lab, LabError

    lab = Lab("test")                   # default: $STORMLAB or "default"
    lab.up(8)                           # storm; or lab.up(8, stock=True)
    lab.up(8, conf={"TreeWidth": 4}, storm_conf={"Multicast": "no"},
           cpus=4, mtu=1500, switch="none", stage="/path/_stage")
    done = lab.run(["srun", "-N8", "hostname"], user="user")
    done.returncode, done.stdout, done.stderr
    lab.exec("n3", "cat /proc/uptime")  # a str goes to sh -c
    p = lab.popen(["srun", ...], stdout=PIPE); p.send_signal(SIGINT)
    lab.node_states(); lab.wait_idle()
    lab.shape("1gbit"); lab.shape(None)
    lab.multicast(False)                # makes the switch drop IP multicast
    lab.drop(5, seed=7); lab.drop(0)    # at every receiver
    lab.counters("login")["tx_bytes"]   # see lab.net.counters
    lab.agent_stats("n1")               # storm_agent --stats, a dict
    lab.kill("n2", "agent")             # SIGKILL; or sig=signal.SIGSTOP
    lab.restart("n2", "slurmd")
    lab.upgrade("n2", "26.05")          # its Slurm, as packages would
    lab.pids("login", "srun")           # processes by name
    lab.fault("kill", "n3"); lab.heal() # see Lab.fault
    lab.fault("delay", "n2", ms=20, loss=1); lab.heal("n2"); lab.faults()
    lab.disk("n2", "4m")                # mounts a small disk at /small
    lab.put("app", "login", "/tmp/app")
    lab.path("n2", "/tmp/app")          # path of n2's file on the machine
    lab.log("n2", "slurmd")
    lab.down()                          # always, also after a failed up

Hosts are ctl (slurmctld), login and n1..nN. Users are root, user and other.
Each host has its own /tmp. All hosts share /home, which the machine has at
lab.dir/home. The text of a LabError is a message for the user.
"""
from .cluster import Lab, LabProcess, all_labs
from .sysdep import LabError

__all__ = ["Lab", "LabProcess", "LabError", "all_labs"]
