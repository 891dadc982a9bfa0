#include "fmt/problem_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { MOST_BYTES = 256 << 20 };

struct reader {
    const char *path, *at;
    uint32_t line;
    struct plan_problem *problem;
};

static neap_error *refuse(const struct reader *r, const char *what) {
    return error_make(NEAP_ERROR_DATA, "%s:%u: %s", r->path, r->line, what);
}

static void skip_blanks(struct reader *r) {
    r->at += strspn(r->at, " \t\r");
}

static neap_error *read_integer(struct reader *r, int64_t most, const char *what, int64_t *out) {
    char *end;
    skip_blanks(r);
    errno = 0;
    long long number = *r->at == '\n' ? -1 : strtoll(r->at, &end, 10);
    if (*r->at == '\n' || !*r->at || end == r->at || !strchr(" \t\r\n", *end))
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is missing or not a whole number", r->path,
                          r->line, what);
    if (errno || number < 0 || number > most)
        return error_make(NEAP_ERROR_DATA, "%s:%u: %s is %.*s, but must be from 0 to %lld", r->path,
                          r->line, what, (int)(end - r->at), r->at, (long long)most);
    r->at = end;
    *out = number;
    return NULL;
}

static neap_error *read_seconds(struct reader *r, double *out) {
    char *end;
    skip_blanks(r);
    if (*r->at == '\n' || !*r->at)
        return refuse(r, "the op's seconds are missing");
    *out = strtod(r->at, &end);
    if (end == r->at || !strchr(" \t\r\n", *end) || !isfinite(*out) || *out < 0)
        return refuse(r, "the op's seconds are not a number from 0 up");
    r->at = end;
    return NULL;
}

static neap_error *end_line(struct reader *r) {
    skip_blanks(r);
    if (*r->at && *r->at != '\n')
        return refuse(r, "there is more on the line than it should hold");
    r->at += *r->at == '\n';
    r->line++;
    return NULL;
}

/* The inputs of op o; one that is named twice is read once. */
static neap_error *read_inputs(struct reader *r, uint32_t o, int64_t n) {
    struct plan_problem *p = r->problem;
    struct plan_span *inputs = &p->ops[o].inputs;
    *inputs = (struct plan_span){.first = p->n_ids};
    for (int64_t i = 0; i < n; i++) {
        int64_t input;
        TRY(read_integer(r, (int64_t)o - 1, "an input", &input));
        bool known = false;
        for (uint32_t j = 0; j < inputs->n; j++)
            known = known || p->ids[inputs->first + j] == (uint32_t)input;
        if (!known)
            p->ids[inputs->first + inputs->n++] = (uint32_t)input;
    }
    p->n_ids += inputs->n;
    return NULL;
}

static neap_error *read_op(struct reader *r, uint32_t o) {
    struct plan_problem *p = r->problem;
    int64_t n;
    p->ops[o].phase = PLAN_FORWARD;
    TRY(read_seconds(r, &p->ops[o].seconds));
    TRY(read_integer(r, INT64_MAX / 4 / p->n_ops, "the op's bytes", &p->values[o].bytes));
    TRY(read_integer(r, o, "the number of inputs", &n));
    TRY(read_inputs(r, o, n));
    TRY(end_line(r));
    p->values[o].producer = o;
    p->ids[p->n_ids] = o;
    p->ops[o].outputs = (struct plan_span){p->n_ids++, 1};
    return NULL;
}

static neap_error *read_ops(struct reader *r, int64_t size_bytes) {
    struct plan_problem *p = r->problem;
    int64_t n;
    /* Every number takes two characters at least, which bounds what a short file can ask for. */
    TRY(read_integer(r, size_bytes / 6 + 1, "the number of ops", &n));
    TRY(end_line(r));
    if (!n)
        return error_make(NEAP_ERROR_DATA, "%s: there are no ops in it", r->path);
    p->n_ops = p->n_values = (uint32_t)n;
    TRY(pool_alloc(&p->pool, p->n_ops, sizeof *p->ops, &p->ops));
    TRY(pool_alloc(&p->pool, p->n_values, sizeof *p->values, &p->values));
    TRY(pool_alloc(&p->pool, (size_t)size_bytes / 2 + p->n_ops, sizeof *p->ids, &p->ids));
    for (uint32_t o = 0; o < p->n_ops; o++)
        TRY(read_op(r, o));
    r->at += strspn(r->at, " \t\r\n");
    return *r->at ? refuse(r, "there are more lines than the first one says") : NULL;
}

neap_error *problem_text_read(const char *path, struct plan_problem *out) {
    struct file_bytes file;
    *out = (struct plan_problem){0};
    TRY(file_read(path, MOST_BYTES, NEAP_ERROR_DATA, &file));
    struct reader r = {.path = path, .at = file.data, .line = 1, .problem = out};
    neap_error *error = read_ops(&r, file.size_bytes);
    free(file.data);
    if (error)
        pool_free(&out->pool);
    return error;
}
