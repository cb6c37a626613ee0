/*
 * test_status.c - storm status: what other hosts say is printed as text, whatever
 * it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <json-c/json.h>

#include "src/storm_common/state_keys.h"
#include "src/storm_status/map_show.h"
#include "src/storm_status/status_show.h"
#include "unit.h"

#define HOSTILE "\033[31m</script>\n\"\xe2\x80\xae\\"
#define PRINTED "?[31m</script>?\"???\\"

static struct status_node node[3] = { { .name = (char *) "n1" },
				      { .name = (char *) "n2" },
				      { .name = (char *) "n3" } };
static const struct status_nodes nodes = { node, 3 };
static uint32_t asked[3] = { 0, 1, 2 };

static struct storm_range both = { 0, 1 }, last = { 2, 2 };

static struct storm_gather_entry entry_value(const char *key, const char *value,
					     struct storm_range *r)
{
	struct storm_gather_entry e = { .kind = STORM_GATHER_VALUE };

	e.key_len = (uint8_t) strlen(key);
	e.value_len = (uint8_t) strlen(value);
	memcpy(e.key, key, e.key_len);
	memcpy(e.value, value, e.value_len);
	e.nodes = (struct storm_idset) { r, 1, 1 };
	return e;
}

static struct status_answer answer_of(struct storm_gather_entry *e, uint32_t n)
{
	return (struct status_answer) { .table = { .entry = e, .count = n },
					.asked = asked,
					.count = 3 };
}

static char *printed(const struct status_answer *a, bool json, bool *wrong)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*wrong = json ? status_show_json(f, &nodes, a, 8383) :
			status_show_text(f, &nodes, a, 8383);
	fclose(f);
	return text;
}

START_TEST(test_hostile)
{
	struct storm_gather_entry e[] = { entry_value(STATE_BUILD, HOSTILE,
						      &both) };
	struct status_answer a = answer_of(e, 1);
	bool wrong;
	char *text = printed(&a, false, &wrong);
	json_object *all, *state, *value;

	must(strstr(text, "build      n[1-2]: " PRINTED "\n"));
	for (const char *c = text; *c; c++)
		must(*c == '\n' || (*c >= ' ' && *c <= '~'));
	free(text);
	text = printed(&a, true, &wrong);
	must((all = json_tokener_parse(text)));
	must(json_object_object_get_ex(all, "state", &state));
	must(json_object_object_get_ex(json_object_array_get_idx(state, 0),
				       "value", &value));
	must(!strcmp(json_object_get_string(value), PRINTED));
	json_object_put(all);
	free(text);
}
END_TEST

/* Each of these is wrong, and nothing else. */
START_TEST(test_wrong)
{
	struct storm_gather_entry e[] = {
		entry_value(STATE_BUILD, "1", &both),
		entry_value(STATE_BUILD, "2", &last),
	};
	struct status_answer a = answer_of(e, 1);
	bool wrong;

	free(printed(&a, false, &wrong));
	must(!wrong);
	a.table.count = 2;
	free(printed(&a, false, &wrong));
	must(wrong); /* two builds */
	a.table.count = 1;
	e[0] = entry_value(STATE_HEALTH, STATE_WELL, &both);
	free(printed(&a, false, &wrong));
	must(!wrong);
	e[0] = entry_value(STATE_HEALTH, "space", &last);
	free(printed(&a, true, &wrong));
	must(wrong);
	e[0] = entry_value(STATE_GANG, STATE_GANG_OUT, &both);
	free(printed(&a, false, &wrong));
	must(!wrong);
	e[0] = entry_value(STATE_GANG, "no-gang(disk)", &last);
	free(printed(&a, false, &wrong));
	must(wrong);
	e[0] = entry_value(STATE_SLURMD, STATE_GONE, &last);
	free(printed(&a, false, &wrong));
	must(wrong);
	a.table.count = 0;
	node[1].silent = true;
	node[1].got.why = STORM_ETIME;
	free(printed(&a, false, &wrong));
	must(wrong);
	node[1].silent = false;
}
END_TEST

/* Equal reasons are one line. */
START_TEST(test_silent)
{
	struct status_answer a = answer_of(NULL, 0);
	bool wrong;
	char *text;

	node[0].silent = node[2].silent = true;
	node[0].got.why = node[2].got.why = STORM_EBUSY;
	text = printed(&a, false, &wrong);
	must(!strncmp(text, "1 of 3 agents answer\nno answer  n[1,3]: ", 40));
	must(wrong);
	free(text);
	node[0].silent = node[2].silent = false;
}
END_TEST

/* ------------------------------------------------------------------ the map --- */

static char *mapped(const struct map *m, unsigned int columns, bool json,
		    bool *wrong)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*wrong = json ? map_show_json(f, m) :
			map_show_text(f, m, columns, false);
	fclose(f);
	return text;
}

/* Of several that hold for a node the worst is shown. */
START_TEST(test_map)
{
	struct storm_gather_entry e[] = {
		entry_value(STATE_BUILD, "1", &both),
		entry_value(STATE_HEALTH, STATE_WELL, &both),
		entry_value(STATE_QUANTUM, "50 ms", &both),
		entry_value(STATE_BUILD, "2", &last),
		entry_value(STATE_HEALTH, "space", &last),
	};
	struct status_answer a = answer_of(e, 3);
	enum map_slurm slurm[3] = { MAP_SLURM_BUSY, MAP_SLURM_DRAIN,
				    MAP_SLURM_IDLE };
	struct map m = { &nodes, &a, NULL };
	bool wrong;
	char *text = mapped(&m, 80, false, &wrong);

	must(!wrong);
	must(!strcmp(text, "n1 %%-\n% 2 takes turns\n- 1 answers\n"));
	free(text);
	m.slurm = slurm;
	text = mapped(&m, 80, false, &wrong);
	must(wrong && strstr(text, " %d.\n"));
	free(text);
	a.table.count = 5;
	text = mapped(&m, 80, false, &wrong);
	must(wrong && strstr(text, " %dv\n"));
	free(text);
	e[3] = entry_value(STATE_EPOCH, "7", &last);
	text = mapped(&m, 80, false, &wrong);
	must(strstr(text, " %d!\n"));
	free(text);
	e[4] = entry_value(STATE_GANG, "excluded by the strober", &last);
	text = mapped(&m, 80, false, &wrong);
	must(strstr(text, " %de\n"));
	free(text);
	node[2].silent = true;
	text = mapped(&m, 80, true, &wrong);
	must(wrong && strstr(text, "{\"state\":\"no answer\",\"count\":1,"
				   "\"nodes\":\"n3\"}"));
	free(text);
	node[2].silent = false;
}
END_TEST

/* 4,000 nodes: rows of whole groups, no wider than the screen. */
START_TEST(test_map_width)
{
	static const unsigned int columns[] = { 80, 200, 5 };
	struct status_node *many = calloc(4000, sizeof(*many));
	struct status_nodes n = { many, 4000 };
	struct status_answer a = answer_of(NULL, 0);
	struct map m = { &n, &a, NULL };
	bool wrong;

	for (int i = 0; i < 4000; i++)
		many[i].name = (char *) "a-node-with-a-long-name";
	a.count = 0;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		char *text = mapped(&m, columns[i], false, &wrong);
		unsigned int lines = 0;

		for (char *p = text, *end; (end = strchr(p, '\n'));
		     p = end + 1, lines++)
			must((unsigned int) (end - p) <= columns[i] ||
			     columns[i] < 26);
		must(lines == (columns[i] == 80	 ? 81 :
			       columns[i] == 200 ? 26 :
						   401));
		free(text);
	}
	free(many);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("status");
	TCase *t = tcase_create("status");

	tcase_add_test(t, test_hostile);
	tcase_add_test(t, test_wrong);
	tcase_add_test(t, test_silent);
	tcase_add_test(t, test_map);
	tcase_add_test(t, test_map_width);
	suite_add_tcase(s, t);
	return unit_main(s);
}
