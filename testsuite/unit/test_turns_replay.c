/*
 * test_turns_replay.c - turns.h decides as the agent did before that was a part of
 * its own.  On labs that agent wrote down what came in, what it was told when it
 * asked, and the events of its trace: turns/README.  The same comes in here, and
 * the same events have to come out, each at the same input.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <glob.h>

#include "src/gang/freezer.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/units.h"
#include "src/storm_agent/turns/turns.h"
#include "unit.h"

/* The events' waits, which the old agent measured itself. */
#define ABOUT (2 * STORM_MS)
#define STEPS 64

static glob_t recordings;

struct line {
	char *text;
	bool used; /* an answer, or an event */
};

struct played {
	struct turns_step *s;
	int id;
	bool stands, fills;
	uint64_t began; /* its turn */
};

static const char *name;
static struct line *lines;
static size_t nlines, input, end, next_event, nevents;
static struct turns *t;
static struct played steps[STEPS];
static uint64_t now;

/* Of the input that is now. */
#define wrong(format, ...)                                         \
	ck_abort_msg("%s, line %zu, %s: " format, name, input + 1, \
		     lines[input].text, ##__VA_ARGS__)

static bool is_input(const char *text)
{
	return !strchr("=>#L", text[0]);
}

static void load(void)
{
	char command[4096], *text = NULL;
	size_t size = 0, room = 0;
	ssize_t n;
	FILE *f;

	snprintf(command, sizeof(command), "gzip -dc '%s'", name);
	f = popen(command, "r");
	must(f);
	nlines = 0;
	while ((n = getline(&text, &size, f)) > 0 && text[n - 1] == '\n') {
		if (nlines == room) {
			room = room ? 2 * room : 4096;
			lines = realloc(lines, room * sizeof(*lines));
			must(lines);
		}
		text[n - 1] = '\0';
		lines[nlines++] = (struct line) { .text = strdup(text) };
	}
	free(text);
	must(!pclose(f) && nlines);
}

static void unload(void)
{
	while (nlines)
		free(lines[--nlines].text);
	free(lines);
	lines = NULL;
}

/* -------------------------------------------------------------------- events --- */

static bool is_near(uint32_t us, uint32_t other)
{
	return us < other + ABOUT / STORM_US && other < us + ABOUT / STORM_US;
}

/* What the old agent did next. */
static void check_event(const struct gang_event *e)
{
	struct gang_event o = { 0 };
	unsigned long long sequence = 0, version = 0;
	const char *text;

	while (next_event < nlines && lines[next_event].text[0] != '>')
		next_event++;
	text = next_event < nlines ? lines[next_event].text : "nothing";
	sscanf(text, "> %u %u %u %u %u %x %llx %llu", &o.what, &o.a, &o.b,
	       &o.job, &o.step, &o.slot, &sequence, &version);
	if (o.what == GANG_START && is_near(o.b, e->b))
		o.b = e->b;
	if (o.what != e->what || o.a != e->a || o.b != e->b ||
	    o.job != e->job || o.step != e->step || o.slot != e->slot ||
	    sequence != e->sequence || version != e->version)
		wrong("now > %u %u %u %u %u %x %llx %llu, then line %zu, %s",
		      e->what, e->a, e->b, e->job, e->step, e->slot,
		      (unsigned long long) e->sequence,
		      (unsigned long long) e->version, next_event + 1, text);
	if (next_event < input || next_event >= end)
		wrong("line %zu, %s, belongs to another line", next_event + 1,
		      text);
	lines[next_event++].used = true;
	nevents++;
}

/* ------------------------------------------------------------------- answers --- */

/* What the old agent was told of this step; NULL: it did not ask. */
static const char *answer(char key, int id)
{
	int of, n;

	for (size_t i = input + 1; i < end; i++) {
		const char *text = lines[i].text;

		n = 0;
		if (lines[i].used || text[0] != '=' || text[1] != key ||
		    sscanf(text + 2, "%d%n", &of, &n) != 1 || of != id)
			continue;
		lines[i].used = true;
		return text + 2 + n;
	}
	return NULL;
}

static void tell_used(const struct turns_act *a, int id)
{
	const char *text = answer('u', id);
	unsigned long long ns = 0;
	int known = 0;

	if (!text || sscanf(text, "%llu %d", &ns, &known) != 2)
		wrong("asks what step %d has used", id);
	turns_used(a->step, ns, known);
}

/* The old agent asked each time; it has the last word. */
static void tell_started(const struct turns_act *a, int id)
{
	const char *text, *last = NULL;

	while ((text = answer('s', id)))
		last = text;
	if (!last || !atoi(last))
		turns_started(a->step);
}

/* Its turn was over, said the old agent, when the stops were done, which a busy machine
 * can keep from it for long. */
static void tell_slept(const struct turns_act *a, struct played *p)
{
	const char *text = answer('k', p->id);
	unsigned long long turn, asleep;
	int exact;

	if (!text)
		return;
	must(sscanf(text, "%llu %llu %d", &turn, &asleep, &exact) == 3);
	if (a->over && turn + ABOUT < a->over - p->began)
		wrong("a turn of %llu ns, not %llu",
		      (unsigned long long) (a->over - p->began), turn);
	turns_slept(a->step, turn, asleep, exact);
}

static void tell_cost(const struct turns_act *a, int id)
{
	unsigned long long ns = 0;
	const char *text;

	if (!turns_cost_wanted(a) || (a->verb == TURNS_STOP && !a->noted))
		return;
	text = answer('c', id);
	if (!text || sscanf(text, "%*d %llu", &ns) != 1)
		wrong("asks what step %d has cost", id);
	turns_cost(a->step, a->verb, ns);
}

/* ---------------------------------------------------------------------- acts --- */

static bool play(const struct turns_act *a)
{
	struct played *p = a->step ? turns_step_owner(a->step) : NULL;

	switch (a->verb) {
	case TURNS_STOP:
		tell_cost(a, p->id);
		p->stands = true;
		p->fills = false;
		break;
	case TURNS_CONTINUE:
		tell_cost(a, p->id);
		if (answer('f', p->id))
			return false;
		p->stands = p->fills = false;
		break;
	case TURNS_FILL:
		if (answer('f', p->id))
			return false;
		p->stands = false;
		p->fills = true;
		break;
	case TURNS_USE:
		tell_used(a, p->id);
		break;
	case TURNS_LOOK:
		tell_started(a, p->id);
		break;
	case TURNS_END:
		tell_slept(a, p);
		break;
	case TURNS_NOTE:
	case TURNS_START:
		break;
	case TURNS_BEGIN:
		p->began = now;
		break;
	}
	return true;
}

static void play_all(void)
{
	const struct turns_act *a;
	size_t n;

	do {
		a = turns_acts(t, &n);
		for (size_t i = 0; i < n; i++) {
			if (!play(&a[i]))
				turns_failed(t, &a[i]);
			else if (a[i].noted)
				check_event(&a[i].event);
		}
	} while (turns_more(t, now));
	for (int i = 0; i < STEPS; i++) {
		struct played *p = &steps[i];

		must(!p->s || (p->stands == turns_step_stands(p->s) &&
			       p->fills == turns_step_fills(p->s)));
	}
}

/* --------------------------------------------------------------------- inputs --- */

static struct played *step_of(int id)
{
	for (int i = 0; i < STEPS; i++)
		if (steps[i].s && steps[i].id == id)
			return &steps[i];
	wrong("no step %d", id);
	return NULL;
}

/* An answer that is of no step. */
static const char *note(char key)
{
	for (size_t i = input + 1; i < end; i++)
		if (lines[i].text[0] == '=' && lines[i].text[1] == key) {
			lines[i].used = true;
			return lines[i].text + 2;
		}
	return NULL;
}

static bool slurmd(void)
{
	const char *text = note('l');

	return !text || atoi(text);
}

static void come(const char *text)
{
	struct turns_step_info is = { 0 };
	int id, script, fill, measured, starting, has_srun, i = 0;

	must(sscanf(text, "%d %u %u %u %d %d %d %d %d", &id, &is.job, &is.step,
		    &is.kind, &script, &fill, &measured, &starting,
		    &has_srun) == 9);
	while (steps[i].s)
		must(++i < STEPS);
	is.script = script;
	is.can_fill = fill;
	is.measured = measured;
	is.starting = starting;
	is.has_srun = has_srun;
	is.owner = &steps[i];
	steps[i] = (struct played) { .id = id };
	steps[i].s = turns_step_add(t, &is, now);
	must(steps[i].s);
}

static void gone(int id)
{
	struct played *p = step_of(id);
	struct turns_step *s = p->s;

	p->s = NULL;
	turns_step_end(t, s, now);
	play_all();
	turns_step_free(t, s);
}

static void map(const char *self_text)
{
	const char *hex = note('m');
	size_t n = hex ? strspn(++hex, "0123456789abcdef") / 2 : 0;
	uint8_t *buf = malloc(n + 1);
	uint32_t self = (uint32_t) strtoul(self_text, NULL, 10);
	struct gang_map m;
	unsigned int byte;

	must(n && buf);
	for (size_t i = 0; i < n; i++) {
		must(sscanf(hex + 2 * i, "%2x", &byte) == 1);
		buf[i] = (uint8_t) byte;
	}
	must(!gang_map_unpack(buf, n, &m));
	turns_map(t, &m, gang_map_digest(buf, n), gang_map_zone(&m, self), self,
		  now);
	gang_map_clear(&m);
	free(buf);
}

static void strobe(const char *text)
{
	unsigned long long number, back, version, digest, sent, at, next_at;
	struct gang_strobe st = { 0 };
	unsigned int zone;

	must(sscanf(text, "%llx %llu %x %u %llu %llx %llu %llu %x %llu",
		    &number, &back, &st.slot, &zone, &version, &digest, &sent,
		    &at, &st.next, &next_at) == 10);
	st.zone = (uint16_t) zone;
	st.version = version;
	st.digest = digest;
	st.sent = sent;
	st.at = at;
	st.next_at = next_at;
	turns_strobe(t, number, &st, now - back, slurmd(), now);
}

static void take_step(char key, const char *text)
{
	int id = 0, a = 0, b = 0, c = 0;
	unsigned long long w[4] = { 0 };
	struct turns_step *s;

	sscanf(text, "%d %d %d %d", &id, &a, &b, &c);
	s = step_of(id)->s;
	switch (key) {
	case 'd':
		turns_step_door(s);
		break;
	case 'M':
		sscanf(text, "%*d %llu", w);
		turns_step_met(t, s, now - w[0], now);
		break;
	case 'D':
		turns_step_door_gone(s);
		break;
	case 'r':
		turns_saw_srun(s, a);
		break;
	case 'x':
		turns_saw_tracer(t, s, a, b, c, now);
		break;
	case 'g':
		turns_saw_signal(t, s, now);
		break;
	case 'o':
		turns_saw_doubt(t, s, a, now);
		break;
	case 'f':
		turns_saw_threads(s, a, b);
		break;
	case 'W':
		must(sscanf(text, "%*d %llu %llu %llu %llu", &w[0], &w[1],
			    &w[2], &w[3]) == 4);
		turns_saw_waits(s, w[0], w[1], w[2], w[3]);
		break;
	default:
		wrong("what is that?");
	}
	if (strchr("Mxgo", key))
		play_all();
}

static void take(char key, const char *text)
{
	switch (key) {
	case 'm':
		map(text);
		break;
	case 's':
		strobe(text);
		break;
	case 'a':
		turns_agreed(t, slurmd(), now);
		break;
	case 't':
		turns_late(t, slurmd(), now);
		break;
	case 'A':
		turns_decide(t, now);
		break;
	case 'c':
		turns_open(t, (enum gang_why) atoi(text), now);
		break;
	case 'R':
		turns_returned(t, now);
		break;
	case 'C':
		turns_close(t, now);
		break;
	case '+':
		come(text);
		break;
	case '-':
		gone(atoi(text));
		return;
	case 'h': /* the old agent only looked */
		return;
	default:
		take_step(key, text);
		return;
	}
	play_all();
}

/* That agent also asked what nobody can tell, as without version 2. */
static bool says_nothing(const char *text)
{
	int known = 1;

	return sscanf(text, "=u %*d %*u %d", &known) == 1 && !known;
}

/* Nothing that the old agent did, or asked, is left over. */
static void check_rest(void)
{
	for (size_t i = input + 1; i < end; i++) {
		const char *text = lines[i].text;

		if (lines[i].used || says_nothing(text))
			continue;
		if (text[0] == '>' ||
		    (text[0] == '=' && strchr("fuck", text[1])))
			wrong("line %zu, %s, did not come", i + 1, text);
	}
}

static void replay(void)
{
	int n;
	long long dt;

	for (input = 0; input < nlines && !is_input(lines[input].text);)
		input++;
	next_event = input;
	for (; input < nlines; input = end) {
		for (end = input + 1;
		     end < nlines && !is_input(lines[end].text);)
			end++;
		if (end == nlines)
			return; /* it may be cut off */
		must(sscanf(lines[input].text + 1, "%lld%n", &dt, &n) == 1);
		now += (uint64_t) dt;
		if (note('F'))
			turns_freed(t);
		take(lines[input].text[0], lines[input].text + 1 + n);
		check_rest();
	}
}

START_TEST(test_replay)
{
	unsigned long long long_turn = 0;

	name = recordings.gl_pathv[_i];
	load();
	must(sscanf(lines[0].text, "L %llu", &long_turn) == 1);
	t = turns_create(long_turn);
	must(t);
	replay();
	must(nevents);
	turns_destroy(t);
	unload();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("turns_replay");
	TCase *c = tcase_create("turns_replay");
	char pattern[4096];

	snprintf(pattern, sizeof(pattern), "%s/turns/*.gz",
		 getenv("srcdir") ? getenv("srcdir") : ".");
	if (glob(pattern, 0, NULL, &recordings)) {
		fprintf(stderr, "there is no recording: %s\n", pattern);
		return 1;
	}
	tcase_add_loop_test(c, test_replay, 0, (int) recordings.gl_pathc);
	suite_add_tcase(s, c);
	return unit_main(s);
}
