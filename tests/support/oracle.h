/* PyTorch's numbers (tests/oracle/README.md): the closed formulas and the files made with them. */
#ifndef NEAP_TESTS_SUPPORT_ORACLE_H
#define NEAP_TESTS_SUPPORT_ORACLE_H

#include "exec/store.h"
#include "ir/op.h"

enum { ORACLE_LOSSES = 10 };

/* A line of ten_losses.txt. */
struct oracle_losses {
    double lr, float32_error;
    double losses[ORACLE_LOSSES]; /* in float64 */
};

/* A line of gradients/<network>.txt: the loss, a parameter's gradient or a running statistic. */
struct oracle_tensor {
    char name[128];
    double norm, projection, float32_error;
};

/* gradients/<network>.txt. */
struct oracle_network {
    int64_t batch, channels, image_size;
    struct oracle_tensor *tensors;
    int n_tensors;
};

/* A file of tests/oracle; NULL where the sources are not at hand. Close it with fclose. */
FILE *oracle_open(const char *name);
/* False where the file has no such network. */
bool oracle_read_losses(FILE *file, const char *network, struct oracle_losses *out);
/* False where there is no such file. free(out->tensors). */
bool oracle_read_network(const char *network, struct oracle_network *out);

/* Parameters and buffers by the formula, f32 in any layout or f64; everything else cleared. */
void oracle_fill_store(struct store *store);
void oracle_images(int64_t n, float *images);
void oracle_fill_images(const struct tensor *images);
void oracle_labels(int64_t n, int32_t *labels);

/* A tensor, and how far another is from it. */
struct oracle_measure {
    double norm, projection; /* Σ s[i] x[i], the signs s being a function of the name */
    double distance;
};
/* `exact` and `other` are entries of their stores with as many elements, f32 or f64. */
struct oracle_measure oracle_measure(const char *name, const struct store *exact_store,
                                     const struct store_entry *exact,
                                     const struct store *other_store,
                                     const struct store_entry *other);

#endif
