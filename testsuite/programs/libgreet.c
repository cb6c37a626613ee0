/*
 * libgreet - a shared library that exists on the login host alone, so that a
 * program which uses it runs elsewhere only if --send-libs brought it along.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
const char *greet(void);

const char *greet(void)
{
	return "greetings from the library";
}
