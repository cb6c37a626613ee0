/*
 * launcher_pmi_say.c - what a launcher tells the head of ranks of MPI.  See launcher_pmi.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "launcher_pmi.h"
#include "src/libstorm/base/minmax.h"

int launcher_pmi_poll = -1;

struct launched_pmi *launcher_pmi_of(uint64_t number)
{
	struct launched *run = launcher.runs;

	while (run && run->start.number != number)
		run = run->next;
	return run ? run->pmi : NULL;
}

void launcher_pmi_send(struct launched_pmi *p, const struct pmi_msg *m)
{
	size_t len = pmi_msg_len(m);
	uint8_t *buf = malloc(len);
	struct storm_out o = { buf, buf ? buf + len : NULL, false };

	if (buf)
		pmi_msg_put(&o, m);
	/* one that is lost is found by launcher_pmi_lost() */
	if (!buf || !relay_put_pmi(p->relay, buf, len))
		storm_log(STORM_LOG_ERROR, "run %llu: PMI is not sent",
			  (unsigned long long) p->run->start.number);
	free(buf);
}

void launcher_pmi_say(struct launched_pmi *p, enum pmi_kind kind, uint32_t k,
		      uint32_t code, const char *fmt, ...)
{
	char text[PMI_TEXT_MAX];
	struct pmi_msg m = { .kind = kind, .rank = p->first + k, .code = code };
	va_list ap;
	int n;

	if (kind != PMI_SAY && p->ending)
		return;
	p->ending |= kind != PMI_SAY;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m.data = (uint8_t *) text;
	m.len = storm_min(n > 0 ? (size_t) n : 0, sizeof(text) - 1);
	launcher_pmi_send(p, &m);
}

void launcher_pmi_say_vain(struct launched_pmi *p, uint32_t k)
{
	launcher_pmi_say(p, PMI_END, k, 0,
			 "it has ended, and others wait for it in MPI");
}
