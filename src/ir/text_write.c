/* Writes a graph as text: see docs/graph-text.md.
 *
 * One statement a line. A value without a producer is declared before the first node that could
 * tell: those with smaller ids than the node's outputs and operands come before it, so that a
 * model's parameters stand beside their layers. Reading gives ids in the order of the text, which
 * is why writing again gives the same text. */
#include <stdlib.h>
#include <string.h>

#include "ir/op.h"
#include "ir/text.h"

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_bare(const char *name) {
    const char *at = name;
    while (text_is_bare(*at))
        at++;
    return !*at && name[0] && name[0] != '@' && strcmp(name, "_");
}

static void write_name(FILE *file, const char *name) {
    if (is_bare(name)) {
        fputs(name, file);
        return;
    }
    fputc('"', file);
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (c < ' ' || c == 127)
            fprintf(file, "\\x%02x", c);
        else
            fprintf(file, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    fputc('"', file);
}

/* The shortest text that reads back to the same double. */
static void write_number(FILE *file, double number) {
    char text[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    fputs(text, file);
}

static void write_type(FILE *file, const struct value *value) {
    fprintf(file, "%s ", dtype_name(value->dtype));
    for (int d = 0; d < value->shape.rank; d++)
        fprintf(file, d ? "x%lld" : "%lld", (long long)value->shape.dim[d]);
    if (!value->shape.rank)
        fputs("scalar", file);
}

static void write_operands(const neap_graph *g, FILE *file, const value_id *ids, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", file);
        if (ids[i] == ID_NONE)
            fputc('_', file);
        else
            write_name(file, graph_value(g, ids[i])->name);
    }
}

/* ---- values --------------------------------------------------------------------------------- */

static bool has_init(const struct value *value) {
    return value->init.kind != NEAP_INIT_CONSTANT || value->init.a != 0;
}

static bool has_persistent_flag(const struct value *value) {
    return value->persistent && !text_kind_is_persistent(value->kind);
}

static bool has_traits(const struct value *value) {
    return !layout_is_plain(value->layout) || has_persistent_flag(value) || value->of != ID_NONE ||
           has_init(value);
}

/* " @layout persistent of=name init=kind(a)", as far as the value has any of it. */
static void write_traits(const neap_graph *g, FILE *file, const struct value *value) {
    static const char *const inits[] = {
#define X(constant, name) [NEAP_INIT_##constant] = name,
        TEXT_INITS(X)
#undef X
    };
    char text[40];
    if (!layout_is_plain(value->layout))
        fprintf(file, " @%s", layout_text(value->layout, value->shape.rank, text));
    if (has_persistent_flag(value))
        fputs(" persistent", file);
    if (value->of != ID_NONE) {
        fputs(" of=", file);
        write_name(file, graph_value(g, value->of)->name);
    }
    if (has_init(value)) {
        fprintf(file, " init=%s(", inits[value->init.kind]);
        write_number(file, value->init.a);
        fputc(')', file);
    }
}

static void write_declaration(const neap_graph *g, FILE *file, const struct value *value) {
    fprintf(file, "%s ", value_kind_name(value->kind));
    write_name(file, value->name);
    fputc(' ', file);
    write_type(file, value);
    write_traits(g, file, value);
    fputc('\n', file);
}

static void write_output(const neap_graph *g, FILE *file, const struct node *node, uint32_t i) {
    const struct value *value = graph_value(g, node->outputs[i]);
    bool usual = value->kind == text_output_kind(node->phase);
    write_name(file, value->name);
    if (!usual || has_traits(value))
        fputc(':', file);
    if (!usual)
        fprintf(file, " %s", value_kind_name(value->kind));
    write_traits(g, file, value);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void write_node(const neap_graph *g, FILE *file, const struct node *node) {
    if (node->phase != PHASE_FORWARD)
        fprintf(file, "%s ", phase_name(node->phase));
    if (!node->n_outputs || strcmp(node->name, graph_value(g, node->outputs[0])->name)) {
        fputc('[', file);
        write_name(file, node->name);
        fputs("] ", file);
    }
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        fputs(i ? ", " : "", file);
        write_output(g, file, node, i);
    }
    fputs(node->n_outputs ? " = " : "", file);
    fprintf(file, "%s(", node->op->name);
    write_operands(g, file, node->inputs, node->n_inputs);
    fputc(')', file);
    op_attrs_print(node->op, node->attrs, file);
    if (node->segment) {
        fputs(" " TEXT_SEGMENT "=", file);
        write_name(file, node->segment);
    }
    if (node->n_updates)
        fputs(" updates ", file);
    write_operands(g, file, node->updates, node->n_updates);
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        fputs(i ? ", " : "  # ", file);
        write_type(file, graph_value(g, node->outputs[i]));
    }
    fputc('\n', file);
}

/* ---- the graph ------------------------------------------------------------------------------ */

static value_id ids_below(const neap_graph *g, const value_id *ids, uint32_t n) {
    value_id below = 0;
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] != ID_NONE && graph_value(g, ids[i])->producer == ID_NONE && ids[i] >= below)
            below = ids[i] + 1;
    return below;
}

/* Values without a producer are declared before the node up to this id. */
static value_id declared_before(const neap_graph *g, const struct node *node) {
    value_id inputs = ids_below(g, node->inputs, node->n_inputs);
    value_id updates = ids_below(g, node->updates, node->n_updates);
    value_id first = node->n_outputs ? ID_NONE : 0;
    for (uint32_t i = 0; i < node->n_outputs; i++)
        first = node->outputs[i] < first ? node->outputs[i] : first;
    value_id operands = inputs > updates ? inputs : updates;
    return first > operands ? first : operands;
}

static void write_roles(const neap_graph *g, FILE *file) {
    const struct graph_roles *roles = &g->roles;
    const struct {
        const char *name;
        value_id id;
    } table[] = {
#define X(role) {#role, roles->role},
        TEXT_ROLES(X)
#undef X
    };
    const char *before = "\nroles ";
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].id == ID_NONE)
            continue;
        fprintf(file, "%s%s=", before, table[i].name);
        write_name(file, graph_value(g, table[i].id)->name);
        before = " ";
    }
    if (*before == ' ')
        fputc('\n', file);
}

neap_error *graph_write_text(const neap_graph *g, FILE *file) {
    value_id declared = 0;
    enum phase phase = PHASE_FORWARD;
    fprintf(file, "%s %d ", TEXT_MAGIC, TEXT_VERSION);
    write_name(file, g->name);
    fputs("\n\n", file);
    for (node_id n = 0; n <= g->n_nodes; n++) {
        const struct node *node = n < g->n_nodes ? graph_node(g, n) : NULL;
        value_id before = node ? declared_before(g, node) : g->n_values;
        if (node && node->phase != phase)
            fputc('\n', file);
        for (; declared < before; declared++)
            if (graph_value(g, declared)->producer == ID_NONE)
                write_declaration(g, file, graph_value(g, declared));
        if (node) {
            write_node(g, file, node);
            phase = node->phase;
        }
    }
    write_roles(g, file);
    if (ferror(file))
        return error_make(NEAP_ERROR_RUNTIME, "cannot write graph '%s'", g->name);
    return NULL;
}
