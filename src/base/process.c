/* Memory of this process and of the machine, read from /proc and the control group's files. */
#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "neap.h"

/* The number behind `key` in a file of "key: value kB" lines, in bytes; -1 where there is none. */
static int64_t read_kilobytes(const char *path, const char *key) {
    FILE *file = fopen(path, "r");
    char line[256];
    int64_t bytes = -1;
    size_t length = strlen(key);
    while (file && bytes < 0 && fgets(line, sizeof line, file))
        if (!strncmp(line, key, length) && line[length] == ':')
            bytes = strtoll(line + length + 1, NULL, 10) * 1024;
    if (file)
        fclose(file);
    return bytes;
}

/* A file's first number; -1 for "max" and where there is no such file. */
static int64_t read_number(const char *path) {
    FILE *file = fopen(path, "r");
    long long number = -1;
    if (file) {
        if (fscanf(file, "%lld", &number) != 1)
            number = -1;
        fclose(file);
    }
    return number;
}

int64_t process_peak_rss_bytes(void) {
    int64_t bytes = read_kilobytes("/proc/self/status", "VmHWM");
    return bytes < 0 ? 0 : bytes;
}

int64_t process_rss_bytes(void) {
    int64_t bytes = read_kilobytes("/proc/self/status", "VmRSS");
    return bytes < 0 ? 0 : bytes;
}

double process_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t neap_available_bytes(void) {
    static const struct {
        const char *limit, *used;
    } groups[] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes",
         "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
    };
    int64_t available = read_kilobytes("/proc/meminfo", "MemAvailable");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        int64_t limit = read_number(groups[i].limit), used = read_number(groups[i].used);
        if (limit >= 0 && used >= 0 && (available < 0 || limit - used < available))
            available = limit - used;
    }
    return available < 0 ? 0 : available;
}
