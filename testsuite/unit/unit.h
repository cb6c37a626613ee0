/*
 * unit.h - what the unit tests share: a seeded generator, and how a suite is
 * run.  Random tests are Check's loop tests: the iteration is the seed, so a
 * failure's number is all that is needed to see it again.  STORM_LONG=1 runs
 * more of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/libstorm/base/chance.h"

/* Like ck_assert, but free if the condition holds: Check notifies its parent of
 * every assertion, which is too slow for loops. */
#define must(cond)                                                \
	do {                                                      \
		if (!(cond))                                      \
			ck_abort_msg("does not hold: %s", #cond); \
	} while (0)

struct rnd {
	uint64_t state;
};

static inline uint64_t rnd64(struct rnd *r)
{
	return storm_chance(&r->state);
}

/* 0 ... n - 1 */
static inline uint32_t below(struct rnd *r, uint32_t n)
{
	return (uint32_t) (rnd64(r) % n);
}

static inline struct rnd rnd_of(int iteration)
{
	struct rnd r = { (uint64_t) iteration * 1000003 + 1 };

	rnd64(&r);
	return r;
}

static inline void rnd_fill(struct rnd *r, void *buf, size_t len)
{
	for (uint8_t *p = buf; len--; p++)
		*p = (uint8_t) rnd64(r);
}

/* Many times as slow, in one process, and with descriptors of its own: see
 * check-valgrind. */
static inline bool unit_by_valgrind(void)
{
	return getenv("STORM_VALGRIND");
}

/* What main() returns where a suite cannot be run: "make check" knows the number. */
static inline int unit_skip(Suite *s, const char *why)
{
	printf("SKIP: %s\n", why);
	srunner_free(srunner_create(s));
	return 77;
}

/* Valgrind before 3.20, Debian 12's too, knows no pidfd_open(2).  glibc 2.42's
 * <sys/pidfd.h> can be included only once, which is left to others. */
static inline bool unit_has_pidfd(void)
{
	int fd = (int) syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* How much longer to wait for others: in an emulated machine among busy ones a
 * node may show no life for seconds. */
static inline uint64_t unit_slower(void)
{
	if (getenv("RXE_DEV"))
		return unit_by_valgrind() ? 40 : 5;
	return unit_by_valgrind() ? 20 : 1;
}

static inline int unit_runs(int n)
{
	return getenv("STORM_LONG") ? n * 20 : n;
}

/* 0 ... n - 1 in random order; free() it. */
static inline uint32_t *shuffled(struct rnd *r, uint32_t n)
{
	uint32_t *a = calloc(n ? n : 1, sizeof(*a));

	must(a);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = below(r, i + 1);

		a[i] = a[k];
		a[k] = i;
	}
	return a;
}

/* A copy on the heap of exactly this length: the sanitizers see a read one
 * byte too far. */
static inline uint8_t *exact(const void *buf, size_t len)
{
	uint8_t *p = malloc(len ? len : 1);

	must(p);
	if (len)
		memcpy(p, buf, len);
	return p;
}

/* Are the bytes those of a string of hexadecimal digits? */
static inline void same_hex(const uint8_t *buf, size_t len, const char *hex)
{
	char *got = calloc(1, 2 * len + 1);

	must(got);
	for (size_t i = 0; i < len; i++)
		snprintf(got + 2 * i, 3, "%02x", buf[i]);
	ck_assert_str_eq(got, hex);
	free(got);
}

static inline int unit_main(Suite *s)
{
	SRunner *r = srunner_create(s);
	int failed;

	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
