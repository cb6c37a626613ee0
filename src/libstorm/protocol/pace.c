/*
 * pace.c - see pace.h.
 *
 * One core seals 2 to 6 GB/s, an adapter of 100 Gb/s takes 12.  What a core does
 * here is measured on the first megabytes, which are most of what a launch sends:
 * threads are for those who send much.  What comes in comes in batches, which are
 * large where one core does not keep up; a small one is done before others would
 * have looked up.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <sched.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/crew.h"
#include "pace.h"

#define MEASURED (8u << 20)	/* bytes */
#define SPREAD_FROM 8		/* datagrams at once */

/* Those we may run on, but for one, which is the programs'. */
static unsigned int cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 :
	       (unsigned int) CPU_COUNT(&set) - 1;
}

static void form(struct storm_pace *p, uint64_t speed, const char *does)
{
	uint64_t want = speed / p->alone + 1;
	unsigned int have = cores();

	if (want >= 2 && have >= 2)
		p->crew = storm_crew_start(want < have ? (unsigned int) want :
					   have);
	p->tried = !p->crew;
	if (p->tried)
		return;
	storm_log(STORM_LOG_DEBUG, "one core %s %llu MB/s, the network may have "
		  "%llu: it is spread over %llu of %u", does,
		  (unsigned long long) p->alone / 1000000,
		  (unsigned long long) speed / 1000000,
		  (unsigned long long) want, have);
}

/* A crew whose cores are others' is in each other's way. */
static void keep_or_not(struct storm_pace *p, uint64_t rate, const char *does)
{
	p->tried = true;
	if (rate >= p->alone / 4 * 5)
		return;
	storm_log(STORM_LOG_DEBUG, "one core %s %llu MB/s, several %llu: it "
		  "goes on alone", does,
		  (unsigned long long) p->alone / 1000000,
		  (unsigned long long) rate / 1000000);
	storm_pace_end(p);
}

/* Does what is done now tell how fast that is? */
static bool tells(const struct storm_pace *p, uint64_t speed, size_t n)
{
	return speed && !p->tried && n >= SPREAD_FROM;
}

static struct storm_crew *who_does(const struct storm_pace *p, size_t n)
{
	return n >= SPREAD_FROM ? p->crew : NULL;
}

static void took(struct storm_pace *p, uint64_t speed, uint64_t bytes,
		 uint64_t since, const char *does)
{
	uint64_t rate;

	p->ns += storm_now() - since;
	p->bytes += bytes;
	if (p->bytes < MEASURED)
		return;
	rate = p->bytes * STORM_SEC / (p->ns ? p->ns : 1);
	p->bytes = p->ns = 0;
	if (p->alone) {
		keep_or_not(p, rate, does);
		return;
	}
	p->alone = rate ? rate : 1;
	form(p, speed, does);
}

int storm_pace_seal(struct storm_pace *p, uint64_t speed, struct storm_seal *s,
		    const struct storm_piece *piece, size_t n)
{
	bool told = tells(p, speed, n);
	uint64_t then = told ? storm_now() : 0, bytes = 0;
	int err = storm_seal_all(s, piece, n, who_does(p, n));

	for (size_t i = 0; told && i < n; i++)
		bytes += piece[i].len;
	if (told)
		took(p, speed, bytes, then, "seals");
	return err;
}

void storm_pace_open(struct storm_pace *p, uint64_t speed, struct storm_seal *s,
		     struct storm_sealed *d, size_t n)
{
	bool told = tells(p, speed, n);
	uint64_t then = told ? storm_now() : 0, bytes = 0;

	storm_seal_open_all(s, d, n, who_does(p, n));
	for (size_t i = 0; told && i < n; i++)
		bytes += d[i].len;
	if (told)
		took(p, speed, bytes, then, "unseals");
}

void storm_pace_end(struct storm_pace *p)
{
	storm_crew_stop(p->crew);
	p->crew = NULL;
}
