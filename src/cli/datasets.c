/* `neap datasets`: what --data knows by name, and where to get it. */
#include "cli/cli.h"

int command_datasets(struct settings *settings) {
    const struct neap_dataset_info *dataset;
    struct emit out = {.file = stdout};
    if (settings->json) {
        emit_open(&out, NULL, '{');
        emit_open(&out, "datasets", '[');
    } else {
        printf("%-16s %s\n", "dataset", "summary");
    }
    for (size_t i = 0; (dataset = neap_dataset_at(i)); i++) {
        if (!settings->json) {
            printf("%-16s %s\n", dataset->name, dataset->summary);
            if (dataset->install && *dataset->install)
                printf("%-16s install: %s\n", "", dataset->install);
            continue;
        }
        emit_open(&out, NULL, '{');
        emit_string(&out, "name", dataset->name);
        emit_string(&out, "summary", dataset->summary);
        emit_string(&out, "install",
                    dataset->install && *dataset->install ? dataset->install : NULL);
        emit_close(&out, '}');
    }
    if (settings->json) {
        emit_close(&out, ']');
        emit_close(&out, '}');
    }
    return NEAP_OK;
}
