/*
 * test_px_wire.c - what a launcher and its storm_pmix tell each other, as bytes; the names
 * of a list one by one; and what storm_pmix leaves behind.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <sys/stat.h>
#include <unistd.h>

#include "src/libstorm/base/idset.h"
#include "src/storm_launcher/px_tree.h"
#include "src/storm_launcher/px_wire.h"
#include "src/storm_launcher/run_names.h"
#include "unit.h"

static uint8_t buf[4096];

START_TEST(test_msg)
{
	struct storm_range all = { 0, 7 };
	struct px_msg m = { .run = 5,
			    .rank = 3,
			    .code = 9,
			    .ranks = { &all, 1, 1 },
			    .data = (const uint8_t *) "why",
			    .len = 3 },
		      back;
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in i = { buf, buf, false };

	px_msg_put(&o, &m);
	must(!o.bad && (size_t) (o.p - buf) == px_msg_len(&m));
	i.end = o.p;
	must(px_msg_get(&i, &back) && back.run == 5 && back.rank == 3 &&
	     back.code == 9 && back.ranks.r[0].last == 7 && back.len == 3 &&
	     !memcmp(back.data, "why", 3));
	px_msg_free(&back);
	for (const uint8_t *end = buf; end < buf + 17; end++) {
		i = (struct storm_in) { buf, end, false };
		must(!px_msg_get(&i, &back));
	}
}
END_TEST

/* Is a run with these first ranks of nodes read? */
static bool is_read(const uint32_t *rank, uint32_t nodes, uint32_t nth,
		    const char *space)
{
	struct px_register r = { .run = 5,
				 .space = space,
				 .names = "n[1-3]",
				 .nodes = nodes,
				 .nth = nth,
				 .rank = rank },
			   back;
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in i = { buf, buf, false };

	px_register_put(&o, &r);
	must(!o.bad && (size_t) (o.p - buf) == px_register_len(&r));
	i.end = o.p;
	if (!px_register_get(&i, &back))
		return false;
	must(back.run == 5 && back.nodes == nodes && back.nth == nth &&
	     !memcmp(back.rank, rank, (nodes + 1) * sizeof(*rank)));
	ck_assert_str_eq(back.space, space);
	ck_assert_str_eq(back.names, "n[1-3]");
	px_register_free(&back);
	return true;
}

START_TEST(test_register)
{
	char space[PX_NAMESPACE + 1];

	memset(space, 'x', sizeof(space));
	space[PX_NAMESPACE] = '\0';
	must(is_read((uint32_t[]) { 0, 2, 3, 7 }, 3, 2, "storm.x.1"));
	must(is_read((uint32_t[]) { 0, 1 }, 1, 0, space + 1));
	must(!is_read((uint32_t[]) { 0, 1 }, 1, 0, space));
	must(!is_read((uint32_t[]) { 0, 1 }, 1, 0, ""));
	must(!is_read((uint32_t[]) { 0, 2, 2, 7 }, 3, 2,
		      "s")); /* one has none */
	must(!is_read((uint32_t[]) { 1, 2 }, 1, 0, "s"));
	must(!is_read((uint32_t[]) { 0, 2 }, 1, 1, "s"));
	must(!is_read((uint32_t[]) { 0 }, 0, 0, "s"));
	must(!is_read((uint32_t[]) { 0, PX_RANKS + 1 }, 1, 0, "s"));
}
END_TEST

/* A rank has all variables of the first, but for those in which it differs. */
START_TEST(test_env)
{
	char *first[] = { "A=1", "RANK=0", "B=", NULL };
	char *second[] = { "A=1", "RANK=1", "B=", NULL };
	char *third[] = { "A=1", "RANK=2", "B=", "RANKS=x", NULL };
	char **all[] = { first, second, third };
	size_t len = px_env_len((char *const *const *) all, 3);
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in i = { buf, buf + len, false };
	struct px_env e;
	char **env;

	px_env_put(&o, 5, (char *const *const *) all, 3);
	must(!o.bad && o.p == buf + len);
	must(px_env_get(&i, &e) && e.run == 5 && e.count == 3);
	env = px_env_of(&e, 0);
	ck_assert_str_eq(env[1], "RANK=0");
	must(!env[3]);
	free(env);
	env = px_env_of(&e, 2);
	ck_assert_str_eq(env[0], "A=1");
	ck_assert_str_eq(env[1], "B=");
	ck_assert_str_eq(env[2], "RANK=2");
	ck_assert_str_eq(env[3], "RANKS=x");
	must(!env[4]);
	free(env);
	px_env_free(&e);
	for (size_t k = 0; k < len; k++) {
		i = (struct storm_in) { buf, buf + k, false };
		must(!px_env_get(&i, &e));
	}
}
END_TEST

static bool add(void *arg, const char *name)
{
	char *text = arg;

	strcat(strcat(text, name), " ");
	return strlen(text) < 40;
}

START_TEST(test_names)
{
	char text[128] = "";

	must(run_names_each("n[1-3,07],m,x[1-2]y", add, text));
	ck_assert_str_eq(text, "n1 n2 n3 n07 m x1y x2y ");
	must(!run_names_each("n[1-3", add, text));
	must(!run_names_each("n[1-9999]", add, text)); /* add() has enough */
}
END_TEST

/* All below it is gone, and what a link there leads to is not. */
START_TEST(test_tree)
{
	char dir[] = "/tmp/test_px_wire.XXXXXX", path[64], kept[64], file[80];
	struct stat st;

	must(mkdtemp(dir));
	snprintf(kept, sizeof(kept), "%s/kept", dir);
	must(!mkdir(kept, 0700));
	snprintf(file, sizeof(file), "%s/file", kept);
	must(!mkdir(file, 0700));
	snprintf(path, sizeof(path), "%s/tree", dir);
	must(!mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/tree/5", dir);
	must(!mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/tree/5/link", dir);
	must(!symlink(kept, path));
	snprintf(path, sizeof(path), "%s/tree", dir);
	px_tree_remove(path);
	must(lstat(path, &st) && !lstat(file, &st));
	px_tree_remove(path); /* it is not there */
	px_tree_remove(dir);
	must(lstat(dir, &st));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("px_wire");
	TCase *t = tcase_create("px_wire");

	tcase_add_test(t, test_msg);
	tcase_add_test(t, test_register);
	tcase_add_test(t, test_env);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_tree);
	suite_add_tcase(s, t);
	return unit_main(s);
}
