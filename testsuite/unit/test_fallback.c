/*
 * test_fallback.c - why Slurm launched a step: srun's word, what an agent keeps of it,
 * and how it is shown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <json-c/json.h>

#include "src/libstorm/storm.h"
#include "src/storm_agent/agent_fallback.h"
#include "src/storm_common/fallback_word.h"
#include "src/storm_status/why_show.h"
#include "unit.h"

/* ------------------------------------------------------------- the word --- */

START_TEST(test_word)
{
	struct fallback_told told = { FALLBACK_NO_AGENT, 17, "node n3: gone" };
	struct fallback_told got;
	char value[FALLBACK_TEXT + 32];

	fallback_write(&told, value, sizeof(value));
	must(!strcmp(value, "no-agent 17 node n3: gone"));
	must(fallback_read(value, &got));
	must(got.cause == told.cause && got.keeper == 17);
	must(!strcmp(got.text, told.text));
	must(fallback_read("option 0 ", &got) && !*got.text);
}
END_TEST

/* A user's environment may have anything. */
START_TEST(test_word_of_others)
{
	static const char *const bad[] = {
		"",
		" ",
		"option",
		"option x y",
		"nothing 1 text",
		"1 option",
		"optionoptionoptionoption 1 x",
	};
	struct fallback_told got;
	char text[4 * FALLBACK_TEXT] = "other 1 ";

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		must(!fallback_read(bad[i], &got));
	memset(text + 8, 'x', sizeof(text) - 9);
	must(fallback_read(text, &got));
	must(strlen(got.text) == FALLBACK_TEXT - 1);
}
END_TEST

START_TEST(test_causes)
{
	must(fallback_of(STORM_OK) == FALLBACK_HOST);
	must(fallback_of(STORM_ELOST) == FALLBACK_SILENT);
	must(fallback_of(STORM_EACCES) == FALLBACK_REFUSED);
	for (int err = 0; err < STORM_ERROR_END; err++)
		must(*fallback_word(fallback_of(err)) &&
		     *fallback_remedy(fallback_of(err)));
	for (int i = 0; i < FALLBACK_CAUSES; i++)
		for (int k = 0; k < i; k++)
			must(strcmp(fallback_word(i), fallback_word(k)));
}
END_TEST

/* ----------------------------------------------------------- what is kept --- */

static struct agent_fallbacks all;

static void add(uint32_t job, uint32_t step, uint32_t uid)
{
	const struct agent_fallback f = {
		.uid = uid, .job = job, .step = step, .cause = FALLBACK_SILENT
	};

	agent_fallback_add(&all, &f);
}

/* How many of a user's are found; the first one's job is *job. */
static unsigned int found(const char *which, uint32_t uid, uint32_t *job)
{
	struct agent_fallback_want want = { .all_users = !uid, .uid = uid };
	const struct agent_fallback *f[20];
	unsigned int n;

	must(fallback_parse(which, &want.which));
	n = agent_fallback_find(&all, &want, f, 20);
	*job = n ? f[0]->job : 0;
	return n;
}

START_TEST(test_kept)
{
	uint32_t job;

	must(!found("", 0, &job));
	add(7, 0, 1000);
	add(7, 1, 1000);
	add(8, 1, 1001);
	must(found("", 0, &job) == 3 && job == 8);
	must(found("", 1000, &job) == 2 && job == 7);
	must(found("7", 0, &job) == 2);
	must(found("7.1", 0, &job) == 1);
	must(found("7.2", 0, &job) == 0);
	must(found("8", 1000, &job) == 0); /* another's */
	for (uint32_t i = 0; i < 1000; i++)
		add(100 + i, 0, 1000);
	must(found("", 0, &job) == 20 && job == 1099);
	must(!found("7", 0, &job)); /* long ago */
	must(all.count[FALLBACK_SILENT] == 1003);
}
END_TEST

START_TEST(test_asked)
{
	static const char *const bad[] = { "x",	 "7.", "7.x",  "7.1x",
					   ".1", "7 ", "7.1.2" };
	struct fallback_which which;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		must(!fallback_parse(bad[i], &which));
}
END_TEST

/* -------------------------------------------------------------- as shown --- */

#define HOSTILE "\033[31m</script>\n\"\xe2\x80\xae\\"
#define PRINTED "?[31m</script>?\"???\\"

static struct storm_range first = { 0, 0 };

static struct storm_gather_entry entry(const char *key, const char *value)
{
	struct storm_gather_entry e = { .kind = STORM_GATHER_VALUE };

	e.key_len = (uint8_t) strlen(key);
	e.value_len = (uint8_t) strlen(value);
	memcpy(e.key, key, e.key_len);
	memcpy(e.value, value, e.value_len);
	e.nodes = (struct storm_idset) { &first, 1, 1 };
	return e;
}

START_TEST(test_shown)
{
	struct storm_gather_entry e[] = {
		entry("7.0", "1000 no-answer " HOSTILE),
		entry("7.1", "2000 option --pty"),
		entry("7.2", "2000 of-a-later-one x"), /* and not known */
		entry("7.3", "no-answer x"),
	};
	struct status_node node = { .name = (char *) "n1" };
	struct status_nodes nodes = { &node, 1 };
	uint32_t asked = 0;
	struct status_answer a = { .table = { .entry = e, .count = 4 },
				   .asked = &asked,
				   .count = 1 };
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);
	json_object *list, *reason;

	setenv("TZ", "UTC", 1);
	must(why_show_text(f, &nodes, &a) == 2);
	fclose(f);
	must(!strncmp(text, "7.1  1970-01-01T00:33:20  option: --pty\n", 40));
	must(strstr(text,
		    "\n7.0  1970-01-01T00:16:40  no-answer: " PRINTED "\n"));
	for (const char *c = text; *c; c++)
		must(*c == '\n' || (*c >= ' ' && *c <= '~'));
	free(text);
	list = json_object_new_array();
	must(why_show_json(list, &nodes, &a) == 2);
	text = strdup(json_object_to_json_string(list));
	json_object_put(list);
	must((list = json_tokener_parse(text)));
	must(json_object_object_get_ex(json_object_array_get_idx(list, 1),
				       "reason", &reason));
	must(!strcmp(json_object_get_string(reason), PRINTED));
	json_object_put(list);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fallback");
	TCase *t = tcase_create("fallback");

	tcase_add_test(t, test_word);
	tcase_add_test(t, test_word_of_others);
	tcase_add_test(t, test_causes);
	tcase_add_test(t, test_kept);
	tcase_add_test(t, test_asked);
	tcase_add_test(t, test_shown);
	suite_add_tcase(s, t);
	return unit_main(s);
}
