/*
 * head_list.c - what storm ps asks for: the runs of this head.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "head_private.h"
#include "run_list.h"
#include "run_names.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"

/* Its words with blanks between them, as far as there is room. */
static void head_list_command(const struct conn *c,
			      char (*out)[RUN_LIST_COMMAND])
{
	size_t have = 0;

	for (char **word = c ? c->what.argv : NULL; word && *word; word++) {
		size_t len = strnlen(*word, sizeof(*out) - 2 - have);

		if (have)
			(*out)[have++] = ' ';
		memcpy(*out + have, *word, len);
		have += len;
		if (have >= sizeof(*out) - 2)
			break;
	}
	(*out)[have] = '\0';
}

static void head_list_run(struct conn *to, const struct user_run *run)
{
	char command[RUN_LIST_COMMAND];
	char *nodes = run->state == RUN_WAITS ?
			      NULL :
			      run_names_text(head.step.nodes, &run->nodes);
	const struct conn *c = run->client;
	uint64_t since = run->began ? run->began : c ? c->since : storm_now();
	const struct run_listed l = {
		.number = run->number,
		.state = run->state == RUN_WAITS	? RUN_LIST_WAITS :
			 run->killed || run->ends || !c ? RUN_LIST_ENDS :
							  RUN_LIST_RUNS,
		.age = storm_now() - since,
		.tasks = run->tasks,
		.ended = storm_idset_size(&run->done),
		.cpus = run_cpus(&head.runs, run),
		.nodes = nodes ? nodes : "",
		.command = command,
	};
	size_t len;
	uint8_t *body;

	head_list_command(c, &command);
	len = run_listed_len(&l);
	body = malloc(len);
	if (body) {
		struct storm_out o = { body, body + len, false };

		run_listed_put(&o, &l);
		conn_put(to, RUN_LISTED, body, len);
	} else {
		conn_close(to);
	}
	free(body);
	free(nodes);
}

void head_list(struct conn *c)
{
	uint8_t body[RUN_STOCKS_LEN];
	struct storm_out o = { body, body + sizeof(body), false };
	struct run_stocks all;

	runs_sum(&head.runs, &all);
	run_stocks_put(&o, &all);
	c->kind = CONN_WAITS;
	conn_put(c, RUN_LIST, body, sizeof(body));
	for (const struct user_run *run = head.runs.first; run; run = run->next)
		head_list_run(c, run);
	conn_put(c, RUN_END, NULL, 0);
	c->bye = true;
}
