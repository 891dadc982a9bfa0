/* Reductions over a window's gradients: see gradients.h. */
#include "train/gradients.h"

#include <math.h>

#include "backend/cpu/parallel.h"
#include "base/simd.h"

enum {
    LANES = 16,
    PIECE = 1 << 14, /* elements to a sum */
    PIECES = 256     /* to a call of parallel_for: as many sums as lie on the stack */
};

struct call {
    const float *data;
    int64_t n;
    double *sums; /* by piece */
};

/* Lanes are added at the end, in order: what vectors the processor has makes no difference. */
SIMD static double square_sum(const float *x, int64_t n) {
    double lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)x[i + lane] * (double)x[i + lane];
    for (; i < n; i++)
        lanes[i % LANES] += (double)x[i] * (double)x[i];
    for (int lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    return sum;
}

static void sum_pieces(const void *context, int64_t begin, int64_t end) {
    const struct call *call = context;
    for (int64_t piece = begin; piece < end; piece++) {
        int64_t first = piece * PIECE, left = call->n - first;
        call->sums[piece] = square_sum(call->data + first, left < PIECE ? left : PIECE);
    }
}

static double square_sum_of(const float *data, int64_t n) {
    double sums[PIECES], sum = 0;
    for (int64_t first = 0; first < n; first += (int64_t)PIECES * PIECE) {
        int64_t left = n - first, here = left < PIECES * PIECE ? left : PIECES * PIECE;
        int64_t pieces = (here + PIECE - 1) / PIECE;
        parallel_for(pieces, 2, sum_pieces, &(struct call){data + first, here, sums});
        for (int64_t piece = 0; piece < pieces; piece++)
            sum += sums[piece];
    }
    return sum;
}

/* Padding of blocked layouts is zero and adds nothing. */
double gradients_norm(const struct store *store) {
    double sum = 0;
    if (!store->device->backend->runs)
        return 0;
    for (size_t i = 0; i < store->n_entries; i++) {
        const struct store_entry *entry = &store->entries[i];
        if (entry->kind == VALUE_PARAMETER_GRADIENT)
            sum += square_sum_of(store_data(store, entry), entry->bytes / (int64_t)sizeof(float));
    }
    return sqrt(sum);
}

double gradients_clip(double norm, double most) {
    double factor = most / (norm + 1e-6);
    return factor < 1 ? factor : 1;
}
