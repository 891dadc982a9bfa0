/* What a report about a problem should carry: versions, processor, memory, devices. */
#include <unistd.h>

#include "train/session.h"

static void print_memory(FILE *file) {
    char total[24], available[24];
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    fprintf(file, "memory: %s, %s available\n", report_bytes(bytes, total),
            report_bytes(neap_available_bytes(), available));
}

neap_error *neap_env_print(FILE *file) {
    const struct backend *backend;
    fprintf(file, "version: %s\n", neap_version());
    fprintf(file, "compiler: gcc %s\n", __VERSION__);
    for (size_t i = 0; (backend = device_backend(i)); i++)
        if (backend->describe)
            backend->describe(file);
    print_memory(file);
    for (size_t i = 0; (backend = device_backend(i)); i++)
        fprintf(file, "device %s: %s\n", backend->name, backend->summary);
    return ferror(file) ? error_make(NEAP_ERROR_RUNTIME, "cannot write") : NULL;
}
