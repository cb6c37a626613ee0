/*
 * stack_line.c - see stack_line.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/libstorm/base/shown.h"
#include "stack_line.h"

#define RANGE_TEXT sizeof("4294967295-4294967295,")
#define MARK_LEN (sizeof(STACK_PIECE_MARK) - 1)
#define MORE '+' /* a piece is not the line's last one */
#define LAST '.'
/* More than its share is what a node sends of the last stack that fits, and its word that it
 * is ready or done. */
#define BESIDE 0x20000

void stack_clean(char *out, size_t size, const char *text)
{
	size_t len = 0;

	for (; *text && len + 1 < size; text++)
		out[len++] = storm_printed(*text);
	out[len] = '\0';
}

/* ------------------------------------------------------------------ writing --- */

static size_t stack_put_ranges(char *out, size_t size,
			       const struct storm_idset *s, uint32_t *from)
{
	uint32_t first = *from;
	size_t len = 0;

	for (; *from < s->count && len + RANGE_TEXT < size; (*from)++) {
		const struct storm_range *r = &s->r[*from];
		const char *comma = *from > first ? "," : "";

		len += (size_t) (r->first == r->last ?
					 snprintf(out + len, size - len, "%s%u",
						  comma, r->first) :
					 snprintf(out + len, size - len,
						  "%s%u-%u", comma, r->first,
						  r->last));
	}
	return len;
}

bool stack_line_put(char (*out)[STACK_LINE], const struct stack_one *one,
		    uint32_t *from)
{
	/* the count comes once */
	uint64_t count = *from ? 0 : one->count;
	size_t len;

	if (*from >= one->ranks.count)
		return false;
	len = (size_t) snprintf(*out, sizeof(*out), "S\t%c\t%s\t%s\t%llu\t",
				(int) one->kind, one->label, one->program,
				(unsigned long long) count);
	len += stack_put_ranges(*out + len,
				sizeof(*out) - len - strlen(one->text) - 2,
				&one->ranks, from);
	snprintf(*out + len, sizeof(*out) - len, "\t%s", one->text);
	return true;
}

void stack_node_put(char (*out)[STACK_LINE], const struct stack_node *node)
{
	snprintf(*out, sizeof(*out), "N\t%s\t%u\t%llu", node->name, node->tasks,
		 (unsigned long long) node->stood_us);
}

void stack_over_put(char (*out)[STACK_LINE], uint64_t count)
{
	snprintf(*out, sizeof(*out), "O\t%llu", (unsigned long long) count);
}

void stack_unseen_put(char (*out)[STACK_LINE], const struct stack_unseen *u)
{
	snprintf(*out, sizeof(*out), "U\t%llu\t%llu",
		 (unsigned long long) u->threads,
		 (unsigned long long) u->processes);
}

void stack_ready_put(char (*out)[STACK_LINE], const char *name,
		     const struct storm_addr *at)
{
	char ip[INET_ADDRSTRLEN] = "-";

	if (at)
		inet_ntop(AF_INET, at->ip + STORM_ADDR_LEN - 4, ip, sizeof(ip));
	snprintf(*out, sizeof(*out), "R\t%s\t%s\t%u", name, ip,
		 at ? at->port : 0);
}

/* ------------------------------------------------------------------ reading --- */

/* The next field; false: there is none, or it does not fit, or has what no sender
 * writes. */
static bool stack_field(const char **line, char *out, size_t size)
{
	size_t len = 0;

	if (!*line)
		return false;
	for (; **line && **line != '\t'; (*line)++) {
		if (len + 1 >= size || **line < ' ' || **line > '~')
			return false;
		out[len++] = **line;
	}
	out[len] = '\0';
	*line = **line ? *line + 1 : NULL;
	return true;
}

/* Digits alone; false also if it is more than `most`. */
static bool stack_number(const char **text, uint64_t most, uint64_t *out)
{
	uint64_t n = 0;

	if (**text < '0' || **text > '9')
		return false;
	for (; **text >= '0' && **text <= '9'; (*text)++) {
		uint64_t digit = (uint64_t) (**text - '0');

		if (digit > most || n > (most - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	*out = n;
	return true;
}

static bool stack_number_field(const char **line, uint64_t most, uint64_t *out)
{
	char word[24];
	const char *at = word;

	return stack_field(line, word, sizeof(word)) &&
	       stack_number(&at, most, out) && !*at;
}

/* Ascending ranges, at least one: what stack_line_put() writes, and nothing that takes
 * long to merge. */
static bool stack_ranges(const char **line, struct storm_idset *out)
{
	const char *at = *line;
	uint64_t first, last, least = 0;

	do {
		if (!stack_number(&at, UINT32_MAX - 1, &first))
			return false;
		last = first;
		if (*at == '-' &&
		    (at++, !stack_number(&at, UINT32_MAX - 1, &last)))
			return false;
		if (first < least || last < first ||
		    storm_idset_add(out, (uint32_t) first, (uint32_t) last))
			return false;
		least = last + 1;
	} while (*at == ',' && at++);
	if (*at != '\t')
		return false;
	*line = at + 1;
	return true;
}

static bool stack_kind(const char *word, struct stack_rec *r)
{
	r->kind = (enum stack_kind) * word;
	return *word == STACK_MAIN || *word == STACK_THREAD ||
	       *word == STACK_FAULT;
}

static bool stack_read_rec(const char *line, struct stack_rec *r)
{
	char kind[2];

	if (!stack_field(&line, kind, sizeof(kind)) || !stack_kind(kind, r) ||
	    !stack_field(&line, r->label, sizeof(r->label)) ||
	    !stack_field(&line, r->program, sizeof(r->program)) ||
	    !stack_number_field(&line, UINT32_MAX, &r->count) || !line)
		return false;
	if (stack_ranges(&line, &r->ranks) &&
	    stack_field(&line, r->text, sizeof(r->text)) && !line && *r->text)
		return true;
	storm_idset_clear(&r->ranks);
	return false;
}

static bool stack_read_text(const char *line, struct stack_said *out)
{
	struct stack_rec *r = &out->rec;
	uint64_t report;
	char kind[2];

	if (!stack_number_field(&line, STACK_REPORTS - 1, &report) ||
	    !stack_field(&line, kind, sizeof(kind)) || !stack_kind(kind, r))
		return false;
	out->report = (uint8_t) report;
	return stack_field(&line, r->label, sizeof(r->label)) &&
	       stack_field(&line, r->program, sizeof(r->program)) &&
	       stack_number_field(&line, UINT32_MAX, &r->count) && line &&
	       stack_field(&line, r->text, sizeof(r->text)) && !line &&
	       *r->text;
}

static bool stack_read_node(const char *line, struct stack_node *n)
{
	uint64_t tasks;

	if (!stack_field(&line, n->name, sizeof(n->name)) ||
	    !stack_number_field(&line, UINT32_MAX, &tasks) ||
	    !stack_number_field(&line, UINT64_MAX, &n->stood_us) || line)
		return false;
	n->tasks = (uint32_t) tasks;
	return true;
}

static bool stack_read_unseen(const char *line, struct stack_unseen *u)
{
	return stack_number_field(&line, UINT32_MAX, &u->threads) &&
	       stack_number_field(&line, UINT32_MAX, &u->processes) && !line;
}

static bool stack_read_ready(const char *line, struct stack_said *out)
{
	char ip[INET_ADDRSTRLEN];
	uint64_t port;

	memset(&out->at, 0, sizeof(out->at));
	return stack_field(&line, out->node.name, sizeof(out->node.name)) &&
	       stack_field(&line, ip, sizeof(ip)) &&
	       stack_number_field(&line, UINT16_MAX, &port) && !line &&
	       (!port || !storm_addr_set(&out->at, ip, (uint16_t) port));
}

enum stack_line stack_line_read(const char *line, struct stack_said *out)
{
	char what[2];
	uint64_t next;

	memset(&out->rec.ranks, 0, sizeof(out->rec.ranks));
	if (!stack_field(&line, what, sizeof(what)) || !line)
		return LINE_NONE;
	if (*what == 'S' && stack_read_rec(line, &out->rec))
		return LINE_STACK;
	if (*what == 'T' && stack_read_text(line, out))
		return LINE_TEXT;
	if (*what == 'O' && stack_number_field(&line, UINT32_MAX, &out->over) &&
	    !line)
		return LINE_OVER;
	if (*what == 'U' && stack_read_unseen(line, &out->unseen))
		return LINE_UNSEEN;
	if (*what == 'N' && stack_read_node(line, &out->node))
		return LINE_NODE;
	if (*what == 'R' && stack_read_ready(line, out))
		return LINE_READY;
	if (*what == 'P' && stack_number_field(&line, UINT32_MAX, &next) &&
	    !line) {
		out->next = (uint32_t) next;
		return LINE_NEXT;
	}
	return LINE_NONE;
}

/* ------------------------------------------------------------------- pieces --- */

size_t stack_piece_put(char (*out)[STACK_PIECE + 1], uint32_t nth,
		       const char *line, size_t *from)
{
	size_t left = strlen(line + *from), len, n;

	if (*from && !left)
		return 0;
	len = (size_t) snprintf(*out, sizeof(*out), STACK_PIECE_MARK " %u ",
				nth);
	n = sizeof(*out) - len - 3;
	if (left <= n)
		n = left;
	(*out)[len++] = n < left ? MORE : LAST;
	memcpy(*out + len, line + *from, n);
	len += n;
	(*out)[len++] = '\n';
	(*out)[len] = '\0';
	*from += n;
	return len;
}

bool stack_piece_read(const char *line, uint32_t count, uint32_t *nth,
		      const char **body)
{
	uint64_t n;

	if (strncmp(line, STACK_PIECE_MARK " ", MARK_LEN + 1))
		return false;
	line += MARK_LEN + 1;
	if (!stack_number(&line, UINT32_MAX, &n) || n >= count ||
	    *line++ != ' ' || (*line != MORE && *line != LAST))
		return false;
	*nth = (uint32_t) n;
	*body = line;
	return true;
}

size_t stack_share(uint32_t nodes)
{
	size_t share = STACK_ALL / (nodes ? nodes : 1);

	return share > STACK_LINE ? share : STACK_LINE;
}

void stack_desk_init(struct stack_desk *d, uint32_t nodes)
{
	*d = (struct stack_desk) { .room = STACK_ALL,
				   .share = stack_share(nodes) + BESIDE };
}

void stack_desk_widen(struct stack_desk *d)
{
	d->share = STACK_ALL + BESIDE;
}

/* False: there is no room for it. */
static bool stack_piece_join(struct stack_desk *d, struct stack_pieces *p,
			     const char *body, size_t n)
{
	char *line;

	if (p->len + n >= STACK_LINE || n > d->room)
		return false;
	line = realloc(p->line, p->len + n + 1);
	if (!line)
		return false;
	memcpy(line + p->len, body, n + 1);
	p->line = line;
	p->len += n;
	d->room -= n;
	return true;
}

const char *stack_piece_add(struct stack_desk *d, struct stack_pieces *p,
			    const char *body)
{
	bool last = *body++ == LAST;
	size_t n = strlen(body);

	p->bytes += n;
	if (last && !p->line && !p->drop && p->bytes <= d->share)
		return body;
	if (!p->drop &&
	    (p->bytes > d->share || !stack_piece_join(d, p, body, n))) {
		stack_pieces_clear(d, p);
		p->drop = true;
	}
	if (!last || !p->drop)
		return last ? p->line : NULL;
	p->drop = false;
	d->lost++;
	return NULL;
}

void stack_pieces_clear(struct stack_desk *d, struct stack_pieces *p)
{
	d->room += p->len;
	free(p->line);
	p->line = NULL;
	p->len = 0;
}
