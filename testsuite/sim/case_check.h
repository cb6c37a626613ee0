/*
 * case_check.h - a condition of a story; where it does not hold, the program ends with a
 * message, which is given as printf(3) has it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef CASE_CHECK_H
#define CASE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(cond, ...)                                              \
	do {                                                          \
		if (!(cond)) {                                        \
			fprintf(stderr, "%s: %s: ", __func__, #cond); \
			fprintf(stderr, __VA_ARGS__);                 \
			fputc('\n', stderr);                          \
			exit(1);                                      \
		}                                                     \
	} while (0)

#endif
