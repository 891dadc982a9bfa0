/* What runs before what in every schedule, and whose work each op reads. */
#ifndef NEAP_PLAN_PRECEDE_H
#define NEAP_PLAN_PRECEDE_H

#include "plan/problem.h"

/* An access that every implementation of an op makes, an update too. */
struct plan_read {
    uint32_t value, reader;
    uint32_t source;   /* the op whose work is read; PLAN_NONE: what was there before step 0 */
    uint32_t ended_by; /* no execution of the reader comes after this op; PLAN_NONE */
    uint32_t work;     /* PLAN_NONE: of a persistent value */
};

/* What a value that is not persistent holds once its source has run; it has readers. */
struct plan_work {
    uint32_t value, source;
    struct plan_span readers; /* in precede->readers */
};

struct precede {
    const struct plan_problem *problem;
    bool fixed_order;        /* first executions stand in the base order */
    uint32_t *next;          /* by op: another implementation of the same; PLAN_NONE */
    struct plan_read *reads; /* by reader */
    uint32_t n_reads;
    uint32_t *first_read;    /* by op: in reads; one more than there are ops */
    struct plan_work *works; /* by source, PLAN_NONE last */
    uint32_t n_works;
    uint32_t *first_work;     /* by source; behind the last op: those of PLAN_NONE */
    uint32_t *readers;        /* ops */
    size_t words;             /* of 64 ops in a row of the bit sets */
    uint64_t *before, *after; /* by op; NULL in fixed order */
};

/* n² / 4 bytes for n ops unless the order is fixed; O(n × reads / 64). */
MUST_USE neap_error *precede_open(const struct plan_problem *problem, bool fixed_order,
                                  struct precede *out);
void precede_close(struct precede *precede);

/* Does o's first execution always come before w's, or always after it? */
static inline bool precede_before(const struct precede *p, uint32_t w, uint32_t o) {
    return p->fixed_order ? o < w : p->before[w * p->words + o / 64] >> (o % 64) & 1;
}
static inline bool precede_after(const struct precede *p, uint32_t w, uint32_t o) {
    return p->fixed_order ? o > w : p->after[w * p->words + o / 64] >> (o % 64) & 1;
}

/* Once w has run for the first time, may o, which came before it, not run any more? */
bool precede_sealed(const struct precede *precede, uint32_t w, uint32_t o);

#endif
