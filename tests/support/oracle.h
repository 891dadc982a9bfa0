/* PyTorch's numbers (tests/oracle/README.md): the closed formulas and the files made with them. */
#ifndef NEAP_TESTS_SUPPORT_ORACLE_H
#define NEAP_TESTS_SUPPORT_ORACLE_H

#include "exec/store.h"

enum { ORACLE_LOSSES = 10 };

/* A line of ten_losses.txt. */
struct oracle_losses {
    int64_t batch;
    double lr, float32_error;
    double losses[ORACLE_LOSSES]; /* in float64 */
};

/* A line of <model>_gradients.txt. */
struct oracle_tensor {
    bool gradient; /* else a buffer */
    char name[128];
    int64_t n;
    double norm, projection, float32_error, first[3];
};

/* A file of tests/oracle; NULL where the sources are not at hand. Close it with fclose. */
FILE *oracle_open(const char *name);
/* False where the file has no such model. */
bool oracle_read_losses(FILE *file, const char *model, struct oracle_losses *out);
/* False at the end of the file. */
bool oracle_read_tensor(FILE *file, struct oracle_tensor *out);

/* Parameters and buffers by the formula; everything else cleared. */
void oracle_fill_store(struct store *store);
void oracle_images(int64_t n, float *images);
void oracle_labels(int64_t n, int32_t *labels);

/* Is this tensor within a relative L2 distance of `tolerance` as far as norm, projection and first
 * elements can tell? If not, says how in `why`. */
bool oracle_tensor_agrees(const struct oracle_tensor *expected, const float *values,
                          double tolerance, char why[256]);

#endif
