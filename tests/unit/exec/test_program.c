/* Programs: the bytes they touch are the bytes planned, and what runs is what was planned. */
#include "support/files.h"

#include "backend/cpu/cpu.h"
#include "plan/place.h"
#include "support/network.h"

static struct device *device;

static int open_device(void **state) {
    (void)state;
    device = network_device(&backend_cpu, 0);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

static const struct {
    const char *model;
    int64_t batch, image_size;
} nets[] = {{"mlp", 7, 28}, {"lenet5", 5, 28}, {"resnet20", 4, 32}, {"resnet18", 2, 32}};
enum { N_NETS = sizeof nets / sizeof *nets };

/* Two updates: the same bytes again. */
static void assert_measured_as_planned(const struct network_request *request) {
    struct network network;
    network_open(request, &network);
    assert_int_equal(arena_measure(&network.arena, ALIGNMENT_BYTES), 0);
    for (uint64_t update = 0; update < 2; update++) {
        network_update(&network, update);
        assert_int_equal(arena_measure(&network.arena, ALIGNMENT_BYTES), network.plan.arena_bytes);
    }
    network_close(&network);
}

static void TheArenaMeasuresWhatWasPlanned(void **state) {
    (void)state;
    static const char *const strategies[] = {"none", "all", "sqrt", "auto"};
    for (int i = 0; i < N_NETS; i++) {
        neap_graph *model = network_model(nets[i].model, 1, nets[i].image_size);
        for (int s = 0; s < 4; s++) {
            struct network_request request = {.model = model,
                                              .device = device,
                                              .batch = nets[i].batch,
                                              .gradients = GRADIENTS_FUSED,
                                              .momentum = 0.9,
                                              .strategy = strategies[s]};
            if (s == 3)
                request.arena_bytes = 1; /* as small as it goes */
            assert_measured_as_planned(&request);
        }
        graph_free(model);
    }
}

static void TheArenaMeasuresWhatWasPlannedWhereverGradientsLive(void **state) {
    (void)state;
    for (int gradients = GRADIENTS_STORED; gradients <= GRADIENTS_FUSED; gradients++) {
        neap_graph *model = network_model("lenet5", 1, 28);
        assert_measured_as_planned(&(struct network_request){
            .model = model, .device = device, .batch = 3, .gradients = gradients, .momentum = 0.9});
        graph_free(model);
    }
}

/* The store after three updates. */
static void train(struct network_request request, unsigned char **bytes, int64_t *n) {
    struct network network;
    network_open(&request, &network);
    for (uint64_t update = 0; update < 3; update++)
        network_update(&network, update);
    *n = network.store->bytes;
    assert_no_error(memory_alloc((size_t)*n, 1, bytes));
    memcpy(*bytes, network.store->base, (size_t)*n);
    network_close(&network);
}

static void EveryStrategyLeavesTheSameBytesInTheStore(void **state) {
    (void)state;
    neap_graph *model = network_model("resnet20", 1, 16);
    static const char *const strategies[] = {"all", "sqrt", "sequential:3", "auto"};
    struct network_request request = {.model = model,
                                      .device = device,
                                      .batch = 3,
                                      .gradients = GRADIENTS_FUSED,
                                      .momentum = 0.9,
                                      .strategy = "none"};
    unsigned char *kept, *again;
    int64_t n, m;
    train(request, &kept, &n);
    for (int s = 0; s < 4; s++) {
        request.strategy = strategies[s];
        request.arena_bytes = s == 3 ? 1 : 0;
        train(request, &again, &m);
        assert_int_equal(m, n);
        assert_memory_equal(again, kept, (size_t)n);
        free(again);
    }
    free(kept);
    graph_free(model);
}

/* Every op that has an alternative runs as that. */
static uint32_t swap_in_alternatives(struct network *n) {
    const struct plan_problem *problem = &n->compiled->problem;
    struct plan_result *plan = &n->plan;
    uint32_t n_swapped = 0;
    for (uint32_t a = problem->n_ops; a < problem->n_ops + problem->n_alternatives; a++)
        for (size_t s = 0; s < plan->schedule.n; s++)
            if (plan->schedule.ops[s] == problem->ops[a].alternative_of) {
                plan->schedule.ops[s] = a;
                n_swapped++;
            }
    assert_no_error(plan_replay(problem, &plan->schedule, &plan->measure, &plan->lives));
    const struct plan_place_request request = {.alignment_bytes = ALIGNMENT_BYTES};
    struct plan_placement placement;
    assert_no_error(plan_place(&plan->lives, &request, &placement));
    plan->arena_bytes = placement.arena_bytes;
    assert_no_error(plan_check(problem, &plan->schedule, &plan->lives,
                               &(struct plan_claim){.peak_bytes = plan->measure.peak_bytes,
                                                    .arena_bytes = plan->arena_bytes,
                                                    .alignment_bytes = ALIGNMENT_BYTES,
                                                    .seconds = plan->measure.seconds}));
    return n_swapped;
}

static void AlternativesLeaveTheSameBytesInTheStore(void **state) {
    (void)state;
    neap_graph *model = network_model("resnet20", 1, 16);
    const struct network_request request = {.model = model,
                                            .device = device,
                                            .batch = 3,
                                            .gradients = GRADIENTS_FUSED,
                                            .momentum = 0.9};
    struct network network;
    unsigned char *primaries;
    int64_t n;
    train(request, &primaries, &n);
    network_open(&request, &network);
    assert_int_equal(swap_in_alternatives(&network), 9); /* a ReLU behind each residual sum */
    network_relink(&network);
    for (uint64_t update = 0; update < 3; update++)
        network_update(&network, update);
    assert_int_equal(network.store->bytes, n);
    assert_memory_equal(network.store->base, primaries, (size_t)n);
    network_close(&network);
    free(primaries);
    graph_free(model);
}

static void AProgramWantsTheLayoutsOfItsStore(void **state) {
    (void)state;
    neap_graph *small = network_model("mlp", 1, 28), *large = network_model("mlp", 1, 32);
    struct network_request request = {.model = small, .device = device, .batch = 2};
    struct network network, other;
    struct program *program;
    network_open(&request, &network);
    request.model = large;
    network_open(&request, &other);
    const struct program_source source = {.g = other.compiled->g,
                                          .kernels = other.compiled->kernels,
                                          .states = other.compiled->states,
                                          .problem = &other.compiled->problem,
                                          .node_of_op = other.compiled->node_of_op,
                                          .plan_of_value = other.compiled->plan_of_value,
                                          .scratch_of_node = other.compiled->scratch_of_node,
                                          .schedule = &other.plan.schedule,
                                          .lives = &other.plan.lives};
    assert_error(program_create(&source, &other.arena, network.store, &program),
                 NEAP_ERROR_INTERNAL, "linear_relu_stack.0.weight");
    network_close(&network);
    network_close(&other);
    graph_free(small);
    graph_free(large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(TheArenaMeasuresWhatWasPlanned),
        cmocka_unit_test(TheArenaMeasuresWhatWasPlannedWhereverGradientsLive),
        cmocka_unit_test(EveryStrategyLeavesTheSameBytesInTheStore),
        cmocka_unit_test(AlternativesLeaveTheSameBytesInTheStore),
        cmocka_unit_test(AProgramWantsTheLayoutsOfItsStore),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
