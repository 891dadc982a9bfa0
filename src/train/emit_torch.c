/* The PyTorch modules that come nearest to a plan when they are wrapped in torch.utils.checkpoint.
 *
 * Layers are named as in PyTorch: "layer1.0.conv1" lies in the module "layer1.0". To wrap a module
 * drops all that is made inside it but its result, which its last layer makes. A plan drops single
 * tensors. So blocks (the outermost modules that hold layers themselves) are wrapped, the one that
 * the plan makes the largest share of again first, until they drop as many bytes as the plan does
 * inside blocks. Where layers are a block's numbered children (a Sequential), runs of them are
 * wrapped instead: a run ends behind the first layer that the plan does not drop. What lies in no
 * module ("conv1") cannot be expressed. O(layers × name + blocks²). */
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

/* The characters that the layer's module takes; 0: it is in none. */
static size_t module_length(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot ? (size_t)(dot - name) : 0;
}

static bool lies_in(const char *name, const char *module, size_t length) {
    return !strncmp(name, module, length) && name[length] == '.';
}

/* The number of a layer that is a child of a Sequential; -1: it has none. */
static int64_t child_number(const char *name) {
    size_t length = module_length(name);
    const char *last = name + length + 1;
    bool number = length > 0 && *last && !last[strspn(last, "0123456789")];
    return number ? strtoll(last, NULL, 10) : -1;
}

/* Runs among the numbered children in `inside`. */
static neap_error *add_runs(struct emission *e, struct range inside) {
    for (size_t i = inside.first; i < inside.end;) {
        size_t last = i;
        while (last + 1 < inside.end && dropped_bytes(&e->layers[last]) > 0)
            last++;
        const char *name = e->layers[i].name;
        if (last > i) {
            struct torch_module run = module_of(e, (struct range){i, last + 1});
            run.first = child_number(name);
            /* what was fused into the last layer stands between it and the next */
            run.end = last + 1 < inside.end ? child_number(e->layers[last + 1].name)
                                            : child_number(e->layers[last].name) + 1;
            TRY(add(e, run, name, module_length(name)));
        }
        i = last + 1;
    }
    return NULL;
}

static bool are_children(const struct emission *e, struct range inside) {
    size_t length = module_length(e->layers[inside.first].name);
    for (size_t i = inside.first; i < inside.end; i++)
        if (child_number(e->layers[i].name) < 0 || module_length(e->layers[i].name) != length)
            return false;
    return true;
}

/* The layers of the module that layer i lies in, or layer i alone. */
static struct range block_at(const struct emission *e, size_t i) {
    const char *name = e->layers[i].name;
    size_t length = module_length(name), end = i + 1;
    while (length && end < e->n_layers && lies_in(e->layers[end].name, name, length))
        end++;
    return (struct range){i, end};
}

/* All runs, and every block with something that the plan makes again. */
static neap_error *add_all(struct emission *e) {
    for (size_t i = 0; i < e->n_layers;) {
        struct range inside = block_at(e, i);
        struct torch_module block = module_of(e, inside);
        const char *name = e->layers[i].name;
        if (module_length(name) && are_children(e, inside))
            TRY(add_runs(e, inside));
        else if (block.recomputed_bytes)
            TRY(add(e, block, name, module_length(name)));
        i = inside.end;
    }
    return NULL;
}

static double share(const struct torch_module *block) {
    return (double)block->recomputed_bytes / (double)(block->recomputed_bytes + block->kept_bytes);
}

/* Of the blocks, those to wrap; the others go. */
static neap_error *choose_blocks(struct emission *e) {
    int64_t wanted = 0, dropped = 0;
    bool *taken;
    size_t n = 0;
    TRY(memory_alloc(e->n_modules, sizeof *taken, &taken));
    for (size_t i = 0; i < e->n_modules; i++) {
        taken[i] = e->modules[i].end > 0;
        wanted += taken[i] ? 0 : e->modules[i].recomputed_bytes;
    }
    while (dropped < wanted) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < e->n_modules; i++)
            if (!taken[i] && (best == SIZE_MAX || share(&e->modules[i]) > share(&e->modules[best])))
                best = i;
        taken[best] = true; /* all of them together drop what is wanted */
        dropped += e->modules[best].recomputed_bytes + e->modules[best].kept_bytes;
    }
    for (size_t i = 0; i < e->n_modules; i++)
        if (taken[i])
            e->modules[n++] = e->modules[i];
    e->n_modules = n;
    free(taken);
    return NULL;
}

neap_error *emit_torch(const struct neap_plan *plan, const char *path) {
    struct emission e = {.plan = plan, .layers = plan->layers, .n_layers = plan->n_layers};
    struct torch_py torch = {0};
    char title[EMIT_TITLE_BYTES];
    neap_error *error = NULL;
    emit_title(plan, title);
    TRY_GOTO(add_all(&e));
    TRY_GOTO(choose_blocks(&e));
    torch = (struct torch_py){.title = title, .modules = e.modules, .n_modules = e.n_modules};
    for (size_t i = 0; i < e.n_layers; i++)
        torch.recomputed_bytes += dropped_bytes(&e.layers[i]);
    TRY_GOTO(torch_py_write(&torch, path));
done:
    free(e.modules);
    pool_free(&e.pool);
    return error;
}
