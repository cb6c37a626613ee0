/*
 * test_agent_file.c - the process that touches a user's files as the user.
 * Those tests that need two users need root.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/plugins/switch/storm/agent/file_child.h"
#include "unit.h"

/* no account has to exist: ids are numbers */
#define ALICE 54321
#define BOB 54322

static char dir[64];
static int nursery = -1, child = -1;
static struct file_user user;

static bool root(void)
{
	return geteuid() == 0;
}

static void setup(void)
{
	strcpy(dir, "/tmp/storm-test-file-XXXXXX");
	must(mkdtemp(dir));
	user.uid = root() ? ALICE : geteuid();
	user.gid = root() ? ALICE : getegid();
	must(!chmod(dir, 0755));
	if (root())
		must(!chown(dir, ALICE, ALICE));
	nursery = file_nursery_start(NULL);
	must(nursery >= 0);
	child = file_child_start(nursery, &user);
	must(child >= 0);
}

static void teardown(void)
{
	char cmd[128];

	close(child);
	close(nursery);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

/* Ask, and wait for the answer: its err, and the descriptor. */
static int ask_of(int sock, struct file_request *req, struct file_reply *rep,
		  int *fd)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int none;

	if (!fd)
		fd = &none;
	must(!file_child_send(sock, req));
	must(poll(&p, 1, 10000) == 1);
	must(file_child_recv(sock, rep, fd) == 1);
	must(rep->verb == req->verb && rep->op == req->op);
	must((*fd >= 0) == (req->verb == FILE_BEGIN && !rep->err));
	return rep->err;
}

static int begin(const char *path, uint64_t op, uint32_t flags, uint64_t size,
		 int *fd)
{
	struct file_request req = { .verb = FILE_BEGIN,
				    .op = op,
				    .flags = flags,
				    .size = size,
				    .mode = 04755,
				    .atime = 1000000000,
				    .mtime = 1100000000 };
	struct file_reply rep;

	if (path[0] == '/' || flags & STORM_FILE_IN_LIBDIR)
		snprintf(req.path, sizeof(req.path), "%s", path);
	else
		snprintf(req.path, sizeof(req.path), "%s/%s", dir, path);
	ask_of(child, &req, &rep, fd);
	errno = rep.sys;
	return rep.err;
}

static int ask(uint32_t verb, uint64_t op)
{
	struct file_request req = { .verb = verb, .op = op };
	struct file_reply rep;

	ask_of(child, &req, &rep, NULL);
	errno = rep.sys;
	return rep.err;
}

static char *at(const char *name)
{
	static char path[2][512];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[0]), "%s/%s", dir, name);
	return path[turn];
}

/* Names in a directory, without the two dots. */
static int names_in(const char *path)
{
	DIR *d = opendir(path);
	int n = -2;

	must(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void make(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "w");

	must(f && fputs(text, f) >= 0 && !fclose(f));
	if (root())
		must(!chown(at(name), ALICE, ALICE));
}

static void holds(const char *name, const char *text)
{
	char buf[64] = "";
	FILE *f = fopen(at(name), "r");

	must(f);
	must(fread(buf, 1, sizeof(buf) - 1, f) == strlen(text));
	fclose(f);
	ck_assert_str_eq(buf, text);
}

/* Until it holds; a child works at its own pace. */
#define eventually(cond)                                               \
	do {                                                           \
		bool ok_ = false;                                      \
		for (int i_ = 0; i_ < 1000 && !(ok_ = (cond)); i_++)   \
			usleep(10000);                                 \
		if (!ok_)                                              \
			ck_abort_msg("does not come true: %s", #cond); \
	} while (0)

START_TEST(test_whole)
{
	struct stat st;
	int fd;

	must(!begin("f", 1, STORM_FILE_TIMES, 5, &fd));
	must(access(at("f"), F_OK)); /* under another name so far */
	must(names_in(dir) == 1);
	must(!fstat(fd, &st) && (st.st_mode & 0777) == 0600);
	must(st.st_uid == user.uid && st.st_gid == user.gid);
	must(pwrite(fd, "lo", 2, 3) == 2 && pwrite(fd, "hel", 3, 0) == 3);
	must(!ask(FILE_STAGE, 1));
	must(access(at("f"), F_OK));
	must(!ask(FILE_COMMIT, 1));
	must(!ask(FILE_COMMIT, 1)); /* asked again: done already */
	must(names_in(dir) == 1);
	holds("f", "hello");
	must(!stat(at("f"), &st));
	must((st.st_mode & 07777) == 0755); /* the set-id bit is not taken */
	must(st.st_atime >= 1000000000 && st.st_mtime == 1100000000);
	close(fd);
}
END_TEST

START_TEST(test_empty_file)
{
	int fd;

	must(!begin("f", 1, 0, 0, &fd));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	holds("f", "");
	close(fd);
}
END_TEST

START_TEST(test_size_is_checked)
{
	int fd;

	must(!begin("f", 1, 0, 5, &fd));
	must(pwrite(fd, "hell", 4, 0) == 4);
	must(ask(FILE_STAGE, 1) == STORM_EVERIFY);
	must(pwrite(fd, "hello!", 6, 0) == 6);
	must(ask(FILE_STAGE, 1) == STORM_EVERIFY);
	close(fd);
}
END_TEST

START_TEST(test_abort_leaves_nothing)
{
	struct file_request req = { .verb = FILE_ABORT, .op = 1 };
	int fd;

	must(!begin("f", 1, STORM_FILE_LIBDIR, 5, &fd));
	must(names_in(dir) == 2);
	must(!file_child_send(child, &req));
	must(ask(FILE_STAGE, 1) == STORM_ENOENT);
	must(names_in(dir) == 0);
	close(fd);
}
END_TEST

START_TEST(test_abort_after_commit_keeps)
{
	struct file_request req = { .verb = FILE_ABORT, .op = 1 };
	int fd;

	must(!begin("f", 1, STORM_FILE_LIBDIR, 0, &fd));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(!file_child_send(child, &req));
	must(ask(FILE_STAGE, 1) == STORM_ENOENT);
	must(names_in(dir) == 2);
	close(fd);
}
END_TEST

START_TEST(test_close_leaves_nothing)
{
	int fd;

	must(!begin("f", 1, STORM_FILE_LIBDIR, 5, &fd));
	close(fd);
	must(!begin("g", 2, 0, 5, &fd));
	must(names_in(dir) == 3);
	close(child);
	child = -1;
	eventually(names_in(dir) == 0);
	close(fd);
}
END_TEST

/* What holds the child's socket is killed outright. */
START_TEST(test_killed_agent_leaves_nothing)
{
	int ready[2], status;
	char c;
	pid_t pid;

	must(!pipe(ready));
	pid = fork();
	must(pid >= 0);
	if (!pid) {
		int fd;

		close(child);
		child = file_child_start(nursery, &user);
		if (begin("f", 1, 0, 5, &fd) || write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	must(read(ready[0], &c, 1) == 1);
	must(names_in(dir) == 1);
	must(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid);
	eventually(names_in(dir) == 0);
}
END_TEST

START_TEST(test_exists)
{
	int fd;

	make("f", "old");
	must(begin("f", 1, 0, 3, NULL) == STORM_EEXIST && errno == EEXIST);
	must(!begin("f", 1, STORM_FILE_FORCE, 3, &fd));
	must(pwrite(fd, "new", 3, 0) == 3);
	must(!ask(FILE_STAGE, 1));
	holds("f", "old");
	must(!ask(FILE_COMMIT, 1));
	holds("f", "new");
	must(names_in(dir) == 1);
	close(fd);
}
END_TEST

/* It appears while the data are under way. */
START_TEST(test_exists_at_commit)
{
	int fd;

	must(!begin("f", 1, 0, 0, &fd));
	must(!ask(FILE_STAGE, 1));
	make("f", "other");
	must(ask(FILE_COMMIT, 1) == STORM_EEXIST);
	holds("f", "other");
	close(fd);
}
END_TEST

START_TEST(test_bad_paths)
{
	static const struct {
		const char *path;
		int err, sys;
	} bad[] = {
		{ "..", STORM_EPATH, EINVAL },
		{ "../x", STORM_EPATH, EINVAL },
		{ "a/../x", STORM_EPATH, EINVAL },
		{ "x/..", STORM_EPATH, EINVAL },
		{ ".", STORM_EPATH, EISDIR },
		{ "", STORM_EPATH, EISDIR },
		{ "dir", STORM_EPATH, EISDIR },
		{ "dir/", STORM_EPATH, EISDIR },
		{ "fifo", STORM_EPATH, ENXIO },
		{ "nodir/x", STORM_ESYS, ENOENT },
		{ "file/x", STORM_EPATH, ENOTDIR },
	};
	struct file_request req = { .verb = FILE_BEGIN,
				    .op = 1,
				    .path = "relative" };
	struct file_reply rep;

	make("file", "");
	must(!mkdir(at("dir"), 0755) && !mkfifo(at("fifo"), 0644));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int err = begin(bad[i].path, 1, STORM_FILE_FORCE, 1, NULL);

		if (err != bad[i].err || errno != bad[i].sys)
			ck_abort_msg("%s: error %d, errno %d", bad[i].path, err,
				     errno);
	}
	must(ask_of(child, &req, &rep, NULL) == STORM_EPATH);
	must(names_in(dir) == 3 && names_in(at("dir")) == 0);
}
END_TEST

/* Dots that are part of a name are only dots. */
START_TEST(test_dots_in_names)
{
	int fd;

	must(!begin("..f", 1, 0, 0, &fd));
	close(fd);
	must(!begin("g..", 2, 0, 0, &fd));
	close(fd);
	must(!begin("h..i", 3, 0, 0, &fd));
	close(fd);
}
END_TEST

START_TEST(test_long_name)
{
	char name[300];
	int fd;

	memset(name, 'x', sizeof(name));
	name[256] = '\0';
	must(begin(name, 1, 0, 0, NULL) == STORM_EPATH);
	name[255] = '\0';
	must(!begin(name, 1, 0, 0, &fd));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(!access(at(name), F_OK));
	close(fd);
	/* its libraries' directory would be longer still */
	must(begin(name, 2, STORM_FILE_LIBDIR | STORM_FILE_FORCE, 0, NULL) ==
	     STORM_EPATH);
	must(names_in(dir) == 1);
}
END_TEST

START_TEST(test_symlink)
{
	int fd;

	make("other", "precious");
	must(!symlink(at("other"), at("link")));
	must(begin("link", 1, 0, 3, NULL) == STORM_EEXIST);
	must(begin("link", 1, STORM_FILE_FORCE, 3, NULL) == STORM_EPATH);
	must(errno == ELOOP);
	holds("other", "precious");
	/* a link on the way is followed, as by Slurm */
	must(!mkdir(at("dir"), 0777) && !chmod(at("dir"), 0777));
	must(!symlink("dir", at("to")));
	must(!begin("to/f", 2, 0, 0, &fd));
	must(names_in(at("dir")) == 1);
	close(fd);
}
END_TEST

START_TEST(test_libdir)
{
	struct stat st;
	int fd;

	must(begin("libx.so", 1, STORM_FILE_IN_LIBDIR, 0, NULL) ==
	     STORM_EINVAL);
	must(!begin("f", 1, STORM_FILE_LIBDIR, 0, &fd));
	close(fd);
	must(!stat(at("f_libs"), &st) && (st.st_mode & 0777) == 0700);
	must(st.st_uid == user.uid);
	must(begin("a/b", 2, STORM_FILE_IN_LIBDIR, 0, NULL) == STORM_EPATH);
	must(begin("..", 2, STORM_FILE_IN_LIBDIR, 0, NULL) == STORM_EPATH);
	must(begin("", 2, STORM_FILE_IN_LIBDIR, 0, NULL) == STORM_EPATH);
	must(!begin("libx.so", 2, STORM_FILE_IN_LIBDIR, 0, &fd));
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(!ask(FILE_STAGE, 2) && !ask(FILE_COMMIT, 2));
	must(!access(at("f_libs/libx.so"), F_OK));
	close(fd);
	/* it exists: an error, as Slurm's; with force it is used again */
	must(begin("f", 3, STORM_FILE_LIBDIR, 0, NULL) == STORM_EEXIST);
	must(!begin("f", 3, STORM_FILE_LIBDIR | STORM_FILE_FORCE, 0, &fd));
	close(fd);
	must(!access(at("f_libs/libx.so"), F_OK));
}
END_TEST

START_TEST(test_rmdir)
{
	struct file_request req = { .verb = FILE_RMDIR };
	struct file_reply rep;

	must(!mkdir(at("f_libs"), 0777));
	make("f_libs/a", "");
	make("keep", "precious");
	must(!symlink(at("keep"), at("f_libs/b")));
	if (root())
		must(!chown(at("f_libs"), ALICE, ALICE));
	strcpy(req.path, at("f_libs"));
	must(!ask_of(child, &req, &rep, NULL));
	must(names_in(dir) == 1);
	holds("keep", "precious");
	must(!ask_of(child, &req, &rep, NULL)); /* gone already */
	/* through a link: not */
	must(!mkdir(at("d"), 0777) && !symlink("d", at("l")));
	make("d/a", "");
	strcpy(req.path, at("l"));
	must(ask_of(child, &req, &rep, NULL) == STORM_EPATH);
	must(names_in(at("d")) == 1);
}
END_TEST

/* What another user may not do, this child may not. */
START_TEST(test_as_the_user)
{
	static const gid_t groups[] = { BOB };
	struct file_user in_group = user;
	struct stat st;
	int fd;

	must(!mkdir(at("bob"), 0755) && !chown(at("bob"), BOB, BOB));
	must(begin("bob/f", 1, 0, 0, NULL) == STORM_ESYS && errno == EACCES);
	must(!mkdir(at("secret"), 0700));
	must(begin("secret/f", 1, 0, 0, NULL) == STORM_ESYS && errno == EACCES);
	/* sticky: others' files cannot be replaced */
	must(!mkdir(at("tmp"), 0777) && !chmod(at("tmp"), 01777));
	make("tmp/f", "bob's");
	must(!chown(at("tmp/f"), BOB, BOB));
	must(begin("tmp/f", 2, STORM_FILE_FORCE, 0, NULL) == STORM_ESYS);
	must(errno == EACCES);
	must(!chmod(at("tmp/f"), 0666));
	must(begin("tmp/f", 2, STORM_FILE_FORCE, 0, NULL) == STORM_ESYS);
	must(errno == EACCES);
	must(names_in(at("tmp")) == 1);
	holds("tmp/f", "bob's");
	/* elsewhere those that Slurm could write to can */
	must(!chmod(at("tmp"), 0777));
	must(!begin("tmp/f", 2, STORM_FILE_FORCE, 0, &fd));
	must(!ask(FILE_STAGE, 2) && !ask(FILE_COMMIT, 2));
	holds("tmp/f", "");
	close(fd);
	/* ... and the others not */
	make("tmp/g", "bob's");
	must(!chown(at("tmp/g"), BOB, BOB) && !chmod(at("tmp/g"), 0644));
	must(begin("tmp/g", 4, STORM_FILE_FORCE, 0, NULL) == STORM_ESYS);
	must(errno == EACCES);
	/* supplementary groups count */
	must(!chmod(at("bob"), 0775));
	must(begin("bob/f", 3, 0, 0, NULL) == STORM_ESYS);
	in_group.gids = groups;
	in_group.ngids = 1;
	close(child);
	child = file_child_start(nursery, &in_group);
	must(child >= 0 && !begin("bob/f", 3, 0, 0, &fd));
	must(!fstat(fd, &st) && st.st_uid == ALICE && st.st_gid == ALICE);
	close(fd);
}
END_TEST

START_TEST(test_full_disk)
{
	int fd;

	must(!mkdir(at("small"), 0777));
	if (mount("tmpfs", at("small"), "tmpfs", 0, "size=64k,mode=777")) {
		fprintf(stderr, "SKIP: full_disk: cannot mount a tmpfs\n");
		return;
	}
	must(begin("small/f", 1, 0, 1 << 20, NULL) == STORM_ESYS);
	must(errno == ENOSPC);
	must(names_in(at("small")) == 0);
	must(!begin("small/f", 2, 0, 4096, &fd));
	close(fd);
	close(child);
	child = -1;
	eventually(names_in(at("small")) == 0);
	eventually(!umount(at("small")));
}
END_TEST

START_TEST(test_same_operation_twice)
{
	int fd;

	must(!begin("f", 1, 0, 0, &fd));
	must(begin("g", 1, 0, 0, NULL) == STORM_EINVAL);
	must(!ask(FILE_STAGE, 1) && !ask(FILE_COMMIT, 1));
	must(access(at("g"), F_OK));
	must(ask(FILE_STAGE, 77) == STORM_ENOENT);
	must(ask(FILE_COMMIT, 77) == STORM_ENOENT);
	must(ask(99, 1) == STORM_EINVAL);
	close(fd);
}
END_TEST

START_TEST(test_nursery_ends)
{
	struct pollfd p = { .events = POLLIN };
	struct file_reply rep;
	int fd;

	close(nursery);
	nursery = -1;
	/* children live on for their sessions */
	must(!begin("f", 1, 0, 0, &fd));
	close(fd);
	nursery = file_nursery_start(NULL);
	must(nursery >= 0);
	close(child);
	user.ngids = -1;
	errno = 0;
	must(file_child_start(nursery, &user) == -1 && errno == EINVAL);
	user.ngids = 0;
	/* a user that this process may not become: the end, not a hang */
	if (!root()) {
		user.uid++;
		child = file_child_start(nursery, &user);
		p.fd = child;
		must(poll(&p, 1, 10000) == 1);
		must(!file_child_recv(child, &rep, &fd));
		user.uid--;
	} else {
		child = -1;
	}
}
END_TEST

/* In the child, with the job's number and before it is the user. */
static int join_chdir(uint32_t job_id, uid_t uid)
{
	if (uid != user.uid || (root() && geteuid()))
		return 1;
	/* job 7 has no namespace */
	return job_id == 7 ? 1 : chdir(dir);
}

START_TEST(test_join)
{
	struct pollfd p = { .events = POLLIN };
	struct file_reply rep;
	int fd;

	close(nursery);
	nursery = file_nursery_start(join_chdir);
	must(nursery >= 0);
	close(child);
	user.job_id = 5;
	child = file_child_start(nursery, &user);
	must(child >= 0 && !begin("f", 1, 0, 0, &fd));
	close(fd);
	close(child);
	user.job_id = 7;
	child = file_child_start(nursery, &user);
	p.fd = child;
	must(child >= 0 && poll(&p, 1, 10000) == 1);
	must(!file_child_recv(child, &rep, &fd));
	user.job_id = 0;
}
END_TEST

int main(void)
{
	Suite *s = suite_create("agent_file");
	TCase *c = tcase_create("files");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_set_timeout(c, 20);
	tcase_add_test(c, test_whole);
	tcase_add_test(c, test_empty_file);
	tcase_add_test(c, test_size_is_checked);
	tcase_add_test(c, test_abort_leaves_nothing);
	tcase_add_test(c, test_abort_after_commit_keeps);
	tcase_add_test(c, test_close_leaves_nothing);
	tcase_add_test(c, test_killed_agent_leaves_nothing);
	tcase_add_test(c, test_exists);
	tcase_add_test(c, test_exists_at_commit);
	tcase_add_test(c, test_bad_paths);
	tcase_add_test(c, test_dots_in_names);
	tcase_add_test(c, test_long_name);
	tcase_add_test(c, test_symlink);
	tcase_add_test(c, test_libdir);
	tcase_add_test(c, test_rmdir);
	tcase_add_test(c, test_same_operation_twice);
	tcase_add_test(c, test_nursery_ends);
	tcase_add_test(c, test_join);
	if (root()) {
		tcase_add_test(c, test_as_the_user);
		tcase_add_test(c, test_full_disk);
	} else {
		fprintf(stderr, "SKIP: as_the_user, full_disk: not root\n");
	}
	suite_add_tcase(s, c);
	return unit_main(s);
}
