/* TensorBoard's event files: see tfevents.h. Of protobuf only what an Event needs:
 *
 *   Event      1 wall_time: double  2 step: int64  3 file_version: string
 *              5 summary: Summary   7 session_log: SessionLog
 *   Summary    1 value: Value, repeated        Value  1 tag: string  2 simple_value: float
 *   SessionLog 1 status: enum (1: START)
 */
#include "report/tfevents.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/memory.h"

enum { MESSAGE_BYTES = 512 }; /* five scalars take less than 200 */

struct tfevents {
    struct crc32c crc;
    FILE *file;
    char *path;
    int64_t interval;
    int failure; /* errno of the first write that failed */
};

/* ---- protobuf ------------------------------------------------------------------------------- */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

struct message {
    unsigned char bytes[MESSAGE_BYTES];
    size_t n;
};

static void put(struct message *m, const void *bytes, size_t n) {
    memcpy(m->bytes + m->n, bytes, n);
    m->n += n;
}

static void put_varint(struct message *m, uint64_t value) {
    for (; value >= 128; value >>= 7)
        m->bytes[m->n++] = (unsigned char)(value | 128);
    m->bytes[m->n++] = (unsigned char)value;
}

static void put_key(struct message *m, uint32_t field, enum wire wire) {
    put_varint(m, field << 3 | wire);
}

static void put_bytes(struct message *m, uint32_t field, const void *bytes, size_t n) {
    put_key(m, field, BYTES);
    put_varint(m, n);
    put(m, bytes, n);
}

static void put_scalar(struct message *summary, const char *tag, double number) {
    struct message value = {.n = 0};
    float single = (float)number;
    put_bytes(&value, 1, tag, strlen(tag));
    put_key(&value, 2, FIXED32);
    put(&value, &single, sizeof single);
    put_bytes(summary, 1, value.bytes, value.n);
}

static void put_head(struct message *event, int64_t step) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    put_key(event, 1, FIXED64);
    put(event, &seconds, sizeof seconds);
    put_key(event, 2, VARINT);
    put_varint(event, (uint64_t)step);
}

/* ---- records -------------------------------------------------------------------------------- */

static uint32_t masked_sum(const struct tfevents *events, const void *bytes, size_t n) {
    uint32_t sum = crc32c_add(&events->crc, 0, bytes, n);
    return (sum >> 15 | sum << 17) + 0xa282ead8;
}

static void write_record(struct tfevents *events, const struct message *event) {
    uint64_t length = event->n;
    uint32_t of_length = masked_sum(events, &length, sizeof length);
    uint32_t of_event = masked_sum(events, event->bytes, event->n);
    errno = 0;
    fwrite(&length, sizeof length, 1, events->file);
    fwrite(&of_length, sizeof of_length, 1, events->file);
    fwrite(event->bytes, 1, event->n, events->file);
    fwrite(&of_event, sizeof of_event, 1, events->file);
    if ((fflush(events->file) || ferror(events->file)) && !events->failure)
        events->failure = errno ? errno : EIO;
}

/* ---- events --------------------------------------------------------------------------------- */

struct scalar {
    const char *tag;
    size_t offset; /* of a double in struct neap_event */
};
#define SCALAR(tag, field)                                                                         \
    { tag, offsetof(struct neap_event, field) }

enum { MOST_SCALARS = 4 };
static const struct scalar scalars[][MOST_SCALARS] = {
    [NEAP_EVENT_UPDATE] = {SCALAR("update/loss", update_loss), SCALAR("update/lr", lr)},
    [NEAP_EVENT_EPOCH] = {SCALAR("train/loss", train_loss), SCALAR("train/top1", train_top1),
                          SCALAR("train/images_per_second", images_per_second)},
    [NEAP_EVENT_EVAL] = {SCALAR("eval/loss", eval_loss), SCALAR("eval/top1", eval_top1),
                         SCALAR("eval/top5", eval_top5)},
    [NEAP_EVENT_DONE] = {{0}},
};

static neap_error *open_file(struct tfevents *events, const char *folder) {
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    TRY(memory_format(&events->path, "%s/events.out.tfevents.%010lld.%s.%ld", folder,
                      (long long)time(NULL), *host ? host : "host", (long)getpid()));
    events->file = fopen(events->path, "wb");
    return events->file ? NULL
                        : file_error(NEAP_ERROR_RUNTIME, errno, "cannot write '%s'", events->path);
}

/* What every file begins with, and the step that it goes on from. */
static void write_start(struct tfevents *events, int64_t update) {
    static const char version[] = "brain.Event:2";
    struct message first = {.n = 0}, start = {.n = 0}, session = {.n = 0};
    put_head(&first, 0);
    put_bytes(&first, 3, version, sizeof version - 1);
    write_record(events, &first);
    put_key(&session, 1, VARINT);
    put_varint(&session, 1);
    put_head(&start, update + 1);
    put_bytes(&start, 7, session.bytes, session.n);
    write_record(events, &start);
}

neap_error *tfevents_open(const char *folder, int64_t update, int64_t interval,
                          struct tfevents **out) {
    struct tfevents *events;
    TRY(memory_alloc(1, sizeof *events, &events));
    crc32c_init(&events->crc);
    events->interval = interval;
    neap_error *error = open_file(events, folder);
    if (error) {
        tfevents_close(events);
        return error;
    }
    write_start(events, update);
    *out = events;
    return NULL;
}

void tfevents_add(struct tfevents *events, const struct neap_event *event) {
    struct message message = {.n = 0}, summary = {.n = 0};
    if (event->kind == NEAP_EVENT_UPDATE && event->update % events->interval)
        return;
    for (int i = 0; i < MOST_SCALARS && scalars[event->kind][i].tag; i++) {
        const struct scalar *scalar = &scalars[event->kind][i];
        put_scalar(&summary, scalar->tag, *(const double *)((const char *)event + scalar->offset));
    }
    if (!summary.n)
        return;
    put_head(&message, event->update);
    put_bytes(&message, 5, summary.bytes, summary.n);
    write_record(events, &message);
}

neap_error *tfevents_check(const struct tfevents *events) {
    if (!events || !events->failure)
        return NULL;
    return file_error(NEAP_ERROR_RUNTIME, events->failure, "cannot write '%s'", events->path);
}

void tfevents_close(struct tfevents *events) {
    if (!events)
        return;
    if (events->file)
        fclose(events->file);
    free(events->path);
    free(events);
}
