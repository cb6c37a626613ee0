# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The MPI libraries of this machine, one or both: how programs are compiled, and
srun's option for them."""
import pathlib
import shutil
import subprocess

import pytest

from tree import TOP        # before lab
from lab.release import chosen, root_of

PROGRAMS = TOP / "testsuite" / "programs"
#: {name: (its library, srun's option)}
MPIS = {"mpich": ("libmpich.so.12", "--mpi=pmi2"),
        "openmpi": ("libmpi.so.40", "--mpi=pmix")}


def compiler(name, language="cc"):
    """The path of an MPI's compiler; None: there is none. Debian's have the MPI's
    name behind theirs, so that both can be installed; others' have not."""
    if path := shutil.which(f"mpi{language}.{name}"):
        return path
    if not (path := shutil.which(f"mpi{language}")):
        return None
    says = subprocess.run([path, "--showme:version"], text=True,
                          capture_output=True, check=False)
    is_open = says.returncode == 0 and "Open MPI" in says.stdout + says.stderr
    return path if is_open == (name == "openmpi") else None


def first():
    """MPICH, or Open MPI where that is the only one; None: there is none."""
    return next((name for name in MPIS if not lacks(name)), None)


def lacks(name):
    """What is missing here, or in the root file system of the labs' hosts."""
    if not compiler(name):
        return f"no compiler of {name}'s; apt-get install lib{name}-dev"
    library = MPIS[name][0]
    root = pathlib.Path(root_of(chosen()) or "/")
    if not list(root.glob(f"usr/lib/*/{library}")):
        return f"no {library} in {root}"
    return None


def need(name):
    if reason := lacks(name):
        pytest.skip("SKIP: " + reason)


def build(name, source, to, *flags):
    """Compile a program of testsuite/programs."""
    if source.endswith(".f90"):
        fortran(name, source, to)
        return
    # MPICH's header says that MPI_STATUSES_IGNORE has no room for a status
    subprocess.run([compiler(name), "-std=gnu11", "-O2", "-Wall", "-Wextra",
                    "-Werror", "-Wno-stringop-overflow", *flags,
                    PROGRAMS / source, "-o", to, "-lm"], check=True)


def fortran(name, source, to):
    if not shutil.which("gfortran"):
        pytest.skip("SKIP: no gfortran; apt-get install gfortran")
    flags = ["-O2"]
    if name == "openmpi":
        # its compiler says -lmpi only, which may be another one's
        done = subprocess.run([compiler(name), "--showme:libdirs"],
                              text=True, capture_output=True, check=True)
        flags += [f"-L{path}" for path in done.stdout.split()]
    subprocess.run([compiler(name, "fort"), PROGRAMS / source, "-o", to, *flags],
                   check=True)


def lacks_pmix():
    """What is missing for programs of PMIx without MPI."""
    if subprocess.run(["pkg-config", "--exists", "pmix"], check=False).returncode:
        return "no libpmix; apt-get install libpmix-dev"
    root = pathlib.Path(root_of(chosen()) or "/")
    if not list(root.glob("usr/lib/*/libpmix.so.2")):
        return f"no libpmix.so.2 in {root}"
    return None


def build_pmix(source, to):
    """Compile a program of testsuite/programs for PMIx."""
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], text=True,
                           capture_output=True, check=True).stdout.split()
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror",
                    PROGRAMS / source, "-o", to, *flags], check=True)
