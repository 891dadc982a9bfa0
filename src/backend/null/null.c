/* The null backend: every op in plain layouts, without scratch, never run. */
#include "backend/null/null.h"

#include "backend/reference.h"

static neap_error *open_device(struct device *device) {
    (void)device;
    return NULL;
}

static void close_device(struct device *device) {
    (void)device;
}

static neap_error *alloc(struct device *device, size_t bytes, void **out) {
    (void)device;
    (void)out;
    return error_make(NEAP_ERROR_USAGE, "the null device plans only: it has no %zu bytes to run in",
                      bytes);
}

static void free_memory(struct device *device, void *memory, size_t bytes) {
    (void)device;
    (void)memory;
    (void)bytes;
}

static const struct kernel *const kernels[] = {&kernel_reference, NULL};

const struct backend backend_null = {
    .name = "null",
    .summary = "plans for plain layouts, runs nothing",
    .kernels = kernels,
    .open = open_device,
    .close = close_device,
    .alloc = alloc,
    .free = free_memory,
    .runs = false,
};
