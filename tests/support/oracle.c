/* Reading PyTorch's numbers and computing the closed formulas: see oracle.h and oracle/formula.py.
 */
#include "support/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/philox.h"

enum { LINE = 4096, RUN = 4096 };

/* ---- files ---------------------------------------------------------------------------------- */

FILE *oracle_open(const char *name) {
    const char *sources = getenv("SOURCE_DIR");
    char path[LINE];
    if (!sources)
        return NULL;
    snprintf(path, sizeof path, "%s/tests/oracle/%s", sources, name);
    return fopen(path, "r");
}

bool oracle_read_losses(FILE *file, const char *network, struct oracle_losses *out) {
    char line[LINE], name[64];
    int used;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%63s %lf %lf", name, &out->lr, &out->float32_error) != 3 ||
            strcmp(name, network))
            continue;
        const char *at = strrchr(line, '|') + 1;
        for (int i = 0; i < ORACLE_LOSSES; i++, at += used)
            if (sscanf(at, "%lf%n", &out->losses[i], &used) != 1)
                return false;
        return true;
    }
    return false;
}

static void read_line(const char *line, struct oracle_network *out) {
    long long batch, channels, size;
    struct oracle_tensor *tensor = &out->tensors[out->n_tensors];
    if (sscanf(line, "batch %lld %lld %lld", &batch, &channels, &size) == 3) {
        out->batch = batch;
        out->channels = channels;
        out->image_size = size;
    } else if (sscanf(line, "%127s %lf %lf %lf", tensor->name, &tensor->norm, &tensor->projection,
                      &tensor->float32_error) == 4) {
        out->n_tensors++;
    }
}

bool oracle_read_network(const char *network, struct oracle_network *out) {
    char line[LINE], name[64];
    int n_lines = 0;
    snprintf(name, sizeof name, "gradients/%s.txt", network);
    FILE *file = oracle_open(name);
    *out = (struct oracle_network){0};
    if (!file)
        return false;
    while (fgets(line, sizeof line, file))
        n_lines++;
    out->tensors = calloc((size_t)n_lines, sizeof *out->tensors);
    rewind(file);
    while (out->tensors && fgets(line, sizeof line, file))
        if (*line != '#')
            read_line(line, out);
    fclose(file);
    return out->n_tensors > 0;
}

/* ---- formulas ------------------------------------------------------------------------------- */

/* Random number i of the name whose hash is `key`: SplitMix64 (Steele et al., OOPSLA 2014). */
static uint64_t bits_at(uint64_t key, int64_t i) {
    uint64_t z = key + ((uint64_t)i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* In [-1, 1). */
static double uniform_at(uint64_t key, int64_t i) {
    return (double)(bits_at(key, i) >> 40) * 0x1p-23 - 1;
}

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

/* The values of an entry are offset + scale u, over `divisor`. */
struct start {
    uint64_t key;
    double offset, scale, divisor;
};

static struct start start_of(const struct store_entry *entry) {
    struct start start = {.key = philox_hash(entry->name), .divisor = 1};
    if (entry->kind == VALUE_BUFFER) {
        start.offset = ends_in(entry->name, "running_var");
        return start;
    }
    if (entry->shape.rank > 1) {
        double fan_in = (double)shape_elements(entry->shape) / (double)entry->shape.dim[0];
        start.scale = sqrt(6 / fan_in);
        return start;
    }
    start.offset = ends_in(entry->name, ".weight");
    start.scale = start.offset != 0 ? 0.1 : 1;
    if (strstr(entry->name, ".bn2.") || strstr(entry->name, ".bn3."))
        start.divisor = 5;
    return start;
}

static void put_run(struct store *store, const struct store_entry *entry, int64_t first,
                    int64_t count, const float *run) {
    if (entry->dtype != DTYPE_F64) {
        store_set(store, entry, first, count, run);
        return;
    }
    double *data = store_data(store, entry);
    for (int64_t i = 0; i < count; i++)
        data[first + i] = run[i];
}

static void fill_entry(struct store *store, const struct store_entry *entry) {
    const struct start start = start_of(entry);
    int64_t n = shape_elements(entry->shape);
#pragma omp parallel for schedule(static)
    for (int64_t first = 0; first < n; first += RUN) {
        float run[RUN];
        int64_t count = n - first < RUN ? n - first : RUN;
        for (int64_t i = 0; i < count; i++)
            run[i] = (float)((start.offset + start.scale * uniform_at(start.key, first + i)) /
                             start.divisor);
        put_run(store, entry, first, count, run);
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

void oracle_fill_images(const struct tensor *images) {
    uint64_t key = philox_hash("images");
    for (int64_t i = 0; i < shape_elements(images->shape); i++)
        tensor_set(images, i, (float)(sqrt(3) * uniform_at(key, i)));
}

void oracle_images(int64_t n, float *images) {
    oracle_fill_images(&(struct tensor){images, DTYPE_F32, shape_of(1, &n)});
}

void oracle_labels(int64_t n, int32_t *labels) {
    for (int64_t k = 0; k < n; k++)
        labels[k] = (int32_t)((7 * k + 3) % 10);
}

/* ---- comparison ----------------------------------------------------------------------------- */

static void get_run(const struct store *store, const struct store_entry *entry, int64_t first,
                    int64_t count, double *out) {
    if (entry->dtype == DTYPE_F64) {
        memcpy(out, (const double *)store_data(store, entry) + first, (size_t)count * sizeof *out);
        return;
    }
    float run[RUN];
    store_get(store, entry, first, count, run);
    for (int64_t i = 0; i < count; i++)
        out[i] = run[i];
}

struct oracle_measure oracle_measure(const char *name, const struct store *exact_store,
                                     const struct store_entry *exact,
                                     const struct store *other_store,
                                     const struct store_entry *other) {
    struct oracle_measure sum = {0};
    uint64_t key = philox_hash(name);
    int64_t n = shape_elements(exact->shape);
    for (int64_t first = 0; first < n; first += RUN) {
        double x[RUN], y[RUN];
        int64_t count = n - first < RUN ? n - first : RUN;
        get_run(exact_store, exact, first, count, x);
        get_run(other_store, other, first, count, y);
        for (int64_t i = 0; i < count; i++) {
            sum.norm += x[i] * x[i];
            sum.projection += bits_at(key, first + i) & 1 ? x[i] : -x[i];
            sum.distance += (x[i] - y[i]) * (x[i] - y[i]);
        }
    }
    return (struct oracle_measure){sqrt(sum.norm), sum.projection, sqrt(sum.distance)};
}
