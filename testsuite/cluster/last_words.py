# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The part of a failed test's report about the labs that it used, for a
conftest.py."""
import pytest

from harness import Lab, LabError


def last_words(lab):
    """(title, text): the ends of the logs, which show why a test failed."""
    for host in ["ctl", *lab.nodes[:4]]:
        daemon = "slurmctld" if host == "ctl" else "slurmd"
        lines = lab.log(host, daemon).splitlines()
        yield (f"{daemon} of {lab.name}, {host}",
               "\n".join(lines[-80 if host == "ctl" else -40:]))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Add the logs now: the labs are gone when the report is read."""
    report = (yield).get_result()
    if not report.failed:
        return
    used = [getattr(v, "lab", v) for v in item.funcargs.values()]
    for lab in {v.name: v for v in used if isinstance(v, Lab)}.values():
        try:
            report.sections += last_words(lab)
        except (LabError, AssertionError):     # it is down
            pass
