/* The arena's measurement: the highest byte written, rounded up. */
#include "support/files.h"

#include "backend/cpu/cpu.h"
#include "exec/arena.h"
#include "support/network.h"

static struct device *device;
static struct arena arena;

static int open_arena(void **state) {
    (void)state;
    device = network_device(&backend_cpu, 1);
    assert_no_error(arena_create(device, 1000, &arena));
    return 0;
}

static int close_arena(void **state) {
    (void)state;
    arena_free(&arena);
    device_close(device);
    return 0;
}

static void AnUntouchedArenaMeasuresNothing(void **state) {
    (void)state;
    assert_int_equal(arena_measure(&arena, 128), 0);
}

static void TheHighestByteWrittenCounts(void **state) {
    (void)state;
    arena.base[0] = 1;
    assert_int_equal(arena_measure(&arena, 1), 1);
    assert_int_equal(arena_measure(&arena, 128), 128);
    arena.base[255] = 0;
    arena.base[100] = 7;
    assert_int_equal(arena_measure(&arena, 128), 256);
    arena.base[256] = 0;
    assert_int_equal(arena_measure(&arena, 128), 384);
}

static void TheWholeArenaCanBeWritten(void **state) {
    (void)state;
    memset(arena.base, 0, 1000);
    assert_int_equal(arena_measure(&arena, 1), 1000);
}

static void AnEmptyArenaMeasuresNothing(void **state) {
    (void)state;
    struct arena empty;
    assert_no_error(arena_create(device, 0, &empty));
    assert_int_equal(arena_measure(&empty, 128), 0);
    arena_free(&empty);
    arena_free(&empty);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(AnUntouchedArenaMeasuresNothing),
        TEST(TheHighestByteWrittenCounts),
        TEST(TheWholeArenaCanBeWritten),
        TEST(AnEmptyArenaMeasuresNothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
