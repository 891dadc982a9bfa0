/* Reads a graph from text: see docs/graph-text.md.
 *
 * One function per statement, from the bottom up; values are read in text_values.c. Every error
 * tells line and column. What has been read is checked as a whole by the verifier's rules, so that
 * no text, whatever its bytes, gives a graph that a pass could stumble over. Expected load: some
 * megabytes; linear. */
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/text.h"
#include "ir/text_values.h"
#include "ir/verify.h"

/* ---- nodes ---------------------------------------------------------------------------------- */

/* "a: saved, b = " before the op; the name read last is the op's where there are no results. */
static neap_error *read_results(struct reader *r, const char **op, struct spot *op_spot) {
    struct scan *s = &r->scan;
    r->results.n = 0;
    for (;;) {
        const char *name;
        struct spot spot = scan_spot(s);
        TRY(scan_name(s, "a result or an op", &name));
        if (!r->results.n && scan_peek(s) == '(') {
            *op = name;
            *op_spot = spot;
            return NULL;
        }
        TRY(text_read_result(r, name, spot));
        if (!scan_accept(s, ','))
            break;
    }
    TRY(scan_expect(s, '='));
    *op_spot = scan_spot(s);
    return scan_word(s, "an op", op);
}

/* `optional`: "_" stands for none. */
static neap_error *read_operand(struct reader *r, struct ids *ids, bool optional) {
    struct scan *s = &r->scan;
    value_id id = ID_NONE;
    bool absent = optional && scan_peek(s) == '_' && !text_is_bare(s->at[1]);
    if (absent)
        s->at++;
    else
        TRY(text_read_known(r, &id));
    TRY(memory_grow(&ids->at, &ids->capacity, ids->n + 1, sizeof *ids->at));
    ids->at[ids->n++] = id;
    return NULL;
}

static neap_error *read_inputs(struct reader *r, const struct op_def *op) {
    r->inputs.n = 0;
    TRY(scan_expect(&r->scan, '('));
    if (scan_accept(&r->scan, ')'))
        return NULL;
    do {
        bool optional = r->inputs.n >= op->min_inputs && op->max_inputs != UINT32_MAX;
        TRY(read_operand(r, &r->inputs, optional));
    } while (scan_accept(&r->scan, ','));
    return scan_expect(&r->scan, ')');
}

static const struct attr_def *find_attr(const struct op_def *op, const char *name) {
    for (const struct attr_def *attr = op->attrs; attr && attr->name; attr++)
        if (!strcmp(attr->name, name))
            return attr;
    return NULL;
}

/* The table bounds single numbers; lists are bounded like dimensions. */
static bool list_is_sound(const struct attr_def *attr, const void *attrs) {
    if (!attr || attr->type != ATTR_INTS)
        return true;
    const struct int_list *list = (const void *)((const char *)attrs + attr->offset);
    for (int i = 0; i < list->n; i++)
        if (list->at[i] < -TEXT_MOST_DIM || list->at[i] > TEXT_MOST_DIM)
            return false;
    return true;
}

/* "=1,2" after the key. `seen` has a bit for each attribute met so far. */
static neap_error *read_attr(struct reader *r, const struct op_def *op, const char *key,
                             struct spot spot, uint64_t *seen, void *attrs) {
    const struct attr_def *attr = find_attr(op, key);
    const char *text, *pair;
    TRY(scan_expect(&r->scan, '='));
    TRY(scan_raw(&r->scan, &text));
    TRY(pool_format(&r->scan.pool, &pair, "%s=%s", key, text));
    TRY(scan_locate(&r->scan, spot, op_attrs_parse(op, pair, attrs)));
    uint64_t bit = attr ? (uint64_t)1 << ((attr - op->attrs) & 63) : 0;
    if (*seen & bit)
        return scan_refuse(&r->scan, spot, "attribute '%s' is there twice", key);
    *seen |= bit;
    if (!list_is_sound(attr, attrs))
        return scan_refuse(&r->scan, spot, "attribute '%s' is out of range: '%s'", key, text);
    return NULL;
}

/* "=name" behind "segment". */
static neap_error *read_segment(struct reader *r, struct spot spot) {
    if (r->segment)
        return scan_refuse(&r->scan, spot, "the node is in a segment already");
    TRY(scan_expect(&r->scan, '='));
    return scan_name(&r->scan, "a segment's name", &r->segment);
}

/* Attributes and segment, then what the node updates. */
static neap_error *read_rest(struct reader *r, const struct op_def *op, void *attrs) {
    struct scan *s = &r->scan;
    uint64_t seen = 0;
    r->updates.n = 0;
    r->segment = NULL;
    op_attrs_default(op, attrs);
    while (!scan_line_ends(s)) {
        const char *key;
        struct spot spot = scan_spot(s);
        TRY(scan_word(s, "an attribute or 'updates'", &key));
        if (!strcmp(key, TEXT_SEGMENT)) {
            TRY(read_segment(r, spot));
            continue;
        }
        if (strcmp(key, "updates") || scan_peek(s) == '=') {
            TRY(read_attr(r, op, key, spot, &seen, attrs));
            continue;
        }
        do
            TRY(read_operand(r, &r->updates, false));
        while (scan_accept(s, ','));
        return scan_line_ends(s) ? NULL : scan_unexpected(s, "',' or the end of the line");
    }
    return NULL;
}

static neap_error *add_node(struct reader *r, const struct node_spec *spec, struct spot spot) {
    const struct op_def *op = spec->op;
    if (spec->n_outputs < op->min_outputs || spec->n_outputs > op->max_outputs)
        return scan_refuse(&r->scan, spot, "%s has %u to %u results, not %u", op->name,
                           op->min_outputs, op->max_outputs, spec->n_outputs);
    node_id id;
    TRY(scan_locate(&r->scan, spot, graph_add_node(r->g, spec, &id)));
    if (r->segment)
        TRY(pool_string(&r->g->pool, r->segment, &graph_node(r->g, id)->segment));
    for (uint32_t i = 0; i < spec->n_outputs; i++) {
        r->results.at[i].id = graph_node(r->g, id)->outputs[i];
        TRY(text_settle(r, &r->results.at[i]));
    }
    return NULL;
}

/* "[name] results = op(inputs) attributes updates …", after the phase. */
static neap_error *read_node(struct reader *r, enum phase phase) {
    struct scan *s = &r->scan;
    const char *label = NULL, *op_name;
    struct spot spot;
    if (scan_accept(s, '[')) {
        TRY(scan_name(s, "a node's name", &label));
        TRY(scan_expect(s, ']'));
    }
    TRY(read_results(r, &op_name, &spot));
    const struct op_def *op = op_find(r->ops, op_name);
    if (!op)
        return scan_refuse(s, spot, "unknown op '%s'", op_name);
    if (!label && !r->results.n)
        return scan_refuse(s, spot, "a node without results needs a name: [name] %s(...)", op_name);
    void *attrs;
    TRY(pool_alloc(&s->pool, 1, op->attrs_bytes + 1, &attrs));
    TRY(read_inputs(r, op));
    TRY(read_rest(r, op, attrs));
    return add_node(r,
                    &(struct node_spec){.op = op,
                                        .name = label ? label : r->results.at[0].name,
                                        .phase = phase,
                                        .attrs = attrs,
                                        .inputs = r->inputs.at,
                                        .n_inputs = (uint32_t)r->inputs.n,
                                        .n_outputs = (uint32_t)r->results.n,
                                        .updates = r->updates.at,
                                        .n_updates = (uint32_t)r->updates.n,
                                        .output_kind = text_output_kind(phase)},
                    spot);
}

/* ---- the graph ------------------------------------------------------------------------------ */

static neap_error *read_roles(struct reader *r, struct spot spot) {
    struct graph_roles *roles = &r->g->roles;
    const struct {
        const char *name;
        value_id *id;
    } table[] = {
#define X(role) {#role, &roles->role},
        TEXT_ROLES(X)
#undef X
    };
    if (r->has_roles)
        return scan_refuse(&r->scan, spot, "there are roles already");
    r->has_roles = true;
    while (!scan_line_ends(&r->scan)) {
        const char *word;
        size_t i = 0, n = sizeof table / sizeof *table;
        spot = scan_spot(&r->scan);
        TRY(scan_word(&r->scan, "a role", &word));
        while (i < n && strcmp(table[i].name, word))
            i++;
        if (i == n)
            return scan_refuse(&r->scan, spot, "unknown role '%s'", word);
        TRY(scan_expect(&r->scan, '='));
        TRY(text_read_known(r, table[i].id));
    }
    return NULL;
}

static bool find_phase(const char *word, enum phase *out) {
    for (int phase = 0; phase < N_PHASES; phase++)
        if (!strcmp(phase_name((enum phase)phase), word)) {
            *out = (enum phase)phase;
            return true;
        }
    return false;
}

/* A statement opens with a word of ours if a name follows it: values may have the same names. */
static neap_error *read_statement(struct reader *r) {
    struct scan *s = &r->scan;
    const char *start = s->at, *word;
    struct spot spot = scan_spot(s);
    enum phase phase;
    enum value_kind kind;
    if (!text_is_bare(scan_peek(s)))
        return read_node(r, PHASE_FORWARD);
    TRY(scan_word(s, "a statement", &word));
    char next = scan_peek(s);
    if (text_is_bare(next) || next == '"' || next == '[') {
        if (!strcmp(word, "roles"))
            return read_roles(r, spot);
        if (find_phase(word, &phase))
            return read_node(r, phase);
        if (text_find_kind(word, &kind))
            return text_read_declaration(r, kind);
        return scan_refuse(s, spot, "unknown statement '%s'", word);
    }
    s->at = start;
    return read_node(r, PHASE_FORWARD);
}

static bool next_statement(struct scan *s) {
    while (scan_line_ends(s))
        if (!scan_next_line(s))
            return false;
    return true;
}

static neap_error *read_header(struct reader *r) {
    struct scan *s = &r->scan;
    const char *word, *name;
    next_statement(s);
    struct spot spot = scan_spot(s);
    TRY(scan_word(s, "'" TEXT_MAGIC "'", &word));
    if (strcmp(word, TEXT_MAGIC))
        return scan_refuse(s, spot, "no graph: the first word is '%s', not '" TEXT_MAGIC "'", word);
    spot = scan_spot(s);
    TRY(scan_word(s, "a version", &word));
    if (strcmp(word, "1"))
        return scan_refuse(s, spot, "version '%s' cannot be read, %d can", word, TEXT_VERSION);
    TRY(scan_name(s, "the graph's name", &name));
    TRY(pool_string(&r->g->pool, name, &r->g->name));
    return scan_line_ends(s) ? NULL : scan_unexpected(s, "the end of the line");
}

static neap_error *read_graph(struct reader *r) {
    TRY(read_header(r));
    while (next_statement(&r->scan))
        TRY(read_statement(r));
    return text_resolve_links(r);
}

neap_error *graph_read_text(const char *text, const char *where, const struct op_set *ops,
                            neap_graph **out) {
    struct reader r = {.scan = {.at = text, .line_start = text, .line = 1, .where = where},
                       .ops = ops};
    neap_error *error = NULL;
    TRY_GOTO(graph_create("", &r.g));
    TRY_GOTO(read_graph(&r));
    TRY_GOTO(error_prefix(graph_check(r.g), "%s", where));
done:
    if (error)
        graph_free(r.g);
    else
        *out = r.g;
    pool_free(&r.scan.pool);
    names_free(&r.names);
    free(r.results.at);
    free(r.inputs.at);
    free(r.updates.at);
    free(r.links.at);
    return error;
}
