/* Structs as JSON: an object of groups, each an object of a struct's fields, as tables say. With a
 * checksum over all of it, so that a file that is not as it was written is known.
 *
 * Expected load: a hundred fields. A real that is not finite is null, and so is a text that is
 * NULL; other reals read back to the same bits. */
#ifndef NEAP_FMT_FIELDS_JSON_H
#define NEAP_FMT_FIELDS_JSON_H

#include "base/memory.h"

enum json_type {
    JSON_FIELD_INTEGER, /* int64_t */
    JSON_FIELD_SEED,    /* uint64_t, of which JSON gets the bits as a signed number */
    JSON_FIELD_INT,     /* int */
    JSON_FIELD_SUM,     /* uint32_t */
    JSON_FIELD_REAL,    /* double */
    JSON_FIELD_FLAG,    /* bool */
    JSON_FIELD_TEXT,    /* const char * */
};

struct json_field {
    const char *name;
    enum json_type type;
    size_t offset; /* in the group's struct */
};

/* A field of `struct_name` by its own type. */
/* clang-format off */
#define JSON_TYPE(member)                                                                          \
    _Generic(member, int64_t: JSON_FIELD_INTEGER, uint64_t: JSON_FIELD_SEED, int: JSON_FIELD_INT,  \
             uint32_t: JSON_FIELD_SUM, double: JSON_FIELD_REAL, bool: JSON_FIELD_FLAG,             \
             const char *: JSON_FIELD_TEXT)
#define JSON_FIELD(name, struct_name, member)                                                      \
    {name, JSON_TYPE(((struct struct_name *)0)->member), offsetof(struct struct_name, member)}
/* clang-format on */

struct json_group {
    const char *name;
    const struct json_field *fields;
    size_t n_fields;
    void *at; /* the struct */
};

/* Written whole or not at all. */
MUST_USE neap_error *fields_json_save(const char *path, const char *format,
                                      const struct json_group *groups, size_t n_groups);
/* Fields that the file has not are left as they are, and what else the file has is left alone: so
 * files of another version can be read. Texts are put in the pool. NEAP_ERROR_DATA for a file of
 * another format, of another checksum, or with a field of another type. */
MUST_USE neap_error *fields_json_load(const char *path, const char *format,
                                      const struct json_group *groups, size_t n_groups,
                                      struct pool *pool);

#endif
