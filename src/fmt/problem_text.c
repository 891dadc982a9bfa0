/* Planning problems as text: see problem_text.h. The file is read whole; every length in it is
 * checked against the bytes there are before anything of that length is allocated. */
#include "fmt/problem_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* Sums of seconds must stay finite; numbers are cut where an error shows them. */
enum { MOST_BYTES = 256 << 20, SHOWN_CHARACTERS = 24 };
static const double most_seconds = 1e100;

struct reader {
    const char *path, *at;
    uint32_t line;
    int64_t size_bytes;
    struct plan_problem *problem;
    uint32_t *last_reader; /* by op: the op read last that has it as an input, plus one */
};

static neap_error *refuse(const struct reader *r, const char *what) {
    return error_make(NEAP_ERROR_DATA, "%s:%u: %s", r->path, r->line, what);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool at_end_of_line(const struct reader *r) {
    return !*r->at || *r->at == '\n';
}

static int word_length(const struct reader *r) {
    int length = (int)strcspn(r->at, " \t\r\n");
    return length < SHOWN_CHARACTERS ? length : SHOWN_CHARACTERS;
}

/* Moves to the next word of the line; an error where there is none. */
static neap_error *find_word(struct reader *r, const char *what) {
    r->at += strspn(r->at, " \t\r");
    if (at_end_of_line(r))
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is missing%s", r->path, r->line, what,
                          *r->at ? "" : ": the file ends here, truncated?");
    return NULL;
}

static neap_error *read_integer(struct reader *r, int64_t most, const char *what, int64_t *out) {
    TRY(find_word(r, what));
    char *end = NULL;
    bool sign = *r->at == '-' || *r->at == '+';
    errno = 0;
    long long number = 0;
    if (isdigit((unsigned char)r->at[sign]))
        number = strtoll(r->at, &end, 10);
    if (!end || !strchr(" \t\r\n", *end))
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is '%.*s', not a whole number", r->path,
                          r->line, what, word_length(r), r->at);
    if (errno || number < 0 || number > most)
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is %.*s, but must be from 0 to %lld", r->path,
                          r->line, what, word_length(r), r->at, (long long)most);
    r->at = end;
    *out = number;
    return NULL;
}

static neap_error *read_seconds(struct reader *r, double *out) {
    static const char what[] = "the op's time";
    TRY(find_word(r, what));
    char *end = NULL;
    double number = strchr("+-.0123456789", *r->at) ? strtod(r->at, &end) : NAN;
    if (!end || end == r->at || !strchr(" \t\r\n", *end))
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is '%.*s', not a number", r->path, r->line,
                          what, word_length(r), r->at);
    if (!(number >= 0 && number <= most_seconds))
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is %.*s, but must be from 0 to %g", r->path,
                          r->line, what, word_length(r), r->at, most_seconds);
    r->at = end;
    *out = number;
    return NULL;
}

static neap_error *end_line(struct reader *r) {
    r->at += strspn(r->at, " \t\r");
    if (!at_end_of_line(r))
        return error_make(NEAP_ERROR_DATA, "%s:%u: '%.*s' is more than the line should hold",
                          r->path, r->line, word_length(r), r->at);
    r->at += *r->at == '\n';
    r->line++;
    return NULL;
}

/* ---- ops ------------------------------------------------------------------------------------ */

/* The inputs of op o; one that is named twice is read once. */
static neap_error *read_inputs(struct reader *r, uint32_t o, int64_t n) {
    struct plan_problem *p = r->problem;
    struct plan_span *inputs = &p->ops[o].inputs;
    *inputs = (struct plan_span){.first = p->n_ids};
    for (int64_t i = 0; i < n; i++) {
        int64_t input;
        TRY(read_integer(r, UINT32_MAX, "an input", &input));
        if (input >= o)
            return error_make(NEAP_ERROR_DATA,
                              "%s:%u: op %u reads op %lld, but only ops above it are known by then",
                              r->path, r->line, o, (long long)input);
        if (r->last_reader[input] == o + 1)
            continue;
        r->last_reader[input] = o + 1;
        p->ids[inputs->first + inputs->n++] = (uint32_t)input;
    }
    p->n_ids += inputs->n;
    return NULL;
}

static neap_error *read_op(struct reader *r, uint32_t o) {
    struct plan_problem *p = r->problem;
    int64_t n;
    if (!r->at[strspn(r->at, " \t\r\n")])
        return error_make(NEAP_ERROR_DATA, "%s: %u ops, the first line promises %u: truncated?",
                          r->path, o, p->n_ops);
    p->ops[o].phase = PLAN_FORWARD;
    TRY(read_seconds(r, &p->ops[o].seconds));
    TRY(read_integer(r, INT64_MAX / 4 / p->n_ops, "the op's size", &p->values[o].bytes));
    TRY(read_integer(r, r->size_bytes / 2, "the number of inputs", &n));
    TRY(read_inputs(r, o, n));
    TRY(end_line(r));
    p->values[o].producer = o;
    p->ids[p->n_ids] = o;
    p->ops[o].outputs = (struct plan_span){p->n_ids++, 1};
    return NULL;
}

static neap_error *read_head(struct reader *r, int64_t *n) {
    TRY(read_integer(r, UINT32_MAX / 2, "the number of ops", n));
    TRY(end_line(r));
    if (!*n)
        return error_make(NEAP_ERROR_DATA, "%s: there are no ops in it", r->path);
    /* "0 0 0" and a line's end are the shortest op there is. */
    if (*n > r->size_bytes / 6 + 1)
        return error_make(NEAP_ERROR_DATA, "%s: %lld bytes, the first line promises %lld ops: %s",
                          r->path, (long long)r->size_bytes, (long long)*n, "truncated?");
    return NULL;
}

static neap_error *read_ops(struct reader *r) {
    struct plan_problem *p = r->problem;
    int64_t n;
    TRY(read_head(r, &n));
    p->n_ops = p->n_values = (uint32_t)n;
    TRY(pool_alloc(&p->pool, p->n_ops, sizeof *p->ops, &p->ops));
    TRY(pool_alloc(&p->pool, p->n_values, sizeof *p->values, &p->values));
    TRY(pool_alloc(&p->pool, (size_t)r->size_bytes / 2 + p->n_ops, sizeof *p->ids, &p->ids));
    TRY(memory_alloc(p->n_ops, sizeof *r->last_reader, &r->last_reader));
    for (uint32_t o = 0; o < p->n_ops; o++)
        TRY(read_op(r, o));
    r->at += strspn(r->at, " \t\r\n");
    return *r->at ? refuse(r, "there are more lines than the first one says") : NULL;
}

/* ---- the interface -------------------------------------------------------------------------- */

neap_error *problem_text_read(const char *path, struct plan_problem *out) {
    struct file_bytes file;
    *out = (struct plan_problem){0};
    TRY(file_read(path, MOST_BYTES, NEAP_ERROR_DATA, &file));
    struct reader r = {
        .path = path, .at = file.data, .line = 1, .size_bytes = file.size_bytes, .problem = out};
    neap_error *error = memchr(file.data, 0, (size_t)file.size_bytes)
                            ? error_make(NEAP_ERROR_DATA, "%s: there is a zero byte in it", path)
                            : read_ops(&r);
    free(r.last_reader);
    free(file.data);
    if (error)
        pool_free(&out->pool);
    return error;
}

void problem_text_write_schedule(const struct plan_schedule *schedule, FILE *file) {
    for (size_t i = 0; i < schedule->n; i++)
        fprintf(file, "%u\n", schedule->ops[i]);
}
