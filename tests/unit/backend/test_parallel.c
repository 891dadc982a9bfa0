/* parallel_for: every index once, whatever the number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <omp.h>

#include "backend/cpu/parallel.h"

enum { MOST = 1000, GRAIN = 16 };

static void count(const void *context, int64_t begin, int64_t end) {
    int *const *times = context;
    assert_true(begin % GRAIN == 0 && begin < end);
    for (int64_t i = begin; i < end; i++)
        (*times)[i]++;
}

static void every_index_is_visited_once_at_any_number_of_threads(void **state) {
    (void)state;
    for (int threads = 1; threads <= 5; threads++)
        for (int64_t n = 0; n <= MOST; n += n < 40 ? 1 : 37) {
            int times[MOST] = {0}, *visited = times;
            omp_set_num_threads(threads);
            parallel_for(n, GRAIN, count, &visited);
            for (int64_t i = 0; i < MOST; i++)
                assert_int_equal(times[i], i < n);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_is_visited_once_at_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
