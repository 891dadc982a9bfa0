/* The CPU backend: opening, memory, and the list of kernels. */
#include "backend/cpu/cpu.h"

#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/cpu/dnn.h"
#include "backend/cpu/wide.h"
#include "backend/reference.h"

#define KERNEL(name) extern const struct kernel kernel_##name;
#include "backend/cpu/kernels.def"
#undef KERNEL

const struct kernel *const cpu_kernels[] = {
#define KERNEL(name) &kernel_##name,
#include "backend/cpu/kernels.def"
#undef KERNEL
#define KERNEL(name) &wide_##name,
#include "backend/cpu/kernels.def"
#undef KERNEL
    &kernel_reference,
    NULL,
};

/* Processors that this process may run on. */
static int available_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

static neap_error *open_device(struct device *device) {
    if (device->threads <= 0)
        device->threads = available_processors();
    omp_set_dynamic(0);
    omp_set_num_threads(device->threads);
    return dnn_open(&device->state);
}

static void close_device(struct device *device) {
    dnn_close(device->state);
}

static neap_error *alloc(struct device *device, size_t bytes, void **out) {
    (void)device;
    if (!bytes)
        bytes = 1;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return error_make(NEAP_ERROR_MEMORY, "cannot map %zu bytes: %s", bytes, strerror(errno));
    madvise(memory, bytes, MADV_HUGEPAGE); /* advice: refused on some kernels, which is fine */
    memset(memory, 0, bytes);
    *out = memory;
    return NULL;
}

static void free_memory(struct device *device, void *memory, size_t bytes) {
    (void)device;
    if (memory)
        munmap(memory, bytes ? bytes : 1);
}

int cpu_channel_block(void) {
    return dnn_channel_block();
}

/* ---- what a report about a problem should carry --------------------------------------------- */

static void describe_processor(FILE *file) {
    FILE *cpuinfo = fopen("/proc/cpuinfo", "r");
    char line[256], *colon;
    while (cpuinfo && fgets(line, sizeof line, cpuinfo))
        if (!strncmp(line, "model name", 10) && (colon = strchr(line, ':'))) {
            fprintf(file, "processor: %s", colon + 1 + strspn(colon + 1, " "));
            break;
        }
    if (cpuinfo)
        fclose(cpuinfo);
    fprintf(file, "processors: %d of %ld\n", available_processors(), sysconf(_SC_NPROCESSORS_ONLN));
}

/* X(name): what decides which kernels there are. */
#define INSTRUCTION_SETS(X)                                                                        \
    X("sse4.2")                                                                                    \
    X("avx")                                                                                       \
    X("avx2")                                                                                      \
    X("fma")                                                                                       \
    X("avx512f")                                                                                   \
    X("avx512bw")                                                                                  \
    X("avx512vnni")                                                                                \
    X("avx512bf16")

static void describe_instruction_sets(FILE *file) {
    fputs("instruction sets:", file);
#define X(name)                                                                                    \
    if (__builtin_cpu_supports(name))                                                              \
        fputs(" " name, file);
    INSTRUCTION_SETS(X)
#undef X
    fputc('\n', file);
}

static void describe(FILE *file) {
    char version[32];
    describe_processor(file);
    describe_instruction_sets(file);
    fprintf(file, "threads: %d\n", omp_get_max_threads());
    fprintf(file, "library: %s\n", dnn_version(version));
}

const struct backend backend_cpu = {
    .name = "cpu",
    .summary = "oneDNN and own vector kernels on all processors",
    .kernels = cpu_kernels,
    .open = open_device,
    .close = close_device,
    .alloc = alloc,
    .free = free_memory,
    .runs = true,
    .describe = describe,
};
