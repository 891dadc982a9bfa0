/* `neap inspect` of a file or folder: a table of what can be told apart, asked in its order. To add
 * a kind, write its two functions and add a line to the table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/file.h"
#include "data/source.h"
#include "fmt/json_lines.h"
#include "fmt/safetensors.h"
#include "fmt/unpack.h"
#include "train/inspect_run.h"
#include "train/session.h"

struct inspected {
    const char *path;
    bool folder;
    struct unpacked bytes; /* of a file */
};

/* Whether the folder has an entry of that name, and its path (free() it). */
static bool has_entry(const char *folder, const char *name, char **path) {
    neap_error *error = memory_format(path, "%s/%s", folder, name);
    bool found = !error && file_exists(*path);
    neap_error_free(error);
    return found;
}

/* ---- safetensors -------------------------------------------------------------------------------
 */

static bool is_safetensors(const struct inspected *in) {
    uint64_t header_bytes;
    memcpy(&header_bytes, in->bytes.start, sizeof header_bytes);
    return in->bytes.n_start > 8 && in->bytes.start[8] == '{' && !in->bytes.packed &&
           header_bytes < (uint64_t)in->bytes.size_bytes;
}

static neap_error *print_safetensors(const struct inspected *in, FILE *file) {
    struct safetensors *tensors;
    int64_t elements = 0, bytes = 0;
    int width = 4;
    TRY(safetensors_open(in->path, &tensors));
    const size_t n = safetensors_count(tensors);
    for (size_t i = 0; i < n; i++) {
        int length = (int)strlen(safetensors_at(tensors, i)->name);
        width = length > width ? length : width;
    }
    fprintf(file, "%s: safetensors\n  %-*s  %-5s  %-20s  %15s\n", in->path, width, "name", "dtype",
            "shape", "bytes");
    for (size_t i = 0; i < n; i++) {
        const struct safetensors_tensor *tensor = safetensors_at(tensors, i);
        char shape[64];
        fprintf(file, "  %-*s  %-5s  %-20s  %15s\n", width, tensor->name, dtype_name(tensor->dtype),
                shape_text(tensor->shape, shape), digits_of(tensor->size_bytes).text);
        elements += shape_elements(tensor->shape);
        bytes += tensor->size_bytes;
    }
    fprintf(file, "  %s tensors, %s elements, %s bytes\n", digits_of((int64_t)n).text,
            digits_of(elements).text, digits_of(bytes).text);
    safetensors_close(tensors);
    return NULL;
}

/* ---- graphs ------------------------------------------------------------------------------------
 */

static bool is_graph(const struct inspected *in) {
    static const char magic[] = "neap-graph";
    return !memcmp(in->bytes.start, magic, sizeof magic - 1);
}

static neap_error *print_graph(const struct inspected *in, FILE *file) {
    neap_graph *g;
    int64_t parameters = 0;
    TRY(neap_graph_read(in->path, &g));
    fprintf(file, "%s: graph '%s'\n", in->path, g->name);
    for (value_id v = 0; v < g->n_values; v++) {
        const struct value *value = graph_value(g, v);
        char shape[64];
        if (value->kind == VALUE_INPUT)
            fprintf(file, "  input %s: %s %s\n", value->name, dtype_name(value->dtype),
                    shape_text(value->shape, shape));
        else if (value->kind == VALUE_PARAMETER)
            parameters += shape_elements(value->shape);
    }
    fprintf(file, "  nodes: %s\n  values: %s\n  parameters: %s\n", digits_of(g->n_nodes).text,
            digits_of(g->n_values).text, digits_of(parameters).text);
    graph_free(g);
    return NULL;
}

/* ---- IDX ---------------------------------------------------------------------------------------
 */

enum { IDX_MAX_RANK = 8 };

static const struct {
    unsigned char code;
    const char *name;
    int64_t bytes;
} idx_types[] = {{0x08, "u8", 1},  {0x09, "i8", 1},  {0x0b, "i16", 2},
                 {0x0c, "i32", 4}, {0x0d, "f32", 4}, {0x0e, "f64", 8}};
enum { N_IDX_TYPES = sizeof idx_types / sizeof *idx_types };

/* The index of its type; N_IDX_TYPES: it is no IDX file. */
static int idx_type(const struct unpacked *bytes) {
    const unsigned char *start = bytes->start;
    int type = 0;
    if (bytes->n_start < 4 || start[0] || start[1] || !start[3] || start[3] > IDX_MAX_RANK)
        return N_IDX_TYPES;
    while (type < N_IDX_TYPES && idx_types[type].code != start[2])
        type++;
    return type;
}

static bool is_idx(const struct inspected *in) {
    return idx_type(&in->bytes) < N_IDX_TYPES;
}

static neap_error *print_idx(const struct inspected *in, FILE *file) {
    const struct unpacked *bytes = &in->bytes;
    const int rank = bytes->start[3], type = idx_type(bytes);
    int64_t promised = idx_types[type].bytes;
    bool countable = true;
    char dims[IDX_MAX_RANK * 12] = "";
    for (int d = 0; d < rank; d++) {
        const unsigned char *at = bytes->start + 4 + 4 * d;
        const int64_t dim = (int64_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
        size_t used = strlen(dims);
        snprintf(dims + used, sizeof dims - used, d ? "x%lld" : "%lld", (long long)dim);
        countable = countable && size_multiply(promised, dim, &promised);
    }
    countable = countable && size_add(promised, 4 + 4 * rank, &promised);
    if (!countable || bytes->size_bytes != promised)
        return error_make(NEAP_ERROR_DATA, "%s: %s bytes, header promises %s (%s): truncated?",
                          in->path, digits_of(bytes->size_bytes).text,
                          countable ? digits_of(promised).text : "more than any file holds", dims);
    fprintf(file, "%s: IDX%s\n  dtype: %s\n  shape: %s\n  bytes: %s\n", in->path,
            bytes->packed ? ", gzipped" : "", idx_types[type].name, dims, digits_of(promised).text);
    return NULL;
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static bool is_json(const struct inspected *in) {
    size_t at = strspn((const char *)in->bytes.start, " \t\r\n");
    return at < in->bytes.n_start && in->bytes.start[at] == '{' && !in->bytes.packed;
}

/* A plan says so itself, in its line "format". */
static neap_error *print_json(const struct inspected *in, FILE *file) {
    fprintf(file, "%s: JSON\n", in->path);
    return json_lines(in->path, file);
}

/* ---- a run's folder
 * ------------------------------------------------------------------------------ */

static bool is_run(const struct inspected *in) {
    char *args = NULL, *metrics = NULL;
    bool found = has_entry(in->path, "args.json", &args);
    found = has_entry(in->path, "metrics.csv", &metrics) || found;
    free(args);
    free(metrics);
    return found;
}

/* "epoch: 3" for every column of the last row. */
static neap_error *print_last_row(const char *path, FILE *file) {
    struct file_bytes text;
    TRY(file_read(path, 64 << 20, NEAP_ERROR_DATA, &text));
    char *end = text.data + strlen(text.data);
    while (end > text.data && end[-1] == '\n')
        *--end = '\0';
    char *row = strrchr(text.data, '\n'), *names = text.data;
    if (!row) {
        fputs("metrics: no row yet\n", file);
        free(text.data);
        return NULL;
    }
    *row++ = '\0';
    names[strcspn(names, "\n")] = '\0';
    fputs("metrics, last row:\n", file);
    for (char *name, *value; (name = strsep(&names, ",")) && (value = strsep(&row, ","));)
        if (*value)
            fprintf(file, "  %s: %s\n", name, value);
    free(text.data);
    return NULL;
}

static neap_error *print_run(const struct inspected *in, FILE *file) {
    static const char *const documents[] = {"args.json", "plan.json"};
    neap_error *error = NULL;
    char *path;
    fprintf(file, "%s: a run\n", in->path);
    for (size_t i = 0; i < sizeof documents / sizeof *documents && !error; i++) {
        if (has_entry(in->path, documents[i], &path)) {
            fprintf(file, "%s:\n", documents[i]);
            error = json_lines(path, file);
        }
        free(path);
    }
    if (error)
        return error;
    if (has_entry(in->path, "metrics.csv", &path))
        error = print_last_row(path, file);
    free(path);
    return error ? error : inspect_checkpoints(in->path, file);
}

static bool is_checkpoint(const struct inspected *in) {
    char *state = NULL;
    bool found = has_entry(in->path, "state.json", &state);
    free(state);
    return found;
}

static neap_error *print_checkpoint(const struct inspected *in, FILE *file) {
    return inspect_checkpoint(in->path, file);
}

/* ---- data
 * ---------------------------------------------------------------------------------------- */

static bool is_data(const struct inspected *in) {
    return source_format_recognise(in->path);
}

/* A split that cannot be opened is told with its reason: the other may be fine. */
static void print_split(const struct inspected *in, enum source_split split, FILE *file) {
    const struct source_request request = {
        .name = in->path, .format = source_format_recognise(in->path)->name, .split = split};
    struct source *source;
    fputs(split == SPLIT_TRAIN ? "  training: " : "  validation: ", file);
    neap_error *error = source_open(&request, &source);
    if (error) {
        fprintf(file, "%s\n", neap_error_message(error));
        neap_error_free(error);
        return;
    }
    fprintf(file, "%s images", digits_of(source->n_samples).text);
    if (!source->format->describe)
        fprintf(file, " of %lldx%lldx%lld", (long long)source->shape.channels,
                (long long)source->shape.height, (long long)source->shape.width);
    fprintf(file, ", %lld classes\n", (long long)source->n_classes);
    if (source->format->describe)
        source->format->describe(source, file);
    source_close(source);
}

static neap_error *print_data(const struct inspected *in, FILE *file) {
    fprintf(file, "%s: data, format %s\n", in->path, source_format_recognise(in->path)->name);
    print_split(in, SPLIT_TRAIN, file);
    print_split(in, SPLIT_VAL, file);
    return NULL;
}

/* ---- together
 * -------------------------------------------------------------------------------------- */

static const struct kind {
    bool folder;
    bool (*sniff)(const struct inspected *in);
    neap_error *(*print)(const struct inspected *in, FILE *file);
} kinds[] = {
    {true, is_run, print_run},      {true, is_checkpoint, print_checkpoint},
    {true, is_data, print_data},    {false, is_safetensors, print_safetensors},
    {false, is_graph, print_graph}, {false, is_idx, print_idx},
    {false, is_json, print_json},
};

static neap_error *refuse(const struct inspected *in) {
    enum { SHOWN_BYTES = 8 };
    char hex[3 * SHOWN_BYTES + 1] = "";
    if (in->folder)
        return error_make(NEAP_ERROR_DATA, "%s: a folder that holds neither a run nor data",
                          in->path);
    if (!in->bytes.n_start)
        return error_make(NEAP_ERROR_DATA, "%s: empty", in->path);
    for (size_t i = 0; i < in->bytes.n_start && i < SHOWN_BYTES; i++)
        snprintf(hex + 3 * i, sizeof hex - 3 * i, " %02x", in->bytes.start[i]);
    return error_make(NEAP_ERROR_DATA, "%s: neither safetensors, a graph, IDX nor JSON (starts%s)",
                      in->path, hex);
}

neap_error *neap_inspect_file(const char *path, FILE *file) {
    struct inspected in = {.path = path};
    if (!file_exists(path))
        return file_error(NEAP_ERROR_DATA, errno, "cannot read '%s'", path);
    in.folder = file_is_directory(path);
    if (!in.folder)
        TRY(unpack_start(path, &in.bytes));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].folder == in.folder && kinds[i].sniff(&in))
            return kinds[i].print(&in, file);
    return refuse(&in);
}
