/* Placement problems: buffers with given lifetimes get offsets in one arena, as low as can be. */
#include <inttypes.h>

#include "base/digits.h"
#include "base/process.h"
#include "fmt/placement_csv.h"
#include "plan/place.h"

/* Comparisons: a minute or so, for cases that are hard. */
static const uint64_t effort = 10000000000;

static bool overlap(const struct plan_life *a, const struct plan_life *b) {
    return a->first_step <= b->last_step && b->first_step <= a->last_step &&
           a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* A second opinion, sharing nothing with the placer: pair by pair, for some ten thousand buffers.
 */
static neap_error *check(const struct placement_csv *csv, int64_t arena_bytes) {
    const struct plan_lives *lives = &csv->lives;
    for (size_t i = 0; i < lives->n; i++) {
        const struct plan_life *life = &lives->at[i];
        if (life->offset < 0 || life->offset + life->bytes > arena_bytes)
            return error_make(NEAP_ERROR_INTERNAL, "buffer '%s' is placed outside the arena",
                              csv->ids[i]);
        for (size_t j = 0; j < i; j++)
            if (overlap(life, &lives->at[j]))
                return error_make(NEAP_ERROR_INTERNAL, "buffers '%s' and '%s' share bytes",
                                  csv->ids[j], csv->ids[i]);
    }
    return NULL;
}

static neap_error *place(struct placement_csv *csv, const struct neap_placement_options *options,
                         struct neap_placement_report *report) {
    double start = process_seconds();
    struct neap_placement_report r = {.buffers = (int64_t)csv->lives.n};
    if (!r.buffers)
        return error_make(NEAP_ERROR_DATA, "%s: there are no buffers in it", options->path);
    const struct plan_place_request request = {
        .alignment_bytes = 1, .target_bytes = options->arena_bytes, .effort = effort};
    struct plan_placement placement;
    TRY(plan_place(&csv->lives, &request, &placement));
    TRY(check(csv, placement.arena_bytes));
    r.arena_bytes = placement.arena_bytes;
    r.lower_bound_bytes = placement.bound_bytes;
    r.optimal = placement.optimal;
    r.fits = !options->arena_bytes || r.arena_bytes <= options->arena_bytes;
    r.solver_seconds = process_seconds() - start;
    *report = r;
    if (r.fits)
        return NULL;
    return error_make(
        NEAP_ERROR_BUDGET,
        "%s does not fit in %s bytes%s\n"
        "  least found is %s bytes, and every placement needs at least %s\n"
        "  would fit:  --arena %" PRId64,
        options->path, digits_of(options->arena_bytes).text,
        r.optimal || r.lower_bound_bytes > options->arena_bytes ? ": no placement does"
                                                                : ", as far as the search went",
        digits_of(r.arena_bytes).text, digits_of(r.lower_bound_bytes).text, r.arena_bytes);
}

neap_error *neap_placement_plan(const struct neap_placement_options *options,
                                struct neap_placement_report *report) {
    struct placement_csv csv;
    *report = (struct neap_placement_report){0};
    TRY(placement_csv_read(options->path, &csv));
    neap_error *error = place(&csv, options, report);
    if (!error && options->output)
        error = placement_csv_write(&csv, options->output);
    placement_csv_free(&csv);
    return error;
}
