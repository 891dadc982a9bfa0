/* What the writer and the reader of the text form share: its alphabet and its words. */
#ifndef NEAP_IR_TEXT_H
#define NEAP_IR_TEXT_H

#include "ir/graph.h"

#define TEXT_MAGIC "neap-graph"
enum { TEXT_VERSION = 1 };
/* Bounds dimensions and lists of integers, so that what ops compute from two of them fits. */
#define TEXT_SEGMENT "segment" /* among a node's attributes */
#define TEXT_MOST_DIM INT32_MAX

/* X(field of struct graph_roles and name in text) */
#define TEXT_ROLES(X)                                                                              \
    X(logits)                                                                                      \
    X(labels)                                                                                      \
    X(loss)

/* X(constant, name in text) */
#define TEXT_INITS(X)                                                                              \
    X(CONSTANT, "constant")                                                                        \
    X(UNIFORM, "uniform")                                                                          \
    X(NORMAL, "normal")

/* Names made of these need no quotes, except "_" alone, which is an absent input. */
static inline bool text_is_bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '+' || c == '/' || c == '@';
}

/* Node outputs are of this kind unless the text says otherwise. */
static inline enum value_kind text_output_kind(enum phase phase) {
    return phase == PHASE_FORWARD ? VALUE_ACTIVATION : VALUE_GRADIENT;
}

static inline bool text_kind_is_persistent(enum value_kind kind) {
    static const bool persistent[N_VALUE_KINDS] = {
#define X(constant, name, lasts) [VALUE_##constant] = lasts,
        VALUE_KINDS(X)
#undef X
    };
    return persistent[kind];
}

#endif
