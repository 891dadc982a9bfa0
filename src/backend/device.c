/* Opening devices and choosing kernels: see device.h. */
#include "backend/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cpu/cpu.h"
#include "backend/null/null.h"

static const struct backend *const backends[] = {&backend_cpu, &backend_null};
enum { N_BACKENDS = sizeof backends / sizeof *backends };

const struct backend *device_backend(size_t index) {
    return index < N_BACKENDS ? backends[index] : NULL;
}

neap_error *device_open(const char *name, int threads, struct device **out) {
    const struct backend *backend = NULL;
    for (int i = 0; i < N_BACKENDS; i++)
        if (!strcmp(backends[i]->name, name))
            backend = backends[i];
    if (!backend)
        return error_make(NEAP_ERROR_USAGE, "unknown device '%s': there are cpu and null", name);
    struct device *device;
    TRY(memory_alloc(1, sizeof *device, &device));
    device->backend = backend;
    device->threads = threads;
    neap_error *error = backend->open(device);
    if (error)
        free(device);
    else
        *out = device;
    return error;
}

void device_close(struct device *device) {
    if (!device)
        return;
    device->backend->close(device);
    free(device);
}

neap_error *device_describe(const struct device *device, char **out) {
    size_t length = 0;
    *out = NULL;
    FILE *file = open_memstream(out, &length);
    if (!file)
        return error_memory(1);
    fprintf(file, "version: %s\n", neap_version());
    if (device->backend->describe)
        device->backend->describe(file);
    return fclose(file) ? error_memory(length) : NULL;
}

static neap_error *refuse_all(const struct device *device, const neap_graph *g,
                              const struct node *node, const char *refusals) {
    char shape[64] = "";
    if (node_has_input(node, 0))
        shape_text(node_input(g, node, 0)->shape, shape);
    return node_refuse(g, node, "no kernel of '%s' takes it (input %s):%s", device->backend->name,
                       shape, refusals);
}

neap_error *device_choose(struct device *device, const neap_graph *g, const struct node *node,
                          uint64_t open, struct layout *in, struct layout *out,
                          const struct kernel **kernel) {
    struct kernel_site site = {device, g, node, open};
    struct layout current[256], target = *out;
    char refusals[512] = "";
    memcpy(current, in, node->n_inputs * sizeof *in);
    for (const struct kernel *const *k = device->backend->kernels; *k; k++) {
        if (!kernel_is_for(*k, node->op))
            continue;
        memcpy(in, current, node->n_inputs * sizeof *in);
        for (uint32_t i = 0; i < node->n_outputs; i++)
            out[i] = i ? (struct layout){0} : target;
        const char *refusal = (*k)->negotiate(&site, &(struct kernel_layouts){in, out});
        if (!refusal) {
            *kernel = *k;
            return NULL;
        }
        size_t used = strlen(refusals);
        snprintf(refusals + used, sizeof refusals - used, " %s: %s;", (*k)->name, refusal);
    }
    return refuse_all(device, g, node, refusals);
}
