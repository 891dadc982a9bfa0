/* Growing and freeing schedules and lives: see problem.h. */
#include <stdlib.h>
#include <string.h>

#include "plan/problem.h"

neap_error *plan_schedule_push(struct plan_schedule *schedule, uint32_t op) {
    TRY(memory_grow(&schedule->ops, &schedule->capacity, schedule->n + 1, sizeof *schedule->ops));
    schedule->ops[schedule->n++] = op;
    return NULL;
}

neap_error *plan_schedule_copy(struct plan_schedule *to, const struct plan_schedule *from) {
    TRY(memory_grow(&to->ops, &to->capacity, from->n, sizeof *to->ops));
    if (from->n)
        memcpy(to->ops, from->ops, from->n * sizeof *to->ops);
    to->n = from->n;
    return NULL;
}

void plan_schedule_free(struct plan_schedule *schedule) {
    free(schedule->ops);
    *schedule = (struct plan_schedule){0};
}

void plan_lives_free(struct plan_lives *lives) {
    free(lives->at);
    *lives = (struct plan_lives){0};
}
