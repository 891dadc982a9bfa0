/* The sequence against replay: after any legal changes the schedule in it replays with the peak and
 * the seconds that stand there; what is undone leaves no trace. */
#include "unit/plan/random_sequence.h"

enum { n_problems = 250, n_rounds = 40, most_changes = 6 };

static struct builder b;
static struct plan_schedule schedule;

static void assert_replay_agrees(const struct sequence *s) {
    assert_no_error(sequence_store(s, &schedule));
    struct plan_measure measure = measure_of(&b, &schedule);
    assert_int_equal(profile_peak(&s->profile), measure.peak_bytes);
    assert_true(is_near(s->seconds, measure.seconds));
}

/* ---- changes -------------------------------------------------------------------------------- */

static uint32_t random_op(struct dice *dice) {
    return dice_roll(dice, b.problem.n_ops + b.problem.n_alternatives);
}

static uint32_t random_slot(const struct sequence *s, struct dice *dice) {
    return dice_roll(dice, s->n_slots);
}

/* Puts an execution elsewhere, or another that does its work. */
static void random_shift(struct sequence *s, struct dice *dice) {
    uint32_t from = s->taken[dice_roll(dice, s->n_taken)], o = s->op_at[from];
    uint32_t to = random_slot(s, dice), primary = plan_primary(&b.problem, o);
    uint32_t other = dice_chance(dice, 0.5) ? random_op(dice) : o;
    if (s->n_log + 2 >= SEQUENCE_CHANGES || (s->fixed_order && s->runs[primary].at[0] == from))
        return;
    sequence_remove(s, from);
    if (plan_primary(&b.problem, other) == primary && sequence_can_insert(s, other, to))
        sequence_insert(s, other, to);
    else
        sequence_insert(s, o, from);
}

static void random_change(struct sequence *s, struct dice *dice) {
    uint32_t kind = dice_roll(dice, 3), o = random_op(dice), slot = random_slot(s, dice);
    if (kind == 0)
        random_shift(s, dice);
    if (kind == 1 && sequence_can_insert(s, o, slot))
        sequence_insert(s, o, slot);
    slot = s->taken[dice_roll(dice, s->n_taken)];
    if (kind == 2 && sequence_can_remove(s, slot))
        sequence_remove(s, slot);
}

/* Calls `test` with a sequence of each problem that holds a random schedule. */
static void for_each_sequence(void (*test)(struct sequence *s, struct dice *dice)) {
    for (uint64_t seed = 0; seed < n_problems; seed++) {
        struct dice dice = {.seed = seed};
        struct sequence *s;
        bool fixed_order = dice_chance(&dice, 0.3);
        random_sequence_problem(&b, &dice);
        random_start(&b, &dice, fixed_order, &schedule);
        assert_no_error(sequence_create(&b.problem, fixed_order, &s));
        assert_no_error(sequence_load(s, &schedule));
        test(s, &dice);
        sequence_free(s);
    }
}

/* ---- replay agrees -------------------------------------------------------------------------- */

static void change_and_replay(struct sequence *s, struct dice *dice) {
    assert_replay_agrees(s);
    for (int round = 0; round < n_rounds; round++) {
        for (uint32_t n = 1 + dice_roll(dice, most_changes); n > 0; n--)
            random_change(s, dice);
        assert_replay_agrees(s);
        if (s->fixed_order)
            assert_true(keeps_base_order(&b, &schedule));
        if (dice_chance(dice, 0.3))
            sequence_undo(s);
        else
            sequence_commit(s);
        if (dice_chance(dice, 0.1))
            assert_no_error(sequence_spread(s));
        assert_replay_agrees(s);
    }
}

static void PeakAndSecondsAreThoseOfReplay(void **state) {
    (void)state;
    for_each_sequence(change_and_replay);
}

/* ---- undo ----------------------------------------------------------------------------------- */

/* All that a change may touch, in numbers. */
struct numbers {
    int64_t *at;
    size_t n, capacity;
};

static void add_number(struct numbers *numbers, int64_t number) {
    assert_no_error(
        memory_grow(&numbers->at, &numbers->capacity, numbers->n + 1, sizeof *numbers->at));
    numbers->at[numbers->n++] = number;
}

static void add_slots(struct numbers *numbers, const struct slots *list) {
    add_number(numbers, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        add_number(numbers, list->at[i]);
}

static void describe(const struct sequence *s, struct numbers *numbers) {
    numbers->n = 0;
    for (uint32_t slot = 0; slot < s->n_slots; slot++) {
        add_number(numbers, s->profile.at[slot] + s->profile.pending[slot / PROFILE_BLOCK]);
        add_number(numbers, s->op_at[slot]);
        add_number(numbers, s->saved[slot]);
    }
    for (uint32_t i = 0; i < s->profile.n_blocks; i++)
        add_number(numbers, s->profile.most[i]);
    for (uint32_t o = 0; o < b.problem.n_ops; o++)
        add_slots(numbers, &s->runs[o]);
    for (uint32_t v = 0; v < b.problem.n_values; v++)
        add_slots(numbers, &s->uses[v]);
    add_number(numbers, s->n_taken);
    add_number(numbers, s->seam);
    for (uint32_t i = 0; i < s->n_taken; i++)
        assert_int_equal(s->rank_at[s->taken[i]], i);
}

static void change_and_undo(struct sequence *s, struct dice *dice) {
    struct numbers before = {0}, after = {0};
    double seconds = s->seconds;
    describe(s, &before);
    for (int round = 0; round < n_rounds; round++) {
        for (uint32_t n = 1 + dice_roll(dice, most_changes); n > 0; n--)
            random_change(s, dice);
        sequence_undo(s);
        describe(s, &after);
        assert_int_equal(after.n, before.n);
        assert_memory_equal(after.at, before.at, after.n * sizeof *after.at);
        assert_true(is_near(s->seconds, seconds));
    }
    free(before.at);
    free(after.at);
}

static void WhatIsUndoneLeavesNoTrace(void **state) {
    (void)state;
    for_each_sequence(change_and_undo);
}

/* ---- what may be changed -------------------------------------------------------------------- */

static uint32_t n_allowed;

/* Every op in some slots, with all executions there and with one of its own gone. */
static void try_every_op(struct sequence *s, struct dice *dice) {
    for (uint32_t o = 0; o < b.problem.n_ops + b.problem.n_alternatives; o++)
        for (int i = 0; i < 8; i++) {
            const struct slots *runs = &s->runs[plan_primary(&b.problem, o)];
            uint32_t slot = random_slot(s, dice);
            if (dice_chance(dice, 0.5) && !s->fixed_order)
                sequence_remove(s, runs->at[dice_roll(dice, runs->n)]);
            if (sequence_can_insert(s, o, slot)) {
                sequence_insert(s, o, slot);
                n_allowed++;
                assert_replay_agrees(s);
            }
            sequence_undo(s);
        }
    for (uint32_t i = 0; i < s->n_taken; i++)
        if (sequence_can_remove(s, s->taken[i])) {
            sequence_remove(s, s->taken[i]);
            n_allowed++;
            assert_replay_agrees(s);
            sequence_undo(s);
        }
}

static void WhatIsAllowedReplays(void **state) {
    (void)state;
    n_allowed = 0;
    for_each_sequence(try_every_op);
    assert_true(n_allowed > 20 * n_problems);
}

static void load(struct sequence **s, const char *text, const char *names) {
    builder_read(&b, text);
    plan_schedule_free(&schedule);
    read_schedule(&b, names, &schedule);
    assert_no_error(sequence_create(&b.problem, false, s));
    assert_no_error(sequence_load(*s, &schedule));
}

static const char trained[] = "input x 8\n"
                              "persistent w\n"
                              "persistent n\n"
                              "forward 1 f : x w -> y 8\n"
                              "forward 1 g : y -> z 8\n"
                              "backward 1 h : y z -> d 8\n"
                              "backward 1 i : d -> updates w\n"
                              "update 1 u : w -> updates w effect last\n"
                              "update 1 v : -> updates n effect last\n";

/* Behind i the weight is another one, behind u there is no micro-batch any more. */
static void HazardsAndTheSeamAreKept(void **state) {
    (void)state;
    struct sequence *s;
    load(&s, trained, NULL);
    uint32_t f = op_named(&b, "f"), g = op_named(&b, "g"), i = op_named(&b, "i"),
             u = op_named(&b, "u"), v = op_named(&b, "v");
    uint32_t i_slot = s->runs[i].at[0], u_slot = s->runs[u].at[0];
    assert_true(sequence_can_insert(s, f, i_slot - 1));
    assert_false(sequence_can_insert(s, f, i_slot + 1));
    assert_true(sequence_can_insert(s, g, u_slot - 1));
    assert_false(sequence_can_insert(s, g, u_slot + 1));
    assert_false(sequence_can_insert(s, i, i_slot + 1)); /* once */
    assert_false(sequence_can_remove(s, i_slot));
    sequence_remove(s, s->runs[v].at[0]);
    assert_false(sequence_can_insert(s, v, u_slot - 1));
    assert_true(sequence_can_insert(s, v, u_slot + 1));
    sequence_undo(s);
    sequence_free(s);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/* Replay counts x in the first step, with a; the change of steps moves it. */
static void AnInputThatNobodyReadsCountsInTheFirstStep(void **state) {
    (void)state;
    struct sequence *s;
    load(&s,
         "input x 100\n"
         "forward 1 f : -> a 30\n"
         "forward 1 g : -> c 50\n"
         "forward 2 h : a c -> d 10\n"
         "instead h 3 k : a c x -> d\n",
         NULL);
    uint32_t f = op_named(&b, "f"), g = op_named(&b, "g"), h = op_named(&b, "h");
    assert_int_equal(profile_peak(&s->profile), 130);
    uint32_t slot = s->runs[f].at[0], behind = s->runs[h].at[0] - 1, end = s->runs[h].at[0];
    sequence_remove(s, slot);
    assert_true(sequence_can_insert(s, f, behind));
    sequence_insert(s, f, behind);
    assert_int_equal(profile_peak(&s->profile), 150); /* g is first now */
    assert_replay_agrees(s);
    assert_true(sequence_can_insert(s, g, slot - 1));
    sequence_insert(s, g, slot - 1);
    assert_replay_agrees(s);
    sequence_remove(s, end);
    assert_true(sequence_can_insert(s, op_named(&b, "k"), end));
    sequence_insert(s, op_named(&b, "k"), end); /* now it is read */
    assert_int_equal(profile_peak(&s->profile), 190);
    assert_replay_agrees(s);
    sequence_undo(s);
    assert_int_equal(profile_peak(&s->profile), 130);
    sequence_free(s);
}

/* Each implementation has its own scratch, where it runs and nowhere else. */
static void ScratchIsThatOfTheImplementation(void **state) {
    (void)state;
    struct sequence *s;
    load(&s,
         "forward 1 f : -> a 8 s 64\n"
         "forward 1 g : a -> c 8\n"
         "instead f 2 k : -> a t 32\n",
         "k f g");
    assert_int_equal(profile_peak(&s->profile), 72);
    uint32_t slot = s->runs[op_named(&b, "f")].at[1];
    sequence_remove(s, slot);
    assert_int_equal(profile_peak(&s->profile), 40);
    assert_no_error(sequence_store(s, &schedule));
    sequence_undo(s);
    assert_no_error(sequence_load(s, &schedule));
    assert_int_equal(profile_peak(&s->profile), 40);
    sequence_free(s);
}

/* What is kept for ever has its own place. */
static void APersistentOutputTakesNobodysPlace(void **state) {
    (void)state;
    struct sequence *s;
    load(&s,
         "input x 64\n"
         "persistent w\n"
         "forward 1 f : x -> w y 64 over x w\n",
         NULL);
    assert_int_equal(profile_peak(&s->profile), 128);
    assert_replay_agrees(s);
    sequence_free(s);
}

/* y is read in place behind the run that made it, until a later reader comes. */
static void InPlaceRightsFollowTheReaders(void **state) {
    (void)state;
    struct sequence *s;
    load(&s,
         "input x 8\n"
         "forward 1 f : x -> y 64\n"
         "forward 1 g : y -> z 64 over y z\n"
         "forward 1 h : y z -> a 8\n"
         "forward 1 k : z -> c 8\n",
         "f g f h k");
    uint32_t f = op_named(&b, "f"), h = op_named(&b, "h");
    assert_int_equal(s->saved[s->runs[op_named(&b, "g")].at[0]], 64);
    assert_int_equal(profile_peak(&s->profile), 136);
    sequence_remove(s, s->runs[f].at[1]);
    assert_int_equal(s->saved[s->runs[op_named(&b, "g")].at[0]], 0);
    assert_replay_agrees(s);
    sequence_undo(s);
    assert_int_equal(s->saved[s->runs[op_named(&b, "g")].at[0]], 64);
    assert_true(sequence_can_insert(s, h, s->runs[h].at[0] + 1));
    sequence_free(s);
}

/* ---- limits --------------------------------------------------------------------------------- */

static void NoMoreChangesThanTheLogHolds(void **state) {
    (void)state;
    struct sequence *s;
    load(&s, "forward 1 f : -> a 8\nforward 1 g : a -> c 8\n", NULL);
    uint32_t n = 0;
    for (uint32_t slot = s->n_slots; slot-- > 1;)
        if (sequence_can_insert(s, 0, slot)) {
            sequence_insert(s, 0, slot);
            assert_no_error(sequence_store(s, &schedule));
            n++;
        }
    assert_true(n < SEQUENCE_CHANGES);
    assert_int_equal(s->n_log, n);
    sequence_undo(s);
    assert_int_equal(s->n_taken, 2);
    sequence_free(s);
}

/* A schedule that is loaded over changes that were not committed is whole. */
static void LoadingForgetsWhatWasThere(void **state) {
    (void)state;
    struct sequence *s;
    struct dice dice = {.seed = 1};
    random_bare(&b, &dice, 40);
    random_start(&b, &dice, false, &schedule);
    struct plan_measure measure = measure_of(&b, &schedule);
    assert_no_error(sequence_create(&b.problem, false, &s));
    assert_no_error(sequence_load(s, &schedule));
    for (uint32_t slot = s->n_slots; slot-- > 1;)
        if (sequence_can_insert(s, 0, slot))
            sequence_insert(s, 0, slot);
    assert_no_error(sequence_load(s, &schedule));
    assert_int_equal(s->n_taken, schedule.n);
    assert_int_equal(profile_peak(&s->profile), measure.peak_bytes);
    assert_int_equal(s->n_log, 0);
    sequence_free(s);
}

static int release(void **state) {
    (void)state;
    plan_schedule_free(&schedule);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PeakAndSecondsAreThoseOfReplay),
        cmocka_unit_test(WhatIsUndoneLeavesNoTrace),
        cmocka_unit_test(WhatIsAllowedReplays),
        cmocka_unit_test(HazardsAndTheSeamAreKept),
        cmocka_unit_test(AnInputThatNobodyReadsCountsInTheFirstStep),
        cmocka_unit_test(ScratchIsThatOfTheImplementation),
        cmocka_unit_test(APersistentOutputTakesNobodysPlace),
        cmocka_unit_test(InPlaceRightsFollowTheReaders),
        cmocka_unit_test(NoMoreChangesThanTheLogHolds),
        cmocka_unit_test(LoadingForgetsWhatWasThere),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
