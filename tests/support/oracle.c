/* Reading PyTorch's numbers and computing the closed formulas: see oracle.h and oracle/formula.py.
 */
#include "support/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, RUN = 4096 };

FILE *oracle_open(const char *name) {
    const char *sources = getenv("SOURCE_DIR");
    char path[LINE];
    if (!sources)
        return NULL;
    snprintf(path, sizeof path, "%s/tests/oracle/%s", sources, name);
    return fopen(path, "r");
}

bool oracle_read_losses(FILE *file, const char *model, struct oracle_losses *out) {
    char line[LINE], name[64];
    long long batch;
    int used;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%63s %lld %lf %lf", name, &batch, &out->lr, &out->float32_error) != 4 ||
            strcmp(name, model))
            continue;
        out->batch = batch;
        const char *at = strrchr(line, '|') + 1;
        for (int i = 0; i < ORACLE_LOSSES; i++, at += used)
            if (sscanf(at, "%lf%n", &out->losses[i], &used) != 1)
                return false;
        return true;
    }
    return false;
}

bool oracle_read_tensor(FILE *file, struct oracle_tensor *out) {
    char line[LINE], kind[16];
    long long n;
    while (fgets(line, sizeof line, file)) {
        if (line[0] == '#')
            continue;
        memset(out->first, 0, sizeof out->first);
        int read = sscanf(line, "%15s %127s %lld %lf %lf %lf %lf %lf %lf", kind, out->name, &n,
                          &out->norm, &out->projection, &out->float32_error, &out->first[0],
                          &out->first[1], &out->first[2]);
        out->gradient = !strcmp(kind, "gradient");
        out->n = n;
        return read >= 7;
    }
    return false;
}

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static double start_of(const struct store_entry *entry, int phase, int64_t i) {
    if (entry->kind == VALUE_BUFFER)
        return ends_in(entry->name, "running_var");
    double wave = sin(0.7 * (double)i + phase);
    if (entry->shape.rank > 1) {
        double fan_in = (double)shape_elements(entry->shape) / (double)entry->shape.dim[0];
        return wave * (1 / sqrt(fan_in));
    }
    return ends_in(entry->name, ".weight") ? 1 + 0.1 * wave : 0.1 * wave;
}

static void fill_entry(struct store *store, const struct store_entry *entry) {
    int phase = 0;
    for (const char *c = entry->name; *c; c++)
        phase += (unsigned char)*c;
    phase %= 97;
    int64_t n = shape_elements(entry->shape);
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < n; first += RUN) {
        float run[RUN];
        int64_t count = n - first < RUN ? n - first : RUN;
        for (int64_t i = 0; i < count; i++)
            run[i] = (float)start_of(entry, phase, first + i);
        store_set(store, entry, first, count, run);
    }
}

void oracle_fill_store(struct store *store) {
    memset(store->base, 0, (size_t)store->bytes);
    for (size_t i = 0; i < store->n_entries; i++) {
        const struct store_entry *entry = &store->entries[i];
        if (entry->kind == VALUE_PARAMETER || entry->kind == VALUE_BUFFER)
            fill_entry(store, entry);
    }
}

void oracle_images(int64_t n, float *images) {
    for (int64_t i = 0; i < n; i++)
        images[i] = (float)sin(0.37 * (double)i);
}

void oracle_labels(int64_t n, int32_t *labels) {
    for (int64_t k = 0; k < n; k++)
        labels[k] = (int32_t)((7 * k + 3) % 10);
}

/* A distance d between two tensors moves the norm by at most d, the projection on cos(1.3 i) by at
 * most d times that vector's norm, and any element by at most d. */
bool oracle_tensor_agrees(const struct oracle_tensor *expected, const float *values,
                          double tolerance, char why[256]) {
    double squares = 0, projection = 0, waves = 0, bound = tolerance * expected->norm;
    for (int64_t i = 0; i < expected->n; i++) {
        double wave = cos(1.3 * (double)i);
        squares += (double)values[i] * (double)values[i];
        projection += (double)values[i] * wave;
        waves += wave * wave;
    }
    double off[] = {fabs(sqrt(squares) - expected->norm),
                    fabs(projection - expected->projection) / sqrt(waves), 0};
    for (int64_t i = 0; i < 3 && i < expected->n; i++)
        off[2] = fmax(off[2], fabs((double)values[i] - expected->first[i]));
    snprintf(why, 256, "%s: norm %.3e, projection %.3e, first elements %.3e off; %.3e allowed",
             expected->name, off[0], off[1], off[2], bound);
    return off[0] <= bound && off[1] <= bound && off[2] <= bound;
}
