# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Every subcommand of contribs/bench/storm_bench runs, for seconds. Its result's
shape is judged, and no time."""
import html.parser
import json
import math
import re
import subprocess
import xml.etree.ElementTree

import pytest

from conftest import make
from harness import TOP, sanitized, until

PROGRAM = str(TOP / "contribs" / "bench" / "storm_bench")
BENCHES = sorted(p.stem for p in (TOP / "contribs/bench/benches").glob(
    "[a-z]*.py"))
NOT_RUN = 77
#: half a minute each; test_quick[gang] runs what they have in common
SLOW = {"noise", "strobe", "switch", "waiting"}
#: why a part may be missing: this machine lacks something
LACKS = re.compile(r"\b(install|needs?)\b")
LIMIT = 900

pytestmark = [pytest.mark.storm_only, pytest.mark.skipif(
    sanitized(), reason="SKIP: with the sanitizers nothing is measured")]


def storm_bench(*args, **options):
    """(exit code, output)"""
    with subprocess.Popen([PROGRAM, *map(str, args)], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options) as process:
        try:
            out = process.communicate(timeout=LIMIT)[0]
        finally:
            if process.poll() is None:
                process.terminate()         # it takes its lab down
                process.communicate(timeout=LIMIT)
    return process.returncode, out


def draws():
    """storm_bench's Python has the library."""
    python = open(PROGRAM).readline().strip("#!\n")
    return not subprocess.run([python, "-c", "import matplotlib"],
                              capture_output=True).returncode


def check_cell(cell, where):
    if "text" in cell:
        assert cell["text"], where
    elif "not_run" in cell:
        assert LACKS.search(cell["not_run"]), f"{where}: {cell['not_run']}"
    else:
        assert cell["n"] >= 1, where
        assert cell["q1"] <= cell["median"] <= cell["q3"], where
        assert math.isfinite(cell["median"]), where


def check_table(table):
    assert table["rows"], f"{table['title']}: no row"
    for row in table["rows"]:
        where = f"{table['title']}: {row}"
        assert set(row["by"]) == set(table["by"]), where
        assert row["cells"].keys() <= table["columns"].keys(), where
        for cell in row["cells"].values():
            check_cell(cell, where)
    assert any("median" in cell for row in table["rows"]
               for cell in row["cells"].values()), \
        f"{table['title']}: no figure"


def check_picture(path):
    text = path.read_text()
    xml.etree.ElementTree.fromstring(text)
    assert "prefers-color-scheme: dark" in text
    assert "currentColor" in text


@pytest.mark.parametrize("name", [
    pytest.param(n, marks=pytest.mark.long if n in SLOW else ())
    for n in BENCHES if n != "report"])
def test_quick(name, tmp_path):
    """Its result has tables with figures, and what is missing needs something
    that this machine lacks."""
    argv = [name, "--quick", "--json", tmp_path / "json",
            "--markdown", tmp_path / "md"]
    if draws():
        argv += ["--plot", tmp_path / "svg"]
    code, out = storm_bench(*argv)
    if code == NOT_RUN and LACKS.search(out):
        pytest.skip("SKIP: " + out.strip().splitlines()[-1])
    assert code == 0, out
    data = json.loads((tmp_path / "json").read_text())
    assert data["name"] == name and name in data["command"]
    assert data["machine"]["processors"] >= 1 and data["versions"]["storm"]
    assert data["tables"], out
    for table in data["tables"]:
        check_table(table)
        assert table["title"] in (tmp_path / "md").read_text()
    if draws():
        check_picture(tmp_path / "svg")


@pytest.fixture(scope="module")
def site():
    """A cluster that storm_bench did not make."""
    c = make("site", 2)
    c.lab.run(["scancel", str(c.job)])
    yield c
    c.down()


def no_job(site):
    """What it has cancelled may still be completing."""
    until(lambda: not site.lab.run(["squeue", "-h"]).stdout,
          lambda: "all jobs to go: " + site.lab.run(["squeue"]).stdout)


def at_site(site, *argv):
    """storm_bench as a user of it, in a directory that all hosts share."""
    return site.lab.run([PROGRAM, *argv, "--site", "--quick"], user="user",
                        cwd="/home/user", timeout=LIMIT)


@pytest.mark.parametrize("name", ["launch", "steps"])
def test_site(site, name):
    done = at_site(site, name, "--nodes", "2", "--json", "/home/user/json")
    assert done.returncode == 0, done.stdout + done.stderr
    for table in json.loads((site.home / "json").read_text())["tables"]:
        check_table(table)
    assert not list(site.home.glob("storm_bench.*"))
    no_job(site)


def test_site_is_too_small(site):
    """It says so, and leaves no job that waits."""
    done = at_site(site, "term", "--nodes", "3",
                   "--site-options=--immediate=1")
    assert done.returncode == NOT_RUN and "salloc of 3 nodes" in done.stdout
    no_job(site)


class Page(html.parser.HTMLParser):
    """What a page of HTML has: its elements, what it names, its text."""
    OPEN = {"meta", "link", "br", "img", "input", "hr"}

    def __init__(self, text):
        super().__init__()
        self.elements, self.names, self.deep, self.text = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.names += [v for k, v in attrs if k in ("src", "href",
                                                    "xlink:href")]
        if tag not in self.OPEN and tag != "html":
            self.deep.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.deep and self.deep[-1] == tag, (self.getpos(), tag)
        self.deep.pop()

    def handle_data(self, data):
        self.text += data


def check_page(path):
    """It needs no other file."""
    text = path.read_text()
    page = Page(text)
    assert not page.deep, page.deep
    assert all(name.startswith("#") for name in page.names), page.names
    assert not {"link", "script", "img"} & set(page.elements)
    assert "@import" not in text and "url(http" not in text
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text
    ids = re.findall(r'\bid="?([^" >]+)', text)
    assert len(ids) == len(set(ids))
    return page


@pytest.mark.skipif(not draws(), reason="SKIP: install python3-matplotlib")
def test_report(tmp_path):
    """It runs what it is told to, and says of the others that they were not
    run. From their results it makes the same page."""
    code, out = storm_bench("report", "--quick", "--only", "model,steps",
                            "--limit", LIMIT, "--to", tmp_path / "1")
    assert code == 0, out
    page = check_page(tmp_path / "1" / "report.html")
    assert page.elements.count("svg") >= 3 and page.elements.count("h2") == 3
    assert "modelled" in page.text and "Table 5" in page.text
    assert "not run (storm_bench launch)" in page.text
    assert "not run (storm_bench gang --walk memory)" in page.text
    assert "Pakin Fig. 5.4" in page.text
    code, out = storm_bench("report", "--from", tmp_path / "1",
                            "--to", tmp_path / "2")
    assert code == 0, out
    again = check_page(tmp_path / "2" / "report.html")
    missing = set(BENCHES) - {"report", "model", "steps"}
    assert all(f"{n}: there is no" in again.text for n in missing)
    assert "| TC'06 Fig. 8 |" in (tmp_path / "2" / "report.md").read_text()


def test_report_of_an_unknown_subcommand(tmp_path):
    code, out = storm_bench("report", "--only", "dance", "--to", tmp_path)
    assert code == NOT_RUN and "give names of" in out


def test_plot_without_the_library(tmp_path):
    """--plot says what to install, and nothing is measured in vain."""
    (tmp_path / "matplotlib.py").write_text("raise ImportError('none here')")
    code, out = storm_bench("steps", "--quick", "--plot", tmp_path / "svg",
                            env={"PYTHONPATH": str(tmp_path)})
    assert code == NOT_RUN and "install python3-matplotlib" in out
    assert "srun" not in out and not (tmp_path / "svg").exists()


def test_a_lab_goes_down(tmp_path):
    """An ended run leaves no lab."""
    with subprocess.Popen([PROGRAM, "steps", "--nodes", "1", "--repeat",
                           "10000"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        try:
            name = f"bench{process.pid}-"
            listed = [str(TOP / "contribs/stormlab/stormlab"), "list"]
            while name not in subprocess.run(listed, capture_output=True,
                                             text=True, check=True).stdout:
                assert process.poll() is None, process.stdout.read()
        finally:
            process.terminate()
        assert process.wait(LIMIT) == 128 + 15
    assert name not in subprocess.run(listed, capture_output=True, text=True,
                                      check=True).stdout
