/*
 * scenario.c - see scenario.h.  Tables of keys describe the objects, for
 * reading and for writing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/wire/wire.h"

enum key_type {
	KEY_NUMBER, /* double */
	KEY_COUNT,  /* uint32_t */
	KEY_COUNT64,
	KEY_NS, /* uint64_t ns, in the file seconds */
	KEY_BOOL,
	KEY_WORD /* int: index into words */
};

struct key {
	const char *name;
	enum key_type type;
	size_t at; /* in the struct */
	double min, max;
	const char *const *words;
};

static const char *const op_words[] = { "open", "compare", "transfer", "launch",
					"set",	"wait",	   NULL };
static const char *const fault_words[] = { "crash", "pause", "disk",	"slow",
					   "loss",  "cut",   "version", "forge",
					   "hang",  NULL };
static const char *const target_words[] = { "", "memory", "file", NULL };
static const char *const relation_words[] = { ">=", "<", "==", "!=", NULL };
static const char *const way_words[] = { "both", "to", "from", NULL };

#define S(field) offsetof(struct scenario, field)
#define O(field) offsetof(struct op, field)
#define F(field) offsetof(struct fault, field)
#define LONG 1e6 /* s */
#define MANY 4294967295.0

static const struct key scenario_keys[] = {
	{ "seed", KEY_COUNT64, S(seed), 0, 9e15, NULL },
	{ "nodes", KEY_COUNT, S(nodes), 1, STORM_NODES_MAX, NULL },
	{ "disk", KEY_NUMBER, S(disk), 0, 10, NULL },
	{ "host", KEY_NUMBER, S(host), 0, 1, NULL },
	{ NULL, 0, 0, 0, 0, NULL }
};

static const struct key settings_keys[] = {
	{ "multicast", KEY_BOOL, S(set.multicast), 0, 0, NULL },
	{ "radix", KEY_COUNT, S(set.radix), 2, 64, NULL },
	{ "window", KEY_COUNT64, S(set.window), 65536, MANY, NULL },
	{ "rate", KEY_COUNT64, S(set.rate), 0, 1e15, NULL },
	{ "socket_buffer", KEY_COUNT, S(set.socket_buffer), 0, MANY, NULL },
	{ "open_timeout", KEY_NS, S(set.open_timeout), 0.001, 3600, NULL },
	{ "dead_timeout", KEY_NS, S(set.dead_timeout), 0.001, 3600, NULL },
	{ "op_timeout", KEY_NS, S(set.op_timeout), 0.001, 3600, NULL },
	{ "heartbeat", KEY_NS, S(set.heartbeat), 0.001, 3600, NULL },
	{ NULL, 0, 0, 0, 0, NULL }
};

static const struct key network_keys[] = {
	{ "bus", KEY_NUMBER, S(bus), 0, 1e15, NULL },
	{ "bandwidth", KEY_NUMBER, S(bandwidth), 0, 1e15, NULL },
	{ "latency", KEY_NUMBER, S(latency), 0, 10, NULL },
	{ "jitter", KEY_NUMBER, S(jitter), 0, 10, NULL },
	{ "loss", KEY_NUMBER, S(loss), 0, 1, NULL },
	{ "duplicates", KEY_NUMBER, S(duplicates), 0, 1, NULL },
	{ "late", KEY_NUMBER, S(late_fraction), 0, 1, NULL },
	{ "late_by", KEY_NUMBER, S(late), 0, 10, NULL },
	{ "multicast", KEY_BOOL, S(carries_multicast), 0, 0, NULL },
	{ "frames", KEY_BOOL, S(frames), 0, 0, NULL },
	{ "datagram", KEY_COUNT, S(datagram), STORM_MTU_MIN, STORM_DATAGRAM_MAX,
	  NULL },
	{ NULL, 0, 0, 0, 0, NULL }
};

static const struct key op_keys[] = {
	{ "do", KEY_WORD, O(kind), 0, 0, op_words },
	{ "repeat", KEY_COUNT, O(repeat), 1, 1e6, NULL },
	{ "size", KEY_NUMBER, O(size), 0, SCENARIO_SIZE_MAX, NULL },
	{ "target", KEY_WORD, O(target), 0, 0, target_words },
	{ "relation", KEY_WORD, O(relation), 0, 0, relation_words },
	{ "value", KEY_NUMBER, O(value), 0, 9e15, NULL },
	{ "write_value", KEY_NUMBER, O(write_value), 0, 9e15, NULL },
	{ "seconds", KEY_NUMBER, O(seconds), 0, LONG, NULL },
	{ "jitter", KEY_NUMBER, O(jitter), 0, LONG, NULL },
	{ "each", KEY_BOOL, O(each), 0, 0, NULL },
	{ "others", KEY_NUMBER, O(others), 0, LONG, NULL },
	{ "within", KEY_NUMBER, O(within), 0, LONG, NULL },
	{ "owner_datagrams", KEY_NUMBER, O(owner_datagrams), 0, 1e15, NULL },
	{ "node_datagrams", KEY_NUMBER, O(node_datagrams), 0, 1e15, NULL },
	{ "model_error", KEY_NUMBER, O(model_error), 0, 100, NULL },
	{ "rounds_error", KEY_NUMBER, O(rounds_error), 0, 100, NULL },
	{ "succeeds", KEY_BOOL, O(succeeds), 0, 0, NULL },
	{ NULL, 0, 0, 0, 0, NULL }
};

static const struct key fault_keys[] = {
	{ "do", KEY_WORD, F(kind), 0, 0, fault_words },
	{ "seconds", KEY_NUMBER, F(seconds), 0, LONG, NULL },
	{ "fraction", KEY_NUMBER, F(fraction), 0, 1, NULL },
	{ "way", KEY_WORD, F(way), 0, 0, way_words },
	{ NULL, 0, 0, 0, 0, NULL }
};

const char *op_name(int kind)
{
	return op_words[kind];
}

/* ------------------------------------------------------------------ reading --- */

struct reader {
	const char *file;
	bool bad;
};

/* Report an error once.  where and key: "operations[2]" and "size", or the part
 * that is known. */
__attribute__((format(printf, 4, 5))) static void
scenario_bad(struct reader *r, const char *where, const char *key,
	     const char *fmt, ...)
{
	va_list ap;

	if (r->bad)
		return; /* report only the first error */
	r->bad = true;
	fprintf(stderr, "storm_sim: %s: %s%s%s: ", r->file, where,
		*where && *key ? "." : "", key);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static bool scenario_number(struct reader *r, const char *where,
			    const char *key, json_object *v, double min,
			    double max, bool whole, double *out)
{
	double d = json_object_get_double(v);

	if ((!json_object_is_type(v, json_type_int) &&
	     !json_object_is_type(v, json_type_double)) ||
	    !(d >= min && d <= max) || (whole && d != floor(d))) {
		scenario_bad(r, where, key,
			     "is %s: give %s from %.10g to %.10g",
			     json_object_to_json_string(v),
			     whole ? "a whole number" : "a number", min, max);
		return false;
	}
	*out = d;
	return true;
}

static void scenario_get_word(struct reader *r, const char *where,
			      const struct key *k, json_object *v, int *out)
{
	const char *s = json_object_get_string(v);
	char list[256] = "";

	for (int i = 0; k->words[i]; i++) {
		if (s && *s && !strcmp(s, k->words[i])) {
			*out = i;
			return;
		}
		if (*k->words[i])
			snprintf(list + strlen(list),
				 sizeof(list) - strlen(list), "%s\"%s\"",
				 *list ? ", " : "", k->words[i]);
	}
	scenario_bad(r, where, k->name, "is %s: give one of %s",
		     json_object_to_json_string(v), list);
}

static void scenario_get_key(struct reader *r, const char *where,
			     const struct key *k, json_object *v, void *base)
{
	void *p = (char *) base + k->at;
	double d;

	switch (k->type) {
	case KEY_WORD:
		scenario_get_word(r, where, k, v, p);
		return;
	case KEY_BOOL:
		if (json_object_is_type(v, json_type_boolean))
			*(bool *) p = json_object_get_boolean(v);
		else
			scenario_bad(r, where, k->name,
				     "is %s: give true or false",
				     json_object_to_json_string(v));
		return;
	default:
		break;
	}
	if (!scenario_number(r, where, k->name, v, k->min, k->max,
			     k->type == KEY_COUNT || k->type == KEY_COUNT64,
			     &d))
		return;
	if (k->type == KEY_NUMBER)
		*(double *) p = d;
	else if (k->type == KEY_COUNT)
		*(uint32_t *) p = (uint32_t) d;
	else if (k->type == KEY_COUNT64)
		*(uint64_t *) p = (uint64_t) d;
	else
		*(uint64_t *) p = (uint64_t) (d * STORM_SEC + 0.5);
}

/* Read the keys of an object by its table; special() reads all others. */
static void scenario_get_object(
	struct reader *r, const char *where, json_object *o,
	const struct key *keys, void *base,
	bool (*special)(struct reader *r, const char *where, const char *key,
			json_object *v, void *base))
{
	if (!json_object_is_type(o, json_type_object)) {
		scenario_bad(r, where, "", "is %s: give an object, {...}",
			     json_object_to_json_string(o));
		return;
	}
	json_object_object_foreach(o, name, v)
	{
		const struct key *k = keys;

		while (k->name && strcmp(k->name, name))
			k++;
		if (k->name)
			scenario_get_key(r, where, k, v, base);
		else if (*name != '#' &&
			 (!special || !special(r, where, name, v, base)))
			scenario_bad(
				r, where, name,
				"is not a known key: see storm_sim(1), or begin it with # to make it a comment");
	}
}

static bool network_special(struct reader *r, const char *where,
			    const char *key, json_object *v, void *base)
{
	struct scenario *s = base;
	const char *name = json_object_get_string(v);

	if (strcmp(key, "name"))
		return false;
	s->net = name ? storm_model_net(name) : NULL;
	if (!s->net)
		scenario_bad(
			r, where, key,
			"is %s: give one of \"qsnet\", \"gbe\", \"100gbe\", \"ndr\", or latency and bandwidth instead",
			json_object_to_json_string(v));
	return true;
}

/* {"own": 2} or {"global": 5} */
static void scenario_variable(struct reader *r, const char *where,
			      const char *key, json_object *v, bool own_too,
			      uint32_t *out)
{
	double d;

	if (json_object_is_type(v, json_type_object) &&
	    json_object_object_length(v) == 1) {
		json_object_object_foreach(v, kind, i)
		{
			if (!strcmp(kind, "global") &&
			    scenario_number(r, where, key, i, 0,
					    STORM_GLOBALS - 1, true, &d)) {
				*out = STORM_GLOBAL(d);
				return;
			}
			if (own_too && !strcmp(kind, "own") &&
			    scenario_number(r, where, key, i, 0, STORM_VARS - 1,
					    true, &d)) {
				*out = (uint32_t) d;
				return;
			}
		}
	}
	scenario_bad(r, where, key, "is %s: give {\"global\": NUMBER}%s",
		     json_object_to_json_string(v),
		     own_too ? " or {\"own\": NUMBER}" : "");
}

/* [FROM, TO], both from min to max */
static bool scenario_pair(struct reader *r, const char *where, const char *key,
			  json_object *v, double min, double max, bool whole,
			  double out[static 2])
{
	if (!json_object_is_type(v, json_type_array) ||
	    json_object_array_length(v) != 2) {
		scenario_bad(r, where, key, "is %s: give [FROM, TO]",
			     json_object_to_json_string(v));
		return false;
	}
	return scenario_number(r, where, key, json_object_array_get_idx(v, 0),
			       min, max, whole, &out[0]) &&
	       scenario_number(r, where, key, json_object_array_get_idx(v, 1),
			       out[0], max, whole, &out[1]);
}

static bool op_special(struct reader *r, const char *where, const char *key,
		       json_object *v, void *base)
{
	struct op *o = base;
	double d[2];

	if (!strcmp(key, "variable")) {
		scenario_variable(r, where, key, v, true, &o->variable);
	} else if (!strcmp(key, "write")) {
		scenario_variable(r, where, key, v, false, &o->write_variable);
		o->write = true;
	} else if (!strcmp(key, "nodes")) {
		if (scenario_pair(r, where, key, v, 1, STORM_NODES_MAX, true,
				  d)) {
			o->first = (uint32_t) d[0] - 1;
			o->last = (uint32_t) d[1] - 1;
		}
	} else {
		return false;
	}
	return true;
}

static void fault_node(struct reader *r, const char *where, json_object *v,
		       struct fault *f)
{
	const char *word = json_object_get_string(v);
	double d;

	if (json_object_is_type(v, json_type_string)) {
		if (!strcmp(word, "random"))
			f->node = NODE_RANDOM;
		else if (!strcmp(word, "owner"))
			f->node = STORM_NO_NODE;
		else
			scenario_bad(
				r, where, "node",
				"is \"%s\": give a number, \"random\" or \"owner\"",
				word);
	} else if (scenario_number(r, where, "node", v, 1, STORM_NODES_MAX,
				   true, &d)) {
		f->node = (uint32_t) d - 1;
	}
}

static bool fault_special(struct reader *r, const char *where, const char *key,
			  json_object *v, void *base)
{
	struct fault *f = base;
	double d[2];

	if (!strcmp(key, "node")) {
		fault_node(r, where, v, f);
	} else if (strcmp(key, "at")) {
		return false;
	} else if (json_object_is_type(v, json_type_array)) {
		if (scenario_pair(r, where, key, v, 0, LONG, false, d)) {
			f->at = d[0];
			f->until = d[1];
		}
	} else if (scenario_number(r, where, key, v, 0, LONG, false, &d[0])) {
		f->at = f->until = d[0];
	}
	return true;
}

static void *scenario_get_array(struct reader *r, const char *where,
				json_object *a, size_t size, uint32_t *count)
{
	void *p;

	*count = 0;
	if (!json_object_is_type(a, json_type_array)) {
		scenario_bad(r, where, "", "is %s: give a list, [...]",
			     json_object_to_json_string(a));
		return NULL;
	}
	p = calloc(json_object_array_length(a) + 1, size);
	if (!p)
		abort();
	*count = (uint32_t) json_object_array_length(a);
	return p;
}

static void scenario_get_ops(struct reader *r, json_object *a,
			     struct scenario *s)
{
	free(s->op);
	s->op = scenario_get_array(r, "operations", a, sizeof(*s->op), &s->ops);
	for (uint32_t i = 0; i < s->ops; i++) {
		struct op *o = &s->op[i];
		char where[64];

		snprintf(where, sizeof(where), "operations[%u]", i);
		*o = (struct op) { .kind = -1,
				   .last = UINT32_MAX,
				   .repeat = 1,
				   .target = STORM_TARGET_FILE };
		scenario_get_object(r, where, json_object_array_get_idx(a, i),
				    op_keys, o, op_special);
		if (o->kind < 0)
			scenario_bad(
				r, where, "do",
				"is missing: give one of \"open\", \"compare\", \"transfer\", \"launch\", \"set\", \"wait\"");
		if ((o->kind == OP_OPEN) != (i == 0))
			scenario_bad(
				r, where, "do", "%s",
				i ? "is \"open\": only the first operation may be" :
				    "is not \"open\": the first operation must be");
	}
	if (!s->ops)
		scenario_bad(r, "operations", "",
			     "is empty: give at least {\"do\": \"open\"}");
}

static bool fault_needs_node(int kind)
{
	return kind != FAULT_LOSS;
}

static void scenario_get_faults(struct reader *r, json_object *a,
				struct scenario *s)
{
	free(s->fault);
	s->fault = scenario_get_array(r, "faults", a, sizeof(*s->fault),
				      &s->faults);
	for (uint32_t i = 0; i < s->faults; i++) {
		struct fault *f = &s->fault[i];
		char where[64];

		snprintf(where, sizeof(where), "faults[%u]", i);
		*f = (struct fault) { .kind = -1,
				      .at = ANY_TIME,
				      .node = NODE_RANDOM };
		scenario_get_object(r, where, json_object_array_get_idx(a, i),
				    fault_keys, f, fault_special);
		if (f->kind < 0)
			scenario_bad(
				r, where, "do",
				"is missing: give one of \"crash\", \"pause\", \"disk\", \"slow\", \"loss\", \"cut\", \"version\", \"forge\", \"hang\"");
		if (f->at < 0)
			scenario_bad(
				r, where, "at",
				"is missing: give seconds from the start, or [FROM, TO]");
		if (f->node == STORM_NO_NODE && f->kind != FAULT_CRASH &&
		    f->kind != FAULT_PAUSE)
			scenario_bad(
				r, where, "node",
				"is \"owner\", which can only \"crash\" or \"pause\"");
	}
}

static bool scenario_special(struct reader *r, const char *where,
			     const char *key, json_object *v, void *base)
{
	struct scenario *s = base;

	(void) where;
	if (!strcmp(key, "name")) {
		free(s->name);
		s->name = strdup(json_object_get_string(v));
	} else if (!strcmp(key, "settings")) {
		scenario_get_object(r, key, v, settings_keys, s, NULL);
	} else if (!strcmp(key, "network")) {
		scenario_get_object(r, key, v, network_keys, s,
				    network_special);
	} else if (!strcmp(key, "operations")) {
		scenario_get_ops(r, v, s);
	} else if (!strcmp(key, "faults")) {
		scenario_get_faults(r, v, s);
	} else {
		return false;
	}
	return true;
}

/* The size of a datagram: one packet, or as many small packets as fit. */
static uint32_t scenario_datagram(const struct storm_model_net *net)
{
	uint32_t packet;

	if (!net)
		return 1472;
	packet = (uint32_t) net->packet_size;
	return packet >= 1024 ? packet : STORM_DATAGRAM_MAX / packet * packet;
}

static void scenario_check(struct reader *r, const struct scenario *s)
{
	uint32_t launches = 0;

	if (!s->nodes)
		scenario_bad(r, "nodes", "",
			     "is missing: give how many there are");
	if (!s->ops)
		scenario_bad(r, "operations", "",
			     "is missing: give at least [{\"do\": \"open\"}]");
	if (!s->net && s->bandwidth <= 0 && !s->latency)
		scenario_bad(
			r, "network", "",
			"is missing: give a name, or latency and bandwidth");
	for (uint32_t i = 0; i < s->ops; i++) {
		const struct op *o = &s->op[i];
		char where[64];

		snprintf(where, sizeof(where), "operations[%u]", i);
		launches += o->kind == OP_LAUNCH ? o->repeat : 0;
		if (o->first >= s->nodes ||
		    (o->last >= s->nodes && o->last != UINT32_MAX))
			scenario_bad(
				r, where, "nodes",
				"goes beyond node %u: give [FROM, TO] within it",
				s->nodes);
		if ((o->model_error > 0 || o->rounds_error > 0) && !s->net)
			scenario_bad(
				r, where,
				o->model_error > 0 ? "model_error" :
						     "rounds_error",
				"needs a named network: give network.name");
	}
	if (launches > SCENARIO_LAUNCHES)
		scenario_bad(r, "operations", "",
			     "have %u launches: give at most %u", launches,
			     SCENARIO_LAUNCHES);
	for (uint32_t i = 0; i < s->faults; i++) {
		char where[64];

		snprintf(where, sizeof(where), "faults[%u]", i);
		if (s->fault[i].node < NODE_RANDOM &&
		    s->fault[i].node >= s->nodes)
			scenario_bad(
				r, where, "node",
				"is %u, but there are %u nodes: give one of them",
				s->fault[i].node + 1, s->nodes);
	}
}

static json_object *scenario_parse(const char *file)
{
	json_object *o = NULL;
	char *text = NULL;
	size_t len = 0;
	struct json_tokener *t = json_tokener_new();
	FILE *f = fopen(file, "r");
	unsigned int line = 1;

	if (!t)
		abort();
	if (!f || (getdelim(&text, &len, 0, f) < 0 && ferror(f))) {
		fprintf(stderr,
			"storm_sim: %s: %s: give the name of a scenario file\n",
			file, strerror(errno));
		goto out;
	}
	json_tokener_set_flags(t, JSON_TOKENER_STRICT);
	o = text ? json_tokener_parse_ex(t, text, (int) strlen(text) + 1) :
		   NULL;
	if (!o) {
		size_t end = text ? json_tokener_get_parse_end(t) : 0;

		for (size_t i = 0; i < end && text[i]; i++)
			line += text[i] == '\n';
		fprintf(stderr,
			"storm_sim: %s: line %u: %s: a scenario is one object in JSON\n",
			file, line,
			json_tokener_error_desc(json_tokener_get_error(t)));
	}
out:
	if (f)
		fclose(f);
	free(text);
	json_tokener_free(t);
	return o;
}

struct scenario *scenario_load(const char *file)
{
	struct reader r = { file, false };
	json_object *o = scenario_parse(file);
	struct scenario *s;

	if (!o)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		abort();
	storm_settings_default(&s->set);
	s->seed = 1;
	s->carries_multicast = true;
	s->name = strdup(file);
	scenario_get_object(&r, "", o, scenario_keys, s, scenario_special);
	json_object_put(o);
	if (!s->datagram)
		s->datagram = scenario_datagram(s->net);
	if (!r.bad)
		scenario_check(&r, s);
	if (r.bad) {
		scenario_free(s);
		return NULL;
	}
	return s;
}

/* --------------------------------------------------------------------- rest --- */

struct scenario *scenario_copy(const struct scenario *s)
{
	struct scenario *c = malloc(sizeof(*c));

	if (!c)
		abort();
	*c = *s;
	c->name = strdup(s->name);
	c->op = malloc((s->ops + 1) * sizeof(*s->op));
	c->fault = malloc((s->faults + 1) * sizeof(*s->fault));
	if (!c->name || !c->op || !c->fault)
		abort();
	memcpy(c->op, s->op, s->ops * sizeof(*s->op));
	if (s->faults)
		memcpy(c->fault, s->fault, s->faults * sizeof(*s->fault));
	return c;
}

void scenario_free(struct scenario *s)
{
	if (!s)
		return;
	free(s->name);
	free(s->op);
	free(s->fault);
	free(s);
}

static uint64_t scenario_draw(uint64_t random, uint64_t i)
{
	return (random ^ random >> 27) * 0x94d049bb133111ebULL + i;
}

/* So many of all nodes, each at a time of its own. */
static void scenario_settle_fraction(struct scenario *s, struct fault f)
{
	uint64_t random = s->seed * 0x9e3779b97f4a7c15ULL + 2;
	uint32_t n = (uint32_t) (f.fraction * s->nodes), *node;

	node = malloc(s->nodes * sizeof(*node));
	s->fault = realloc(s->fault, (s->faults + n + 1) * sizeof(*s->fault));
	if (!node || !s->fault)
		abort();
	for (uint32_t i = 0; i < s->nodes; i++)
		node[i] = i;
	f.fraction = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at;

		random = scenario_draw(random, i);
		at = i + (uint32_t) (random >> 33) % (s->nodes - i);
		f.node = node[at];
		node[at] = node[i];
		s->fault[s->faults++] = f;
	}
	free(node);
}

void scenario_settle(struct scenario *s)
{
	uint64_t random = s->seed * 0x9e3779b97f4a7c15ULL + 1;

	for (uint32_t i = 0; i < s->faults;) {
		struct fault f = s->fault[i];

		if (f.kind != FAULT_CRASH || f.fraction <= 0) {
			i++;
			continue;
		}
		memmove(&s->fault[i], &s->fault[i + 1],
			(--s->faults - i) * sizeof(f));
		scenario_settle_fraction(s, f);
	}
	for (uint32_t i = 0; i < s->faults; i++) {
		struct fault *f = &s->fault[i];

		/* one draw per fault: leaving one out does not change others */
		random = scenario_draw(random, i);
		if (f->node == NODE_RANDOM && fault_needs_node(f->kind))
			f->node = (uint32_t) (random >> 33) % s->nodes;
		else if (f->node < NODE_RANDOM)
			f->node %= s->nodes;
		f->at += (f->until - f->at) * (double) (random & 0xffffff) /
			 0x1000000;
		f->until = f->at;
	}
	for (uint32_t i = 0; i < s->ops; i++) {
		struct op *o = &s->op[i];

		o->first %= s->nodes;
		if (o->last != UINT32_MAX && o->last >= s->nodes)
			o->last = s->nodes - 1;
	}
}

/* ------------------------------------------------------------------ writing --- */

static json_object *scenario_put_value(const struct key *k, const void *base)
{
	const void *p = (const char *) base + k->at;

	switch (k->type) {
	case KEY_NUMBER:
		return *(const double *) p != 0 ?
			       json_object_new_double(*(const double *) p) :
			       NULL;
	case KEY_COUNT:
		return json_object_new_int64(*(const uint32_t *) p);
	case KEY_COUNT64:
		return json_object_new_int64((int64_t) * (const uint64_t *) p);
	case KEY_NS:
		return json_object_new_double((double) *(const uint64_t *) p /
					      STORM_SEC);
	case KEY_BOOL:
		return json_object_new_boolean(*(const bool *) p);
	case KEY_WORD:
		return json_object_new_string(k->words[*(const int *) p]);
	}
	return NULL;
}

/* Leaves out keys whose value is 0. */
static json_object *scenario_put_object(const struct key *keys,
					const void *base)
{
	json_object *o = json_object_new_object();

	for (const struct key *k = keys; k->name; k++) {
		json_object *v = scenario_put_value(k, base);

		if (v)
			json_object_object_add(o, k->name, v);
	}
	return o;
}

static json_object *scenario_put_variable(uint32_t var)
{
	json_object *o = json_object_new_object();

	if (var >= STORM_GLOBAL(0))
		json_object_object_add(
			o, "global",
			json_object_new_int64(var - STORM_GLOBAL(0)));
	else
		json_object_object_add(o, "own", json_object_new_int64(var));
	return o;
}

static json_object *scenario_put_op(const struct op *op)
{
	json_object *o = scenario_put_object(op_keys, op);

	json_object_object_add(o, "variable",
			       scenario_put_variable(op->variable));
	if (op->write)
		json_object_object_add(
			o, "write", scenario_put_variable(op->write_variable));
	if (op->last != UINT32_MAX) {
		json_object *p = json_object_new_array();

		json_object_array_add(p, json_object_new_int64(op->first + 1));
		json_object_array_add(
			p, json_object_new_int64((int64_t) op->last + 1));
		json_object_object_add(o, "nodes", p);
	}
	return o;
}

static json_object *scenario_put_fault(const struct fault *f)
{
	json_object *o = scenario_put_object(fault_keys, f);

	json_object_object_add(o, "at", json_object_new_double(f->at));
	if (f->node == STORM_NO_NODE)
		json_object_object_add(o, "node",
				       json_object_new_string("owner"));
	else if (f->node != NODE_RANDOM)
		json_object_object_add(o, "node",
				       json_object_new_int64(f->node + 1));
	return o;
}

json_object *scenario_json(const struct scenario *s)
{
	json_object *o = scenario_put_object(scenario_keys, s);
	json_object *net = scenario_put_object(network_keys, s);
	json_object *ops = json_object_new_array();
	json_object *faults = json_object_new_array();

	json_object_object_add(o, "name", json_object_new_string(s->name));
	if (s->net)
		json_object_object_add(net, "name",
				       json_object_new_string(s->net->name));
	json_object_object_add(o, "settings",
			       scenario_put_object(settings_keys, s));
	json_object_object_add(o, "network", net);
	for (uint32_t i = 0; i < s->ops; i++)
		json_object_array_add(ops, scenario_put_op(&s->op[i]));
	for (uint32_t i = 0; i < s->faults; i++)
		json_object_array_add(faults, scenario_put_fault(&s->fault[i]));
	json_object_object_add(o, "operations", ops);
	json_object_object_add(o, "faults", faults);
	return o;
}
