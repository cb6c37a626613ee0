/*
 * unwind_map.h - the names of code that a program has made while it ran, from the file that it
 * writes for perf(1): /tmp/perf-PID.map.  Python 3.12 and later writes one with -X perf.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNWIND_MAP_H
#define STORM_UNWIND_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Write the name of the code at pc in a process of this user's to out, of size bytes with
 * its NUL; a longer one is cut.  The file is the process's, below its own root, and must
 * be this user's.  False: it names none. */
bool unwind_map_name(pid_t pid, uint64_t pc, char *out, size_t size);

/* Make of Python's own word, "py::function:/path/file", what storm stack shows of it:
 * "py:function (file)".  False: it is none of Python's, and stays. */
bool unwind_map_python(char *name, size_t size);

#endif
