/*
 * test_whole_file.c - files that are there as a whole or not at all: whole_file.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "small_disk.h"
#include "src/storm_common/whole_file.h"
#include "unit.h"

#define SIZE 3000

static char dir[64];

static void setup(void)
{
	strcpy(dir, "/tmp/storm-test-whole-XXXXXX");
	must(mkdtemp(dir));
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

static char *below_dir(const char *name)
{
	static char path[2][128];
	static int i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

START_TEST(test_life)
{
	char buf[64] = "";
	struct stat st;

	must(whole_file_read(dir, "a", buf, sizeof(buf)) < 0);
	must(errno == ENOENT);
	must(!whole_file_write(dir, "a", "first", 5));
	must(whole_file_read(dir, "a", buf, sizeof(buf)) == 5);
	must(!memcmp(buf, "first", 5));
	must(!stat(below_dir("a"), &st) && (st.st_mode & 07777) == 0600);
	must(!whole_file_write(dir, "a", "no", 2));
	must(whole_file_read(dir, "a", buf, sizeof(buf)) == 2);
	must(whole_file_read(dir, "a", buf, 1) == 1);
	must(!whole_file_write(dir, "a", NULL, 0));
	must(!whole_file_read(dir, "a", buf, sizeof(buf)));
	must(access(below_dir(".a"), F_OK) && errno == ENOENT);
	whole_file_remove(dir, "a");
	must(access(below_dir("a"), F_OK) && errno == ENOENT);
	whole_file_remove(dir, "a");
}
END_TEST

/* A failed write keeps the old file, and leaves no other file. */
START_TEST(test_refused)
{
	char name[5000], buf[8];

	must(!whole_file_write(dir, "a", "old", 3));
	must(whole_file_write("/nowhere", "a", "x", 1) == ENOENT);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	must(whole_file_write(dir, name, "x", 1) == ENAMETOOLONG);
	must(whole_file_read(dir, name, buf, 1) < 0 && errno == ENAMETOOLONG);
	/* another user's link is not followed, neither to write nor to read */
	must(!symlink(below_dir("b"), below_dir(".a")));
	must(whole_file_write(dir, "a", "new", 3) == ELOOP);
	must(access(below_dir("b"), F_OK));
	must(whole_file_read(dir, "a", buf, sizeof(buf)) == 3);
	must(!memcmp(buf, "old", 3));
	must(!symlink("/etc/passwd", below_dir("c")));
	must(whole_file_read(dir, "c", buf, sizeof(buf)) < 0 && errno == ELOOP);
	must(!mkdir(below_dir("d"), 0700));
	must(whole_file_write(dir, "d", "x", 1) == EISDIR);
	must(access(below_dir(".d"), F_OK) && errno == ENOENT);
}
END_TEST

/* A reader sees the old file or the new one, however fast it is rewritten. */
START_TEST(test_whole)
{
	uint8_t buf[SIZE];
	pid_t pid;

	memset(buf, 0, SIZE);
	must(!whole_file_write(dir, "a", buf, SIZE));
	pid = fork();
	must(pid >= 0);
	for (uint8_t i = 0; !pid; i++) {
		memset(buf, i, SIZE);
		if (whole_file_write(dir, "a", buf, SIZE))
			_exit(1);
	}
	for (int n = 0; n < 2000; n++) {
		must(whole_file_read(dir, "a", buf, SIZE) == SIZE);
		must(buf[0] == buf[SIZE - 1] && buf[0] == buf[SIZE / 2]);
	}
	must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}
END_TEST

/* Cut off anywhere, or with any byte changed, it is damaged and not something
 * else. */
START_TEST(test_damaged)
{
	char all[256], *buf = NULL;
	size_t len, size;
	ssize_t n;

	must(whole_file_load(dir, "a", &buf, &len) == ENOENT);
	must(!whole_file_save(dir, "a", "seven c", 7));
	must(!whole_file_load(dir, "a", &buf, &len));
	must(len == 7 && !strcmp(buf, "seven c"));
	free(buf);
	n = whole_file_read(dir, "a", all, sizeof(all));
	must(n > 7 && n < (ssize_t) sizeof(all));
	size = (size_t) n;
	for (size_t i = 0; i < size; i++) {
		put_file(below_dir("a"), all, i);
		must(whole_file_load(dir, "a", &buf, &len) == EBADMSG);
		for (int bit = 0; bit < 8; bit++) {
			all[i] ^= 1 << bit;
			put_file(below_dir("a"), all, size);
			must(whole_file_load(dir, "a", &buf, &len) == EBADMSG);
			all[i] ^= 1 << bit;
		}
	}
	all[size] = 'x';
	put_file(below_dir("a"), all, size + 1);
	must(whole_file_load(dir, "a", &buf, &len) == EBADMSG);
	must(!whole_file_save(dir, "a", NULL, 0));
	must(!whole_file_load(dir, "a", &buf, &len) && !len);
	free(buf);
}
END_TEST

START_TEST(test_full_disk)
{
	char *buf = NULL, big[5000] = "";
	size_t len;

	if (!small_disk(dir))
		return;
	must(!whole_file_save(dir, "a", "old", 3));
	must(whole_file_save(dir, "a", "new", 3) == ENOSPC);
	must(whole_file_write(dir, "b", big, sizeof(big)) == ENOSPC);
	must(access(below_dir(".a"), F_OK) && access(below_dir(".b"), F_OK));
	must(access(below_dir("b"), F_OK));
	must(!whole_file_load(dir, "a", &buf, &len) && len == 3);
	must(!strcmp(buf, "old"));
	free(buf);
	must(!umount(dir));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("whole_file");
	TCase *t = tcase_create("whole_file");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_life);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_whole);
	tcase_add_test(t, test_damaged);
	tcase_add_test(t, test_full_disk);
	suite_add_tcase(s, t);
	return unit_main(s);
}
