/* Every network is PyTorch's: tests/oracle/gradients, one forward and backward of each.
 *
 * The reference kernels run the whole net in f64 and must give PyTorch's float64 loss, gradients
 * and running statistics: norms and projections on random signs, which a distance of 1e-9 between
 * two tensors moves by about as much. So they stand for PyTorch's tensors, element by element, and
 * the CPU's kernels in f32 are compared with them: a distance is exact, no estimate. */
#include "support/files.h"

#include <math.h>

#include "backend/cpu/cpu.h"
#include "support/network.h"
#include "support/oracle.h"

static const char *const small_networks[] = {"mlp", "lenet5", "resnet20"};
static const char *const networks[] = {
    "alexnet",     "vgg11",       "vgg13",        "vgg16",        "vgg19",           "resnet18",
    "resnet34",    "resnet50",    "resnet101",    "resnet152",    "densenet121",     "densenet161",
    "densenet169", "densenet201", "inception_v3", "nasnet_cifar", "amoebanet_cifar", "darts_cifar"};
/* Well-conditioned ones, by the start of their names. */
static const char *const plain_networks[] = {"alexnet", "vgg", "resnet18", "resnet34", NULL};
enum {
    N_SMALL = sizeof small_networks / sizeof *small_networks,
    N_NETWORKS = sizeof networks / sizeof *networks
};

struct comparison {
    const char *name;
    struct oracle_network expected;
    struct network exact, fast; /* the reference in f64, the CPU in f32 */
};

/* ---- running -------------------------------------------------------------------------------- */

static neap_graph *model_of(const struct comparison *c, enum dtype dtype) {
    const struct neap_model_options options = {.batch = c->expected.batch,
                                               .num_classes = 10,
                                               .image_size = c->expected.image_size,
                                               .channels = c->expected.channels,
                                               .dropout_set = true};
    neap_graph *g;
    assert_no_error(neap_graph_model(c->name, &options, &g));
    for (value_id v = 0; v < g->n_values; v++)
        if (graph_value(g, v)->dtype == DTYPE_F32)
            graph_value(g, v)->dtype = dtype;
    return g;
}

static void run(const struct comparison *c, const struct backend *backend, enum dtype dtype,
                struct network *out) {
    neap_graph *g = model_of(c, dtype);
    const struct network_request request = {
        .model = g, .device = network_device(backend, 2), .batch = c->expected.batch};
    network_open(&request, out);
    network_update(out, 0);
    graph_free(g);
}

static void stop(struct network *n) {
    struct device *device = n->device;
    network_close(n);
    device->backend->close(device);
    free(device);
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* A running statistic, or the gradient of a parameter. */
static const struct store_entry *entry_of(const struct network *n, const char *name) {
    const neap_graph *g = n->compiled->g;
    const struct store_entry *entry = store_find(n->store, name);
    if (!entry)
        fail_msg("the network has no '%s'", name);
    if (entry->kind == VALUE_BUFFER)
        return entry;
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        if (value->kind == VALUE_PARAMETER_GRADIENT && value->persistent &&
            !strcmp(graph_value(g, value->of)->name, name))
            return store_find(n->store, value->name);
    }
    fail_msg("'%s' has no gradient", name);
    return NULL;
}

static bool is_plain(const char *network) {
    for (const char *const *start = plain_networks; *start; start++)
        if (!strncmp(network, *start, strlen(*start)))
            return true;
    return false;
}

/* Of f32's relative distance from float64: three times what PyTorch's own is. */
static double allowed(const struct comparison *c, const struct oracle_tensor *t) {
    double limit = 3 * t->float32_error;
    return is_plain(c->name) ? fmin(limit, 1e-4) : limit;
}

static void assert_exact(const char *name, const struct oracle_tensor *t, double norm,
                         double projection) {
    double error = fmax(fabs(norm - t->norm), fabs(projection - t->projection)) / t->norm;
    if (!(error <= 1e-9))
        fail_msg("%s: %s of the reference has norm %.12e and projection %.12e, PyTorch's %.12e "
                 "and %.12e",
                 name, t->name, norm, projection, t->norm, t->projection);
}

static void compare_tensor(const struct comparison *c, const struct oracle_tensor *t) {
    struct oracle_measure m = oracle_measure(t->name, c->exact.store, entry_of(&c->exact, t->name),
                                             c->fast.store, entry_of(&c->fast, t->name));
    assert_exact(c->name, t, m.norm, m.projection);
    if (!(m.distance <= allowed(c, t) * m.norm))
        fail_msg("%s: %s is %.1e from float64, PyTorch's f32 %.1e", c->name, t->name,
                 m.distance / m.norm, t->float32_error);
}

static double loss_of(const struct comparison *c, const struct network *n) {
    const double *total = store_data(n->store, store_find(n->store, "loss.total"));
    return *total / (double)c->expected.batch;
}

static void compare_loss(const struct comparison *c, const struct oracle_tensor *t) {
    double exact = loss_of(c, &c->exact), fast = loss_of(c, &c->fast);
    double sign = t->projection < 0 ? -1 : 1;
    assert_string_equal(t->name, "loss");
    assert_exact(c->name, t, exact, sign * exact);
    if (!(fabs(fast - exact) <= 1e-4 * exact))
        fail_msg("%s: the loss is %.9f, in float64 %.9f", c->name, fast, exact);
}

static int n_tensors(const struct store *store) {
    int n = 0;
    for (size_t i = 0; i < store->n_entries; i++)
        n += store->entries[i].kind == VALUE_PARAMETER || store->entries[i].kind == VALUE_BUFFER;
    return n;
}

/* ---- the test ------------------------------------------------------------------------------- */

static void NetworkIsPyTorchs(void **state) {
    struct comparison c = {.name = *state};
    assert_true(oracle_read_network(c.name, &c.expected));
    run(&c, &backend_reference_only, DTYPE_F64, &c.exact);
    run(&c, &backend_cpu, DTYPE_F32, &c.fast);
    assert_int_equal(c.expected.n_tensors, 1 + n_tensors(c.exact.store));
    compare_loss(&c, &c.expected.tensors[0]);
    for (int i = 1; i < c.expected.n_tensors; i++)
        compare_tensor(&c, &c.expected.tensors[i]);
    stop(&c.exact);
    stop(&c.fast);
    free(c.expected.tensors);
}

static int run_group(const char *title, const char *const *names, size_t n) {
    struct CMUnitTest tests[N_NETWORKS];
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){names[i], NetworkIsPyTorchs, NULL, NULL,
                                       (void *)(uintptr_t)names[i]};
    return _cmocka_run_group_tests(title, tests, n, NULL, NULL);
}

int main(void) {
    FILE *file = oracle_open("gradients/mlp.txt");
    if (!file) {
        puts("tests/oracle is not at hand: SOURCE_DIR must name the sources");
        return 77;
    }
    fclose(file);
    int failed = run_group("small networks", small_networks, N_SMALL);
    if (getenv("NEAP_SANITIZE")) {
        puts("the published networks are left out: minutes and gigabytes under a sanitizer");
        return failed;
    }
    return failed + run_group("published networks", networks, N_NETWORKS);
}
