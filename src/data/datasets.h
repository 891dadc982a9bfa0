/* The data sets known by name, and where they are looked for: $NEAP_DATA, ./data and
 * /usr/share/datasets, in each of these the data set's own folder, then the place itself.
 * To add one, add a line to the table in datasets.c. */
#ifndef NEAP_DATA_DATASETS_H
#define NEAP_DATA_DATASETS_H

#include "data/source.h"

enum { MAX_DATASET_FOLDERS = 2 };

struct dataset {
    struct neap_dataset_info info;
    const struct source_format *format;
    const char *folders[MAX_DATASET_FOLDERS]; /* names its folder goes by */
};

/* NULL where no data set is called that. */
const struct dataset *dataset_find(const char *name);

/* The folder that holds it (free() it; NULL where the format needs none). NEAP_ERROR_DATA with the
 * command that installs it where it is nowhere. */
MUST_USE neap_error *dataset_locate(const struct dataset *dataset, char **folder);

/* "fashion-mnist, cifar10, synthetic". */
struct dataset_names {
    char text[160];
};
struct dataset_names dataset_names(void);

#endif
