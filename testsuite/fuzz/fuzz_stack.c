/*
 * fuzz_stack.c - what storm_unwind and the child that walks tell storm stack: lines, and lines in
 * pieces of two senders; and the question for texts.
 *
 *   u8 0: lines, 1: pieces, 2: a question; what follows
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/storm_stack/stack_code.h"

#define SENDERS 2

static struct stack_said said, again; /* large */

/* A text is written as it was understood, and counts if it was asked for. */
static void stack_text(void)
{
	static struct stack_heard heard; /* large */
	struct stack_one one = { .kind = said.rec.kind,
				 .label = said.rec.label,
				 .program = said.rec.program,
				 .text = said.rec.text };
	struct stack_code c = { .kind = said.report,
				.one = &one,
				.each = (uint32_t) said.rec.count };
	struct stack_set s = { 0 };
	char text[STACK_LINE];

	stack_text_put(&text, &c);
	must(stack_line_read(text, &again) == LINE_TEXT);
	must(again.report == said.report && again.rec.kind == said.rec.kind);
	must(again.rec.count == said.rec.count);
	must(!strcmp(again.rec.text, said.rec.text));
	must(!stack_heard_text(&heard, &said, strlen(text), &s));
	must(!s.count && !heard.kept);
}

static void stack_question(const uint8_t *data, size_t size)
{
	struct stack_want w[STACK_WANTS];
	uint8_t out[STACK_WANTS_BYTES];
	uint32_t count;
	bool last;

	if (!stack_wants_read(data, size, &last, w, &count))
		return;
	must(stack_wants_put(&out, last, w, count) == size);
	must(!memcmp(out, data, size));
}

/* What was understood is written so that it is understood in the same way. */
static void stack_read(struct stack_set *s, const char *line)
{
	char text[STACK_LINE];
	enum stack_line what = stack_line_read(line, &said);

	if (what == LINE_NODE) {
		stack_node_put(&text, &said.node);
		must(stack_line_read(text, &again) == LINE_NODE);
		must(!strcmp(again.node.name, said.node.name));
		must(again.node.stood_us == said.node.stood_us);
	}
	if (what == LINE_UNSEEN) {
		stack_unseen_put(&text, &said.unseen);
		must(stack_line_read(text, &again) == LINE_UNSEEN);
		must(again.unseen.threads == said.unseen.threads);
		must(again.unseen.processes == said.unseen.processes);
	}
	if (what == LINE_TEXT)
		stack_text();
	if (what != LINE_STACK)
		return;
	must(*said.rec.text && said.rec.ranks.count);
	must(!stack_set_add(s, &said.rec));
	storm_idset_clear(&said.rec.ranks);
}

static void stack_judge(const struct stack_set *s)
{
	char text[STACK_LINE];

	must(s->bytes <= STACK_ALL + 2 * sizeof(said) + STACK_LINE);
	for (uint32_t i = 0; i < s->count; i++) {
		uint64_t ranks = 0, count = 0;
		uint32_t from = 0;

		while (stack_line_put(&text, s->all[i], &from)) {
			must(stack_line_read(text, &said) == LINE_STACK);
			ranks += storm_idset_size(&said.rec.ranks);
			count += said.rec.count;
			storm_idset_clear(&said.rec.ranks);
		}
		must(ranks == storm_idset_size(&s->all[i]->ranks));
		/* of many lines each may have counted as many as there are */
		must(count == s->all[i]->count ||
		     s->all[i]->count > UINT32_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stack_pieces pieces[SENDERS] = { 0 };
	struct stack_desk desk;
	struct stack_set s = { 0 };
	char *text, *rest, *line;

	if (!size)
		return 0;
	if (*data & 2) {
		stack_question(data + 1, size - 1);
		return 0;
	}
	stack_desk_init(&desk, SENDERS);
	text = strndup((const char *) data + 1, size - 1);
	must(text);
	for (rest = text; (line = strsep(&rest, "\n"));) {
		const char *body, *whole = line;
		uint32_t nth = 0;

		if (*data & 1)
			whole = stack_piece_read(line, SENDERS, &nth, &body) ?
					stack_piece_add(&desk, &pieces[nth],
							body) :
					NULL;
		if (whole)
			stack_read(&s, whole);
		if (whole)
			stack_pieces_clear(&desk, &pieces[nth]);
	}
	stack_set_sort(&s);
	stack_judge(&s);
	stack_set_clear(&s);
	for (int k = 0; k < SENDERS; k++)
		stack_pieces_clear(&desk, &pieces[k]);
	must(desk.room == STACK_ALL);
	free(text);
	return 0;
}
