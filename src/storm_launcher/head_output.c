/*
 * head_output.c - the output of tasks on other hosts, which their launchers send by TCP:
 * who may send it, for which client, and how much of it waits.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "head_private.h"
#include "launcher_base.h"
#include "run_pieces.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/wire/credential.h"

/* A client that does not read so much stops its tasks. */
#define OUTPUT_WAITS (256u << 10)
/* Connections that have not shown a credential: so many, and some for each node. */
#define STRANGERS 64
#define STRANGERS_PER_NODE 2
#define STRANGER_LIMIT (3 * STORM_SEC)
#define REFUSALS_EVERY (60 * STORM_SEC)

void head_say_taken(struct conn *c)
{
	uint8_t taken[8];
	struct storm_out o = { taken, taken + sizeof(taken), false };

	if (c->taken == c->told)
		return;
	c->told = c->taken;
	storm_put64(&o, c->taken);
	conn_put(c, RUN_TAKEN, taken, sizeof(taken));
}

/* The log is a file of the user's, and anybody can be refused: once in a while. */
static void head_say_refused(uint32_t uid)
{
	static uint64_t said_at;
	uint64_t now = storm_now();

	if (said_at && now < said_at + REFUSALS_EVERY)
		return;
	said_at = now;
	storm_log(STORM_LOG_ERROR,
		  "output refused: it is of uid %u, or of another head", uid);
}

/* A credential on its way through munged, which may be slow. */
struct head_proof {
	struct storm_job base;
	uint64_t serial; /* the connection, which may be gone by then */
	char *cred;
	void *what;
	size_t len;
	uint32_t uid;
	int err;
};

static void head_proof_work(struct storm_job *j)
{
	struct head_proof *p = (struct head_proof *) j;
	uint32_t gid;

	p->err = storm_credential_decode(p->cred, &p->what, &p->len, &p->uid,
					 &gid);
}

/* A launcher believes who can tell its secret. */
static void head_believe(struct conn *c, uint64_t number, uint32_t node,
			 const uint8_t *secret)
{
	const struct user_run *run = runs_find(&head.runs, number);
	const struct conn *to = head_client(number);

	c->run = number;
	c->node = node;
	if (c->pmi) {
		c->kind = CONN_PMI;
		conn_put(c, RUN_PROVEN, secret, RUN_SECRET);
		return;
	}
	c->kind = CONN_INLET;
	c->fed = !run || !run_ranks_on(run, node, &c->first, &c->last);
	head.input_news = true;
	conn_put(c, RUN_PROVEN, secret, RUN_SECRET);
	for (uint8_t fd = 1; to && fd <= 2; fd++)
		if (to->deaf & 1 << fd)
			conn_put(c, RUN_DEAF, &fd, 1);
	if (to)
		head_tell_size(to, c);
}

/* Is it a launcher of this head's life, and this user's? */
static void head_proof_done(void *host, struct storm_job *j)
{
	struct head_proof *p = (struct head_proof *) j;
	struct conn *c = head_of_serial(p->serial);
	uint8_t *what = p->err ? NULL : p->what;
	struct storm_in in = { what, what ? what + p->len : NULL, false };
	uint64_t run = storm_get64(&in);
	uint32_t node = storm_get32(&in);
	const uint8_t *life = storm_get(&in, RUN_LIFE);
	const uint8_t *secret = storm_get(&in, RUN_SECRET);

	(void) host;
	if (c && p->err) {
		conn_close(c);
	} else if (c && (!storm_in_done(&in) || p->uid != geteuid() ||
			 memcmp(life, head.life, RUN_LIFE))) {
		head_say_refused(p->uid);
		conn_close(c);
	} else if (c) {
		head_believe(c, run, node, secret);
	}
	free(what);
	free(p->cred);
	free(p);
}

void head_prove(struct conn *c, bool pmi, struct storm_in *body)
{
	size_t len = (size_t) (body->end - body->p);
	struct head_proof *p = NULL;

	/* it is a string */
	if (len && !body->p[len - 1])
		p = calloc(1, sizeof(*p));
	if (!p) {
		conn_close(c);
		return;
	}
	p->base.work = head_proof_work;
	p->base.done = head_proof_done;
	p->serial = c->serial;
	p->cred = launcher_copy(body->p, len);
	c->kind = CONN_PROVING;
	c->pmi = pmi;
	if (storm_worker_add(&head.munge, &p->base))
		return;
	free(p->cred);
	free(p);
	conn_close(c);
}

void head_output(struct conn *c, const struct storm_in *body)
{
	struct conn *to = head_client(c->run);
	size_t len = (size_t) (body->end - body->p);

	if (len < 2 || (body->p[0] != 1 && body->p[0] != 2)) {
		conn_close(c);
		return;
	}
	/* nobody reads what a client that is gone would have read */
	if (to && !(to->deaf & 1 << body->p[0]))
		conn_put(to, RUN_OUTPUT, body->p, len);
	c->taken += len - 1;
}

void head_output_of(struct conn *c, struct storm_in *body)
{
	const struct user_run *run = runs_find(&head.runs, c->run);
	struct conn *to = head_client(c->run);
	const uint8_t *all = body->p;
	size_t len = (size_t) (body->end - body->p);
	struct run_piece p;

	if (!run_output_of_get(body, &p)) {
		conn_close(c);
		return;
	}
	/* a client that knows of a task's end hears no more of it */
	if (to && run && run->framed && p.rank < run->tasks &&
	    !run_ranks_done(run, p.rank, p.rank) && !(to->deaf & 1 << p.fd))
		conn_put(to, RUN_OUTPUT_OF, all, len);
	c->taken += p.len;
}

void head_deafen(struct conn *c, uint8_t fd)
{
	if (fd != 1 && fd != 2)
		return;
	c->deaf |= (uint8_t) (1 << fd);
	for (struct conn *l = head.conns; l; l = l->next)
		if (l->kind == CONN_INLET && l->run == c->run)
			conn_put(l, RUN_DEAF, &fd, 1);
}

bool head_has_reader(const struct conn *client)
{
	return conn_waits(client) < OUTPUT_WAITS;
}

bool head_may_read(const struct conn *c)
{
	const struct conn *to;

	if (c->kind != CONN_INLET)
		return true;
	to = head_client(c->run);
	return !to || head_has_reader(to);
}

static bool head_is_stranger(const struct conn *c)
{
	return c->tcp && c->fd >= 0 &&
	       (c->kind == CONN_NEW || c->kind == CONN_PROVING ||
		(c->kind == CONN_DOOR && !carrier_is_proven(c->carries)));
}

uint32_t head_strangers(void)
{
	uint32_t n = 0;

	for (const struct conn *c = head.conns; c; c = c->next)
		n += head_is_stranger(c);
	return n;
}

bool head_has_room(void)
{
	return head_strangers() <
	       STRANGERS + STRANGERS_PER_NODE * head.step.count;
}

void head_expire_strangers(void)
{
	uint64_t now = storm_now();

	for (struct conn *c = head.conns; c; c = c->next)
		if (head_is_stranger(c) && c->kind != CONN_PROVING &&
		    now > c->since + STRANGER_LIMIT)
			conn_close(c);
}
