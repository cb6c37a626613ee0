# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""Load plugins that were built with the address and undefined behaviour
sanitizers (configure --enable-sanitizers) into Slurm's programs, which were
not.

The sanitizers' runtime must be the first library of a process. LD_PRELOAD would
also reach the tasks, whose environment the tests compare. Therefore the hosts
see copies of Slurm's programs that list the runtime among their libraries. A
small library in front of it holds the options, because a program may lose its
environment.

The sanitizers write their reports to files in /home/sanitizer, which all hosts
share: the tests check srun's stderr, and a daemon has none.
"""
import glob
import os
import shutil
import subprocess

from . import release
from .sysdep import LabError

#: directory, in the hosts, of the library with the options
INSIDE = "/run/stormlab/sanitized"
REPORTS = "/home/sanitizer"

#: Slurm's programs that load STORM's plugins
PROGRAMS = ("slurmctld", "slurmd", "slurmstepd", "srun", "salloc", "sbatch",
            "sattach", "scontrol", "sbcast")
#: programs in the stage directory
OURS = ("bin/sbcast_storm", "libexec/slurm-storm/storm_agent")

#: Slurm's programs do not free all memory when they exit, so leaks are not
#: checked. An allocation that is too large returns NULL, as malloc does.
OPTIONS = ("verify_asan_link_order=0:detect_leaks=0:"
           "allocator_may_return_null=1:abort_on_error=0:log_exe_name=1:"
           f"log_path={REPORTS}/report")

#: The options, and a remedy for a fault of the runtime. If a thread forks while
#: another one allocates, the allocator stays locked in the child. Slurm's
#: slurmstepd allocates there and hangs. Hence a lock: no fork during an
#: allocation.
SOURCE = f"""\
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <string.h>

const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__asan_default_options(void) {{ return "{OPTIONS}"; }}
const char *__ubsan_default_options(void)
{{
	return "print_stacktrace=1:log_exe_name=1:log_path={REPORTS}/report";
}}

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;

static void fork_alone(void)
{{
	pthread_rwlock_wrlock(&gate);
}}

static void forked(void)
{{
	pthread_rwlock_unlock(&gate);
}}

static void is_child(void)
{{
	gate = (pthread_rwlock_t) PTHREAD_RWLOCK_INITIALIZER;
}}

__attribute__((constructor)) static void first(void)
{{
	pthread_atfork(fork_alone, forked, is_child);
}}

#define BESIDE(result, name, args, values) \\
result __interceptor_##name args; \\
result name args \\
{{ \\
	result r; \\
\\
	pthread_rwlock_rdlock(&gate); \\
	r = __interceptor_##name values; \\
	pthread_rwlock_unlock(&gate); \\
	return r; \\
}}
BESIDE(void *, malloc, (size_t n), (n))
BESIDE(void *, calloc, (size_t n, size_t size), (n, size))
BESIDE(void *, realloc, (void *p, size_t n), (p, n))
BESIDE(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
BESIDE(int, posix_memalign, (void **p, size_t a, size_t n), (p, a, n))
BESIDE(void *, aligned_alloc, (size_t a, size_t n), (a, n))
BESIDE(char *, strdup, (const char *s), (s))
BESIDE(char *, __strdup, (const char *s), (s))
BESIDE(char *, strndup, (const char *s, size_t n), (s, n))

void __interceptor_free(void *p);
void free(void *p)
{{
	pthread_rwlock_rdlock(&gate);
	__interceptor_free(p);
	pthread_rwlock_unlock(&gate);
}}
"""


def libraries(path):
    """The names of the libraries that a program or plugin needs."""
    done = subprocess.run(["readelf", "-d", path], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return [line.split("[")[1].rstrip("]") for line in done.stdout.split("\n")
            if "(NEEDED)" in line]


def runtimes(stage):
    """The sanitizers' libraries that the plugins need, if any; the one that
    must be loaded first is first."""
    asked = libraries(stage + "/lib/slurm-storm/switch_storm.so")
    return [name for kind in ("libasan", "libubsan")
            for name in asked if name.startswith(kind + ".")]


def _run(argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode:
        raise LabError(f"{' '.join(argv)}: {done.stdout.strip()}")


def _copy(source, target, names):
    shutil.copy2(source, target)
    there = libraries(target)
    for name in reversed(names):   # each goes before all the others
        if name not in there:
            _run(["patchelf", "--add-needed", name, target])


def prepare(plan, stage_inside):
    """Make the copies in the lab's directory if the plugins need them.
    Returns {path in the hosts: file to show there}."""
    names = runtimes(plan.stage) if plan.stage else []
    if not names:
        return {}
    if plan.rootfs:
        raise LabError(f"the plugins in {plan.stage} are built with "
                       "sanitizers, which labs have for Slurm "
                       f"{release.MACHINES} only")
    if not shutil.which("patchelf"):
        raise LabError(f"the plugins in {plan.stage} are built with "
                       "sanitizers; install patchelf to change copies of "
                       "Slurm's programs")
    directory = plan.dir + "/sanitized"
    os.mkdir(directory)
    os.mkdir(plan.dir + REPORTS)
    os.chmod(plan.dir + REPORTS, 0o1777)
    with open(directory + "/options.c", "w") as f:
        f.write(SOURCE)
    _run(["cc", "-w", "-O2", "-shared", "-fPIC", "-fno-builtin", "-o", directory + "/options.so",
          directory + "/options.c"])
    shown = {}
    for program in PROGRAMS:
        real = os.path.realpath(shutil.which(
            program, path="/usr/sbin:/usr/bin"))
        shown[real] = f"{directory}/{program}"
        _copy(real, shown[real], [INSIDE + "/options.so"] + names)
    for program in OURS:
        copy = f"{directory}/{os.path.basename(program)}"
        _copy(f"{plan.stage}/{program}", copy, [INSIDE + "/options.so"])
        # The plugins know the agent's path by configure's prefix.
        shown[f"{stage_inside}/{program}"] = copy
        shown[f"{plan.stage}/{program}"] = copy
    shown[INSIDE] = directory
    return shown


def reports(lab_dir):
    """{file: text} of the sanitizers' reports so far."""
    found = {}
    for path in sorted(glob.glob(lab_dir + REPORTS + "/report.*")):
        with open(path, errors="replace") as f:
            found[path] = f.read()
    return found

