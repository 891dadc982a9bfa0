/* JSON out, streamed in the order given: keys are ours and need no escaping, strings do. Numbers
 * are written so that they read back to the same double; one that is not finite is
 * null, as JSON has no word for it. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

static void quoted(FILE *file, const char *text) {
    putc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            putc(*c, file);
    }
    putc('"', file);
}

static void new_line(struct emit *out) {
    if (out->lines)
        return;
    putc('\n', out->file);
    for (int i = 0; i < out->depth; i++)
        fputs("  ", out->file);
}

static void begin(struct emit *out, const char *key) {
    bool *filled = &out->filled[out->depth];
    if (*filled)
        fputs(out->lines ? ", " : ",", out->file);
    if (out->depth > 0)
        new_line(out);
    *filled = true;
    if (key) {
        quoted(out->file, key);
        fputs(": ", out->file);
    }
}

void emit_open(struct emit *out, const char *key, char bracket) {
    begin(out, key);
    putc(bracket, out->file);
    out->filled[++out->depth] = false;
}

void emit_close(struct emit *out, char bracket) {
    bool filled = out->filled[out->depth--];
    if (filled)
        new_line(out);
    putc(bracket, out->file);
    if (out->depth == 0) {
        putc('\n', out->file);
        out->filled[0] = false;
    }
}

void emit_string(struct emit *out, const char *key, const char *value) {
    begin(out, key);
    if (value)
        quoted(out->file, value);
    else
        fputs("null", out->file);
}

void emit_raw(struct emit *out, const char *key, const char *number) {
    begin(out, key);
    fputs(number, out->file);
}

void emit_integer(struct emit *out, const char *key, int64_t value) {
    begin(out, key);
    fprintf(out->file, "%lld", (long long)value);
}

void emit_real(struct emit *out, const char *key, double value) {
    struct text text = {"null"};
    if (isfinite(value))
        text = real_text(value);
    if (isfinite(value) && !strpbrk(text.s, ".e")) /* a real for readers that tell them apart */
        strcat(text.s, ".0");
    emit_raw(out, key, text.s);
}

void emit_bool(struct emit *out, const char *key, bool value) {
    emit_raw(out, key, value ? "true" : "false");
}
