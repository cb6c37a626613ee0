# SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
"""The MPI libraries of this machine, one or both: how programs are compiled, and
srun's option for them."""
import pathlib
import shutil
import subprocess

import pytest

from harness import TOP, chosen, root_of

PROGRAMS = TOP / "testsuite" / "programs"
#: {name: (its library, srun's option)}
MPIS = {"mpich": ("libmpich.so.12", "--mpi=pmi2"),
        "openmpi": ("libmpi.so.40", "--mpi=pmix")}


def lacks(name):
    """What is missing here, or in the root file system of the labs' hosts."""
    if not shutil.which(f"mpicc.{name}"):
        return f"no mpicc.{name}; apt-get install lib{name}-dev"
    library = MPIS[name][0]
    root = pathlib.Path(root_of(chosen()) or "/")
    if not list(root.glob(f"usr/lib/*/{library}")):
        return f"no {library} in {root}"
    return None


def need(name):
    if reason := lacks(name):
        pytest.skip("SKIP: " + reason)


def build(name, source, to):
    """Compile a program of testsuite/programs."""
    if source.endswith(".f90"):
        fortran(name, source, to)
        return
    # MPICH's header says that MPI_STATUSES_IGNORE has no room for a status
    subprocess.run([f"mpicc.{name}", "-std=gnu11", "-O2", "-Wall", "-Wextra",
                    "-Werror", "-Wno-stringop-overflow", PROGRAMS / source,
                    "-o", to, "-lm"], check=True)


def fortran(name, source, to):
    if not shutil.which("gfortran"):
        pytest.skip("SKIP: no gfortran; apt-get install gfortran")
    flags = ["-O2"]
    if name == "openmpi":
        # its compiler says -lmpi only, which may be another one's
        done = subprocess.run(["mpicc.openmpi", "--showme:libdirs"],
                              text=True, capture_output=True, check=True)
        flags += [f"-L{path}" for path in done.stdout.split()]
    subprocess.run([f"mpifort.{name}", PROGRAMS / source, "-o", to, *flags],
                   check=True)
