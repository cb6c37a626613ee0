/*
 * test_status.c - storm status: what other hosts say is printed as text, whatever
 * it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <json-c/json.h>

#include "src/storm_common/state_keys.h"
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

int main(void)
{
	Suite *s = suite_create("status");
	TCase *t = tcase_create("status");

	tcase_add_test(t, test_hostile);
	tcase_add_test(t, test_wrong);
	tcase_add_test(t, test_silent);
	suite_add_tcase(s, t);
	return unit_main(s);
}
