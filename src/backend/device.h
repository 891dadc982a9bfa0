/* Devices: where programs run. A backend is a const descriptor; a device one opened. */
#ifndef NEAP_BACKEND_DEVICE_H
#define NEAP_BACKEND_DEVICE_H

#include "backend/kernel.h"

struct backend {
    const char *name, *summary;
    const struct kernel *const *kernels; /* best first, NULL ends it */
    neap_error *(*open)(struct device *device);
    void (*close)(struct device *device);
    /* Zeroed and touched memory, aligned to 4 KiB at least. */
    neap_error *(*alloc)(struct device *device, size_t bytes, void **out);
    void (*free)(struct device *device, void *memory, size_t bytes);
    bool runs; /* false: plans only */
    /* Lines of "key: value" about the machine and the libraries used; NULL: nothing to say. */
    void (*describe)(FILE *file);
};

struct device {
    const struct backend *backend;
    int threads;
    void *state; /* the backend's own */
};

/* NULL past the last. */
const struct backend *device_backend(size_t index);

/* threads 0: one per processor that this process may use. */
MUST_USE neap_error *device_open(const char *name, int threads, struct device **out);
void device_close(struct device *device);

/* neap's version and what the backend says of machine and libraries, lines of "key: value"; free()
 * it. */
MUST_USE neap_error *device_describe(const struct device *device, char **out);

/* The first kernel that accepts the node; NEAP_ERROR_MODEL with every refusal where none does. */
MUST_USE neap_error *device_choose(struct device *device, const neap_graph *g,
                                   const struct node *node, uint64_t open, struct layout *in,
                                   struct layout *out, const struct kernel **kernel);

#endif
