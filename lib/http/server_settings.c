/* SPDX-License-Identifier: Apache-2.0 */
/* See server_settings.h. */
#include "http/server_settings.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular_file.h"
#include "http/headers.h"

/* The certificates of a distribution are 0.3 MB. */
#define CERTIFICATES_SIZE_MAX ((size_t)64 << 20)

static CURLUcode parse_url(const char *url)
{
	CURLU *parsed = curl_url();
	CURLUcode code = parsed ? curl_url_set(parsed, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
	curl_url_cleanup(parsed);
	return code;
}

static int check_url(const struct iaprof_host *host, const struct server_settings *settings)
{
	const char *name = settings->url.name, *url = settings->url.value ? settings->url.value : settings->whole_url;
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return host->fail(host, EINVAL, "%s %s: has to begin with http:// or https://", name, url);
	/* With a path behind it, libcurl would find a host in "http://". */
	CURLUcode code = parse_url(url);
	if (!code)
		code = parse_url(settings->whole_url);
	return code ? host->fail(host, EINVAL, "%s %s: %s", name, url, curl_url_strerror(code)) : 0;
}

static int check_headers(const struct iaprof_host *host, const struct server_setting *setting)
{
	char problem[HEADERS_PROBLEM_SIZE];
	int result = setting->value ? headers_read(setting->value, NULL, NULL, problem) : 0;
	return result == -EINVAL ? host->fail(host, result, "%s: %s", setting->name, problem)
	       : result          ? host->fail(host, result, "out of memory")
				 : 0;
}

static bool has_certificate(const char *text)
{
	/* OpenSSL's other form has "TRUSTED CERTIFICATE". */
	for (const char *found = text; (found = strstr(found, "-----BEGIN ")); found++)
		if (!strncmp(found, "-----BEGIN CERTIFICATE-----", 27) ||
		    !strncmp(found, "-----BEGIN TRUSTED CERTIFICATE-----", 35) ||
		    !strncmp(found, "-----BEGIN X509 CERTIFICATE-----", 32))
			return true;
	return false;
}

static int check_certificate(const struct iaprof_host *host, const struct server_setting *setting)
{
	struct stat status;
	if (!setting->value)
		return 0;
	if (!*setting->value)
		return host->fail(host, EINVAL, "%s is empty (omit it for the system's certificates)", setting->name);
	/* What is not a file, such as a pipe, can be read only once. */
	if (!stat(setting->value, &status) && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return 0;
	CLEANUP_CLOSE int file = open(setting->value, O_RDONLY | O_CLOEXEC);
	size_t size;
	CLEANUP_FREE char *text = file < 0 ? NULL : file_read_all(file, CERTIFICATES_SIZE_MAX, &size);
	int code = errno;
	if (!text)
		return host->fail(host, code, "%s %s: %s", setting->name, setting->value, strerror(code));
	return has_certificate(text)
		       ? 0
		       : host->fail(host, EINVAL, "%s %s: there is no certificate in it (the format is PEM)",
				    setting->name, setting->value);
}

int server_settings_check(const struct iaprof_host *host, const struct server_settings *settings)
{
	int result = check_url(host, settings);
	if (!result)
		result = check_headers(host, &settings->headers);
	return result ? result : check_certificate(host, &settings->certificate);
}
