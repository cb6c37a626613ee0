/*
 * head.c - see head.h.  One loop owns everything; libstorm's thread hands it reports and
 * faults.  What follows from them is decided in runs.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conn.h"
#include "errand.h"
#include "head.h"
#include "launcher_base.h"
#include "runs.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/credential.h"

#define EVENT 1
#define LOOK 100 /* ms, while the domain works on something */
/* A client that does not read so much stops its tasks. */
#define OUTPUT_WAITS (256u << 10)
#define FLOOR_EVERY 4096 /* ids, see head_forget() */
/* Connections that have not shown a credential: so many, and some for each node. */
#define STRANGERS 64
#define STRANGERS_PER_NODE 2
#define STRANGER_LIMIT (3 * STORM_SEC)
#define STRANGERS_LOOK 1000 /* ms */
#define REFUSALS_EVERY (60 * STORM_SEC)
#define PROOF_MAX 4096 /* bytes of a credential */
#define BYE_LIMIT 2000 /* ms, for clients to take their last words */

/* A message on its way to launchers. */
struct cast {
	struct cast *next;
	storm_event_t *event;
	uint8_t *buf;
	uint64_t run;
	uint8_t sig; /* 0: it starts the run, or is of none */
};

/* What libstorm's thread says. */
struct note {
	struct note *next;
	bool fault;
	struct storm_fault why;
	uint32_t code;
	struct storm_idset ids;
};

static struct {
	struct run_step step;
	uint8_t *step_text; /* what its names point into */
	struct runs runs;
	struct conn *conns;
	struct cast *casts;
	storm_domain_t *domain;
	struct storm_addr relay;
	uint8_t life[RUN_LIFE];
	uint32_t told_floor;
	int listener, inlets, event, errands;
	uint64_t serial; /* of the last connection */
	bool full;	 /* there are no descriptors to accept with */
	pthread_mutex_t lock;
	struct note *notes, **notes_tail;
} head = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -------------------------------------------------------- from libstorm's thread --- */

static void head_note(struct note *n)
{
	uint64_t one = 1;

	n->next = NULL;
	pthread_mutex_lock(&head.lock);
	*head.notes_tail = n;
	head.notes_tail = &n->next;
	pthread_mutex_unlock(&head.lock);
	if (write(head.event, &one, sizeof(one)) < 0)
		return; /* the counter is full: it wakes anyway */
}

static void head_on_report(void *arg, const struct storm_report *r)
{
	struct note *n = calloc(1, sizeof(*n));

	(void) arg;
	if (!n || storm_idset_union(&n->ids, &r->ids)) {
		/* its run would never end: a head that ends ends all */
		storm_log(STORM_LOG_ERROR, "no memory for a report");
		_exit(1);
	}
	n->code = r->code;
	head_note(n);
}

static void head_on_fault(void *arg, const struct storm_fault *f)
{
	struct note *n = calloc(1, sizeof(*n));

	(void) arg;
	if (!n)
		_exit(1);
	n->fault = true;
	n->why = *f;
	head_note(n);
}

/* ------------------------------------------------------------------- clients --- */

static struct conn *head_client(uint64_t run)
{
	struct conn *c = head.conns;

	while (c && !(c->kind == CONN_CLIENT && c->run == run && c->fd >= 0))
		c = c->next;
	return c;
}

static struct conn *head_of_kind(enum conn_kind kind)
{
	struct conn *c = head.conns;

	while (c && !(c->kind == kind && c->fd >= 0))
		c = c->next;
	return c;
}

static const char *head_node_name(void *arg, uint32_t node)
{
	(void) arg;
	return node < head.step.count ? head.step.nodes[node].name : "?";
}

static void head_say_line(void *arg, const char *line)
{
	conn_put_text(arg, RUN_SAY, line);
}

__attribute__((format(printf, 2, 3))) static void head_say(struct conn *c,
							   const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (c)
		conn_put_text(c, RUN_SAY, line);
}

static void head_refuse(struct conn *c, enum run_kind kind, const char *why)
{
	conn_put_text(c, kind, why);
	c->kind = CONN_WAITS;
	conn_close_files(c);
}

/* No run begins any more: those that wait go to the next head. */
static void head_send_away(void)
{
	struct user_run *run = head.runs.first, *next;

	for (; run; run = next) {
		struct conn *c = run->client;

		next = run->next;
		if (run->state != RUN_WAITS)
			continue;
		if (c) {
			c->run = 0;
			head_refuse(c, RUN_AGAIN, "");
		}
		runs_abort(run);
		run->client = NULL;
	}
}

/* -------------------------------------------------------------------- casts --- */

/* The nodes of a run but the lost ones.  A set with too many ranges for a message is
 * that of all nodes: who has no task of the run does nothing. */
static bool head_cast_nodes(const struct user_run *run, struct storm_idset *P)
{
	struct storm_range r = { 0, head.step.count - 1 };
	const struct storm_idset all = { &r, 1, 1 };

	if (storm_idset_minus(&run->nodes, &head.runs.lost, P))
		return false;
	if (P->count > STORM_SET_RANGES) {
		storm_idset_clear(P);
		if (storm_idset_minus(&all, &head.runs.lost, P))
			return false;
	}
	return P->count;
}

/* Send it to a run's nodes; buf becomes the cast's.  False: it cannot be sent. */
static bool head_cast(const struct user_run *run, uint8_t sig, uint8_t *buf,
		      size_t len)
{
	struct storm_target to = { .kind = STORM_TARGET_MEMORY,
				   .remote_event = EVENT };
	struct cast *c = calloc(1, sizeof(*c));
	struct storm_idset P = { 0 };

	if (c && buf && head_cast_nodes(run, &P))
		c->event =
			storm_xfer_and_signal(head.domain, &P, &to, buf, len);
	storm_idset_clear(&P);
	if (!c || !c->event) {
		free(buf);
		free(c);
		return false;
	}
	c->buf = buf;
	c->run = run->number;
	c->sig = sig;
	c->next = head.casts;
	head.casts = c;
	return true;
}

/* Reports of runs that are over are kept no longer.  A node hears so with its next
 * run; now and then all are told. */
static void head_forget(void)
{
	uint32_t floor = runs_floor(&head.runs);
	struct storm_range all = { 0, head.step.count - 1 };
	struct user_run nobody = { .nodes = { &all, 1, 1 } };
	size_t len = 1 + 4;
	uint8_t *buf;

	storm_domain_forget(head.domain, RUN_REPORT, floor);
	if (floor < head.told_floor + FLOOR_EVERY || head.runs.closing)
		return;
	buf = malloc(len);
	if (buf) {
		struct storm_out o = { buf, buf + len, false };

		storm_put8(&o, RUN_FLOOR);
		storm_put32(&o, floor);
	}
	if (head_cast(&nobody, 0, buf, len))
		head.told_floor = floor;
}

/* Tasks that cannot be killed end with their launchers. */
static void head_signal_failed(struct user_run *run, uint8_t sig)
{
	if (sig != SIGKILL) {
		head_say(run->client,
			 "error: signal %u did not come to all nodes", sig);
		return;
	}
	head_say(
		run->client,
		"error: the launchers cannot be reached, and end with all tasks");
	runs_abort(run);
	runs_close(&head.runs, true);
}

static void head_cast_kill(struct user_run *run, uint8_t sig)
{
	size_t len = 1 + 8 + 1;
	uint8_t *buf = malloc(len);
	struct storm_out o = { buf, buf + len, false };

	if (buf) {
		storm_put8(&o, RUN_KILL);
		storm_put64(&o, run->number);
		storm_put8(&o, sig);
	}
	if (!head_cast(run, sig, buf, len))
		head_signal_failed(run, sig);
}

/* The tasks on this host get the client's own descriptors. */
static bool head_pass_files(const struct user_run *run, struct conn *c)
{
	uint8_t frame[RUN_FRAME_HEADER + 8];
	struct storm_out o = { frame + RUN_FRAME_HEADER, frame + sizeof(frame),
			       false };
	struct conn *l = head_of_kind(CONN_PARENT);

	if (!l || c->file[0] < 0 ||
	    !storm_idset_has(&run->nodes, head.step.local))
		return false;
	run_frame_head(frame, RUN_FILES, 8);
	storm_put64(&o, run->number);
	return !run_sock_send(l->fd, frame, sizeof(frame), c->file);
}

/* The run does not begin, and a reader of what it would write waits for the end. */
static void head_take_files_back(uint64_t run)
{
	uint8_t frame[RUN_FRAME_HEADER + 8];
	struct storm_out o = { frame + RUN_FRAME_HEADER, frame + sizeof(frame),
			       false };
	struct conn *l = head_of_kind(CONN_PARENT);

	if (!l || head.step.local == STORM_NO_NODE)
		return;
	run_frame_head(frame, RUN_NO_FILES, 8);
	storm_put64(&o, run);
	run_sock_send(l->fd, frame, sizeof(frame), NULL);
}

static bool head_cast_start(struct user_run *run, struct conn *c)
{
	struct run_start s = {
		.number = run->number,
		.first = run->first,
		.tasks = run->tasks,
		.nodes = run->nodes, /* its memory stays the run's */
		.rank = run->rank,
		.floor = runs_floor(&head.runs),
		.local = STORM_NO_NODE,
		.relay = head.relay,
	};
	size_t len;
	uint8_t *buf;

	memcpy(s.life, head.life, RUN_LIFE);
	if (head_pass_files(run, c))
		s.local = head.step.local;
	conn_close_files(c);
	len = 1 + run_start_len(&s) + c->ask_len;
	buf = malloc(len);
	if (buf) {
		struct storm_out o = { buf, buf + len, false };

		storm_put8(&o, RUN_START);
		run_start_put(&o, &s);
		storm_put(&o, c->ask, c->ask_len);
	}
	if (head_cast(run, 0, buf, len))
		return true;
	head_take_files_back(run->number);
	return false;
}

static void head_say_queued(struct conn *c, uint8_t waits)
{
	if (c->queued == waits)
		return;
	c->queued = waits;
	conn_put(c, RUN_QUEUED, &waits, 1);
}

static void head_begin_runs(void)
{
	struct user_run *run;

	while ((run = runs_begin(&head.runs))) {
		struct conn *c = run->client;

		head_say_queued(c, 0);
		if (head_cast_start(run, c))
			continue;
		head_say(c, "error: the launchers cannot be reached");
		runs_abort(run);
	}
	if (head.runs.closing)
		head_send_away();
}

/* Tell the clients of runs that are over. */
static void head_end_runs(void)
{
	struct user_run *run;
	bool over = false;

	while ((run = runs_over(&head.runs))) {
		struct conn *c = run->client;
		uint8_t status = (uint8_t) run_status(run);

		if (c && c->fd >= 0) {
			run_tell(run, c->what.argv[0], c->what.cwd,
				 head_node_name, head_say_line, c);
			conn_put(c, RUN_END, &status, 1);
			c->run = 0;
			c->bye = true;
		}
		runs_drop(&head.runs, run);
		over = true;
	}
	if (over)
		head_forget();
}

/* A message did not come: of a start, no launcher has it. */
static void head_cast_failed(const struct cast *cast,
			     const struct storm_outcome *out)
{
	struct user_run *run = runs_find(&head.runs, cast->run);

	if (!run || run->state != RUN_RUNS)
		return;
	if (cast->sig) {
		head_signal_failed(run, cast->sig);
		return;
	}
	head_take_files_back(run->number);
	for (uint32_t k = 0; k < out->faults_kept; k++)
		head_say(run->client, "error: node %s: %s",
			 head_node_name(NULL, out->faults[k].node),
			 storm_strerror((int) out->faults[k].why));
	runs_abort(run);
}

static void head_check_casts(void)
{
	struct cast **at = &head.casts, *c;

	while ((c = *at)) {
		struct storm_outcome out;

		if (!storm_test_event(c->event, false, 0, &out)) {
			at = &c->next;
			continue;
		}
		if (out.state != STORM_DONE)
			head_cast_failed(c, &out);
		storm_outcome_clear(&out);
		storm_event_destroy(c->event);
		*at = c->next;
		free(c->buf);
		free(c);
	}
}

static void head_kill_runs(void)
{
	struct user_run *run;

	while ((run = runs_to_kill(&head.runs))) {
		run->kill = false;
		head_cast_kill(run, SIGKILL);
	}
}

/* -------------------------------------------------------------------- notes --- */

static void head_lose(const struct storm_fault *f)
{
	storm_log(STORM_LOG_ERROR, "node %s is lost: %s",
		  head_node_name(NULL, f->node), storm_strerror((int) f->why));
	runs_lose(&head.runs, f->node);
	/* those whose tasks there had ended do not mind */
	for (struct user_run *run = head.runs.first; run; run = run->next)
		if (storm_idset_has(&run->lost, f->node))
			head_say(
				run->client,
				"error: the launcher on node %s is lost: %s; its tasks end, and all others of this run",
				head_node_name(NULL, f->node),
				storm_strerror((int) f->why));
}

static void head_hear_notes(void)
{
	struct note *n, *next;
	uint64_t count;

	if (read(head.event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&head.lock);
	n = head.notes;
	head.notes = NULL;
	head.notes_tail = &head.notes;
	pthread_mutex_unlock(&head.lock);
	for (; n; n = next) {
		next = n->next;
		if (n->fault)
			head_lose(&n->why);
		else if (!runs_report(&head.runs, n->code, &n->ids))
			storm_log(STORM_LOG_ERROR, "no memory for a report");
		storm_idset_clear(&n->ids);
		free(n);
	}
}

/* The keeper is gone, or its srun: the step ends with that. */
static void head_step_over(void)
{
	for (struct user_run *run = head.runs.first; run; run = run->next) {
		if (run->state != RUN_RUNS)
			continue;
		head_say(
			run->client,
			"error: the launchers' step has ended with its srun, and all tasks with it");
		runs_abort(run);
	}
	runs_close(&head.runs, false);
}

/* ------------------------------------------------------------------ requests --- */

static void head_ask(struct conn *c, struct storm_in *body)
{
	struct run_ask ask;
	struct user_run *run;
	char why[256];

	if (!run_ask_get(body, &ask)) {
		head_refuse(
			c, RUN_REFUSED,
			"the launchers are of another version of STORM: storm run --stop ends them");
		c->bye = true;
		return;
	}
	if (head.runs.closing) {
		head_refuse(c, RUN_AGAIN, "");
		return;
	}
	c->ask_len = (size_t) (body->end - body->p);
	c->ask = launcher_copy(body->p, c->ask_len);
	*body = (struct storm_in) { c->ask, c->ask + c->ask_len, false };
	if (!run_what_get(body, &c->what)) {
		head_refuse(c, RUN_REFUSED, "the request cannot be read");
		c->bye = true;
		return;
	}
	run = runs_add(&head.runs, ask.nodes, ask.tasks, c, why, sizeof(why));
	if (!run) {
		head_refuse(c, RUN_REFUSED, *why ? why : "no memory");
		c->bye = true;
		return;
	}
	c->kind = CONN_CLIENT;
	c->run = run->number;
	/* without this first word a client may ask another head */
	conn_put(c, RUN_QUEUED, &(uint8_t) { 0 }, 1);
	conn_flush(c);
	head_begin_runs();
	if (run->state == RUN_WAITS)
		head_say_queued(c, 1);
}

static void head_signal(const struct conn *c, uint8_t sig)
{
	struct user_run *run = runs_find(&head.runs, c->run);

	if (!run || !sig || sig >= NSIG)
		return;
	if (run->state == RUN_RUNS)
		head_cast_kill(run, sig);
	else if (run->state == RUN_WAITS && sig != SIGUSR1 && sig != SIGUSR2)
		runs_cancel(run, sig);
}

/* A launcher sends no output before it has had one. */
static void head_say_taken(struct conn *c)
{
	uint8_t taken[8];
	struct storm_out o = { taken, taken + sizeof(taken), false };

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

static struct conn *head_of_serial(uint64_t serial)
{
	struct conn *c = head.conns;

	while (c && !(c->serial == serial && c->fd >= 0))
		c = c->next;
	return c;
}

/* A credential on its way through munged, which may be slow. */
struct head_proof {
	struct errand base;
	uint64_t serial; /* the connection, which may be gone by then */
	char *cred;
	void *what;
	size_t len;
	uint32_t uid;
	int err;
};

static void head_proof_work(struct errand *e)
{
	struct head_proof *p = (struct head_proof *) e;
	uint32_t gid;

	p->err = storm_credential_decode(p->cred, &p->what, &p->len, &p->uid,
					 &gid);
}

/* A launcher believes who can tell its secret. */
static void head_believe(struct conn *c, uint64_t run, const uint8_t *secret)
{
	const struct conn *to = head_client(run);

	c->run = run;
	c->kind = CONN_INLET;
	conn_put(c, RUN_PROVEN, secret, RUN_SECRET);
	for (uint8_t fd = 1; to && fd <= 2; fd++)
		if (to->deaf & 1 << fd)
			conn_put(c, RUN_DEAF, &fd, 1);
}

/* Is it a launcher of this head's life, and this user's? */
static void head_proof_done(struct errand *e)
{
	struct head_proof *p = (struct head_proof *) e;
	struct conn *c = head_of_serial(p->serial);
	uint8_t *what = p->err ? NULL : p->what;
	struct storm_in in = { what, what ? what + p->len : NULL, false };
	uint64_t run = storm_get64(&in);
	const uint8_t *life = storm_get(&in, RUN_LIFE);
	const uint8_t *secret = storm_get(&in, RUN_SECRET);

	if (c && p->err) {
		conn_close(c);
	} else if (c && (!storm_in_done(&in) || p->uid != geteuid() ||
			 memcmp(life, head.life, RUN_LIFE))) {
		head_say_refused(p->uid);
		conn_close(c);
	} else if (c) {
		head_believe(c, run, secret);
	}
	free(what);
	free(p->cred);
	free(p);
}

static void head_prove(struct conn *c, struct storm_in *body)
{
	size_t len = (size_t) (body->end - body->p);
	struct head_proof *p = calloc(1, sizeof(*p));

	if (p && len && !body->p[len - 1]) {
		p->base.work = head_proof_work;
		p->base.done = head_proof_done;
		p->serial = c->serial;
		p->cred = launcher_copy(body->p, len);
		c->kind = CONN_PROVING;
		if (!errands_give(&p->base))
			return;
		free(p->cred);
	}
	free(p);
	conn_close(c);
}

static void head_output(struct conn *c, const struct storm_in *body)
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
	head_say_taken(c);
}

/* The reader of a client's descriptor is gone: tasks elsewhere get the signal that
 * those on its host get from the kernel. */
static void head_deafen(struct conn *c, uint8_t fd)
{
	if (fd != 1 && fd != 2)
		return;
	c->deaf |= (uint8_t) (1 << fd);
	for (struct conn *l = head.conns; l; l = l->next)
		if (l->kind == CONN_INLET && l->run == c->run)
			conn_put(l, RUN_DEAF, &fd, 1);
}

/* Is this frame one that may come now? */
static void head_take(struct conn *c, enum run_kind kind, struct storm_in *body)
{
	if (c->tcp && c->kind == CONN_NEW && kind == RUN_PROOF) {
		head_prove(c, body);
	} else if (c->kind == CONN_INLET && kind == RUN_OUTPUT) {
		head_output(c, body);
	} else if (c->tcp) {
		conn_close(c);
	} else if (c->kind == CONN_NEW && kind == RUN_ASK) {
		head_ask(c, body);
	} else if (c->kind == CONN_NEW && kind == RUN_STOP) {
		c->kind = CONN_WAITS;
		runs_close(&head.runs, true);
	} else if (c->kind == CONN_CLIENT && kind == RUN_SIGNAL) {
		head_signal(c, storm_get8(body));
	} else if (c->kind == CONN_CLIENT && kind == RUN_DEAF) {
		head_deafen(c, storm_get8(body));
	} else {
		conn_close(c);
	}
}

/* Whatever its client reads it may have. */
static bool head_may_read(const struct conn *c)
{
	const struct conn *to;

	if (c->kind != CONN_INLET)
		return true;
	to = head_client(c->run);
	return !to || conn_waits(to) < OUTPUT_WAITS;
}

static void head_serve_conn(struct conn *c)
{
	enum run_kind kind;
	struct storm_in body;
	int got = 0;

	conn_read(c);
	if (c->tcp && c->kind == CONN_NEW &&
	    run_reader_body(&c->in) > PROOF_MAX)
		conn_close(c);
	while (c->fd >= 0 && (got = run_reader_next(&c->in, &kind, &body)) > 0)
		head_take(c, kind, &body);
	if (c->fd >= 0 && got < 0)
		conn_close(c);
}

static bool head_is_stranger(const struct conn *c)
{
	return c->tcp && c->fd >= 0 &&
	       (c->kind == CONN_NEW || c->kind == CONN_PROVING);
}

/* Anybody can connect.  No stranger makes room for another one, which could be a
 * launcher that makes room for an attacker: those beyond the limit wait in the
 * kernel, until others have shown a credential or had their time. */
static uint32_t head_strangers(void)
{
	uint32_t n = 0;

	for (const struct conn *c = head.conns; c; c = c->next)
		n += head_is_stranger(c);
	return n;
}

static bool head_has_room(void)
{
	return head_strangers() <
	       STRANGERS + STRANGERS_PER_NODE * head.step.count;
}

/* Clients that wait get half of the descriptors: those before them end only if their
 * output can come in. */
static bool head_has_files(void)
{
	struct rlimit l = { .rlim_cur = RLIM_INFINITY };
	uint64_t n = 0;

	for (const struct conn *c = head.conns; c; c = c->next)
		if (!c->tcp)
			n += 1 + (c->file[0] >= 0 ? RUN_SOCK_FDS : 0);
	getrlimit(RLIMIT_NOFILE, &l);
	return n + 1 + RUN_SOCK_FDS <= l.rlim_cur / 2;
}

static void head_expire_strangers(void)
{
	uint64_t now = storm_now();

	for (struct conn *c = head.conns; c; c = c->next)
		if (head_is_stranger(c) && c->kind == CONN_NEW &&
		    now > c->since + STRANGER_LIMIT)
			conn_close(c);
}

static void head_accept(int listener, bool tcp)
{
	int fd = tcp ? accept4(listener, NULL, NULL,
			       SOCK_CLOEXEC | SOCK_NONBLOCK) :
		       run_sock_accept(listener);
	struct conn *c = fd < 0 ? NULL : conn_create(fd, tcp);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		head.full = true;
	if (!c)
		return;
	c->since = storm_now();
	c->serial = ++head.serial;
	c->next = head.conns;
	head.conns = c;
}

/* Forget connections that are closed; a client that is gone leaves its run, and
 * with the keeper the step ends. */
static void head_drop_conns(void)
{
	struct conn **at = &head.conns, *c;

	while ((c = *at)) {
		struct user_run *run = NULL;

		if (c->fd >= 0) {
			at = &c->next;
			continue;
		}
		if (c->kind == CONN_CLIENT && c->run)
			run = runs_find(&head.runs, c->run);
		if (run)
			runs_leave(&head.runs, run);
		if (c->kind == CONN_KEEPER)
			head_step_over();
		*at = c->next;
		conn_destroy(c);
		head.full = false;
	}
}

/* ---------------------------------------------------------------------- loop --- */

enum { POLL_EVENT, POLL_ERRANDS, POLL_LISTENER, POLL_INLETS, POLLS };

/* Where the connections' ends begin after these.  NULL: no memory. */
static struct pollfd *head_polls(size_t *count)
{
	size_t n = POLLS;
	struct pollfd *p;

	for (struct conn *c = head.conns; c; c = c->next)
		n++;
	p = calloc(n, sizeof(*p));
	if (!p)
		return NULL;
	p[POLL_EVENT] = (struct pollfd) { head.event, POLLIN, 0 };
	p[POLL_ERRANDS] = (struct pollfd) { head.errands, POLLIN, 0 };
	/* without a descriptor to spare poll(2) would return for ever */
	p[POLL_LISTENER] = (struct pollfd) {
		head.full || !head_has_files() ? -1 : head.listener, POLLIN, 0
	};
	p[POLL_INLETS] = (struct pollfd) {
		head.full || !head_has_room() ? -1 : head.inlets, POLLIN, 0
	};
	*count = n;
	n = POLLS;
	for (struct conn *c = head.conns; c; c = c->next) {
		p[n].fd = c->fd;
		p[n].events = (short) ((head_may_read(c) ? POLLIN : 0) |
				       (conn_waits(c) ? POLLOUT : 0));
		n++;
	}
	return p;
}

static void head_decide(void)
{
	head_check_casts();
	head_kill_runs();
	head_end_runs();
	head_begin_runs();
	head_end_runs();
	for (struct conn *c = head.conns; c; c = c->next)
		conn_flush(c);
	head_drop_conns();
	head_kill_runs();
	head_end_runs();
}

static void head_turn(void)
{
	size_t count = 0, n = POLLS;
	struct pollfd *p = head_polls(&count);

	int wait = head.casts			 ? LOOK :
		   head.full || head_strangers() ? STRANGERS_LOOK :
						   -1;

	int came = p ? poll(p, count, wait) : -1;

	if (came < 0) {
		free(p);
		return;
	}
	if (!came)
		head.full = false; /* it is tried again */
	for (struct conn *c = head.conns; c; c = c->next, n++)
		if (c->fd >= 0 && p[n].revents & ~POLLOUT)
			head_serve_conn(c);
	/* after what they have said, which may be old if the job stood */
	head_expire_strangers();
	if (p[POLL_EVENT].revents)
		head_hear_notes();
	if (p[POLL_ERRANDS].revents)
		errands_take();
	if (p[POLL_LISTENER].revents)
		head_accept(head.listener, false);
	if (p[POLL_INLETS].revents)
		head_accept(head.inlets, true);
	free(p);
	head_decide();
}

/* --------------------------------------------------------------------- start --- */

static int head_listen_tcp(struct storm_addr *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);

	if (fd < 0 || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *) &sin, &len)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	storm_domain_self(head.domain, at);
	at->port = ntohs(sin.sin_port);
	return fd;
}

static bool head_open(char *why, size_t size)
{
	struct storm_domain_conf conf = {
		.nodes = head.step.nodes,
		.count = head.step.count,
		.agent_uid = geteuid(),
		.job_id = head.step.job,
		.on_report = head_on_report,
		.on_fault = head_on_fault,
	};
	struct storm_outcome out = { 0 };
	int err;

	launcher_settings(&conf.set);
	conf.set.port = head.step.nodes[0].addr.port;
	head.domain = storm_domain_create(&conf, &err);
	if (head.domain)
		err = storm_domain_open(head.domain);
	if (!err)
		err = storm_domain_wait_open(head.domain, &out);
	if (err)
		snprintf(why, size, "the launcher on node %s: %s",
			 head_node_name(NULL, out.faults_kept ?
						      out.faults[0].node :
						      STORM_NO_NODE),
			 storm_strerror(err));
	storm_outcome_clear(&out);
	return !err;
}

/* Slurm signals all processes of a step, for the tasks.  The head ends with the
 * first launcher. */
static void head_ignore_signals(void)
{
	static const int all[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
				   SIGUSR1, SIGUSR2, SIGPIPE };
	sigset_t none;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		signal(all[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static struct conn *head_add_conn(int fd, enum conn_kind kind)
{
	struct conn *c = conn_create(fd, false);

	if (!c)
		return NULL;
	c->kind = kind;
	c->next = head.conns;
	head.conns = c;
	return c;
}

/* A connection by which the keeper says where launchers are. */
static bool head_hear_step(int fd)
{
	struct conn *c = fd < 0 ? NULL : head_add_conn(fd, CONN_KEEPER);
	struct storm_in body;
	enum run_kind kind;

	if (!c)
		return false;
	if (run_sock_wait(fd, &c->in, &kind, &body) && kind == RUN_STEP) {
		size_t len = (size_t) (body.end - body.p);

		head.step_text = launcher_copy(body.p, len);
		body = (struct storm_in) { head.step_text, head.step_text + len,
					   false };
		if (run_step_get(&body, &head.step))
			return true;
		free(head.step_text);
	}
	c->kind = CONN_NEW;
	conn_close(c);
	return false;
}

/* Beside the clients' path, so that none comes before the domain is open. */
static bool head_await_keeper(const char *path, char *why, size_t size)
{
	struct conn *parent = head_of_kind(CONN_PARENT);
	struct pollfd p;

	head.listener = run_sock_listen(path);
	if (head.listener < 0) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return false;
	}
	conn_put(parent, RUN_READY, NULL, 0);
	conn_flush(parent);
	p = (struct pollfd) { .fd = head.listener, .events = POLLIN };
	do
		poll(&p, 1, -1);
	while (!head_hear_step(run_sock_accept(head.listener)));
	return true;
}

static bool head_begin(const char *socket, char *why, size_t size)
{
	char path[RUN_SOCK_PATH];

	head.notes_tail = &head.notes;
	head.listener = head.inlets = -1;
	head.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	head.errands = errands_init();
	if (head.event < 0 || head.errands < 0 ||
	    getrandom(head.life, RUN_LIFE, 0) != RUN_LIFE) {
		snprintf(why, size, "cannot begin: %s", strerror(errno));
		return false;
	}
	run_sock_beside(socket, "new", &path);
	if (!head_await_keeper(path, why, size))
		return false;
	if (runs_init(&head.runs, head.step.count, head.step.cpus)) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (!head_open(why, size))
		return false;
	head.inlets = head_listen_tcp(&head.relay);
	if (head.inlets < 0) {
		snprintf(why, size, "no port for output: %s", strerror(errno));
		return false;
	}
	if (!rename(path, socket))
		return true;
	snprintf(why, size, "%s: %s", socket, strerror(errno));
	return false;
}

/* Clients have a moment to take what was sent to them. */
static void head_say_bye(void)
{
	for (int left = BYE_LIMIT; left > 0; left -= 10) {
		bool waits = false;

		for (struct conn *c = head.conns; c; c = c->next) {
			conn_flush(c);
			waits |= c->fd >= 0 && conn_waits(c);
		}
		if (!waits)
			return;
		poll(NULL, 0, 10);
	}
}

/* The keeper, and through it the client that started it. */
static void head_tell(bool good, const char *why)
{
	struct conn *k = head_of_kind(CONN_KEEPER);

	if (!good)
		storm_log(STORM_LOG_ERROR, "%s", why);
	if (!k)
		return;
	if (good)
		conn_put(k, RUN_READY, NULL, 0);
	else
		conn_put_text(k, RUN_REFUSED, why);
	conn_flush(k);
}

/* Clients that nobody has accepted go to the next head. */
static void head_send_waiting_away(void)
{
	for (int fd; (fd = run_sock_accept(head.listener)) >= 0;) {
		struct conn *c = head_add_conn(fd, CONN_NEW);

		if (c)
			head_refuse(c, RUN_AGAIN, "");
	}
}

/* A keeper that was killed, as with the batch step of a job that ends, leaves its files.
 * One that lives, or the next one, has the lock. */
static void head_clean(const char *socket)
{
	char path[RUN_SOCK_PATH];
	int fd;

	run_sock_beside(socket, "keep", &path);
	fd = head_of_kind(CONN_KEEPER) ? -1 : run_sock_lock(path, false);
	if (fd < 0)
		return;
	run_sock_remove(socket, true);
	close(fd);
}

int head_serve(const char *socket, int parent)
{
	struct conn *k;
	char why[600] = "no memory";
	bool good;

	fcntl(parent, F_SETFD, FD_CLOEXEC);
	launcher_log_as("head");
	head_ignore_signals();
	launcher_many_files();
	good = head_add_conn(parent, CONN_PARENT) &&
	       head_begin(socket, why, sizeof(why));
	head_tell(good, why);
	while (good && !(head.runs.closing && !runs_any(&head.runs)))
		head_turn();
	if (good) {
		unlink(socket);
		head_clean(socket);
		head_send_waiting_away();
	}
	storm_domain_destroy(head.domain);
	head.domain = NULL;
	k = head_of_kind(CONN_KEEPER);
	if (k)
		conn_put(k, RUN_END, NULL, 0);
	head_say_bye();
	return !good;
}

/* --------------------------------------------------------------- its parent --- */

__attribute__((noreturn)) static void head_exec(pid_t parent,
						const char *socket, int conn)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* launchers' stdout is the keeper's */
	if (getppid() == parent && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
	    (conn == 3 ? fcntl(3, F_SETFD, 0) : dup2(conn, 3)) >= 0)
		execl(PKGLIBEXECDIR "/storm_launcher", "storm_launcher",
		      "--head", socket, "3", (char *) NULL);
	_exit(127);
}

pid_t head_start(const char *socket, int *conn)
{
	struct run_reader r = { 0 };
	struct storm_in body;
	enum run_kind kind;
	pid_t self = getpid(), pid;
	int s[2];
	bool ready;

	*conn = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		return 0;
	pid = fork();
	if (!pid)
		head_exec(self, socket, s[1]);
	close(s[1]);
	ready = pid > 0 && run_sock_wait(s[0], &r, &kind, &body) &&
		kind == RUN_READY;
	run_reader_fini(&r);
	if (ready) {
		*conn = s[0];
		return pid;
	}
	close(s[0]);
	return 0;
}
