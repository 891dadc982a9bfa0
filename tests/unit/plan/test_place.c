/* Placement: small cases with known answers, random training steps, and published hard cases. */
#include "support/files.h"

#include <dirent.h>
#include <inttypes.h>

#include "plan/place.h"
#include "unit/plan/random_problem.h"

enum { alignment = 64 };

static struct plan_lives lives;

static int release(void **state) {
    (void)state;
    plan_lives_free(&lives);
    return 0;
}

static void add_chained(uint32_t first, uint32_t last, int64_t bytes, uint32_t in_place_of) {
    assert_no_error(memory_grow(&lives.at, &lives.capacity, lives.n + 1, sizeof *lives.at));
    lives.at[lives.n++] = (struct plan_life){.value = 0,
                                             .first_step = first,
                                             .last_step = last,
                                             .in_place_of = in_place_of,
                                             .offset = -1,
                                             .bytes = bytes};
}

static void add(uint32_t first, uint32_t last, int64_t bytes) {
    add_chained(first, last, bytes, PLAN_NONE);
}

/* The step from which a life needs bytes that its predecessor does not hold. */
static uint32_t own_from(const struct plan_life *life) {
    return life->first_step + (life->in_place_of != PLAN_NONE);
}

static bool collide(const struct plan_life *x, const struct plan_life *y) {
    return own_from(x) <= y->last_step && own_from(y) <= x->last_step &&
           own_from(x) <= x->last_step && own_from(y) <= y->last_step &&
           x->offset < y->offset + y->bytes && y->offset < x->offset + x->bytes;
}

static int64_t most_live_bytes(void) {
    int64_t most = 0;
    for (size_t i = 0; i < lives.n; i++) { /* the most is reached where a life begins */
        int64_t bytes = 0;
        for (size_t j = 0; j < lives.n; j++)
            if (own_from(&lives.at[j]) <= own_from(&lives.at[i]) &&
                own_from(&lives.at[i]) <= lives.at[j].last_step)
                bytes += lives.at[j].bytes;
        most = most < bytes ? bytes : most;
    }
    return most;
}

/* Places the lives and compares every pair of them. */
static struct plan_placement place_as(const struct plan_place_request *request) {
    struct plan_placement placement;
    int64_t top = 0;
    assert_no_error(plan_place(&lives, request, &placement));
    for (size_t i = 0; i < lives.n; i++) {
        const struct plan_life *x = &lives.at[i];
        assert_true(x->offset >= 0 && x->offset % request->alignment_bytes == 0);
        if (x->in_place_of != PLAN_NONE)
            assert_int_equal(x->offset, lives.at[x->in_place_of].offset);
        for (size_t j = 0; j < i; j++)
            assert_false(collide(x, &lives.at[j]));
        top = top < x->offset + x->bytes ? x->offset + x->bytes : top;
    }
    assert_int_equal(placement.arena_bytes, top);
    assert_true(placement.bound_bytes <= top);
    assert_int_equal(placement.optimal, placement.bound_bytes == top);
    return placement;
}

/* With some effort. Gives the arena. */
static int64_t place(void) {
    return place_as(&(struct plan_place_request){.alignment_bytes = alignment, .effort = 1000000})
        .arena_bytes;
}

static void NothingNeedsNoArena(void **state) {
    (void)state;
    release(NULL);
    assert_int_equal(place(), 0);
    add(0, 3, 0);
    add(0, 3, 0);
    assert_int_equal(place(), 0);
}

static void LivesThatDoNotMeetShareBytes(void **state) {
    (void)state;
    release(NULL);
    add(0, 1, 256);
    add(2, 3, 128);
    add(4, 4, 256);
    assert_int_equal(place(), 256);
}

static void LivesThatMeetInOneStepShareNone(void **state) {
    (void)state;
    release(NULL);
    add(0, 2, 256);
    add(2, 3, 128);
    assert_int_equal(place(), 384);
}

static void AGapBetweenLivesIsUsed(void **state) {
    (void)state;
    release(NULL);
    add(0, 9, 64);
    add(0, 4, 128);
    add(0, 9, 192);
    add(5, 9, 64);
    add(5, 9, 64);
    assert_int_equal(place(), 384);
}

/* By size, into the smallest gap: 640 bytes. */
static void AFailingOrderIsReplacedByAnother(void **state) {
    (void)state;
    release(NULL);
    add(5, 5, 192);
    add(4, 4, 256);
    add(5, 5, 192);
    add(3, 3, 192);
    add(3, 5, 192);
    assert_int_equal(most_live_bytes(), 576);
    assert_int_equal(place(), 576);
}

/* None of the four orders gives less than 640 bytes. */
static void WhereAllOrdersFailTheBestIsImproved(void **state) {
    (void)state;
    release(NULL);
    add(2, 3, 192);
    add(2, 4, 128);
    add(4, 5, 128);
    add(4, 4, 128);
    add(5, 5, 256);
    add(2, 5, 192);
    assert_int_equal(most_live_bytes(), 576);
    assert_int_equal(place(), 576);
}

static void ChainsHaveOneOffset(void **state) {
    (void)state;
    release(NULL);
    add(0, 2, 256);
    add(0, 9, 64);
    add_chained(2, 5, 256, 0);
    add_chained(5, 8, 128, 2);
    assert_int_equal(place(), 320);
    assert_int_equal(lives.at[3].offset, lives.at[0].offset);
}

/* The chain shrinks from 256 to 64 bytes; what lives beside its end may use the rest. */
static void TheBytesThatAChainGivesUpAreUsed(void **state) {
    (void)state;
    release(NULL);
    add(0, 2, 256);
    add_chained(2, 6, 64, 0);
    add(3, 6, 192);
    assert_int_equal(place(), 256);
    release(NULL);
    add(0, 2, 256);
    add_chained(2, 6, 64, 0);
    add(2, 6, 192); /* meets the chain while it has all its bytes */
    assert_int_equal(place(), 448);
}

static void BytesNeedNotBeMultiplesOfTheAlignment(void **state) {
    (void)state;
    release(NULL);
    add(0, 1, 100);
    add(0, 1, 10);
    assert_int_equal(place(), 128 + 10);
}

static void AnImpossibleLinkIsRefused(void **state) {
    (void)state;
    static const struct plan_life takers[] = {
        {.first_step = 3, .last_step = 4, .in_place_of = 0, .bytes = 64},  /* comes too late */
        {.first_step = 2, .last_step = 4, .in_place_of = 0, .bytes = 128}, /* is larger */
        {.first_step = 2, .last_step = 4, .in_place_of = 1, .bytes = 64},  /* takes its own */
        {.first_step = 2, .last_step = 4, .in_place_of = 9, .bytes = 64},  /* takes none */
    };
    const struct plan_place_request request = {.alignment_bytes = alignment};
    struct plan_placement placement;
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        release(NULL);
        add(0, 2, 64);
        add_chained(takers[i].first_step, takers[i].last_step, takers[i].bytes,
                    takers[i].in_place_of);
        assert_error(plan_place(&lives, &request, &placement), NEAP_ERROR_INTERNAL, "in place of");
    }
    release(NULL);
    add(0, 2, 64);
    add_chained(2, 3, 64, 0);
    add_chained(2, 3, 64, 0); /* taken already */
    assert_error(plan_place(&lives, &request, &placement), NEAP_ERROR_INTERNAL, "in place of");
}

/* ---- many lives --------------------------------------------------------------------------- */

static struct builder b;
static struct order_rules rules;

static void random_lives(uint64_t seed, uint32_t n_forward) {
    struct dice dice = {.seed = seed};
    struct plan_schedule schedule = {0};
    struct plan_measure measure;
    random_problem(&b, &dice, n_forward);
    order_rules_of(&b, &rules);
    random_schedule(&b, &rules, &dice, false, dice_roll(&dice, n_forward), &schedule);
    assert_no_error(plan_replay(&b.problem, &schedule, &measure, &lives));
    assert_int_equal(measure.peak_bytes, most_live_bytes());
    plan_schedule_free(&schedule);
}

static int compare_doubles(const void *a, const void *c) {
    double x = *(const double *)a, y = *(const double *)c;
    return (x > y) - (x < y);
}

static void TrainingStepsComeCloseToTheLowerBound(void **state) {
    (void)state;
    enum { n_problems = 300 };
    double ratio[n_problems];
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        random_lives(seed, 10 + (uint32_t)seed % 20);
        int64_t bound_bytes = most_live_bytes(), arena_bytes = place();
        assert_true(arena_bytes >= bound_bytes);
        ratio[seed] = (double)arena_bytes / (double)bound_bytes;
    }
    qsort(ratio, n_problems, sizeof *ratio, compare_doubles);
    print_message("arena / lower bound: median %.4f, worst %.4f\n", ratio[n_problems / 2],
                  ratio[n_problems - 1]);
    assert_true(ratio[n_problems / 2] <= 1.10);
}

static void TheSameLivesGetTheSameOffsets(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        int64_t offsets[2048];
        random_lives(seed, 20);
        place();
        assert_true(lives.n <= 2048);
        for (size_t i = 0; i < lives.n; i++)
            offsets[i] = lives.at[i].offset;
        place();
        for (size_t i = 0; i < lives.n; i++)
            assert_int_equal(offsets[i], lives.at[i].offset);
    }
}

/* A chain of layers forward and back, as large as is expected: within a second or so. */
static void FiveThousandLivesAreFine(void **state) {
    (void)state;
    enum { n_layers = 2500 };
    struct dice dice = {.seed = 1};
    release(NULL);
    for (uint32_t i = 0; i < n_layers; i++)
        add(i, 2 * n_layers - i, 64 * (1 + dice_roll(&dice, 1000)));
    for (uint32_t i = 0; i < n_layers; i++)
        add(n_layers + i, n_layers + i + 1, 64 * (1 + dice_roll(&dice, 1000)));
    int64_t bound_bytes = most_live_bytes();
    assert_true(place() <= bound_bytes + bound_bytes / 100);
}

/* ---- published cases ---------------------------------------------------------------------- */

static int compare_times(const void *a, const void *c) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)c;
    return (x > y) - (x < y);
}

static uint32_t rank_of(const int64_t *times, uint32_t n, int64_t time) {
    return (uint32_t)((const int64_t *)bsearch(&time, times, n, sizeof time, compare_times) -
                      times);
}

/* Lines "id,lower,upper,size" below a head; lifetimes are half-open. */
static void read_case(const char *path) {
    enum { most = 4096 };
    static int64_t lower[most], upper[most], bytes[most], times[2 * most];
    uint32_t n = 0;
    char line[256];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    for (; n < most && fgets(line, sizeof line, file); n++) {
        assert_int_equal(sscanf(line, "%*[^,],%" SCNd64 ",%" SCNd64 ",%" SCNd64, &lower[n],
                                &upper[n], &bytes[n]),
                         3);
        times[2 * n] = lower[n];
        times[2 * n + 1] = upper[n];
    }
    fclose(file);
    qsort(times, 2 * n, sizeof *times, compare_times);
    release(NULL);
    for (uint32_t i = 0; i < n; i++)
        add(rank_of(times, 2 * n, lower[i]), rank_of(times, 2 * n, upper[i]) - 1, bytes[i]);
}

static void PublishedCasesAreSolvedValidly(void **state) {
    (void)state;
    const char *shared = getenv("NEAP_SHARED_DATA"), *source = getenv("SOURCE_DIR");
    char folder[4096], path[8192];
    snprintf(folder, sizeof folder, "%s%s/place",
             shared   ? shared
             : source ? source
                      : ".",
             shared ? "" : "/../shared/data");
    DIR *directory = opendir(folder);
    if (!directory) {
        print_message("no placement cases in %s\n", folder);
        skip();
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".csv") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        read_case(path);
        int64_t bound_bytes = most_live_bytes(), arena_bytes = place();
        print_message("%s: %zu lives, arena / lower bound %.4f\n", entry->d_name, lives.n,
                      (double)arena_bytes / (double)bound_bytes);
    }
    closedir(directory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(NothingNeedsNoArena),
        cmocka_unit_test(LivesThatDoNotMeetShareBytes),
        cmocka_unit_test(LivesThatMeetInOneStepShareNone),
        cmocka_unit_test(AGapBetweenLivesIsUsed),
        cmocka_unit_test(AFailingOrderIsReplacedByAnother),
        cmocka_unit_test(WhereAllOrdersFailTheBestIsImproved),
        cmocka_unit_test(ChainsHaveOneOffset),
        cmocka_unit_test(TheBytesThatAChainGivesUpAreUsed),
        cmocka_unit_test(BytesNeedNotBeMultiplesOfTheAlignment),
        cmocka_unit_test(AnImpossibleLinkIsRefused),
        cmocka_unit_test(TrainingStepsComeCloseToTheLowerBound),
        cmocka_unit_test(TheSameLivesGetTheSameOffsets),
        cmocka_unit_test(FiveThousandLivesAreFine),
        cmocka_unit_test(PublishedCasesAreSolvedValidly),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
