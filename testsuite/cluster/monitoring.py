# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""storm metrics --listen and Prometheus on a lab's host."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import MACHINES, TOP, chosen


def there_is(program):
    """Debian's of this machine, which labs of its own Slurm see."""
    return chosen() == MACHINES and shutil.which(program)


def need(program):
    if not there_is(program):
        pytest.skip(f"SKIP: no {program}: install the package prometheus")


def read(text):
    """{series: value}; each is there once, and has a head before it."""
    found, heads = {}, set()
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            heads.add(line.split()[2])
        elif not line.startswith("#"):
            series, value = line.rsplit(" ", 1)
            name = re.match(r"\w+", series)[0]
            assert {name, re.sub("_(total|info|bucket|sum|count)$", "", name)} & heads, line
            assert series not in found, line
            found[series] = float(value)
    return found


#: in the host's network: sends each of these to the port, and says what came back
TALK = """
import json, socket, sys, time
port, asked = json.load(sys.stdin)
def talk(text):
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 20) as s:
        s.sendall(text.encode("latin-1"))
        got = b""
        try:
            while more := s.recv(65536):
                got += more
        except ConnectionResetError:
            pass
    return got.decode(), time.monotonic() - began
held = []
for text in asked.get("held", ()):
    s = socket.create_connection(("127.0.0.1", port), 20)
    s.sendall(text.encode())
    held.append(s)
answers = [talk(text) for text in asked["said"]]
left = []
for s in held:
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass
    left.append(0)
print(json.dumps([answers, time.monotonic()]))
"""
GET = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
PORT = 9838

#: its user may do this, where no root may
FORKS = """
import resource, sys
pid, may = map(int, sys.argv[1:])
_, most = resource.prlimit(pid, resource.RLIMIT_NPROC)
resource.prlimit(pid, resource.RLIMIT_NPROC, (most if may else 0, most))
"""


class Listener:
    def __init__(self, lab, host="login"):
        self.lab, self.host = lab, host
        self.process = lab.popen(["storm", "metrics", f"--listen={PORT}", "--interval=1"],
                                 host=host, user="user", cwd="/", text=True,
                                 stderr=subprocess.PIPE)
        self.says = self.process.stderr.readline()
        self.pid = lab.pids(host, "storm_metrics")[0]

    def talk(self, *said, held=()):
        """[(answer, s)], when the held connections have been closed, too"""
        done = self.lab.run(["python3", "-c", TALK], host=self.host, cwd="/",
                            input=json.dumps([PORT, {"said": said, "held": held}]))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)[0]

    def get(self):
        """{series: value} of the last answer; None: there is none yet."""
        (answer, _), = self.talk(GET)
        head, body = answer.split("\r\n\r\n", 1)
        assert f"Content-Length: {len(body)}" in head
        if head.startswith("HTTP/1.1 503 "):
            return None
        assert head.startswith("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), head
        return read(body)

    def sockets(self):
        count = 0
        for fd in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(OSError):   # closed meanwhile
                count += os.readlink(f"/proc/{self.pid}/fd/{fd}").startswith("socket:")
        return count

    def forks(self, may):
        """whether it may have another process"""
        pid = self.lab.run(["pgrep", "-o", "-x", "storm_metrics"], host=self.host, cwd="/").stdout
        self.lab.run(["python3", "-c", FORKS, pid.strip(), str(int(may))], host=self.host, cwd="/",
                     user="user", check=True)

    def kill_query(self):
        """Wait for the next process that asks."""
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as f:
            while not (pids := f.read().split()):
                f.seek(0)
        with contextlib.suppress(ProcessLookupError):   # it was quicker
            os.kill(int(pids[0]), signal.SIGKILL)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(20)
        self.process.stderr.close()
        return code


MONITORING = TOP / "contribs" / "monitoring"

#: in the host's network: asks Prometheus these paths, until each has an answer with data
ASK = """
import json, sys, time, urllib.error, urllib.request
paths, limit = json.load(sys.stdin)
until, got = time.monotonic() + limit, {}
while len(got) < len(paths) and time.monotonic() < until:
    for path in paths:
        try:
            with urllib.request.urlopen("http://127.0.0.1:9090" + path, timeout=20) as f:
                data = json.load(f)["data"]
        except urllib.error.HTTPError as e:
            got[path] = e.read().decode()
        except OSError:
            break
        else:
            if data.get("result", True):
                got[path] = data
    time.sleep(0.1)
print(json.dumps(got))
"""


class Prometheus:
    """Debian's, beside a listener, with the alerts; times is how these are shortened."""

    def __init__(self, lab, host="login", times=()):
        self.lab, self.host = lab, host
        home = f"/home/user/prometheus.{host}"
        lab.run(["mkdir", home], user="user", cwd="/", check=True)
        rules = (MONITORING / "storm.rules.yml").read_text()
        for old, new in times:
            rules, n = re.subn(old, new, rules)
            assert n, old
        with open(lab.dir + home + "/rules.yml", "w") as f:
            f.write(rules)
        with open(lab.dir + home + "/prometheus.yml", "w") as f:
            json.dump({"global": {"scrape_interval": "200ms", "evaluation_interval": "500ms"},
                       "rule_files": ["rules.yml"],
                       "scrape_configs": [{"job_name": "storm", "static_configs": [
                           {"targets": [f"127.0.0.1:{PORT}"]}]}]}, f)
        self.home = home
        self.process = lab.popen(
            ["prometheus", f"--config.file={home}/prometheus.yml",
             f"--storage.tsdb.path={home}/data", "--web.listen-address=127.0.0.1:9090",
             "--log.level=warn"], host=host, user="user", cwd="/",
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, paths, limit=30):
        """{path: data}; those that are not there had none"""
        done = self.lab.run(["python3", "-c", ASK], host=self.host, cwd="/",
                            input=json.dumps([list(paths), limit]))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def rules(self):
        """{alert: state}"""
        group, = self.ask(["/api/v1/rules"])["/api/v1/rules"]["groups"]
        return {rule["name"]: rule["state"] for rule in group["rules"] if rule["health"] == "ok"}

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.lab.run(["rm", "-r", self.home], cwd="/", check=True)
