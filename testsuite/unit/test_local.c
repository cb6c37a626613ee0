/*
 * test_local.c - the frames and the place of the agent's local socket.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/storm_common/local/local.h"
#include "unit.h"

static struct local_frame out, in;
static int pair[2];
static char dir[64];

static void setup(void)
{
	strcpy(dir, "/tmp/storm-test-local-XXXXXX");
	must(mkdtemp(dir));
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair));
}

static void teardown(void)
{
	char cmd[128];

	close(pair[0]);
	close(pair[1]);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

static int receive(enum local_type *type)
{
	return local_recv(pair[1], &in, type);
}

START_TEST(test_fields)
{
	enum local_type type;
	char s[8];

	local_begin(&out, LOCAL_REPORT);
	local_put8(&out, 7);
	local_put32(&out, 0x12345678);
	local_put64(&out, UINT64_MAX - 1);
	local_put_str(&out, "seven c");
	must(!local_send(pair[0], &out, -1));
	must(receive(&type) == 1 && type == LOCAL_REPORT && in.fd == -1);
	must(local_get8(&in) == 7);
	must(local_get32(&in) == 0x12345678);
	must(local_get64(&in) == UINT64_MAX - 1);
	must(!local_end(&in));
	local_get_str(&in, s, sizeof(s));
	must(!strcmp(s, "seven c"));
	must(local_end(&in));
}
END_TEST

START_TEST(test_too_short)
{
	enum local_type type;

	local_begin(&out, LOCAL_STEP);
	local_put32(&out, 1);
	must(!local_send(pair[0], &out, -1));
	must(receive(&type) == 1);
	must(local_get64(&in) == 0);
	must(!local_end(&in));
	/* and stays bad, though four bytes are there */
	must(local_get32(&in) == 0 && !local_end(&in));
}
END_TEST

START_TEST(test_string_too_long)
{
	enum local_type type;
	char s[7];

	local_begin(&out, LOCAL_STATS_IS);
	local_put_str(&out, "seven c");
	must(!local_send(pair[0], &out, -1));
	must(receive(&type) == 1);
	local_get_str(&in, s, sizeof(s));
	must(!*s && !local_end(&in));
}
END_TEST

START_TEST(test_frame_too_large)
{
	local_begin(&out, LOCAL_REPORT);
	for (int i = 0; i < LOCAL_FRAME_MAX; i++)
		local_put8(&out, i);
	errno = 0;
	must(local_send(pair[0], &out, -1) == -1 && errno == EMSGSIZE);
}
END_TEST

/* The largest REPORT that the relay makes fits. */
START_TEST(test_ids_fit)
{
	local_begin(&out, LOCAL_REPORT);
	local_put8(&out, 1);
	local_put32(&out, 0);
	local_put32(&out, LOCAL_IDS_MAX);
	for (uint32_t i = 0; i < LOCAL_IDS_MAX; i++)
		local_put32(&out, i);
	must(!out.bad);
}
END_TEST

/* One byte of the head changed, a byte more, a byte less: all refused. */
START_TEST(test_wrong_frames)
{
	enum local_type type;

	for (int i = 0; i < 14; i++) {
		size_t len;

		local_begin(&out, LOCAL_STATS);
		local_put32(&out, 5);
		must(!local_send(pair[0], &out, -1));
		must(receive(&type) == 1);
		len = out.len;
		if (i < 6) /* magic, version */
			out.buf[i] ^= 1;
		else if (i < 8)
			continue; /* the type is for the reader */
		else if (i < 12)  /* length */
			out.buf[i] ^= 1;
		else
			len += i == 12 ? 1 : -1;
		must(send(pair[0], out.buf, len, 0) == (ssize_t) len);
		errno = 0;
		must(receive(&type) == -1 && errno == EPROTO);
	}
	must(send(pair[0], out.buf, 3, 0) == 3);
	must(receive(&type) == -1 && errno == EPROTO);
	errno = 0;
	must(receive(&type) == -1 && errno == EAGAIN);
	shutdown(pair[0], SHUT_WR);
	must(receive(&type) == 0);
}
END_TEST

static int open_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

START_TEST(test_descriptor)
{
	enum local_type type;
	struct stat a, b;
	int fds, null = open("/dev/null", O_RDONLY);

	fds = open_fds();
	local_begin(&out, LOCAL_HELLO);
	must(!local_send(pair[0], &out, null));
	must(receive(&type) == 1 && in.fd >= 0);
	must(!fstat(null, &a) && !fstat(in.fd, &b));
	must(a.st_rdev == b.st_rdev && a.st_ino == b.st_ino);
	must(fcntl(in.fd, F_GETFD) & FD_CLOEXEC);
	close(in.fd);
	/* that of a frame which is refused is not left open */
	local_begin(&out, LOCAL_HELLO);
	out.buf[4] ^= 1;
	must(!local_send(pair[0], &out, null));
	must(receive(&type) == -1 && errno == EPROTO);
	must(open_fds() == fds);
	close(null);
}
END_TEST

START_TEST(test_path)
{
	char p[108];

	must(!local_path("/run/x", "n1", p, sizeof(p)));
	must(!strcmp(p, "/run/x/n1/agent.sock"));
	must(local_path("/run/x", "", p, sizeof(p)) == EINVAL);
	must(local_path("/run/x", "..", p, sizeof(p)) == EINVAL);
	must(local_path("/run/x", "a/b", p, sizeof(p)) == EINVAL);
	must(local_path("/run/x", "n1", p, 20) == ENAMETOOLONG);
	must(!local_path("/run/x", "n1", p, 21));
}
END_TEST

START_TEST(test_listen)
{
	char path[108];
	int sock, again, client;
	struct stat st;
	pid_t pid;
	uid_t uid;

	errno = 0;
	must(local_connect(dir, "n1", &pid) == -1 && errno == ENOENT);
	sock = local_listen(dir, "n1");
	must(sock >= 0);
	must(!local_path(dir, "n1", path, sizeof(path)));
	must(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	errno = 0;
	must(local_listen(dir, "n1") == -1 && errno == EADDRINUSE);
	client = local_connect(dir, "n1", &pid);
	must(client >= 0 && pid == getpid());
	must(!local_peer(client, &uid, &pid));
	must(uid == geteuid() && pid == getpid());
	close(client);
	/* the socket's name stays behind when its owner is killed */
	close(sock);
	errno = 0;
	must(local_connect(dir, "n1", &pid) == -1 && errno == ECONNREFUSED);
	again = local_listen(dir, "n1");
	must(again >= 0);
	close(again);
}
END_TEST

START_TEST(test_directory_of_others)
{
	char node[96];

	snprintf(node, sizeof(node), "%s/n1", dir);
	must(!mkdir(node, 0755) && !chmod(node, 0777));
	errno = 0;
	must(local_listen(dir, "n1") == -1 && errno == EPERM);
	must(!rmdir(node) && !symlink("/tmp", node));
	errno = 0;
	must(local_listen(dir, "n1") == -1 && errno == ENOTDIR);
	must(!unlink(node) && !chmod(dir, 0775));
	errno = 0;
	must(local_listen(dir, "n1") == -1 && errno == EPERM);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("local");
	TCase *c = tcase_create("local");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, test_fields);
	tcase_add_test(c, test_too_short);
	tcase_add_test(c, test_string_too_long);
	tcase_add_test(c, test_frame_too_large);
	tcase_add_test(c, test_ids_fit);
	tcase_add_test(c, test_wrong_frames);
	tcase_add_test(c, test_descriptor);
	tcase_add_test(c, test_path);
	tcase_add_test(c, test_listen);
	tcase_add_test(c, test_directory_of_others);
	suite_add_tcase(s, c);
	return unit_main(s);
}
