/* The PyTorch modules that come nearest to a plan when they are wrapped in torch.utils.checkpoint.
 *
 * Layers are named as in PyTorch: "layer1.0.conv1" lies in the modules "layer1" and "layer1.0". To
 * wrap a module drops all that is made inside it but its result, which its last layer makes. So a
 * module is worth the bytes inside that the plan makes again, less those that it keeps; of nested
 * ones the set worth most is taken. Where layers are a module's numbered children (a Sequential),
 * runs of them can be wrapped: a run ends behind the first layer that the plan does not drop.
 * What lies in no module ("conv1") cannot be expressed. O(layers × depth × layers). */
#include <stdlib.h>
#include <string.h>

#include "report/torch_py.h"
#include "train/emit.h"

struct emission {
    const struct neap_plan *plan;
    const struct neap_layer *layers;
    size_t n_layers;
    struct torch_module *modules; /* names are the pool's */
    size_t n_modules, capacity;
    struct pool pool;
};

/* Layers first … end − 1, all inside one module. */
struct range {
    size_t first, end;
};

/* What wrapping would drop of layer i as the plan does, and against it. */
static int64_t dropped_bytes(const struct neap_layer *layer) {
    return layer->recomputed > 0 ? layer->bytes : 0;
}

static int64_t kept_bytes(const struct neap_layer *layer) {
    return layer->recomputed == 0 && layer->kept ? layer->bytes : 0;
}

static struct torch_module module_of(const struct emission *e, struct range inside) {
    struct torch_module m = {0};
    for (size_t i = inside.first; i + 1 < inside.end; i++) {
        m.recomputed_bytes += dropped_bytes(&e->layers[i]);
        m.kept_bytes += kept_bytes(&e->layers[i]);
    }
    return m;
}

static neap_error *add(struct emission *e, struct torch_module module, const char *name,
                       size_t name_length) {
    TRY(memory_grow(&e->modules, &e->capacity, e->n_modules + 1, sizeof *e->modules));
    TRY(pool_format(&e->pool, &module.name, "%.*s", (int)name_length, name));
    e->modules[e->n_modules++] = module;
    return NULL;
}

/* The length of the name up to its component behind `depth` characters; 0: that is its last. */
static size_t component_end(const char *name, size_t depth) {
    const char *dot = strchr(name + depth, '.');
    return dot ? (size_t)(dot - name) : 0;
}

/* The number that a layer has as a child of a Sequential, whose name takes `depth` characters with
 * its dot; −1: it has none. */
static int64_t child_number(const char *name, size_t depth) {
    const char *last = name + depth;
    bool number = depth > 0 && *last && !last[strspn(last, "0123456789")];
    return number ? strtoll(last, NULL, 10) : -1;
}

/* Runs among the numbered children in `inside`. */
static neap_error *add_runs(struct emission *e, struct range inside, size_t depth) {
    for (size_t i = inside.first; i < inside.end;) {
        size_t last = i;
        int64_t first_number = child_number(e->layers[i].name, depth);
        while (last + 1 < inside.end && dropped_bytes(&e->layers[last]) > 0 &&
               child_number(e->layers[last].name, depth) >= 0 &&
               child_number(e->layers[last + 1].name, depth) >= 0)
            last++;
        int64_t last_number = child_number(e->layers[last].name, depth);
        if (last > i) {
            /* layers that were fused into the last one stand between it and the next */
            int64_t next =
                last + 1 < inside.end ? child_number(e->layers[last + 1].name, depth) : -1;
            struct torch_module run = module_of(e, (struct range){i, last + 1});
            run.first = first_number;
            run.end = next > last_number ? next : last_number + 1;
            TRY(add(e, run, e->layers[i].name, depth - 1));
        }
        i = last + 1;
    }
    return NULL;
}

/* The best set of modules among those inside the one whose name with its dot takes `depth`
 * characters, and what it is worth. */
static neap_error *choose(struct emission *e, struct range inside, size_t depth, int64_t *worth) {
    *worth = 0;
    for (size_t i = inside.first; i < inside.end;) {
        const char *name = e->layers[i].name;
        size_t length = component_end(name, depth), before = e->n_modules, end = i + 1;
        if (!length) {
            i++;
            continue;
        }
        while (end < inside.end && !strncmp(e->layers[end].name, name, length + 1))
            end++;
        int64_t parts;
        TRY(choose(e, (struct range){i, end}, length + 1, &parts));
        struct torch_module whole = module_of(e, (struct range){i, end});
        int64_t gain = whole.recomputed_bytes - whole.kept_bytes;
        if (gain > parts) {
            e->n_modules = before;
            TRY(add(e, whole, name, length));
            parts = gain;
        }
        *worth += parts;
        i = end;
    }
    size_t before = e->n_modules;
    TRY(add_runs(e, inside, depth));
    for (size_t i = before; i < e->n_modules; i++)
        *worth += e->modules[i].recomputed_bytes;
    return NULL;
}

neap_error *emit_torch(const struct neap_plan *plan, const char *path) {
    struct emission e = {.plan = plan, .layers = plan->layers, .n_layers = plan->n_layers};
    struct torch_py torch = {0};
    char title[EMIT_TITLE_BYTES];
    int64_t worth;
    neap_error *error = NULL;
    emit_title(plan, title);
    TRY_GOTO(choose(&e, (struct range){0, e.n_layers}, 0, &worth));
    torch = (struct torch_py){.title = title, .modules = e.modules, .n_modules = e.n_modules};
    for (size_t i = 0; i < e.n_layers; i++)
        torch.recomputed_bytes += dropped_bytes(&e.layers[i]);
    TRY_GOTO(torch_py_write(&torch, path));
done:
    free(e.modules);
    pool_free(&e.pool);
    return error;
}
