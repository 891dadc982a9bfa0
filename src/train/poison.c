/* NaN in dead memory, canaries between lives: see poison.h. */
#include "train/poison.h"

#include <stdlib.h>
#include <string.h>

enum { DEAD = 0xFF, CANARY_BYTES = 128 }; /* all ones is a NaN in every float type */

neap_error *poison_create(const struct arena *arena, const struct plan_lives *lives,
                          struct poison *out) {
    *out = (struct poison){.arena = arena, .lives = lives, .intact = true};
    TRY(memory_alloc(lives->n, sizeof *out->handed_over, &out->handed_over));
    for (size_t l = 0; l < lives->n; l++)
        if (lives->at[l].in_place_of != PLAN_NONE)
            out->handed_over[lives->at[l].in_place_of] = true;
    return NULL;
}

void poison_free(struct poison *poison) {
    free(poison->handed_over);
}

static bool is_live(const struct plan_life *life, size_t step) {
    return life->first_step <= step && step <= life->last_step;
}

/* Leaves the lives of step 0 alone, the inputs among them. */
void poison_start(struct poison *p) {
    for (int64_t at = 0; at < p->arena->bytes;) {
        int64_t covered = at, next = p->arena->bytes;
        for (size_t l = 0; l < p->lives->n && p->lives->at[l].first_step == 0; l++) {
            const struct plan_life *life = &p->lives->at[l];
            if (life->offset <= at && life->offset + life->bytes > covered)
                covered = life->offset + life->bytes;
            if (life->offset > at && life->offset < next)
                next = life->offset;
        }
        if (covered == at)
            memset(p->arena->base + at, DEAD, (size_t)(next - at));
        at = covered > at ? covered : next;
    }
}

/* Cuts [*from, *to) short where a life begins or ends in it; empty where one covers its start. */
static void clip_to_dead(const struct poison *p, size_t step, bool upward, int64_t *from,
                         int64_t *to) {
    for (size_t l = 0; l < p->lives->n; l++) {
        const struct plan_life *life = &p->lives->at[l];
        int64_t begin = life->offset, end = life->offset + life->bytes;
        if (!is_live(life, step) || end <= *from || begin >= *to)
            continue;
        if (upward)
            *to = begin > *from ? begin : *from;
        else
            *from = end < *to ? end : *to;
    }
}

static void check_canary(struct poison *p, size_t step, bool upward, int64_t from, int64_t to) {
    from = from < 0 ? 0 : from;
    to = to > p->arena->bytes ? p->arena->bytes : to;
    clip_to_dead(p, step, upward, &from, &to);
    for (int64_t i = from; i < to; i++)
        p->intact = p->intact && p->arena->base[i] == DEAD;
}

void poison_step(struct poison *p, size_t step) {
    for (size_t l = 0; l < p->lives->n; l++) {
        const struct plan_life *life = &p->lives->at[l];
        if (life->first_step != step)
            continue;
        int64_t end = life->offset + life->bytes;
        check_canary(p, step, true, end, end + CANARY_BYTES);
        check_canary(p, step, false, life->offset - CANARY_BYTES, life->offset);
    }
    for (size_t l = 0; l < p->lives->n; l++) {
        const struct plan_life *life = &p->lives->at[l];
        if (life->last_step == step && !p->handed_over[l])
            memset(p->arena->base + life->offset, DEAD, (size_t)life->bytes);
    }
}
