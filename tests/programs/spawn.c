/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that makes many short processes in a row:
 *
 *     spawn COUNT SAY HEAR
 *
 * Again and again: COUNT processes, one after the other; then it opens the FIFO named SAY for writing, which tells that
 * it has done so, and waits until the FIFO named HEAR has been written to. It ends when it hears 'q'.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* With vfork(), which is quicker than fork() and the same to whoever watches. */
static int make_process(void)
{
	pid_t child = vfork();
	if (child == 0)
		_exit(0);
	return child < 0 || waitpid(child, NULL, 0) != child ? -1 : 0;
}

/* Returns the word; -1 on errors. */
static int wait_for_word(const char *say, const char *hear)
{
	char word;
	int descriptor = open(say, O_WRONLY | O_CLOEXEC);
	if (descriptor < 0 || close(descriptor))
		return -1;
	descriptor = open(hear, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || read(descriptor, &word, 1) != 1)
		return -1;
	return close(descriptor) ? -1 : word;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	unsigned long count = strtoul(argv[1], NULL, 10);
	for (int word = 0; word != 'q';) {
		for (unsigned long k = 0; k < count; k++)
			if (make_process())
				return 1;
		word = wait_for_word(argv[2], argv[3]);
		if (word < 0)
			return 1;
	}
	return 0;
}
