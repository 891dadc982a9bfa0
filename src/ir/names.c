/* Values by name: see names.h. */
#include "ir/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/philox.h"

/* The slot that holds the name, or the free one where it belongs. At least one slot is free. */
static value_id *slot_of(const struct names *names, const neap_graph *g, const char *name) {
    size_t at = philox_hash(name) & (names->n_slots - 1);
    while (names->slots[at] != ID_NONE && strcmp(graph_value(g, names->slots[at])->name, name))
        at = (at + 1) & (names->n_slots - 1);
    return &names->slots[at];
}

value_id names_find(const struct names *names, const neap_graph *g, const char *name) {
    return names->n_slots ? *slot_of(names, g, name) : ID_NONE;
}

/* Twice the slots, which are a power of two. */
static neap_error *grow(struct names *names, const neap_graph *g) {
    struct names grown = {.n_slots = names->n_slots ? 2 * names->n_slots : 64,
                          .n_used = names->n_used};
    TRY(memory_alloc(grown.n_slots, sizeof *grown.slots, &grown.slots));
    for (size_t i = 0; i < grown.n_slots; i++)
        grown.slots[i] = ID_NONE;
    for (size_t i = 0; i < names->n_slots; i++)
        if (names->slots[i] != ID_NONE)
            *slot_of(&grown, g, graph_value(g, names->slots[i])->name) = names->slots[i];
    names_free(names);
    *names = grown;
    return NULL;
}

neap_error *names_add(struct names *names, const neap_graph *g, value_id id, value_id *twin) {
    if (2 * names->n_used >= names->n_slots)
        TRY(grow(names, g));
    value_id *slot = slot_of(names, g, graph_value(g, id)->name);
    *twin = *slot;
    if (*slot == ID_NONE) {
        *slot = id;
        names->n_used++;
    }
    return NULL;
}

void names_free(struct names *names) {
    free(names->slots);
    *names = (struct names){0};
}
