/* Reads values: declarations, and what stands behind the name of a node's result. */
#include "ir/text_values.h"

#include <string.h>

#include "ir/text.h"

static neap_error *mention(struct mentions *list, struct mention what) {
    TRY(memory_grow(&list->at, &list->capacity, list->n + 1, sizeof *list->at));
    list->at[list->n++] = what;
    return NULL;
}

bool text_find_kind(const char *word, enum value_kind *out) {
    for (int kind = 0; kind < N_VALUE_KINDS; kind++)
        if (!strcmp(value_kind_name((enum value_kind)kind), word)) {
            *out = (enum value_kind)kind;
            return true;
        }
    return false;
}

neap_error *text_read_known(struct reader *r, value_id *out) {
    const char *name;
    struct spot spot = scan_spot(&r->scan);
    TRY(scan_name(&r->scan, "a value's name", &name));
    *out = names_find(&r->names, r->g, name);
    return *out == ID_NONE ? scan_refuse(&r->scan, spot, "undefined value '%s'", name) : NULL;
}

static neap_error *read_init(struct reader *r, struct neap_init *out) {
    static const char *const inits[] = {
#define X(constant, name) [NEAP_INIT_##constant] = name,
        TEXT_INITS(X)
#undef X
    };
    const char *word;
    struct spot spot = scan_spot(&r->scan);
    TRY(scan_word(&r->scan, "constant, uniform or normal", &word));
    for (size_t i = 0; i < sizeof inits / sizeof *inits; i++) {
        if (strcmp(inits[i], word))
            continue;
        out->kind = (enum neap_init_kind)i;
        TRY(scan_expect(&r->scan, '('));
        TRY(scan_number(&r->scan, &out->a));
        return scan_expect(&r->scan, ')');
    }
    return scan_refuse(&r->scan, spot, "unknown init '%s': constant, uniform or normal", word);
}

static neap_error *read_trait(struct reader *r, struct traits *traits) {
    struct scan *s = &r->scan;
    struct spot spot = scan_spot(s);
    const char *word;
    TRY(scan_word(s, "a layout, persistent, of= or init=", &word));
    if (word[0] == '@') {
        traits->layout = word + 1;
        traits->layout_spot = spot;
    } else if (!strcmp(word, "persistent")) {
        traits->persistent = true;
    } else if (!strcmp(word, "of")) {
        TRY(scan_expect(s, '='));
        traits->of_spot = scan_spot(s);
        TRY(scan_name(s, "a value's name", &traits->of));
    } else if (!strcmp(word, "init")) {
        TRY(scan_expect(s, '='));
        TRY(read_init(r, &traits->init));
    } else if (!traits->has_kind && text_find_kind(word, &traits->kind)) {
        traits->has_kind = true;
    } else {
        return scan_refuse(s, spot, "unknown property '%s' of a value", word);
    }
    return NULL;
}

neap_error *text_settle(struct reader *r, const struct mention *m) {
    struct value *value = graph_value(r->g, m->id);
    TRY(pool_string(&r->g->pool, m->name, &value->name));
    if (m->traits.has_kind)
        value->kind = m->traits.kind;
    value->persistent = m->traits.persistent || text_kind_is_persistent(value->kind);
    value->init = m->traits.init;
    for (int d = 0; d < value->shape.rank; d++)
        if (value->shape.dim[d] < 1 || value->shape.dim[d] > TEXT_MOST_DIM)
            return scan_refuse(&r->scan, m->spot, "dimension %d of '%s' is %lld", d, m->name,
                               (long long)value->shape.dim[d]);
    if (m->traits.layout)
        TRY(scan_locate(&r->scan, m->traits.layout_spot,
                        layout_of_text(m->traits.layout, value->shape.rank, &value->layout)));
    if (value_bytes(value) < 0)
        return scan_refuse(&r->scan, m->spot, "'%s' has more bytes than can be counted", m->name);
    value_id twin;
    TRY(names_add(&r->names, r->g, m->id, &twin));
    if (twin != ID_NONE)
        return scan_refuse(&r->scan, m->spot, "there is a value '%s' already", m->name);
    return m->traits.of ? mention(&r->links, *m) : NULL;
}

neap_error *text_read_declaration(struct reader *r, enum value_kind kind) {
    struct scan *s = &r->scan;
    struct mention m = {.traits = {.has_kind = true, .kind = kind}};
    struct value_spec spec = {.kind = kind, .of = ID_NONE};
    const char *word;
    m.spot = scan_spot(s);
    TRY(scan_name(s, "a value's name", &m.name));
    struct spot spot = scan_spot(s);
    TRY(scan_word(s, "a data type", &word));
    TRY(scan_locate(s, spot, dtype_of_name(word, &spec.dtype)));
    TRY(scan_shape(s, &spec.shape));
    while (!scan_line_ends(s))
        TRY(read_trait(r, &m.traits));
    spec.name = m.name;
    TRY(graph_add_value(r->g, &spec, &m.id));
    return text_settle(r, &m);
}

neap_error *text_read_result(struct reader *r, const char *name, struct spot spot) {
    struct mention m = {.name = name, .spot = spot, .id = ID_NONE};
    if (scan_accept(&r->scan, ':'))
        while (scan_peek(&r->scan) != ',' && scan_peek(&r->scan) != '=')
            TRY(read_trait(r, &m.traits));
    return mention(&r->results, m);
}

neap_error *text_resolve_links(struct reader *r) {
    for (size_t i = 0; i < r->links.n; i++) {
        const struct mention *m = &r->links.at[i];
        value_id of = names_find(&r->names, r->g, m->traits.of);
        if (of == ID_NONE)
            return scan_refuse(&r->scan, m->traits.of_spot, "undefined value '%s'", m->traits.of);
        graph_value(r->g, m->id)->of = of;
    }
    return NULL;
}
