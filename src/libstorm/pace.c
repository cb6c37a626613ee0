/*
 * pace.c - see pace.h.
 *
 * One core seals 2 to 6 GB/s, an adapter of 100 Gb/s takes 12.  What a core does
 * here is measured on the first megabytes, which are most of what a launch sends:
 * threads are for those who send much.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <sched.h>

#include "clock.h"
#include "crew.h"
#include "pace.h"

#define MEASURED (8u << 20)	/* bytes */

/* Those we may run on, but for one, which is the programs'. */
static unsigned int cores(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 :
	       (unsigned int) CPU_COUNT(&set) - 1;
}

static void form(struct storm_pace *p, uint64_t speed)
{
	uint64_t want = speed / p->alone + 1;
	unsigned int have = cores();

	if (want >= 2 && have >= 2)
		p->crew = storm_crew_start(want < have ? (unsigned int) want :
					   have);
	p->tried = !p->crew;
	if (p->tried)
		return;
	storm_log(STORM_LOG_DEBUG, "one core seals %llu MB/s, the network takes "
		  "%llu: sealing is spread over %llu of %u",
		  (unsigned long long) p->alone / 1000000,
		  (unsigned long long) speed / 1000000,
		  (unsigned long long) want, have);
}

/* A crew whose cores are others' is in each other's way. */
static void keep_or_not(struct storm_pace *p, uint64_t rate)
{
	p->tried = true;
	if (rate >= p->alone / 4 * 5)
		return;
	storm_log(STORM_LOG_DEBUG, "several cores seal %llu MB/s, one %llu: it "
		  "goes on alone", (unsigned long long) rate / 1000000,
		  (unsigned long long) p->alone / 1000000);
	storm_pace_end(p);
}

static void measured(struct storm_pace *p, uint64_t speed)
{
	uint64_t rate = p->bytes * STORM_SEC / (p->ns ? p->ns : 1);

	p->bytes = p->ns = 0;
	if (p->alone) {
		keep_or_not(p, rate);
		return;
	}
	p->alone = rate ? rate : 1;
	form(p, speed);
}

int storm_pace_seal(struct storm_pace *p, uint64_t speed, struct storm_seal *s,
		    const struct storm_piece *piece, size_t n)
{
	uint64_t then;
	int err;

	if (!speed || p->tried)
		return storm_seal_all(s, piece, n, p->crew);
	then = storm_now();
	err = storm_seal_all(s, piece, n, p->crew);
	p->ns += storm_now() - then;
	for (size_t i = 0; i < n; i++)
		p->bytes += piece[i].len;
	if (p->bytes >= MEASURED)
		measured(p, speed);
	return err;
}

void storm_pace_end(struct storm_pace *p)
{
	storm_crew_stop(p->crew);
	p->crew = NULL;
}
