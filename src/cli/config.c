/* Options from a JSON file and back. jansson says whether a file is JSON and decodes its values; it
 * does not say where a key stands, so a scan of the (then known to be well-formed) text finds each
 * key with its line and column. Loads: files of a few KiB; the limit is 1 MiB. */
#include "cli/cli.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONFIG_LIMIT_BYTES = 1 << 20 };

/* ---- scanning well-formed JSON -------------------------------------------------------------- */

struct scan {
    const char *at;
    int line, column;
};

static void advance(struct scan *scan) {
    unsigned char c = (unsigned char)*scan->at++;
    scan->column = c == '\n' ? 1 : scan->column + ((c & 0xC0) != 0x80);
    scan->line += c == '\n';
}

/* Past white space and, between members, punctuation. */
static void skip_any(struct scan *scan, const char *set) {
    while (*scan->at && strchr(set, *scan->at))
        advance(scan);
}

static void skip_string(struct scan *scan) {
    advance(scan);
    while (*scan->at != '"') {
        if (*scan->at == '\\')
            advance(scan);
        advance(scan);
    }
    advance(scan);
}

static void skip_value(struct scan *scan) {
    int depth = 0;
    do {
        if (*scan->at == '"') {
            skip_string(scan);
            continue;
        }
        depth += *scan->at == '{' || *scan->at == '[';
        depth -= *scan->at == '}' || *scan->at == ']';
        advance(scan);
    } while (*scan->at && (depth > 0 || !strchr(",:} \t\r\n", *scan->at)));
}

/* The next string or value decoded and kept with the settings; NULL out of memory. */
static json_t *take(struct settings *settings, struct scan *scan) {
    const char *start = scan->at;
    skip_value(scan);
    json_t *value = json_loadb(start, (size_t)(scan->at - start), JSON_DECODE_ANY, NULL);
    return value && !json_array_append_new(settings->config_values, value) ? value : NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The text that the same option would have on the command line; NULL for what it cannot be. */
static const char *value_text(const struct option *option, const json_t *value,
                              char number[VALUE_BYTES]) {
    bool flag = option->type == OPTION_FLAG;
    bool text = option->type == OPTION_TEXT || option->type == OPTION_WORD;
    if (json_is_boolean(value))
        return flag ? (json_is_true(value) ? "true" : "false") : NULL;
    if (json_is_string(value))
        return flag ? NULL : json_string_value(value);
    if (!json_is_number(value) || flag || text)
        return NULL;
    if (json_is_integer(value))
        snprintf(number, VALUE_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(number, VALUE_BYTES, "%.17g", json_real_value(value));
    return number;
}

/* The settings keep what is text to them: a number's digits too. */
static const char *keep_number(struct settings *settings, const char *number) {
    json_t *kept = json_string(number);
    bool added = kept && !json_array_append_new(settings->config_values, kept);
    return added ? json_string_value(kept) : NULL;
}

/* {"svg": "curve.svg", …} for an option of two words. */
static int set_pairs(struct settings *settings, const struct option *option, const json_t *value,
                     enum source source, const char *place) {
    const char *first;
    json_t *second;
    if (!json_is_object(value))
        return fail(NEAP_ERROR_USAGE, "%s takes an object: {\"%s\": \"%s\"}", place,
                    option->choices[0], option->second);
    json_object_foreach((json_t *)value, first, second) {
        if (!json_is_string(second))
            return fail(NEAP_ERROR_USAGE, "%s: '%s' takes a string", place, first);
        int code =
            option_set_pair(settings, option, first, json_string_value(second), source, place);
        if (code)
            return code;
    }
    return NEAP_OK;
}

static int set_member(struct settings *settings, enum source source, const char *where,
                      const char *key, const json_t *value) {
    bool negated;
    const struct option *option = option_find(key, settings->command->bit, &negated);
    if (!option)
        return option_unknown(settings->command, where, key, key);
    if (!strcmp(option->name, "config") || !strcmp(option->name, "help"))
        return fail(NEAP_ERROR_USAGE, "%s'%s' is for the command line alone", where, key);
    if (option_mark(settings, option))
        return fail(NEAP_ERROR_USAGE, "%sduplicate key '%s'", where, key);
    char number[VALUE_BYTES], place[320];
    snprintf(place, sizeof place, "%s'%s'", where, key);
    /* What goes first is there already, yet what it hides must be well-formed too. */
    bool shown = option_source(settings, option) == FROM_DEFAULT;
    struct settings hidden = *settings;
    struct settings *to = shown ? settings : &hidden;
    if (option->second)
        return set_pairs(to, option, value, source, place);
    const char *text = value_text(option, value, number);
    if (!text)
        return fail(NEAP_ERROR_USAGE, "%s'%s' does not take %s", where, key,
                    json_is_object(value) || json_is_array(value) ? "an object or an array"
                    : json_is_null(value)                         ? "null"
                                                                  : "a value of this type");
    if (option->type == OPTION_STEPS && text == number)
        text = keep_number(settings, number);
    if (!text)
        return fail(NEAP_ERROR_MEMORY, "%sout of memory", where);
    if (negated)
        text = strcmp(text, "true") ? "true" : "false";
    return option_set(to, option, text, source, place);
}

static int set_members(struct settings *settings, enum source source, const char *path,
                       const char *text) {
    struct scan scan = {text, 1, 1};
    skip_any(&scan, " \t\r\n");
    advance(&scan); /* the brace */
    for (;;) {
        skip_any(&scan, " \t\r\n,");
        if (*scan.at == '}')
            return NEAP_OK;
        char where[256];
        snprintf(where, sizeof where, "%.200s:%d:%d: ", path, scan.line, scan.column);
        const json_t *key = take(settings, &scan);
        skip_any(&scan, " \t\r\n:");
        const json_t *value = take(settings, &scan);
        if (!key || !value)
            return fail(NEAP_ERROR_MEMORY, "%sout of memory", where);
        int code = set_member(settings, source, where, json_string_value(key), value);
        if (code)
            return code;
    }
}

static int read_text(const char *path, char *text, size_t *length) {
    errno = 0;
    FILE *file = fopen(path, "rb");
    if (file) {
        *length = fread(text, 1, CONFIG_LIMIT_BYTES, file);
        text[*length] = 0;
        bool failed = ferror(file);
        fclose(file);
        if (!failed && *length < CONFIG_LIMIT_BYTES)
            return NEAP_OK;
        if (!failed)
            return fail(NEAP_ERROR_USAGE, "%s: a config of more than %d bytes", path,
                        CONFIG_LIMIT_BYTES);
    }
    return fail(NEAP_ERROR_USAGE, "%s: cannot read the config: %s", path, strerror(errno));
}

int config_read(struct settings *settings, const char *path, enum source source) {
    char *text = malloc(CONFIG_LIMIT_BYTES + 1);
    memset(settings->in_config, 0, sizeof settings->in_config);
    if (!settings->config_values)
        settings->config_values = json_array();
    if (!text || !settings->config_values) {
        free(text);
        return fail(NEAP_ERROR_MEMORY, "%s: out of memory", path);
    }
    size_t length = 0;
    json_error_t error;
    int code = read_text(path, text, &length);
    if (!code) {
        json_t *root = json_loadb(text, length, 0, &error);
        if (!root)
            code =
                fail(NEAP_ERROR_USAGE, "%s:%d:%d: %s", path, error.line, error.column, error.text);
        else if (!json_is_object(root))
            code = fail(NEAP_ERROR_USAGE, "%s:1:1: a config is one object: {\"key\": value}", path);
        else
            code = set_members(settings, source, path, text);
        json_decref(root);
    }
    free(text);
    return code;
}

int config_resume(struct settings *settings) {
    char path[4096];
    bool negated;
    const struct option *output = option_find("output", TRAIN, &negated);
    int code = fail_with(neap_resume_folder(&settings->run, &settings->run_folder));
    if (code || !settings->run_folder)
        return code;
    snprintf(path, sizeof path, "%s/args.json", settings->run_folder);
    if (access(path, F_OK)) /* a run of the library's own: it knows what to do */
        return NEAP_OK;
    code = config_read(settings, path, FROM_RUN);
    if (!code && option_source(settings, output) <= FROM_RUN)
        code = option_set(settings, output, settings->run_folder, FROM_RUN, "--resume");
    return code;
}

void settings_free(struct settings *settings) {
    json_decref(settings->config_values);
    free(settings->run_folder);
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_members(const struct settings *settings, FILE *file) {
    struct emit out = {.file = file};
    emit_open(&out, NULL, '{');
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++) {
        char text[VALUE_BYTES];
        const void *field = (const char *)settings + option->offset;
        const char *value = option_print(option, field, text);
        bool of_run = option->section != SECTION_OUTPUT && !option->once;
        if (!of_run || !(option->commands & settings->command->bit) || !*value)
            continue;
        if (option_is_number(option, value))
            emit_raw(&out, option->name, value);
        else
            emit_string(&out, option->name, value);
    }
    emit_close(&out, '}');
}

int config_write(const struct settings *settings, const char *folder) {
    char path[4096], temporary[4096];
    int length = snprintf(path, sizeof path, "%s/args.json", folder);
    snprintf(temporary, sizeof temporary, "%s/args.json.tmp", folder);
    if (length < 0 || (size_t)length >= sizeof path - 4)
        return fail(NEAP_ERROR_RUNTIME, "%s: the name is too long", folder);
    errno = 0;
    FILE *file = fopen(temporary, "w");
    if (file) {
        write_members(settings, file);
        bool written = !fflush(file) && !ferror(file) && !fsync(fileno(file));
        int reason = errno;
        written &= !fclose(file);
        if (written && !rename(temporary, path))
            return NEAP_OK;
        errno = reason ? reason : errno;
        reason = errno;
        unlink(temporary);
        errno = reason;
    }
    return fail(NEAP_ERROR_RUNTIME, "%s: cannot write: %s", path, strerror(errno));
}
