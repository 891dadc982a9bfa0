/* Maximum flow against all cuts of small random graphs. */
#include "support/files.h"

#include "plan/flow.h"
#include "unit/plan/random_problem.h"

enum { n_graphs = 3000, most_nodes = 10, most_arcs = 30 };

static struct {
    uint32_t n_nodes, n_arcs;
    uint32_t from[most_arcs], to[most_arcs];
    int64_t capacity[most_arcs];
} graph;

static void random_graph(struct dice *dice) {
    graph.n_nodes = 2 + dice_roll(dice, most_nodes - 1);
    graph.n_arcs = dice_roll(dice, most_arcs + 1);
    for (uint32_t a = 0; a < graph.n_arcs; a++) {
        graph.from[a] = dice_roll(dice, graph.n_nodes);
        do
            graph.to[a] = dice_roll(dice, graph.n_nodes);
        while (graph.to[a] == graph.from[a]);
        graph.capacity[a] = dice_chance(dice, 0.1)
                                ? (int64_t)1 << 50 /* as good as unbounded */
                                : (int64_t)dice_roll(dice, dice_chance(dice, 0.5) ? 4 : 1000);
    }
}

/* Bit n of `side`: node n is on the source's side. */
static int64_t cut_capacity(uint32_t side) {
    int64_t sum = 0;
    for (uint32_t a = 0; a < graph.n_arcs; a++)
        sum += side >> graph.from[a] & 1 && !(side >> graph.to[a] & 1) ? graph.capacity[a] : 0;
    return sum;
}

/* *smallest: the intersection of all minimum cuts' source sides, itself one of them. */
static int64_t least_cut(uint32_t *smallest) {
    int64_t least = INT64_MAX;
    for (uint32_t side = 1; side < 1u << graph.n_nodes; side += 4) { /* the sink is node 1 */
        int64_t capacity = cut_capacity(side);
        *smallest = capacity < least ? side : capacity == least ? *smallest & side : *smallest;
        least = capacity < least ? capacity : least;
    }
    return least;
}

static void TheFlowIsTheLeastCut(void **state) {
    (void)state;
    int n_positive = 0;
    for (uint64_t seed = 0; seed < n_graphs; seed++) {
        struct dice dice = {.seed = seed};
        struct flow flow;
        random_graph(&dice);
        assert_no_error(flow_open(&flow, graph.n_nodes, graph.n_arcs));
        for (uint32_t a = 0; a < graph.n_arcs; a++)
            assert_int_equal(flow_arc(&flow, graph.from[a], graph.to[a]), a);
        for (int again = 0; again < 3; again++) { /* with new capacities on the same arcs */
            uint32_t side = 0, smallest = 0;
            for (uint32_t a = 0; a < graph.n_arcs; a++) {
                graph.capacity[a] = again == 1 ? graph.capacity[a] / 3 : graph.capacity[a] + again;
                flow.capacity[a] = graph.capacity[a];
            }
            int64_t least = least_cut(&smallest);
            assert_int_equal(flow_solve(&flow), least);
            for (uint32_t n = 0; n < graph.n_nodes; n++)
                side |= (uint32_t)flow.source_side[n] << n;
            assert_int_equal(side, smallest);
            n_positive += least > 0;
        }
        flow_close(&flow);
    }
    assert_true(n_positive > n_graphs);
}

/* source → 2 → 3 → … → sink, the last arc the narrowest. */
static void LongChainsNeedNoStack(void **state) {
    (void)state;
    const uint32_t n = 200000;
    struct flow flow;
    assert_no_error(flow_open(&flow, n, n));
    uint32_t node = 0;
    for (uint32_t next = 2; next < n; node = next++)
        flow.capacity[flow_arc(&flow, node, next)] = FLOW_UNBOUNDED;
    flow.capacity[flow_arc(&flow, node, 1)] = 7;
    assert_int_equal(flow_solve(&flow), 7);
    assert_true(flow.source_side[n - 1]);
    assert_false(flow.source_side[1]);
    flow_close(&flow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheFlowIsTheLeastCut),
        cmocka_unit_test(LongChainsNeedNoStack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
