/* Attributes by table, and what infer functions and reference kernels share: see op.h. */
#include "ir/op.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"

const struct op_def *op_find(const struct op_set *set, const char *name) {
    for (size_t i = 0; i < set->n_ops; i++)
        if (!strcmp(set->ops[i]->name, name))
            return set->ops[i];
    return NULL;
}

/* ---- attributes ----------------------------------------------------------------------------- */

static bool parse_int(const char *text, const struct attr_def *attr, void *field) {
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || (double)value < attr->least || (double)value > attr->most)
        return false;
    *(int64_t *)field = value;
    return true;
}

static bool parse_float(const char *text, const struct attr_def *attr, void *field) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= attr->least && value <= attr->most))
        return false;
    *(double *)field = value;
    return true;
}

static bool parse_bool(const char *text, const struct attr_def *attr, void *field) {
    (void)attr;
    if (strcmp(text, "0") && strcmp(text, "1"))
        return false;
    *(bool *)field = text[0] == '1';
    return true;
}

static bool parse_ints(const char *text, const struct attr_def *attr, void *field) {
    (void)attr;
    struct int_list list = {0};
    for (char *end; *text; text = *end ? end + 1 : end) {
        errno = 0;
        long long value = strtoll(text, &end, 10);
        if (errno || end == text || (*end && *end != ',') || list.n == MAX_RANK)
            return false;
        list.at[list.n++] = value;
    }
    *(struct int_list *)field = list;
    return true;
}

static void print_int(FILE *file, const void *field) {
    fprintf(file, "%lld", (long long)*(const int64_t *)field);
}

/* The shortest text that reads back to the same double. */
static void print_float(FILE *file, const void *field) {
    char text[32];
    double value = *(const double *)field;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    fputs(text, file);
}

static void print_bool(FILE *file, const void *field) {
    fputs(*(const bool *)field ? "1" : "0", file);
}

static void print_ints(FILE *file, const void *field) {
    const struct int_list *list = field;
    for (int i = 0; i < list->n; i++)
        fprintf(file, i ? ",%lld" : "%lld", (long long)list->at[i]);
}

static const struct {
    const char *what;
    size_t bytes;
    bool (*parse)(const char *text, const struct attr_def *attr, void *field);
    void (*print)(FILE *file, const void *field);
} types[] = {
    [ATTR_INT] = {"an integer", sizeof(int64_t), parse_int, print_int},
    [ATTR_FLOAT] = {"a number", sizeof(double), parse_float, print_float},
    [ATTR_BOOL] = {"0 or 1", sizeof(bool), parse_bool, print_bool},
    [ATTR_INTS] = {"integers with commas between", sizeof(struct int_list), parse_ints, print_ints},
};

void op_attrs_default(const struct op_def *op, void *attrs) {
    if (op->attrs_bytes)
        memset(attrs, 0, op->attrs_bytes);
    for (const struct attr_def *attr = op->attrs; attr && attr->name; attr++) {
        void *field = (char *)attrs + attr->offset;
        if (attr->type == ATTR_INT)
            *(int64_t *)field = (int64_t)attr->initial;
        else if (attr->type == ATTR_FLOAT)
            *(double *)field = attr->initial;
        else if (attr->type == ATTR_BOOL)
            *(bool *)field = attr->initial != 0;
    }
}

static neap_error *parse_attr(const struct op_def *op, char *pair, void *attrs) {
    char *equals = strchr(pair, '=');
    if (!equals)
        return error_make(NEAP_ERROR_MODEL, "%s: '%s' is not key=value", op->name, pair);
    *equals = 0;
    for (const struct attr_def *attr = op->attrs; attr && attr->name; attr++) {
        if (strcmp(attr->name, pair))
            continue;
        if (types[attr->type].parse(equals + 1, attr, (char *)attrs + attr->offset))
            return NULL;
        return error_make(NEAP_ERROR_MODEL, "%s: %s='%s' should be %s in its range", op->name, pair,
                          equals + 1, types[attr->type].what);
    }
    return error_make(NEAP_ERROR_MODEL, "%s has no attribute '%s'", op->name, pair);
}

neap_error *op_attrs_parse(const struct op_def *op, const char *text, void *attrs) {
    char *copy, *save = NULL;
    neap_error *error = NULL;
    TRY(memory_string(text ? text : "", &copy));
    for (char *pair = strtok_r(copy, " ", &save); pair && !error; pair = strtok_r(NULL, " ", &save))
        error = parse_attr(op, pair, attrs);
    free(copy);
    return error;
}

/* Not by bytes for lists, which have padding and whatever lies behind their end. */
static bool is_same(enum attr_type type, const void *a, const void *b) {
    if (type != ATTR_INTS)
        return !memcmp(a, b, types[type].bytes);
    const struct int_list *x = a, *y = b;
    return x->n == y->n && !memcmp(x->at, y->at, (size_t)x->n * sizeof x->at[0]);
}

void op_attrs_print(const struct op_def *op, const void *attrs, FILE *file) {
    _Alignas(16) char initial[512];
    op_attrs_default(op, initial);
    for (const struct attr_def *attr = op->attrs; attr && attr->name; attr++) {
        const char *field = (const char *)attrs + attr->offset;
        if (is_same(attr->type, field, initial + attr->offset))
            continue;
        fprintf(file, " %s=", attr->name);
        types[attr->type].print(file, field);
    }
}

/* ---- infer functions ------------------------------------------------------------------------ */

neap_error *node_refuse(const neap_graph *g, const struct node *node, const char *format, ...) {
    (void)g;
    va_list args;
    va_start(args, format);
    neap_error *error = error_make_v(NEAP_ERROR_MODEL, format, args);
    va_end(args);
    return error_prefix(error, "%s '%s'", node->op->name, node->name);
}

void node_set_output(neap_graph *g, node_id node, uint32_t i, enum dtype dtype,
                     struct shape shape) {
    struct value *value = graph_value(g, graph_node(g, node)->outputs[i]);
    value->dtype = dtype;
    value->shape = shape;
}

neap_error *infer_like_first(neap_graph *g, node_id id) {
    const struct node *node = graph_node(g, id);
    const struct value *first = node_input(g, node, 0);
    for (uint32_t i = 1; i < node->n_inputs; i++) {
        const struct value *other = node_input(g, node, i);
        char a[64], b[64];
        if (other && !shape_equal(other->shape, first->shape))
            return node_refuse(g, node, "shapes differ: %s and %s", shape_text(first->shape, a),
                               shape_text(other->shape, b));
    }
    for (uint32_t i = 0; i < node->n_outputs; i++)
        node_set_output(g, id, i, first->dtype, first->shape);
    return NULL;
}

void cost_elementwise(const neap_graph *g, const struct node *node, struct op_cost *cost) {
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != ID_NONE)
            cost->bytes_read += (double)value_bytes(graph_value(g, node->inputs[i]));
    for (uint32_t i = 0; i < node->n_updates; i++) {
        double bytes = (double)value_bytes(graph_value(g, node->updates[i]));
        cost->bytes_read += bytes;
        cost->bytes_written += bytes;
    }
    for (uint32_t i = 0; i < node->n_outputs; i++)
        cost->bytes_written += (double)value_bytes(graph_value(g, node->outputs[i]));
    cost->flops = cost->bytes_written / 4;
}

/* ---- reference kernels ------------------------------------------------------------------------
 */

/* X(dtype, C type): the types that reference kernels read and write; masks are packed bits. */
#define TENSOR_TYPES(X)                                                                            \
    X(F32, float)                                                                                  \
    X(F64, double)                                                                                 \
    X(I64, int64_t)                                                                                \
    X(I32, int32_t)                                                                                \
    X(U8, uint8_t)

#define X(dtype, type)                                                                             \
    static double get_##dtype(const void *data, int64_t i) {                                       \
        return (double)((const type *)data)[i];                                                    \
    }                                                                                              \
    static void set_##dtype(void *data, int64_t i, double value) {                                 \
        ((type *)data)[i] = (type)value;                                                           \
    }
TENSOR_TYPES(X)
#undef X

/* X(dtype, name): 16-bit floats, by way of fp32. */
#define HALF_TYPES(X)                                                                              \
    X(BF16, bf16)                                                                                  \
    X(F16, f16)

#define X(dtype, name)                                                                             \
    static double get_##dtype(const void *data, int64_t i) {                                       \
        return (double)float_of_##name(((const uint16_t *)data)[i]);                               \
    }                                                                                              \
    static void set_##dtype(void *data, int64_t i, double value) {                                 \
        ((uint16_t *)data)[i] = name##_of_float((float)value);                                     \
    }
HALF_TYPES(X)
#undef X

static double get_BIT(const void *data, int64_t i) {
    return ((const uint8_t *)data)[i / 8] >> (i % 8) & 1;
}

static void set_BIT(void *data, int64_t i, double value) {
    uint8_t *byte = (uint8_t *)data + i / 8;
    *byte = (uint8_t)((*byte & ~(1u << i % 8)) | (unsigned)(value != 0) << i % 8);
}

static const struct {
    double (*get)(const void *data, int64_t i);
    void (*set)(void *data, int64_t i, double value);
} access[N_DTYPES] = {
#define X(dtype, type) [DTYPE_##dtype] = {get_##dtype, set_##dtype},
    TENSOR_TYPES(X) X(BIT, uint8_t) HALF_TYPES(X)
#undef X
};

double tensor_get_any(const struct tensor *t, int64_t i) {
    return access[t->dtype].get(t->data, i);
}

void tensor_set_any(const struct tensor *t, int64_t i, double value) {
    access[t->dtype].set(t->data, i, value);
}
