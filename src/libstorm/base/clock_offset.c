/*
 * clock_offset.c - see clock_offset.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock_offset.h"

/* Clocks of computers are within 500 ppm of each other. */
#define SLOPE_MAX 0.001

/* b - a, which may be negative.  Forged times may be far apart. */
static double clock_offset_span(uint64_t a, uint64_t b)
{
	return (double) (int64_t) (b - a);
}

/* b - a of two differences, without overflow. */
static double clock_offset_between(int64_t a, int64_t b)
{
	return clock_offset_span((uint64_t) a, (uint64_t) b);
}

/* How far a point is above the line through another one. */
static double clock_offset_above(const struct clock_offset *o,
				 const struct clock_offset_point *from,
				 const struct clock_offset_point *p)
{
	return clock_offset_between(from->least, p->least) -
	       o->slope * clock_offset_span(from->at, p->at);
}

static int clock_offset_compare(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return (x > y) - (x < y);
}

/* The median of the slopes between any two windows: some that are wrong do not
 * count. */
static double clock_offset_slope(const struct clock_offset *o)
{
	double all[CLOCK_OFFSET_WINDOWS * (CLOCK_OFFSET_WINDOWS - 1) / 2];
	const struct clock_offset_point *w = o->window;
	size_t n = 0;

	for (uint32_t i = 0; i < o->windows; i++)
		for (uint32_t k = 0; k < i; k++) {
			double dt = clock_offset_span(w[k].at, w[i].at);

			if (dt)
				all[n++] = clock_offset_between(w[k].least,
								w[i].least) /
					   dt;
		}
	if (!n)
		return o->slope;
	qsort(all, n, sizeof(*all), clock_offset_compare);
	if (all[n / 2] > SLOPE_MAX)
		return SLOPE_MAX;
	return all[n / 2] < -SLOPE_MAX ? -SLOPE_MAX : all[n / 2];
}

/* Put the line below all windows. */
static void clock_offset_lay(struct clock_offset *o)
{
	o->line = o->window[0];
	for (uint32_t i = 1; i < o->windows; i++)
		if (clock_offset_above(o, &o->line, &o->window[i]) < 0)
			o->line = o->window[i];
}

static void clock_offset_forget_windows(struct clock_offset *o)
{
	o->windows = o->next = 0;
	o->stepped++;
}

static void clock_offset_end_window(struct clock_offset *o)
{
	o->samples = 0;
	if (o->ready && clock_offset_above(o, &o->line, &o->lowest) >
				(double) CLOCK_OFFSET_STEP)
		clock_offset_forget_windows(o);
	o->window[o->next] = o->lowest;
	o->next = (o->next + 1) % CLOCK_OFFSET_WINDOWS;
	if (o->windows < CLOCK_OFFSET_WINDOWS)
		o->windows++;
	if (o->windows >= CLOCK_OFFSET_READY) {
		o->slope = clock_offset_slope(o);
		o->ready = true;
	}
	clock_offset_lay(o);
}

/* Does the sample lie below the line?  The line goes down at once. */
static void clock_offset_lower(struct clock_offset *o,
			       const struct clock_offset_point *p)
{
	double above = clock_offset_above(o, &o->line, p);

	if (above >= 0)
		return;
	if (above < -(double) CLOCK_OFFSET_STEP) {
		clock_offset_forget_windows(o);
		o->samples = 0;
	}
	o->line = *p;
}

void storm_clock_offset_add(struct clock_offset *o, uint64_t sent,
			    uint64_t received)
{
	const struct clock_offset_point p = {
		.at = received, .least = (int64_t) (received - sent)
	};
	double above;

	if (fabs(clock_offset_span(o->heard, received)) >
	    (double) CLOCK_OFFSET_GAP)
		memset(o, 0, sizeof(*o));
	o->heard = received;
	if (o->ready)
		clock_offset_lower(o, &p);
	/* drift within the window must not choose the lowest */
	above = clock_offset_between(o->lowest.least, p.least) -
		o->slope * clock_offset_span(o->lowest.at, p.at);
	if (!o->samples)
		o->begun = received;
	if (!o->samples || above < 0)
		o->lowest = p;
	o->samples++;
	if (o->samples >= CLOCK_OFFSET_SAMPLES &&
	    clock_offset_span(o->begun, received) >=
		    (double) CLOCK_OFFSET_WINDOW)
		clock_offset_end_window(o);
}

bool storm_clock_offset_own(const struct clock_offset *o, uint64_t theirs,
			    uint64_t now, uint64_t *own)
{
	double since = clock_offset_span(o->line.at, now);

	if (!o->ready)
		return false;
	*own = theirs + (uint64_t) o->line.least +
	       (uint64_t) (int64_t) (o->slope * since);
	return true;
}
