/* Masks: which ReLUs read one behind the stage, and which did before. */
#include "support/files.h"

#include "backend/null/null.h"
#include "compile/compile.h"
#include "ops/ops.h"
#include "support/network.h"

static struct device *device;

struct count {
    int masks_before, masks, outputs_of_relu, outputs_of_others;
};

static void count_saved(const neap_graph *g, struct count *count) {
    *count = (struct count){.masks_before = count->masks_before};
    for (node_id n = 0; n < g->n_nodes; n++) {
        const struct node *node = graph_node(g, n);
        if (node->op != &op_relu_backward)
            continue;
        const struct value *saved = node_input(g, node, 1);
        bool relu = graph_node(g, saved->producer)->op == &op_relu;
        if (saved->dtype == DTYPE_BIT)
            count->masks++;
        else
            ++*(relu ? &count->outputs_of_relu : &count->outputs_of_others);
    }
}

static bool on_stage(void *user, const char *stage, const neap_graph *g) {
    struct count *count = user;
    if (!strcmp(stage, "fuse")) {
        count_saved(g, count);
        count->masks_before = count->masks;
    } else if (!strcmp(stage, "mask")) {
        count_saved(g, count);
    }
    return true;
}

static struct count count_in(const char *model) {
    struct update_options update;
    struct count count = {0};
    struct compiled *c;
    neap_graph *g = network_model(model, 1, 32);
    struct compile_options options = network_compile_options(
        &(struct network_request){.model = g, .device = device, .batch = 2}, &update);
    options.on_stage = on_stage;
    options.user = &count;
    assert_no_error(compile(&options, &c));
    compiled_free(c);
    graph_free(g);
    return count;
}

/* Before, only the last one has no other reader of y in backward. */
static void ReluBehindAResidualSumReadsAMask(void **state) {
    (void)state;
    struct count count = count_in("resnet20");
    assert_int_equal(count.masks_before, 1);
    assert_int_equal(count.masks, 9);
    assert_int_equal(count.outputs_of_relu + count.outputs_of_others, 0);
}

static void ReluFusedIntoALayerReadsItsOutput(void **state) {
    (void)state;
    struct count count = count_in("vgg11");
    assert_int_equal(count.masks, count.masks_before);
    assert_true(count.masks > 0 && count.outputs_of_others > 0);
    assert_int_equal(count.outputs_of_relu, 0);
}

static int open_device(void **state) {
    (void)state;
    device = network_device(&backend_null, 0);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    device_close(device);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ReluBehindAResidualSumReadsAMask),
        cmocka_unit_test(ReluFusedIntoALayerReadsItsOutput),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
