# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""A real slurmdbd and its database for a lab, both on ctl."""
import os
import pathlib
import re
import shutil

import pytest

from harness import until

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
SLURMDBD_CONF = """\
DbdHost=ctl
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurm/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=3306
StorageUser=slurm
StoragePass=any
"""
#: the database is for this test alone: it accepts any user of the host
DATABASE = """\
mkdir -p /run/db/mysql
exec mariadbd --no-defaults --user=root --datadir=/run/db \\
    --socket=/run/db.sock --bind-address=127.0.0.1 --port=3306 \\
    --skip-grant-tables --innodb-flush-method=fsync \\
    --innodb-buffer-pool-size=16M >/var/log/mariadbd 2>&1
"""


def listens(lab, port):
    """On ctl. /proc has it as a hexadecimal number, in state 0A."""
    return re.search(rf":{port:04X} \S+ 0A ", "".join(
        pathlib.Path(f"/proc/{lab.pid('ctl')}/net/{kind}").read_text()
        for kind in ("tcp", "tcp6") if
        os.path.exists(f"/proc/{lab.pid('ctl')}/net/{kind}")))


def refused(lab):
    """The error with which slurmdbd of Debian 13 and later ends: its client library
    (MariaDB 11.8.9) allows no column in a result."""
    log = pathlib.Path(lab.path("ctl", "/var/log/slurm/slurmdbd.log"))
    return re.search("error: (mysql_query failed: 5027 .*)", log.read_text())


def account(lab):
    """From now on slurmctld has a slurmdbd. Returns the database's process."""
    database = lab.popen(["sh", "-ec", DATABASE], host="ctl", cwd="/",
                         stdin=-3, env={"PATH": PATH})
    until(lambda: listens(lab, 3306), lambda: "the database: " + pathlib.Path(
        lab.path("ctl", "/var/log/mariadbd")).read_text())
    etc = pathlib.Path(lab.dir) / "etc" / "slurm"
    conf = etc / "slurmdbd.conf"
    conf.write_text(SLURMDBD_CONF)
    conf.chmod(0o600)
    shutil.chown(conf, "slurm", "slurm")
    done = lab.run(["setpriv", "--reuid=slurm", "--regid=slurm",
                    "--init-groups", "slurmdbd"], host="ctl", cwd="/",
                   env={"PATH": PATH})
    assert done.returncode == 0, done.stderr
    until(lambda: listens(lab, 6819) or refused(lab),
          lambda: "slurmdbd: " + pathlib.Path(
              lab.path("ctl", "/var/log/slurm/slurmdbd.log")).read_text())
    if refused(lab):
        pytest.skip("SKIP: slurmdbd, stock as it is, cannot use this Debian's "
                    f"MariaDB: {refused(lab)[1]}")
    text = (etc / "slurm.conf").read_text()
    name = re.search("ClusterName=(.*)", text)[1]
    (etc / "slurm.conf").write_text(text.replace(
        "AccountingStorageType=accounting_storage/none",
        "AccountingStorageType=accounting_storage/slurmdbd\n"
        "AccountingStorageHost=ctl").replace(
        "JobAcctGatherType=jobacct_gather/none", "JobAcctGatherType=jobacct_gather/linux"))
    until(lambda: lab.run(["sacctmgr", "-i", "add", "cluster", name],
                          host="ctl", cwd="/").returncode == 0,
          "sacctmgr to add the cluster", interval=0.3)
    # From 23.11 on slurmctld gave the cluster an id of its own, and refuses the
    # one that slurmdbd gives, unless it is told to forget the first.
    os.remove(lab.path("ctl", "/var/lib/slurm/slurmctld/clustername"))
    lab.restart("ctl", "slurmctld")
    for node in lab.nodes:
        lab.restart(node, "slurmd")
    lab.wait_idle()
    return database


def need_slurmdbd():
    missing = [p for p in ("slurmdbd", "mariadbd")
               if not shutil.which(p, path=PATH)]
    if missing:
        pytest.skip(f"SKIP: no {', '.join(missing)}: apt-get install "
                    "--no-install-recommends slurmdbd mariadb-server-core")
