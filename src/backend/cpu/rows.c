/* What kernels on rows share: see rows.h. */
#include "backend/cpu/rows.h"

#include <math.h>

#include "backend/cpu/elementwise.h"

const char *rows_negotiate(const struct kernel_site *site, struct kernel_layouts *want) {
    for (uint32_t i = 0; i < site->node->n_inputs; i++)
        want->in[i] = (struct layout){0};
    for (uint32_t i = 0; i < site->node->n_outputs; i++)
        want->out[i] = (struct layout){0};
    return f32_negotiate(site);
}

neap_error *rows_create(const struct kernel_site *site, void **state, size_t *scratch_bytes) {
    struct shape shape = node_input(site->g, site->node, 0)->shape;
    struct rows *s;
    TRY(memory_alloc(1, sizeof *s, &s));
    s->width = shape.dim[shape.rank - 1];
    s->samples = shape.dim[0];
    s->n = shape_elements(shape) / s->width;
    s->attrs = site->node->attrs;
    *scratch_bytes = (size_t)s->n * sizeof(double);
    *state = s;
    return NULL;
}

int64_t rows_grain(const struct rows *rows) {
    return 2048 / rows->width + 1;
}

double rows_sum(const double *numbers, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += numbers[i];
    return sum;
}

float row_largest(const float *row, int64_t width) {
    float most = -INFINITY;
    for (int64_t i = 0; i < width; i++)
        most = row[i] > most ? row[i] : most;
    return most;
}
