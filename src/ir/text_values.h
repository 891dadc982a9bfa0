/* The reader of the text form, and its half that reads values: see text_read.c for statements. */
#ifndef NEAP_IR_TEXT_VALUES_H
#define NEAP_IR_TEXT_VALUES_H

#include "ir/names.h"
#include "ir/text_scan.h"

/* What stands behind a value's name, until there is a value to give it to. */
struct traits {
    bool has_kind, persistent;
    enum value_kind kind;
    const char *layout, *of; /* NULL: none */
    struct spot layout_spot, of_spot;
    struct neap_init init;
};

/* A value that the text names; results and `of` are settled later than they are read. */
struct mention {
    const char *name;
    struct spot spot;
    struct traits traits;
    value_id id;
};

struct mentions {
    struct mention *at;
    size_t n, capacity;
};

struct ids {
    value_id *at;
    size_t n, capacity;
};

struct reader {
    struct scan scan;
    const struct op_set *ops;
    neap_graph *g;
    struct names names;
    struct mentions results; /* of the statement being read */
    struct ids inputs, updates;
    struct mentions links; /* values with `of`, which may name a later one */
    const char *segment;   /* of the node being read, or NULL */
    bool has_roles;
};

/* A name that is there already, as an operand. */
MUST_USE neap_error *text_read_known(struct reader *r, value_id *out);
/* "f32 8x16 @aB16b of=x" after the kind and before the end of the line: the statement's value. */
MUST_USE neap_error *text_read_declaration(struct reader *r, enum value_kind kind);
/* Takes a result's name and, after ':', its properties; adds it to r->results. */
MUST_USE neap_error *text_read_result(struct reader *r, const char *name, struct spot spot);
/* Gives a new value, whose type is known, its name and properties. */
MUST_USE neap_error *text_settle(struct reader *r, const struct mention *m);
/* Settles what values are `of`, when all are known. */
MUST_USE neap_error *text_resolve_links(struct reader *r);
bool text_find_kind(const char *word, enum value_kind *out);

#endif
