/* SPDX-License-Identifier: Apache-2.0 */
/* See writer.h. */
#define _GNU_SOURCE
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECT_TRIES 50
#define CONNECT_PAUSE_US 5000

/* Sends a message with a descriptor, or fails at once. */
static bool send_descriptor(int socket, const void *message, size_t size, int descriptor)
{
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof descriptor)];
	} control = { 0 };
	struct iovec part = { (void *)message, size };
	struct msghdr whole = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&whole);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof descriptor);
	memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
	return sendmsg(socket, &whole, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

static int connect_to(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	int opened = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (opened < 0 || length + 1 > sizeof address.sun_path)
		return opened < 0 ? -1 : (close(opened), -1);
	memcpy(address.sun_path + 1, name, length);
	int error = EAGAIN;
	/* Others may have filled the queue, which the plugin empties. */
	for (int i = 0; i < CONNECT_TRIES && error == EAGAIN; i++) {
		if (!connect(opened, (const struct sockaddr *)&address,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)))
			return opened;
		error = errno;
		usleep(error == EAGAIN ? CONNECT_PAUSE_US : 0);
	}
	close(opened);
	return -1;
}

/* Makes the ring, once. Returns false if that is impossible. */
static bool make_ring(struct writer *writer)
{
	size_t size = CUDA_RING_HEAD_SIZE + CUDA_RING_SIZE;
	if (writer->ring)
		return true;
	int file = memfd_create("iaprof-cuda", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory = MAP_FAILED;
	if (file >= 0 && !ftruncate(file, (off_t)size) &&
	    !fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (memory == MAP_FAILED) {
		if (file >= 0)
			close(file);
		return false;
	}
	writer->ring = memory;
	writer->file = file;
	return true;
}

bool writer_open(struct writer *writer, const char *name, const char *token, uint64_t time)
{
	struct cuda_hello hello = {
		.magic = CUDA_MAGIC, .type = CUDA_HELLO, .ring_size = CUDA_RING_SIZE, .time = time
	};
	memcpy(hello.token, token, strnlen(token, sizeof hello.token));
	int opened = connect_to(name);
	if (opened < 0)
		return false;
	pthread_mutex_lock(&writer->lock);
	bool done = make_ring(writer);
	if (done) {
		*writer->ring = (struct cuda_ring){ .magic = CUDA_MAGIC, .size = CUDA_RING_SIZE };
		writer->head = 0;
		done = send_descriptor(opened, &hello, sizeof hello, writer->file);
	}
	writer->is_open = done;
	writer->opened++;
	writer->socket = done ? opened : -1;
	pthread_mutex_unlock(&writer->lock);
	if (!done)
		close(opened);
	return done;
}

bool writer_is_finished(const struct writer *writer)
{
	struct pollfd end = { .fd = writer->socket, .events = POLLRDHUP };
	return poll(&end, 1, 0) > 0;
}

void writer_close(struct writer *writer)
{
	pthread_mutex_lock(&writer->lock);
	writer->is_open = false;
	if (writer->socket >= 0)
		close(writer->socket);
	writer->socket = -1;
	pthread_mutex_unlock(&writer->lock);
}

void writer_abandon(struct writer *writer)
{
	if (writer->socket >= 0)
		close(writer->socket);
	if (writer->file >= 0)
		close(writer->file);
	writer->socket = writer->file = -1;
}

void writer_release(struct writer *writer, uint64_t opened)
{
	pthread_mutex_lock(&writer->lock);
	if (!writer->is_open && writer->opened == opened && writer->ring)
		(void)fallocate(writer->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
				CUDA_RING_HEAD_SIZE + CUDA_RING_SIZE);
	pthread_mutex_unlock(&writer->lock);
}

void writer_drop(struct writer *writer, enum cuda_drop kind, uint64_t count)
{
	__atomic_fetch_add(&writer->ring->dropped[kind], count, __ATOMIC_RELAXED);
}

static void copy_to_ring(struct writer *writer, const void *bytes, size_t size)
{
	char *data = (char *)writer->ring + CUDA_RING_HEAD_SIZE;
	uint64_t at = writer->head % CUDA_RING_SIZE;
	size_t first = size < CUDA_RING_SIZE - at ? size : CUDA_RING_SIZE - at;
	memcpy(data + at, bytes, first);
	memcpy(data, (const char *)bytes + first, size - first);
	writer->head += size;
}

bool writer_put(struct writer *writer, const void *record, size_t size, const void *text, size_t length,
		enum cuda_drop kind, uint64_t weight)
{
	static const char zeros[8];
	size_t padding = -length & 7;
	pthread_mutex_lock(&writer->lock);
	bool is_open = writer->is_open;
	uint64_t used = is_open ? writer->head - __atomic_load_n(&writer->ring->tail, __ATOMIC_ACQUIRE) : 0;
	bool fits = is_open && used <= CUDA_RING_SIZE && size + length + padding <= CUDA_RING_SIZE - used;
	if (fits) {
		copy_to_ring(writer, record, size);
		copy_to_ring(writer, text, length);
		copy_to_ring(writer, zeros, padding);
		__atomic_store_n(&writer->ring->head, writer->head, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&writer->lock);
	if (is_open && !fits) {
		writer_drop(writer, CUDA_DROP_RECORDS, 1);
		if (kind != CUDA_DROP_RECORDS)
			writer_drop(writer, kind, weight);
	}
	return fits;
}

void writer_send_message(struct writer *writer, enum cuda_text_kind kind, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	struct cuda_text record = { .kind = kind, .length = (uint32_t)strlen(text) };
	record.header.size = (uint32_t)sizeof record + ((record.length + 7) & ~7u);
	record.header.type = CUDA_RECORD_MESSAGE;
	writer_put(writer, &record, sizeof record, text, record.length, CUDA_DROP_RECORDS, 1);
}

void writer_send_cubin(struct writer *writer, const struct cuda_cubin *cubin, const void *bytes)
{
	if (!writer->is_open)
		return;
	int descriptor = memfd_create("iaprof-cubin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t done = 0;
	while (descriptor >= 0 && done < cubin->size) {
		ssize_t written = write(descriptor, (const char *)bytes + done, cubin->size - done);
		if (written <= 0)
			break;
		done += (uint64_t)written;
	}
	bool is_sent = descriptor >= 0 && done == cubin->size &&
		       !fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) &&
		       send_descriptor(writer->socket, cubin, sizeof *cubin, descriptor);
	if (!is_sent)
		writer_drop(writer, CUDA_DROP_CUBINS, 1);
	if (descriptor >= 0)
		close(descriptor);
}
