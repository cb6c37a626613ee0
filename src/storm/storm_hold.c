/*
 * storm_hold.c - storm hold and storm release: take a job's turns from it, and give them
 * back.
 *
 * The order is a word in the job's Comment or AdminComment (hold_word.h), so slurmctld
 * decides who may give it.  sched/storm says in SystemComment where the job is proven to
 * stand, and this program waits for that.  It keeps nothing itself: if it is killed, the
 * job stays as it was told.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/read_config.h"

#include "src/libstorm/base/clock.h"
#include "src/slurm/compat.h"
#include "src/storm_common/held_word.h"
#include "src/storm_common/hold_word.h"
#include "src/storm_common/show_options.h"
#include "src/storm_common/slurm_build.h"

#define LIMIT 30 /* s; the default */
#define LOOK (50 * STORM_MS)
/* slurmctld sees the word within 0.1 s, or later while it is busy. */
#define UNHEARD (10 * STORM_SEC)

enum { DONE = SHOW_FINE, FAILED = SHOW_WRONG, USAGE = SHOW_USAGE, LATE = 3 };

static const char usage[] =
	"Usage: storm hold|release [OPTIONS] JOB[,JOB...]\n"
	"Take the turns of a running job from it, so that it stands on all of its nodes;\n"
	"or give them back.\n"
	"\n"
	"  -t, --timeout=SECONDS  wait so long for the nodes [30]\n"
	"  -V, --version          print the version\n"
	"  -h, --help             print this summary\n"
	"\n"
	"JOB is a number, or ARRAY_TASK.  Of an array all running tasks are meant, of a\n"
	"heterogeneous job all components.\n"
	"Exit status: 0 done, 1 not possible, 2 usage, 3 the time is over.\n";

/* A job, and how slurmctld is told of it. */
struct job {
	uint32_t id; /* unique, also of an array's task */
	char name[32];
};

struct order {
	bool hold;
	uint64_t until;
};

/* --------------------------------------------------------------- slurmctld --- */

/* The record of a job among those of the answer, or NULL. */
static const slurm_job_info_t *storm_find(const job_info_msg_t *m, uint32_t id)
{
	for (uint32_t i = 0; i < m->record_count; i++)
		if (m->job_array[i].job_id == id)
			return &m->job_array[i];
	return NULL;
}

static bool storm_runs(const slurm_job_info_t *r)
{
	return (r->job_state & JOB_STATE_BASE) == JOB_RUNNING &&
	       !(r->job_state & JOB_COMPLETING);
}

static bool storm_pends(const slurm_job_info_t *r)
{
	return (r->job_state & JOB_STATE_BASE) == JOB_PENDING;
}

static bool storm_not_permitted(int rc)
{
	return rc == ESLURM_USER_ID_MISSING || rc == ESLURM_ACCESS_DENIED;
}

/* Why slurmctld refuses, with the remedy. */
static const char *storm_refusal(int rc, bool by_admin)
{
	if (!storm_not_permitted(rc))
		return slurm_strerror(rc);
	return by_admin ?
		       "an administrator holds it (AdminComment), and can release it" :
		       "not permitted: its owner, an operator or root can";
}

/* Write the job's Comment or AdminComment.  0, or one of Slurm's errors. */
static int storm_write(const struct job *j, char *comment, bool admin)
{
	job_array_resp_msg_t *resp = NULL;
	job_desc_msg_t d;
	char name[sizeof(j->name)];
	int rc;

	slurm_init_job_desc_msg(&d);
	strcpy(name, j->name);
	d.job_id_str = name;
	*(admin ? &d.admin_comment : &d.comment) = comment;
	rc = slurm_update_job2(&d, &resp) ? errno : 0;
	for (uint32_t i = 0; resp && !rc && i < resp->job_array_count; i++)
		rc = (int) resp->error_code[i];
	if (resp)
		slurm_free_job_array_resp(resp);
	return rc;
}

/* Put the word there, or remove it; all else stays. */
static int storm_put_word_in(const struct job *j, const slurm_job_info_t *r,
			     bool hold, bool admin)
{
	const char *old = admin ? r->admin_comment : r->comment;
	char *comment;
	int rc;

	if (hold_word_in(old) == hold)
		return 0;
	comment = hold_word_put(old, hold);
	if (!comment)
		return ENOMEM;
	rc = storm_write(j, comment, admin);
	free(comment);
	return rc;
}

/* AdminComment is slurmctld's proof that no user did it.  An operator may
 * change the job all the same, and then holds it as its owner would. */
static int storm_put_hold(const struct job *j, const slurm_job_info_t *r)
{
	int rc;

	if (getuid() == r->user_id)
		return storm_put_word_in(j, r, true, false);
	rc = storm_put_word_in(j, r, true, true);
	if (storm_not_permitted(rc))
		rc = storm_put_word_in(j, r, true, false);
	return rc;
}

static int storm_put_word(const struct job *j, const slurm_job_info_t *r,
			  bool hold)
{
	int rc;

	if (hold)
		return storm_put_hold(j, r);
	rc = storm_put_word_in(j, r, false, false);
	return rc ? rc : storm_put_word_in(j, r, false, true);
}

/* False: there are no turns in this cluster, which is said.  slurmctld itself shows the
 * scheduler that sched/storm rests on. */
static bool storm_has_turns(void)
{
	const char *type = slurm_conf.schedtype;

	if (type && !strcmp(type, "sched/storm"))
		return true;
	fprintf(stderr,
		"storm: no job can be held: SchedulerType is %s; it must be sched/storm (storm-gang(7))\n",
		type ? type : "not set");
	return false;
}

/* ---------------------------------------------------------------- waiting --- */

static int storm_say_not_there(const struct job *j)
{
	fprintf(stderr, "storm: job %s has ended\n", j->name);
	return FAILED;
}

/* sched/storm does not know the job: take the word back. */
static int storm_unheard(const struct job *j, const slurm_job_info_t *r)
{
	fprintf(stderr,
		"storm: job %s cannot be held: partition %s takes no turns; it needs OverSubscribe=FORCE:M in slurm.conf, and a policy other than local in storm.conf\n",
		j->name, r->partition);
	storm_put_word(j, r, false);
	return FAILED;
}

static int storm_late(const struct job *j, const struct order *o,
		      const struct held_word *w)
{
	if (!o->hold)
		fprintf(stderr,
			"storm: job %s has no turns yet; see the strober's messages in slurmctld's log\n",
			j->name);
	else
		fprintf(stderr,
			"storm: job %s stands on %u of %u nodes only%s%s; it stays held, see scontrol show job, and storm_agent(8) on the others\n",
			j->name, w->stands, w->nodes,
			*w->loose ? ", not on " : "", w->loose);
	return LATE;
}

/* Is it as ordered?  Then say so. */
static bool storm_is_done(const struct job *j, const struct order *o, bool held,
			  const struct held_word *w)
{
	if (o->hold ? !held || w->stands < w->nodes : held)
		return false;
	if (o->hold)
		printf("storm: job %s is held on %u node%s\n", j->name,
		       w->nodes, w->nodes == 1 ? "" : "s");
	else
		printf("storm: job %s is released\n", j->name);
	fflush(stdout);
	return true;
}

static int storm_wait(const struct job *j, const struct order *o)
{
	const struct timespec pause = { .tv_nsec = LOOK };
	uint64_t begun = storm_now();
	int status = -1;

	while (status < 0) {
		job_info_msg_t *m = NULL;
		const slurm_job_info_t *r;
		struct held_word w = { 0 };
		bool held, there = !compat_load_job(&m, j->id);

		r = there ? storm_find(m, j->id) : NULL;
		held = r && held_word_read(r->system_comment, &w);
		/* without slurmctld it goes on waiting */
		if (!r || !storm_runs(r))
			status = r || there || errno == ESLURM_INVALID_JOB_ID ?
					 storm_say_not_there(j) :
					 -1;
		else if (storm_is_done(j, o, held, &w))
			status = DONE;
		else if (o->hold && !held && storm_now() > begun + UNHEARD)
			status = storm_unheard(j, r);
		if (status < 0 && storm_now() > o->until)
			status = storm_late(j, o, &w);
		if (m)
			slurm_free_job_info_msg(m);
		if (status < 0)
			nanosleep(&pause, NULL);
	}
	return status;
}

/* ------------------------------------------------------------------- jobs --- */

/* How slurmctld is to be told of one record: the task of an array and the component
 * of a heterogeneous job alone, not all of them. */
static void storm_name(struct job *j, const slurm_job_info_t *r)
{
	j->id = r->job_id;
	if (r->array_job_id && r->array_task_id != NO_VAL)
		snprintf(j->name, sizeof(j->name), "%u_%u", r->array_job_id,
			 r->array_task_id);
	else if (r->het_job_id)
		snprintf(j->name, sizeof(j->name), "%u+%u", r->het_job_id,
			 r->het_job_offset);
	else
		snprintf(j->name, sizeof(j->name), "%u", r->job_id);
}

/* The user's word: a job, with its task or component, or NO_VAL. */
static bool storm_parse(const char *text, uint32_t *id, uint32_t *task)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*id = (uint32_t) n;
	*task = NO_VAL;
	if (end == text || *text < '0' || *text > '9' || !n || n >= NO_VAL)
		return false;
	if (*end == '_' && end[1] >= '0' && end[1] <= '9')
		*task = (uint32_t) strtoul(end + 1, &end, 10);
	return !*end;
}

/* Is this record meant?  The first component's Comment counts for a
 * heterogeneous job. */
static bool storm_is_meant(const slurm_job_info_t *r, uint32_t id,
			   uint32_t task)
{
	if (task != NO_VAL)
		return r->array_job_id == id && r->array_task_id == task;
	if (r->het_job_id)
		return r->het_job_id == id && !r->het_job_offset;
	return r->job_id == id || r->array_job_id == id;
}

static int storm_refused(const char *name, const char *why)
{
	fprintf(stderr, "storm: job %s cannot be changed: %s\n", name, why);
	return FAILED;
}

/* One running job. */
static int storm_order_one(const slurm_job_info_t *r, const struct order *o)
{
	struct job j;
	int rc;

	storm_name(&j, r);
	rc = storm_put_word(&j, r, o->hold);
	if (rc)
		return storm_refused(
			j.name,
			storm_refusal(rc,
				      !o->hold &&
					      hold_word_in(r->admin_comment)));
	if (storm_pends(r)) {
		printf("storm: job %s is released\n", j.name);
		return DONE;
	}
	return storm_wait(&j, o);
}

static int storm_worse(int a, int b)
{
	return a == DONE || (a == LATE && b == FAILED) ? b : a;
}

/* All records that are meant.  A job that pends has no processes to hold, but the
 * word may be there already. */
static int storm_order_all(const job_info_msg_t *m, const char *text,
			   const struct order *o)
{
	uint32_t id, task;
	int status = DONE;
	bool any = false;

	storm_parse(text, &id, &task);
	for (uint32_t i = 0; i < m->record_count; i++) {
		const slurm_job_info_t *r = &m->job_array[i];

		if (!storm_is_meant(r, id, task) ||
		    !(storm_runs(r) || (!o->hold && storm_pends(r))))
			continue;
		any = true;
		status = storm_worse(status, storm_order_one(r, o));
	}
	if (any)
		return status;
	return storm_refused(
		text,
		"it does not run; one that is submitted with --comment=" HOLD_WORD
		" is held when it starts");
}

static int storm_order(const char *text, const struct order *o)
{
	job_info_msg_t *m = NULL;
	uint32_t id, task;
	int status;

	if (!storm_parse(text, &id, &task)) {
		fprintf(stderr,
			"storm: \"%s\" is no job: it is JOB or ARRAY_TASK\n",
			text);
		return USAGE;
	}
	if (compat_load_job(&m, id)) {
		fprintf(stderr, "storm: job %s: %s\n", text,
			errno == ESLURM_INVALID_JOB_ID ?
				"there is no such job" :
				slurm_strerror(errno));
		return FAILED;
	}
	status = storm_order_all(m, text, o);
	slurm_free_job_info_msg(m);
	return status;
}

/* ------------------------------------------------------------------- main --- */

static int storm_say_usage(void)
{
	fputs("storm: hold or release, and a job; see storm --help\n", stderr);
	return USAGE;
}

/* The seconds of -t; false: it is no number. */
static bool storm_seconds(const char *text, uint64_t *ns)
{
	char *end;
	double s = strtod(text, &end);

	if (end == text || *end || !(s >= 0) || s > 1e6)
		return false;
	*ns = (uint64_t) (s * STORM_SEC);
	return true;
}

static int storm_order_list(char *list, const struct order *o)
{
	char *rest = NULL;
	int status = DONE;

	for (char *t = strtok_r(list, ",", &rest); t;
	     t = strtok_r(NULL, ",", &rest))
		status = storm_worse(status, storm_order(t, o));
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "timeout", required_argument, NULL, 't' },
		{ "version", no_argument, NULL, 'V' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t limit = LIMIT * STORM_SEC;
	struct order o;
	int c, status = DONE;

	while ((c = getopt_long(argc, argv, "t:Vh", options, NULL)) >= 0) {
		switch (c) {
		case 't':
			if (storm_seconds(optarg, &limit))
				break;
			fprintf(stderr,
				"storm: \"%s\" is no number of seconds\n",
				optarg);
			return USAGE;
		default:
			return show_usual(c, usage);
		}
	}
	if (argc - optind < 2 ||
	    (strcmp(argv[optind], "hold") && strcmp(argv[optind], "release")))
		return storm_say_usage();
	if (slurm_build_refusal()) {
		fprintf(stderr, "storm: %s\n", slurm_build_refusal());
		return FAILED;
	}
	slurm_init(NULL);
	o.hold = !strcmp(argv[optind], "hold");
	o.until = storm_now() + limit;
	if (o.hold && !storm_has_turns())
		return FAILED;
	for (int i = optind + 1; i < argc; i++)
		status = storm_worse(status, storm_order_list(argv[i], &o));
	return status;
}
