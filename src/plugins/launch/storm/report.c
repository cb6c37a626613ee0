/*
 * report.c - pass the nodes' reports of tasks to srun's handlers, as if they
 * were Slurm's own messages.
 *
 * Termination detection (paper, Algorithms 8 and 9) uses cumulative reports:
 * one report may name thousands of tasks of hundreds of nodes.  Slurm's
 * handlers expect one message for each node, and print one line for each with
 * failed tasks.  So reports are split by node, and a user sees the same lines.
 *
 * Process ids come apart from the starts, and perhaps later, as only debuggers that
 * attach to srun need them.  They go where srun's handler puts those of a start: into
 * the table of MPIR.
 *
 * The handlers may call slurmctld (--kill-on-bad-exit).  libstorm's thread must
 * not wait for that, so another thread runs them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/bitstring.h"
#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "report.h"
#include "src/slurm/srun.h"
#include "src/storm_common/step_protocol.h"
#include "step_launch.h"

struct item {
	struct item *next;
	uint8_t kind;
	uint32_t code;
	uint32_t count;
	struct storm_range r[];
};

struct task_reports {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread;
	struct item *head, **tail;
	bool stop, running;
	char **node_name; /* of the step's layout */
	uint32_t *pids;	  /* by task; 0: not known.  The thread's */
	uint32_t nodes;
};

struct task_ref {
	uint32_t node, task;
};

static int task_reports_by_node(const void *va, const void *vb)
{
	const struct task_ref *a = va, *b = vb;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->task < b->task ? -1 : a->task > b->task;
}

/* Mark the task's end as reported.  False: it was.  Called with the session's
 * lock held. */
static bool task_reports_first_end(struct storm_session *s, uint32_t task)
{
	if (task >= s->tasks || bit_test(s->exited, task))
		return false;
	bit_set(s->exited, task);
	s->last_exit = storm_now();
	return true;
}

/* Is it lost, and was its end not told before?  Called with the session's lock held. */
static bool task_reports_is_late(const struct storm_session *s, uint32_t task)
{
	return task < s->tasks && !s->may_lose && !s->launch_failed &&
	       bit_test(s->lost, task) && !bit_test(s->in_time, task);
}

bool task_reports_filter(struct storm_session *s, task_exit_msg_t *msg,
			 bool lost_too)
{
	uint32_t i, n = 0;

	if (!s->exited)
		return true;
	slurm_mutex_lock(&s->lock);
	for (i = 0; i < msg->num_tasks; i++) {
		uint32_t task = msg->task_id_list[i];

		if (!lost_too && task_reports_is_late(s, task))
			continue;
		if (task_reports_first_end(s, task))
			msg->task_id_list[n++] = task;
	}
	slurm_mutex_unlock(&s->lock);
	msg->num_tasks = n;
	return n;
}

/* The item's tasks by node; *count of them (xfree). */
static struct task_ref *task_reports_sort(const struct storm_session *s,
					  const struct item *it,
					  uint32_t *count)
{
	struct task_ref *refs;
	uint32_t i, t, n = 0, room = 0;

	for (i = 0; i < it->count; i++)
		if (it->r[i].first < s->tasks)
			room += MIN(it->r[i].last, s->tasks - 1) -
				it->r[i].first + 1;
	refs = xcalloc(room + 1, sizeof(*refs));
	for (i = 0; i < it->count; i++) {
		for (t = it->r[i].first; t <= it->r[i].last && t < s->tasks;
		     t++) {
			refs[n].node = s->task_node[t];
			refs[n++].task = t;
		}
	}
	qsort(refs, n, sizeof(*refs), task_reports_by_node);
	*count = n;
	return refs;
}

static void task_reports_started(struct storm_session *s, uint32_t node,
				 uint32_t *ids, uint32_t *pids, uint32_t count,
				 uint32_t code)
{
	launch_tasks_response_msg_t msg = {
		.step_id = s->step_id,
		.return_code = code,
		.node_name = s->reports->node_name[node],
		.count_of_pids = count,
		.local_pids = pids,
		.task_ids = ids,
	};

	storm_step_started(s->sls, &msg);
}

static void task_reports_exited(struct storm_session *s, uint32_t *ids,
				uint32_t count, uint32_t code)
{
	task_exit_msg_t msg = {
		.step_id = s->step_id,
		.num_tasks = count,
		.task_id_list = ids,
		.return_code = code,
	};

	storm_step_exited(s->sls, &msg);
}

/* srun's own table of MPIR, which it has before the step and until it ends.  *size
 * entries; 0: this is not srun. */
static MPIR_PROCDESC *task_reports_table(uint32_t *size)
{
	MPIR_PROCDESC **table = dlsym(RTLD_DEFAULT, "MPIR_proctable");
	const int *n = dlsym(RTLD_DEFAULT, "MPIR_proctable_size");

	*size = table && *table && n && *n > 0 ? (uint32_t) *n : 0;
	return *size ? *table : NULL;
}

static void task_reports_pids(const struct storm_session *s,
			      const struct item *it)
{
	uint32_t size, *pids = s->reports->pids;
	MPIR_PROCDESC *table = task_reports_table(&size);

	for (uint32_t i = 0; i < it->count; i++)
		for (uint32_t t = it->r[i].first;
		     t <= it->r[i].last && t < s->tasks; t++) {
			pids[t] = it->code + s->task_place[t];
			if (t + s->first_task < size)
				table[t + s->first_task].pid = (int) pids[t];
		}
}

static void task_reports_handle(struct storm_session *s, const struct item *it)
{
	/* srun prints nothing for tasks that succeed: one call for all. */
	bool together = it->kind == STEP_REPORT_EXITED && !it->code &&
			get_log_level() < LOG_LEVEL_VERBOSE;
	uint32_t count, i, j, *ids, *pids;
	struct task_ref *refs;

	if (it->kind == STEP_REPORT_PIDS) {
		task_reports_pids(s, it);
		return;
	}
	refs = task_reports_sort(s, it, &count);
	ids = xcalloc(count + 1, sizeof(*ids));
	pids = xcalloc(count + 1, sizeof(*pids));
	for (i = 0; i < count; i = j) {
		for (j = i;
		     j < count && (together || refs[j].node == refs[i].node);
		     j++) {
			ids[j - i] = refs[j].task;
			pids[j - i] = s->reports->pids[refs[j].task];
		}
		if (it->kind == STEP_REPORT_STARTED) {
			/* handlers wake srun's thread, which asks for it */
			step_timed_started(s, !i,
					   s->reports->node_name[refs[i].node]);
			task_reports_started(s, refs[i].node, ids, pids, j - i,
					     it->code);
		} else
			task_reports_exited(s, ids, j - i, it->code);
	}
	xfree(ids);
	xfree(pids);
	xfree(refs);
}

static void *task_reports_thread(void *arg)
{
	struct storm_session *s = arg;
	struct task_reports *q = s->reports;
	struct item *it;

	slurm_mutex_lock(&q->lock);
	while (!q->stop) {
		if (!(it = q->head)) {
			slurm_cond_wait(&q->cond, &q->lock);
			continue;
		}
		if (!(q->head = it->next))
			q->tail = &q->head;
		slurm_mutex_unlock(&q->lock);
		task_reports_handle(s, it);
		xfree(it);
		slurm_mutex_lock(&q->lock);
	}
	slurm_mutex_unlock(&q->lock);
	return NULL;
}

int task_reports_start(struct storm_session *s)
{
	const slurm_step_layout_t *layout = s->sls->layout;
	struct task_reports *q = xmalloc(sizeof(*q));
	struct hostlist *hl = hostlist_create(layout->node_list);
	uint32_t n;
	char *name;
	int i;

	slurm_mutex_init(&q->lock);
	slurm_cond_init(&q->cond, NULL);
	q->tail = &q->head;
	q->nodes = layout->node_cnt;
	q->node_name = xcalloc(q->nodes, sizeof(*q->node_name));
	for (n = 0; n < q->nodes && hl && (name = hostlist_shift(hl)); n++) {
		q->node_name[n] = xstrdup(name);
		free(name);
	}
	if (hl)
		hostlist_destroy(hl);
	if (n < q->nodes) {
		error("storm: node list \"%s\" has %u nodes, not %u",
		      layout->node_list, n, q->nodes);
		s->reports = q;
		return SLURM_ERROR;
	}
	s->task_node = xcalloc(s->tasks, sizeof(*s->task_node));
	s->task_place = xcalloc(s->tasks, sizeof(*s->task_place));
	q->pids = xcalloc(s->tasks, sizeof(*q->pids));
	for (n = 0; n < q->nodes; n++)
		for (i = 0; i < layout->tasks[n]; i++)
			if (layout->tids[n][i] < s->tasks) {
				s->task_node[layout->tids[n][i]] = n;
				s->task_place[layout->tids[n][i]] = i;
			}
	s->reports = q;
	if (pthread_create(&q->thread, NULL, task_reports_thread, s)) {
		error("storm: cannot start a thread: %m");
		return SLURM_ERROR;
	}
	q->running = true;
	return SLURM_SUCCESS;
}

void task_reports_stop(struct storm_session *s)
{
	struct task_reports *q = s->reports;
	struct item *it;
	uint32_t n;

	if (!q)
		return;
	slurm_mutex_lock(&q->lock);
	q->stop = true;
	slurm_cond_signal(&q->cond);
	slurm_mutex_unlock(&q->lock);
	if (q->running)
		pthread_join(q->thread, NULL);
	while ((it = q->head)) {
		q->head = it->next;
		xfree(it);
	}
	for (n = 0; n < q->nodes; n++)
		xfree(q->node_name[n]);
	xfree(q->node_name);
	xfree(q->pids);
	slurm_mutex_destroy(&q->lock);
	slurm_cond_destroy(&q->cond);
	xfree(q);
	s->reports = NULL;
}

/* ------------------------------------------------------- the domain's thread --- */

/* srun's handlers can be long: an end that came while the node was good counts, however
 * late it is handled. */
static void task_reports_in_time(struct storm_session *s,
				 const struct storm_report *r)
{
	slurm_mutex_lock(&s->lock);
	for (uint32_t i = 0; s->in_time && i < r->ids.count; i++)
		for (uint32_t t = r->ids.r[i].first;
		     t <= r->ids.r[i].last && t < s->tasks; t++)
			if (!bit_test(s->lost, t))
				bit_set(s->in_time, t);
	slurm_mutex_unlock(&s->lock);
}

static void task_reports_push(struct storm_session *s,
			      const struct storm_report *r)
{
	struct task_reports *q = s->reports;
	struct item *it;

	if (!q ||
	    (r->kind != STEP_REPORT_STARTED && r->kind != STEP_REPORT_EXITED &&
	     r->kind != STEP_REPORT_PIDS))
		return;
	if (r->kind == STEP_REPORT_EXITED)
		task_reports_in_time(s, r);
	it = xmalloc(sizeof(*it) + r->ids.count * sizeof(it->r[0]));
	it->kind = r->kind;
	it->code = r->code;
	it->count = r->ids.count;
	memcpy(it->r, r->ids.r, r->ids.count * sizeof(it->r[0]));
	slurm_mutex_lock(&q->lock);
	*q->tail = it;
	q->tail = &it->next;
	slurm_cond_signal(&q->cond);
	slurm_mutex_unlock(&q->lock);
}

static void task_reports_on_report(void *arg, const struct storm_report *r)
{
	struct storm_session *s = arg;

	if (r->kind == STEP_REPORT_DELIVERED)
		storm_session_delivered(s, r);
	else if (r->kind == STEP_REPORT_SIGNALED)
		step_told_reported(s, r);
	else if (r->kind == STEP_REPORT_SLOT)
		storm_session_slot(s, r);
	else
		task_reports_push(s, r);
}

static void task_reports_on_fault(void *arg, const struct storm_fault *f)
{
	storm_session_fault(arg, f);
}

void task_reports_conf(struct storm_session *s, struct step_domain_conf *sdc)
{
	memset(sdc, 0, sizeof(*sdc));
	sdc->set = s->conf->set;
	sdc->health = s->conf->health.period;
	sdc->step_id = s->step_id;
	sdc->addrs = &s->addrs;
	sdc->odd = &s->odd;
	sdc->on_report = task_reports_on_report;
	sdc->on_fault = task_reports_on_fault;
	sdc->arg = s;
}
