/*
 * why_launch.c - see why_launch.h.
 *
 * Names of nodes and steps are others' words: they are printed as printable ASCII.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/shown.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_common/state_keys.h"
#include "why_launch.h"
#include "why_show.h"

#define LINES 10 /* without a job */
#define ROOM \
	400    /* records in a table; most have far fewer bytes than they may */
#define FEW 4  /* of a node, at least */
#define BAR 32 /* characters */

/* ------------------------------------------------------------------- reading --- */

static bool launch_read(const struct storm_gather_entry *e,
			struct why_launch *out)
{
	struct storm_in i = { e->value, e->value + e->value_len, false };

	if (e->kind != STORM_GATHER_VALUE || e->value_len < STATE_LAUNCHED_HEAD)
		return false;
	out->step = status_key_of(e);
	out->at = storm_get64(&i);
	out->uid = storm_get32(&i);
	return launch_record_unpack(&out->r, i.p, (size_t) (i.end - i.p));
}

static int launch_newer(const void *x, const void *y)
{
	const struct why_launch *a = x, *b = y;

	return a->at < b->at ? 1 :
	       a->at > b->at ? -1 :
			       strcmp(b->step.text, a->step.text);
}

/* The newest first. */
static int launch_by_step(const void *x, const void *y)
{
	const struct why_launch *a = x, *b = y;
	int order = strcmp(a->step.text, b->step.text);

	return order ? order : launch_newer(x, y);
}

/* A step counts once.  A job that began anew may have others of the same number, kept by
 * other nodes; so may a hostile srun. */
static void launches_once(struct why_launches *l)
{
	uint32_t kept = 0;

	qsort(l->one, l->count, sizeof(*l->one), launch_by_step);
	for (uint32_t i = 0; i < l->count; i++)
		if (!kept ||
		    strcmp(l->one[kept - 1].step.text, l->one[i].step.text))
			l->one[kept++] = l->one[i];
	l->count = kept;
	qsort(l->one, l->count, sizeof(*l->one), launch_newer);
}

static int launch_less(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *) x, b = *(const uint32_t *) y;

	return a < b ? -1 : a > b;
}

/* part LAUNCH_PARTS: all of it. */
static uint32_t launches_median(const struct why_launches *l,
				enum launch_part part)
{
	uint32_t us[WHY_LAST], middle = l->of / 2;

	if (!l->of)
		return 0;
	for (uint32_t i = 0; i < l->of; i++) {
		const struct launch_record *r = &l->one[i].r;

		us[i] = part == LAUNCH_PARTS ? launch_record_took(r) :
					       r->part[part].took;
		if (us[i] == LAUNCH_NONE)
			us[i] = 0;
	}
	qsort(us, l->of, sizeof(*us), launch_less);
	return l->of % 2 ?
		       us[middle] :
		       (uint32_t) (((uint64_t) us[middle - 1] + us[middle]) /
				   2);
}

uint32_t why_launches_each(uint32_t nodes)
{
	uint32_t each = nodes ? ROOM / nodes : STATE_LAUNCHED_MOST;

	return each < FEW		  ? FEW :
	       each > STATE_LAUNCHED_MOST ? STATE_LAUNCHED_MOST :
					    each;
}

static void launches_add(struct why_launches *l, const struct status_nodes *n,
			 const struct status_answer *a)
{
	for (uint32_t i = 0; i < a->table.count; i++) {
		const struct storm_gather_entry *e = &a->table.entry[i];

		if (launch_read(e, &l->one[l->count]))
			l->one[l->count++].node = status_first_name(n, a, e);
	}
}

struct why_launches why_launches_read(const struct status_nodes *n,
				      const struct status_answer *own,
				      const struct status_answer *last)
{
	struct why_launches l = {
		.one = calloc((size_t) own->table.count + last->table.count + 1,
			      sizeof(*l.one)),
	};

	if (!l.one)
		return l;
	launches_add(&l, n, own);
	launches_add(&l, n, last);
	launches_once(&l);
	l.of = l.count < WHY_LAST ? l.count : WHY_LAST;
	for (int i = 0; i <= LAUNCH_PARTS; i++)
		l.median[i] = launches_median(&l, i);
	return l;
}

void why_launches_clear(struct why_launches *l)
{
	free(l->one);
	*l = (struct why_launches) { 0 };
}

/* Is this one to be shown, as the i-th of all? */
static bool launch_is(const struct why_launch *l, uint32_t i, uint32_t most,
		      const struct fallback_which *which)
{
	uint32_t job, step;

	if (!which->one)
		return i < most;
	return sscanf(l->step.text, "%" SCNu32 ".%" SCNu32, &job, &step) == 2 &&
	       job == which->job && (which->any_step || step == which->step);
}

/* ---------------------------------------------------------------------- words --- */

struct launch_user {
	char text[33];
};

static struct launch_user launch_user(uint32_t uid)
{
	const struct passwd *pw = getpwuid(uid);
	struct launch_user u;

	snprintf(u.text, sizeof(u.text), "%s", pw ? pw->pw_name : "");
	if (!pw)
		snprintf(u.text, sizeof(u.text), "uid %" PRIu32, uid);
	for (char *c = u.text; *c; c++)
		*c = storm_printed(*c);
	return u;
}

static const char *launch_title(enum launch_part part)
{
	static const char *const title[LAUNCH_PARTS] = {
		[LAUNCH_STEP_CREATE] = "create step",
		[LAUNCH_OPEN] = "open domain",
		[LAUNCH_SEND] = "send",
		[LAUNCH_REPAIR] = "repair",
		[LAUNCH_WRITE] = "write",
		[LAUNCH_VERIFY] = "verify",
		[LAUNCH_EXEC] = "start tasks",
		[LAUNCH_SLOT] = "await turn",
	};

	return title[part];
}

/* The part that took longest, but for one that lies within another. */
static enum launch_part launch_longest(const struct launch_record *r)
{
	enum launch_part longest = LAUNCH_EXEC;

	for (int i = 0; i < LAUNCH_SLOT; i++)
		if (r->part[i].took != LAUNCH_NONE &&
		    r->part[i].took > r->part[longest].took)
			longest = i;
	return longest;
}

/* ----------------------------------------------------------------------- text --- */

/* ms, with tenths but for long times. */
struct launch_time {
	char text[16];
};

static struct launch_time launch_time(uint32_t us)
{
	struct launch_time t;

	snprintf(t.text, sizeof(t.text), "%.*f", us < 100000000 ? 1 : 0,
		 us / 1e3);
	return t;
}

static void launch_bar(const struct launch_record *r, enum launch_part part,
		       char (*out)[BAR + 1])
{
	uint64_t all = launch_record_took(r), from, to;

	memset(*out, ' ', BAR);
	(*out)[BAR] = '\0';
	if (!all)
		return;
	from = r->part[part].start * (uint64_t) BAR / all;
	to = ((uint64_t) r->part[part].start + r->part[part].took) * BAR / all;
	if (from >= BAR)
		from = BAR - 1;
	if (to <= from)
		to = from + 1;
	memset(*out + from, '#', to - from);
	while (to && (*out)[to - 1] == ' ')
		to--;
	(*out)[to] = '\0';
}

static void launch_chart(FILE *f, const struct why_launches *all,
			 const struct why_launch *l)
{
	const struct launch_record *r = &l->r;
	char bar[BAR + 1];

	fprintf(f,
		"    %" PRIu32 " nodes, %" PRIu32
		" tasks; reported by srun of %s\n",
		r->nodes, r->tasks, launch_user(l->uid).text);
	fprintf(f, "    %-12s%12s%12s\n", "phase", "ms", "median");
	if (r->part[LAUNCH_STEP_CREATE].took == LAUNCH_NONE)
		fprintf(f, "    %-12s%12s%12s  more than %u s: not counted\n",
			launch_title(LAUNCH_STEP_CREATE), "-",
			launch_time(all->median[LAUNCH_STEP_CREATE]).text,
			LAUNCH_CREATE_LONGEST / 1000000);
	for (int i = 0; i < LAUNCH_PARTS; i++) {
		const struct launch_slow *slow = launch_record_slow(r, i);

		if (r->part[i].took == LAUNCH_NONE)
			continue;
		launch_bar(r, i, &bar);
		fprintf(f, "    %-12s%12s%12s  %s\n", launch_title(i),
			launch_time(r->part[i].took).text,
			launch_time(all->median[i]).text, bar);
		if (slow)
			fprintf(f, "        slowest: %s, by %s\n", slow->name,
				launch_wait_word(slow->wait));
	}
	fprintf(f, "    %-12s%12s%12s  of the last %" PRIu32 " known\n",
		"in all", launch_time(launch_record_took(r)).text,
		launch_time(all->median[LAUNCH_PARTS]).text, all->of);
}

uint32_t why_launches_text(FILE *f, const struct why_launches *l,
			   const struct fallback_which *which)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct why_launch *one = &l->one[i];
		enum launch_part longest = launch_longest(&one->r);
		struct why_when when;

		if (!launch_is(one, i, LINES, which))
			continue;
		shown++;
		when = why_when(one->at);
		fprintf(f, "%s  %s  storm: %s ms", one->step.text, when.text,
			launch_time(launch_record_took(&one->r)).text);
		if (which->one) {
			fprintf(f, "\n");
			launch_chart(f, l, one);
		} else {
			fprintf(f, " (median %s), %s %s\n",
				launch_time(l->median[LAUNCH_PARTS]).text,
				launch_title(longest),
				launch_time(one->r.part[longest].took).text);
		}
	}
	return shown;
}

/* ----------------------------------------------------------------------- JSON --- */

static void launch_add(json_object *o, const char *key, json_object *value)
{
	json_object_object_add(o, key, value);
}

static json_object *launch_ms(uint32_t us)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", us / 1e3);
	return json_object_new_double_s(us / 1e3, text);
}

static json_object *launch_phases(const struct why_launches *all,
				  const struct launch_record *r)
{
	json_object *list = json_object_new_array();

	for (int i = 0; i < LAUNCH_PARTS; i++) {
		const struct launch_slow *slow = launch_record_slow(r, i);
		json_object *o;

		if (r->part[i].took == LAUNCH_NONE)
			continue;
		o = json_object_new_object();
		launch_add(o, "phase",
			   json_object_new_string(launch_part_word(i)));
		launch_add(o, "start", launch_ms(r->part[i].start));
		launch_add(o, "ms", launch_ms(r->part[i].took));
		launch_add(o, "median", launch_ms(all->median[i]));
		if (slow) {
			launch_add(o, "slowest",
				   json_object_new_string(slow->name));
			launch_add(o, "waited_for",
				   json_object_new_string(
					   launch_wait_word(slow->wait)));
		}
		json_object_array_add(list, o);
	}
	return list;
}

uint32_t why_launches_json(json_object *list, const struct why_launches *l,
			   const struct fallback_which *which)
{
	uint32_t shown = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		const struct why_launch *one = &l->one[i];
		json_object *o;

		if (!launch_is(one, i, WHY_LAST, which))
			continue;
		shown++;
		o = json_object_new_object();
		launch_add(o, "step", json_object_new_string(one->step.text));
		launch_add(o, "time", json_object_new_uint64(one->at));
		launch_add(o, "launch", json_object_new_string("storm"));
		launch_add(o, "reported_by",
			   json_object_new_string(launch_user(one->uid).text));
		launch_add(o, "nodes", json_object_new_int64(one->r.nodes));
		launch_add(o, "tasks", json_object_new_int64(one->r.tasks));
		launch_add(o, "ms", launch_ms(launch_record_took(&one->r)));
		launch_add(o, "median", launch_ms(l->median[LAUNCH_PARTS]));
		launch_add(o, "median_of", json_object_new_int64(l->of));
		launch_add(o, "phases", launch_phases(l, &one->r));
		launch_add(o, "node", json_object_new_string(one->node));
		json_object_array_add(list, o);
	}
	return shown;
}
