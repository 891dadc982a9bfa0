/* chain: a training step as a chain of blocks, by dynamic programming.
 *
 *   forward 0 1 2 │ backward 2' 1' 0', room for two tensors   →   0 1 2 2' 0 1' 0'
 *
 * A block is a stretch of the forward (chain_cuts.c) with the backward ops that belong to it
 * (chain_levels.c). Its entry is what it and later blocks need of earlier ones, its exit what later
 * ones need of it (chain_blocks.c). Options are what a block may keep for its backward
 * (chain_options.c). The dynamic program (chain_table.c) is that of Beaumont, Eyraud-Dubois,
 * Herrmann, Joly, Shilova, "Optimal checkpointing for heterogeneous chains", with several options
 * to a block, entries of several tensors, and exits that are read before they go.
 *
 * The table has slightly more room than the budget, since it rounds bytes up: of its schedules the
 * fastest is taken that is within the budget when replayed. Where none is, the smallest peak. The
 * step is seen as several chains, and the best schedule of all is the answer.
 *
 * On a chain of equal tensors, one op to a block, the answer is optimal. It is not elsewhere: what
 * is kept at a cut is kept whole, until the backward of the block behind it. */
#include <math.h>
#include <stdlib.h>

#include "plan/chain.h"
#include "plan/plan.h"

enum { MOST_LEAST = 8 }; /* schedules tried where none is within the budget */

struct search {
    const struct plan_problem *problem;
    int64_t budget_bytes;
    struct plan_schedule *best, tried;
    struct plan_measure of_best;
};

static bool better(const struct search *search, const struct plan_measure *measure) {
    const struct plan_measure *best = &search->of_best;
    bool fits = measure->peak_bytes <= search->budget_bytes;
    if (search->best->n == 0 || fits != (best->peak_bytes <= search->budget_bytes))
        return search->best->n == 0 || fits;
    if (fits ? measure->seconds == best->seconds : measure->peak_bytes != best->peak_bytes)
        return measure->peak_bytes < best->peak_bytes;
    return measure->seconds < best->seconds;
}

static neap_error *consider(struct search *search, const struct chain_table *table, size_t m,
                            bool *fits) {
    struct plan_measure measure;
    TRY(chain_table_write(table, m, &search->tried));
    TRY(plan_replay(search->problem, &search->tried, &measure, NULL));
    *fits = measure.peak_bytes <= search->budget_bytes;
    if (!better(search, &measure))
        return NULL;
    search->of_best = measure;
    return plan_schedule_copy(search->best, &search->tried);
}

/* Up to n_slots: the fewest in which there is any schedule; more than n_slots where there is none.
 */
static size_t fewest_slots(const struct chain_table *table) {
    size_t m = 0;
    while (m <= table->n_slots && isinf(chain_table_costs(table)[m]))
        m++;
    return m;
}

/* From the most slots on, until a schedule fits. */
static neap_error *search_down(struct search *search, const struct chain_table *table, bool *fits) {
    const float *costs = chain_table_costs(table);
    for (size_t end = table->n_slots + 1; end > 0 && !isinf(costs[end - 1]) && !*fits; end--) {
        while (end > 1 && costs[end - 2] == costs[end - 1])
            end--;
        TRY(consider(search, table, end - 1, fits));
    }
    return NULL;
}

/* The smallest peaks. */
static neap_error *search_least(struct search *search, const struct chain *chain,
                                int64_t most_bytes) {
    struct chain_table table;
    bool fits = false;
    TRY(chain_table_open(chain, most_bytes, &table));
    size_t fewest = fewest_slots(&table);
    bool any = fewest <= table.n_slots;
    int64_t least_bytes = (int64_t)fewest * table.slot_bytes;
    chain_table_close(&table);
    if (!any)
        return NULL;
    TRY(chain_table_open(chain, least_bytes + least_bytes / 16, &table));
    size_t m = fewest_slots(&table);
    neap_error *error = NULL;
    for (int i = 0; i < MOST_LEAST && m + i <= table.n_slots && !error; i++)
        error = consider(search, &table, m + i, &fits);
    chain_table_close(&table);
    return error;
}

/* The chains that one problem is seen as. */
static const struct {
    uint32_t most_blocks;
    bool every_place;
} views[] = {{104, true}, {104, false}, {28, false}};
enum { N_VIEWS = sizeof views / sizeof *views };

static neap_error *open_view(struct chain *chain, int view) {
    bool *cut;
    uint32_t n_blocks;
    TRY(chain_find_levels(chain));
    if (!chain->border)
        return NULL;
    TRY(memory_alloc(chain->problem->n_ops, sizeof *cut, &cut));
    neap_error *error =
        chain_find_cuts(chain, views[view].most_blocks, views[view].every_place, cut, &n_blocks);
    if (!error && n_blocks > 1)
        error = chain_find_blocks(chain, cut, n_blocks);
    if (!error && n_blocks > 1)
        error = chain_find_options(chain);
    free(cut);
    return error;
}

/* The table's bytes are rounded up, so it gets more room than there is. */
static neap_error *search_view(struct search *search, const struct chain *chain, int64_t all_bytes,
                               bool *fits) {
    struct chain_table table;
    int64_t capacity_bytes = search->budget_bytes < all_bytes ? search->budget_bytes : all_bytes;
    capacity_bytes = capacity_bytes < 0 ? 0 : capacity_bytes + capacity_bytes / 8;
    TRY(chain_table_open(chain, capacity_bytes, &table));
    neap_error *error = search_down(search, &table, fits);
    chain_table_close(&table);
    return error;
}

static neap_error *search_views(struct search *search, struct chain *chains, int64_t all_bytes) {
    bool any_fits = false;
    neap_error *error = NULL;
    for (int i = 0; i < N_VIEWS && !error; i++) {
        error = open_view(&chains[i], i);
        bool fits = false;
        if (!error && chains[i].n_blocks)
            error = search_view(search, &chains[i], all_bytes, &fits);
        any_fits = any_fits || fits;
    }
    for (int i = 0; i < N_VIEWS && !error && !any_fits; i++)
        if (chains[i].n_blocks)
            error = search_least(search, &chains[i], all_bytes + all_bytes / 8);
    return error;
}

neap_error *plan_seed_chain(const struct plan_problem *problem, int64_t budget_bytes,
                            struct plan_schedule *schedule) {
    struct search search = {.problem = problem, .budget_bytes = budget_bytes, .best = schedule};
    struct chain chains[N_VIEWS];
    struct plan_measure all;
    schedule->n = 0;
    for (uint32_t o = 0; o < problem->n_ops; o++)
        TRY(plan_schedule_push(schedule, o));
    TRY(plan_replay(problem, schedule, &all, NULL));
    schedule->n = 0;
    for (int i = 0; i < N_VIEWS; i++)
        chains[i] = (struct chain){.problem = problem};
    neap_error *error = search_views(&search, chains, all.peak_bytes);
    for (int i = 0; i < N_VIEWS; i++)
        pool_free(&chains[i].pool);
    plan_schedule_free(&search.tried);
    return error;
}
