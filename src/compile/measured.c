/* The table and its file: see measured.h.
 *
 *   neap-costs 1
 *   version: neap 0.1.0        ← the machine, line by line, by which the file is named, too
 *   processor: …
 *   end                        ← of the machine
 *   0.00123 conv2d:dnn …       ← seconds, signature
 *   entries: 1                 ← so that half a file shows
 *
 * Loads: a few thousand entries, searched by a hash of the signature. */
#include "compile/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/philox.h"

static const char magic[] = "neap-costs 1\n", end_of_machine[] = "end\n", last_line[] = "entries: ";
enum { MOST_FILE_BYTES = 64 << 20 };

struct entry {
    uint64_t hash;
    const char *signature;
    double seconds;
};

struct measured {
    struct pool pool; /* signatures and texts */
    const char *machine, *path;
    const char *note;
    struct entry *entries;
    size_t n, capacity;
    bool changed;
};

bool measured_find(const struct measured *m, const char *signature, double *seconds) {
    uint64_t hash = philox_hash(signature);
    for (size_t i = 0; i < m->n; i++)
        if (m->entries[i].hash == hash && !strcmp(m->entries[i].signature, signature)) {
            *seconds = m->entries[i].seconds;
            return true;
        }
    return false;
}

static neap_error *append(struct measured *m, const char *signature, double seconds) {
    TRY(memory_grow(&m->entries, &m->capacity, m->n + 1, sizeof *m->entries));
    struct entry *entry = &m->entries[m->n];
    *entry = (struct entry){.hash = philox_hash(signature), .seconds = seconds};
    TRY(pool_string(&m->pool, signature, &entry->signature));
    m->n++;
    return NULL;
}

neap_error *measured_add(struct measured *m, const char *signature, double seconds) {
    m->changed = true;
    return append(m, signature, seconds);
}

const char *measured_note(const struct measured *m) {
    return m->note;
}

/* Out of memory a note is not made: it is not worth an error. */
static void take_note(struct measured *m, const char *what, neap_error *why) {
    neap_error *error = pool_format(&m->pool, &m->note, "%s (%s)", what, neap_error_message(why));
    neap_error_free(error);
    neap_error_free(why);
}

/* ---- the file ------------------------------------------------------------------------------- */

static neap_error *refuse(const struct measured *m, int line) {
    return error_make(NEAP_ERROR_DATA, "%s:%d: not as neap writes it", m->path, line);
}

/* Past `expected`, or false. */
static bool skip(char **at, const char *expected) {
    size_t n = strlen(expected);
    bool there = !strncmp(*at, expected, n);
    *at += there ? n : 0;
    return there;
}

/* "0.00123 conv2d:dnn …" up to the line's end, which is at `end`. */
static neap_error *parse_entry(struct measured *m, char *at, char *end, int line) {
    char *rest;
    *end = '\0';
    double seconds = strtod(at, &rest);
    if (rest == at || *rest != ' ' || !rest[1] || !isfinite(seconds) || seconds < 0)
        return refuse(m, line);
    return append(m, rest + 1, seconds);
}

static neap_error *parse(struct measured *m, char *at) {
    if (!skip(&at, magic) || !skip(&at, m->machine) || !skip(&at, end_of_machine))
        return refuse(m, 1);
    for (int line = 1;; line++) {
        char *end = strchr(at, '\n');
        if (!end)
            return refuse(m, line);
        if (skip(&at, last_line))
            return strtoull(at, NULL, 10) == m->n && !end[1] ? NULL : refuse(m, line);
        TRY(parse_entry(m, at, end, line));
        at = end + 1;
    }
}

/* What is there is taken whole or not at all. */
static void load(struct measured *m) {
    struct file_bytes text;
    if (!file_exists(m->path))
        return;
    neap_error *error = file_read(m->path, MOST_FILE_BYTES, NEAP_ERROR_DATA, &text);
    if (!error) {
        error = parse(m, text.data);
        free(text.data);
    }
    if (!error)
        return;
    m->n = 0;
    take_note(m, "measured costs are measured again", error);
}

static neap_error *write_file(const struct measured *m) {
    struct file_writer *writer;
    TRY(file_writer_open(m->path, &writer));
    FILE *file = file_writer_stream(writer);
    fprintf(file, "%s%s%s", magic, m->machine, end_of_machine);
    for (size_t i = 0; i < m->n; i++)
        fprintf(file, "%.17g %s\n", m->entries[i].seconds, m->entries[i].signature);
    fprintf(file, "%s%zu\n", last_line, m->n);
    return file_writer_commit(writer);
}

void measured_save(struct measured *m) {
    if (!m->path || !m->changed)
        return;
    m->changed = false;
    neap_error *error = write_file(m);
    if (error)
        take_note(m, "measured costs are not kept", error);
}

static neap_error *find_file(struct measured *m, const char *folder) {
    neap_error *error = file_make_directory(folder);
    if (error) {
        take_note(m, "measured costs are not kept", error);
        return NULL;
    }
    TRY(pool_format(&m->pool, &m->path, "%s/costs-%016llx.txt", folder,
                    (unsigned long long)philox_hash(m->machine)));
    load(m);
    return NULL;
}

neap_error *measured_open(const struct device *device, const char *folder, struct measured **out) {
    struct measured *m;
    char *machine = NULL;
    TRY(memory_alloc(1, sizeof *m, &m));
    neap_error *error = device_describe(device, &machine);
    if (!error)
        error = pool_string(&m->pool, machine, &m->machine);
    free(machine);
    if (!error && folder)
        error = find_file(m, folder);
    if (error)
        measured_free(m);
    else
        *out = m;
    return error;
}

void measured_free(struct measured *m) {
    if (!m)
        return;
    free(m->entries);
    pool_free(&m->pool);
    free(m);
}
