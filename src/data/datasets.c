/* Data sets by name: see datasets.h. */
#include "data/datasets.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const struct dataset datasets[] = {
    {.info = {.name = "fashion-mnist",
              .summary = "60,000 + 10,000 grey images of clothes, 1x28x28, 10 classes",
              .install = "apt install dataset-fashion-mnist"},
     .format = &source_idx,
     .folders = {"fashion-mnist"}},
    {.info = {.name = "cifar10",
              .summary = "50,000 + 10,000 colour images of objects, 3x32x32, 10 classes",
              .install = "mkdir -p data && curl -L https://www.cs.toronto.edu/~kriz/"
                         "cifar-10-binary.tar.gz | tar xz -C data"},
     .format = &source_cifar10,
     .folders = {"cifar-10-batches-bin", "cifar10"}},
    {.info = {.name = "cifar100",
              .summary = "50,000 + 10,000 colour images of objects, 3x32x32, 100 classes",
              .install = "mkdir -p data && curl -L https://www.cs.toronto.edu/~kriz/"
                         "cifar-100-binary.tar.gz | tar xz -C data"},
     .format = &source_cifar100,
     .folders = {"cifar-100-binary", "cifar100"}},
    {.info = {.name = "synthetic",
              .summary = "random images of the model's own shape and classes, learnable",
              .install = ""},
     .format = &source_synthetic},
};
enum { N_DATASETS = sizeof datasets / sizeof *datasets };

const struct neap_dataset_info *neap_dataset_at(size_t index) {
    return index < N_DATASETS ? &datasets[index].info : NULL;
}

const struct dataset *dataset_find(const char *name) {
    for (size_t i = 0; i < N_DATASETS; i++)
        if (strcmp(datasets[i].info.name, name) == 0)
            return &datasets[i];
    return NULL;
}

struct dataset_names dataset_names(void) {
    struct dataset_names names = {""};
    size_t used = 0;
    for (size_t i = 0; i < N_DATASETS && used < sizeof names.text; i++)
        used += (size_t)snprintf(names.text + used, sizeof names.text - used, "%s%s", i ? ", " : "",
                                 datasets[i].info.name);
    return names;
}

/* The data set's folder in `place`, or `place` itself; NULL in *folder where neither holds it. */
static neap_error *locate_in(const struct dataset *dataset, const char *place, char **folder) {
    for (int i = 0; i <= MAX_DATASET_FOLDERS; i++) {
        const char *name = i < MAX_DATASET_FOLDERS ? dataset->folders[i] : ".";
        if (!name)
            continue;
        if (strcmp(name, ".") == 0)
            TRY(memory_string(place, folder));
        else
            TRY(memory_format(folder, "%s/%s", place, name));
        if (dataset->format->recognise(*folder))
            return NULL;
        free(*folder);
        *folder = NULL;
    }
    return NULL;
}

neap_error *dataset_locate(const struct dataset *dataset, char **folder) {
    *folder = NULL;
    if (!dataset->format->files)
        return NULL;
    const char *own = getenv("NEAP_DATA");
    const char *const places[] = {own && *own ? own : NULL, "./data", "/usr/share/datasets"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (places[i])
            TRY(locate_in(dataset, places[i], folder));
        if (*folder)
            return NULL;
    }
    char looked[256] = "./data or /usr/share/datasets ($NEAP_DATA is not set)";
    if (places[0])
        snprintf(looked, sizeof looked, "'%.200s' ($NEAP_DATA), ./data or /usr/share/datasets",
                 places[0]);
    return error_make(NEAP_ERROR_DATA, "data set '%s' is not in %s\n  to get it:  %s",
                      dataset->info.name, looked, dataset->info.install);
}
