/* hull: the breakpoints of a parametric minimum cut, and decisions between them.
 *
 * The least of price × bytes + seconds is concave in the price; its pieces are the corners of the
 * lower hull of all decisions' (bytes, seconds). Between two known corners the minimum cut at the
 * price of the line through them is either another corner or shows that there is none (Eisner and
 * Severance 1976): twice as many cuts as corners find them all, and no grid of prices is needed.
 *
 * Decisions inside the hull that fit a number of bytes better than the next corner: from corners
 * with more bytes the cheapest single values to make again (cover.c); from the next corner below,
 * values to keep after all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/cover.h"
#include "plan/separator.h"

enum { COVER_NODES = 2000 };
#define GOOD_ENOUGH 1e-3 /* the best within this of what is proven: no more cuts */

struct point {
    int64_t bytes;
    double seconds;
};

/* Two neighbours so far: left has more bytes and fewer seconds. */
struct interval {
    struct point left, right;
};

static struct point point_of(const struct separator_cut *cut) {
    return (struct point){cut->bytes, cut->seconds};
}

static double price_between(const struct interval *in) {
    return (in->right.seconds - in->left.seconds) / (double)(in->left.bytes - in->right.bytes);
}

/* The decision below the line through an interval's ends; false where there is none. */
static bool below(struct separator *s, const struct interval *in, struct separator_cut *cut) {
    if (in->left.bytes <= in->right.bytes || in->left.seconds >= in->right.seconds)
        return false;
    double price = price_between(in);
    double line = price * (double)in->left.bytes + in->left.seconds;
    separator_decide(s, price, cut);
    double least = price * (double)cut->bytes + cut->seconds;
    return least < line - 1e-12 * (price * (double)s->total_bytes + s->total_seconds);
}

/* Visits keeping everything and the fewest bytes. */
static neap_error *visit_ends(struct separator *s, struct separator_cut *cut,
                              separator_visit *visit, void *context, struct interval *out) {
    memset(cut->again, 0, s->n_ops * sizeof *cut->again);
    separator_count(s, cut);
    out->left = point_of(cut);
    TRY(visit(context, cut));
    separator_decide(s, INFINITY, cut);
    out->right = point_of(cut);
    return visit(context, cut);
}

neap_error *separator_sweep(struct separator *s, uint32_t most, separator_visit *visit,
                            void *context) {
    struct interval *queue = NULL, first;
    size_t n = 0, capacity = 0;
    struct separator_cut cut = {0};
    neap_error *error = NULL;
    TRY_GOTO(memory_alloc(s->n_ops, sizeof *cut.again, &cut.again));
    TRY_GOTO(memory_grow(&queue, &capacity, 1, sizeof *queue));
    TRY_GOTO(visit_ends(s, &cut, visit, context, &first));
    queue[n++] = first;
    for (size_t i = 0; i < n && most > 0; i++) {
        struct interval in = queue[i];
        if (!below(s, &in, &cut))
            continue;
        TRY_GOTO(memory_grow(&queue, &capacity, n + 2, sizeof *queue));
        queue[n++] = (struct interval){in.left, point_of(&cut)};
        queue[n++] = (struct interval){point_of(&cut), in.right};
        most--;
        TRY_GOTO(visit(context, &cut));
    }
done:
    free(queue);
    free(cut.again);
    return error;
}

/* ---- between the breakpoints -------------------------------------------------------------- */

/* What keeping op i's outputs costs less than running it again: their bytes less those of inputs
 * that nobody else wants. */
static int64_t freed_bytes(const struct separator *s, const struct separator_cut *cut, uint32_t i) {
    const struct separator_op *op = &s->ops[i];
    int64_t bytes = 0;
    for (uint32_t j = 0; j < op->outputs.n; j++) {
        uint32_t v = s->ids[op->outputs.first + j];
        bytes += s->uses[v] ? s->values[v].bytes : 0;
    }
    for (uint32_t j = 0; j < op->inputs.n && bytes > 0; j++) {
        uint32_t v = s->ids[op->inputs.first + j], maker = s->values[v].maker;
        bool made = maker != PLAN_NONE && cut->again[maker];
        bytes -= !s->uses[v] && !made ? s->values[v].bytes : 0;
    }
    return bytes;
}

/* Runs the cheapest of the other ops again, until at most `most_bytes` are kept; *price: of the
 * dearest of them. */
static neap_error *make_more(struct separator *s, int64_t most_bytes, struct separator_cut *cut,
                             double *price) {
    struct cover_item *items;
    size_t n = 0;
    double seconds;
    separator_count(s, cut);
    TRY(memory_alloc(s->n_ops, sizeof *items, &items));
    for (uint32_t i = 0; i < s->n_ops; i++) {
        int64_t bytes = cut->again[i] ? 0 : freed_bytes(s, cut, i);
        if (bytes > 0)
            items[n++] = (struct cover_item){s->ops[i].seconds, bytes, i, false};
    }
    neap_error *error = cover_items(items, n, cut->bytes - most_bytes, COVER_NODES, &seconds);
    *price = 0;
    for (size_t i = 0; i < n && !error; i++)
        if (items[i].taken) {
            cut->again[items[i].id] = true;
            *price = fmax(*price, items[i].seconds / (double)items[i].bytes);
        }
    free(items);
    if (!error)
        separator_count(s, cut);
    return error;
}

static int by_price(const void *a, const void *b) {
    const struct cover_item *x = a, *y = b;
    double left = x->seconds * (double)y->bytes, right = y->seconds * (double)x->bytes;
    if (left != right)
        return left > right ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Keeps the outputs of op `i` after all; what it alone wanted is not needed any more. */
static void keep_outputs(struct separator *s, struct separator_cut *cut, uint32_t i,
                         uint32_t *idle) {
    uint32_t n_idle = 0;
    cut->bytes += freed_bytes(s, cut, i);
    idle[n_idle++] = i;
    while (n_idle) {
        const struct separator_op *op = &s->ops[i = idle[--n_idle]];
        cut->again[i] = false;
        cut->seconds -= op->seconds;
        for (uint32_t j = 0; j < op->inputs.n; j++) {
            uint32_t v = s->ids[op->inputs.first + j], maker = s->values[v].maker;
            if (--s->uses[v])
                continue;
            if (maker == PLAN_NONE || !cut->again[maker])
                cut->bytes -= s->values[v].bytes;
            else if (!separator_wants(s, maker))
                idle[n_idle++] = maker;
        }
    }
}

/* Keeps the outputs of ops after all where there is room, the most seconds per byte first. */
static neap_error *keep_more(struct separator *s, int64_t most_bytes, struct separator_cut *cut) {
    struct cover_item *items = NULL;
    uint32_t *idle = NULL;
    size_t n = 0;
    neap_error *error = NULL;
    TRY_GOTO(memory_alloc(s->n_ops, sizeof *items, &items));
    TRY_GOTO(memory_alloc(s->n_ops, sizeof *idle, &idle));
    separator_count(s, cut);
    for (uint32_t i = 0; i < s->n_ops; i++)
        if (cut->again[i])
            items[n++] = (struct cover_item){s->ops[i].seconds, freed_bytes(s, cut, i), i, false};
    qsort(items, n, sizeof *items, by_price);
    for (size_t i = 0; i < n && cut->bytes < most_bytes; i++)
        if (cut->again[items[i].id] && cut->bytes + items[i].bytes <= most_bytes)
            keep_outputs(s, cut, items[i].id, idle);
    separator_count(s, cut); /* seconds without the rounding of many differences */
done:
    free(items);
    free(idle);
    return error;
}

/* ---- one number of bytes ------------------------------------------------------------------ */

struct fit {
    struct separator *s;
    int64_t most_bytes;
    int most_cuts;
    struct separator_cut best, trial;
    struct interval in;   /* the breakpoints around most_bytes so far */
    bool open;            /* the right one is not known yet */
    double bound_seconds; /* nothing that fits takes less */
    double price;         /* of the dearest value in the first cover */
};

static bool fits(const struct fit *f) {
    return f->best.bytes <= f->most_bytes;
}

/* The trial, polished from its side of the limit, against the best. */
static neap_error *consider(struct fit *f) {
    if (f->trial.bytes > f->most_bytes)
        TRY(make_more(f->s, f->most_bytes, &f->trial, &f->price));
    TRY(keep_more(f->s, f->most_bytes, &f->trial));
    bool fit = f->trial.bytes <= f->most_bytes;
    if (fit != fits(f) ? !fit
        : fit          ? f->trial.seconds >= f->best.seconds
                       : f->trial.bytes >= f->best.bytes)
        return NULL;
    struct separator_cut swap = f->best;
    f->best = f->trial;
    f->trial = swap;
    return NULL;
}

/* Keeping everything, with the cheapest single values made again. */
static neap_error *start(struct fit *f) {
    const size_t bytes = f->s->n_ops * sizeof *f->trial.again;
    memset(f->best.again, 0, bytes);
    memset(f->trial.again, 0, bytes);
    separator_count(f->s, &f->best);
    separator_count(f->s, &f->trial);
    f->in.left = point_of(&f->best);
    f->open = true;
    f->price = INFINITY;
    TRY(consider(f));
    f->price = fits(f) ? f->price : INFINITY;
    return NULL;
}

/* Cuts at a price; false where it finds nothing new. */
static neap_error *probe(struct fit *f, double price, bool *news) {
    struct separator_cut *cut = &f->trial;
    separator_decide(f->s, price, cut);
    bool right = cut->bytes <= f->most_bytes;
    double least = price * (double)cut->bytes + cut->seconds;
    double line = price * (double)f->in.left.bytes + f->in.left.seconds;
    double slack = 1e-12 * (price * (double)f->s->total_bytes + f->s->total_seconds);
    *news = isinf(price) ? right : f->open || least < line - slack;
    if (!isinf(price))
        f->bound_seconds = fmax(f->bound_seconds, least - price * (double)f->most_bytes);
    *(right ? &f->in.right : &f->in.left) = point_of(cut);
    f->open = f->open && !right;
    return consider(f);
}

/* From the price of single values, or of bytes alone, to the line between the breakpoints around
 * the limit, and on until there is none between, or nothing to be gained. */
static neap_error *search(struct fit *f) {
    TRY(start(f));
    double price = f->price;
    bool news = price > 0;
    for (int cuts = 0; news && cuts < f->most_cuts; cuts++) {
        TRY(probe(f, price, &news));
        const struct interval *in = &f->in;
        if (fits(f) && f->best.seconds <= f->bound_seconds * (1 + GOOD_ENOUGH))
            return NULL;
        if (!f->open &&
            (in->left.bytes <= in->right.bytes || in->left.seconds >= in->right.seconds))
            return NULL;
        price = f->open ? INFINITY : price_between(in);
    }
    return NULL;
}

neap_error *separator_fit(struct separator *s, int64_t most_bytes, int most_cuts,
                          struct separator_cut *cut) {
    struct fit f = {.s = s, .most_bytes = most_bytes, .most_cuts = most_cuts};
    neap_error *error = memory_alloc(s->n_ops, sizeof *f.best.again, &f.best.again);
    if (!error)
        error = memory_alloc(s->n_ops, sizeof *f.trial.again, &f.trial.again);
    if (!error)
        error = search(&f);
    free(f.trial.again);
    if (error)
        free(f.best.again);
    else
        *cut = f.best;
    return error;
}
