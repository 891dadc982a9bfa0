/* Values of options: for each type, how text becomes a value and a value becomes text. What is
 * printed parses back to the same value, so a run's args.json is a config. */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text to value: false with what the text is not in `expected` --------------------------- */

static bool parse_whole(const char *text, int64_t *value) {
    if (!isdigit((unsigned char)text[text[0] == '-']))
        return false;
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    return !*end && !errno;
}

static bool in_range(const struct option *option, double value) {
    return value >= option->low && value <= option->high;
}

/* `number` is whether the text was one at all: then it is the range that it missed. */
static void expect(const struct option *option, const char *what, bool number, double value,
                   char *expected) {
    if (!number)
        snprintf(expected, EXPECTED_BYTES, "%s", what);
    else if (value > option->high)
        snprintf(expected, EXPECTED_BYTES, "%s of at most %.15g", what, option->high);
    else
        snprintf(expected, EXPECTED_BYTES, "%s of at least %.15g", what, option->low);
}

static bool parse_count(const struct option *option, const char *text, void *field,
                        char *expected) {
    int64_t value = 0;
    bool number = parse_whole(text, &value);
    expect(option, "a whole number", number, (double)value, expected);
    if (!number || !in_range(option, (double)value))
        return false;
    *(int64_t *)field = value;
    return true;
}

static bool parse_threads(const struct option *option, const char *text, void *field,
                          char *expected) {
    int64_t value;
    if (!parse_count(option, text, &value, expected))
        return false;
    *(int *)field = (int)value;
    return true;
}

static bool parse_seed(const struct option *option, const char *text, void *field, char *expected) {
    int64_t value;
    if (!parse_count(option, text, &value, expected))
        return false;
    *(uint64_t *)field = (uint64_t)value;
    return true;
}

static bool parse_real(const struct option *option, const char *text, void *field, char *expected) {
    char *end;
    double value = strtod(text, &end);
    bool starts = isdigit((unsigned char)*text) || (*text && strchr("+-.", *text));
    bool number = starts && !*end && isfinite(value);
    expect(option, "a number", number, value, expected);
    if (!number || !in_range(option, value))
        return false;
    *(double *)field = value;
    return true;
}

static bool parse_percent(const struct option *option, const char *text, void *field,
                          char *expected) {
    char *end;
    double value = strtod(text, &end);
    bool number = isdigit((unsigned char)*text) && !strcmp(end, "%") && isfinite(value);
    expect(option, "a percentage (30%)", number, value, expected);
    if (!number || !in_range(option, value))
        return false;
    *(double *)field = value / 100;
    return true;
}

static bool parse_flag(const struct option *option, const char *text, void *field, char *expected) {
    (void)option;
    snprintf(expected, EXPECTED_BYTES, "true or false");
    *(bool *)field = !strcmp(text, "true");
    return *(bool *)field || !strcmp(text, "false");
}

static bool parse_text(const struct option *option, const char *text, void *field, char *expected) {
    (void)option;
    snprintf(expected, EXPECTED_BYTES, "a name");
    *(const char **)field = text;
    return *text != 0;
}

static bool parse_choice(const struct option *option, const char *text, void *field,
                         char *expected) {
    size_t length = (size_t)snprintf(expected, EXPECTED_BYTES, "one of ");
    struct nearest nearest = nearest_start(text);
    for (int i = 0; option->choices[i]; i++) {
        if (!strcmp(option->choices[i], text)) {
            *(int *)field = i;
            return true;
        }
        nearest_offer(&nearest, option->choices[i]);
        length += (size_t)snprintf(expected + length, EXPECTED_BYTES - length, "%s%s",
                                   i ? ", " : "", option->choices[i]);
    }
    snprintf(expected + length, EXPECTED_BYTES - length, "%s", nearest_text(&nearest, "").s);
    return false;
}

/* Options of two words come through option_set_pair. */
static bool parse_files(const struct option *option, const char *text, void *field,
                        char *expected) {
    (void)text, (void)field;
    snprintf(expected, EXPECTED_BYTES, "two words: %s and %s", option->metavar, option->second);
    return false;
}

static bool parse_word(const struct option *option, const char *text, void *field, char *expected) {
    int index;
    if (!parse_choice(option, text, &index, expected))
        return false;
    *(const char **)field = option->choices[index];
    return true;
}

static const struct {
    const char *suffix;
    double bytes;
} units[] = {
    {"", 1},       {"B", 1},        {"K", 0x1p10},   {"KiB", 0x1p10}, {"KB", 1e3},
    {"M", 0x1p20}, {"MiB", 0x1p20}, {"MB", 1e6},     {"G", 0x1p30},   {"GiB", 0x1p30},
    {"GB", 1e9},   {"T", 0x1p40},   {"TiB", 0x1p40}, {"TB", 1e12},    {"%", 0},
};

/* A number and a unit; percent has no bytes. */
static bool parse_size(const char *text, struct neap_size *size) {
    size_t digits = strspn(text, "0123456789.");
    char *end;
    long double number = strtold(text, &end);
    if (digits == 0 || (size_t)(end - text) > digits)
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcasecmp(end, units[i].suffix))
            continue;
        bool percent = *end == '%';
        long double bytes = number * units[i].bytes;
        *size = (struct neap_size){.kind = percent ? NEAP_SIZE_PERCENT : NEAP_SIZE_BYTES};
        if (percent)
            size->percent = (double)number;
        else if (bytes < 0x1p63L)
            size->bytes = (int64_t)bytes;
        return percent ? number > 0 && number <= 1e6L : size->bytes > 0;
    }
    return false;
}

static bool parse_arena(const struct option *option, const char *text, void *field,
                        char *expected) {
    (void)option;
    snprintf(expected, EXPECTED_BYTES,
             "a size (bytes, 512M, 2G or 2GiB, 2GB) or a percentage of store-all's arena (50%%)");
    return parse_size(text, field);
}

static bool parse_memory(const struct option *option, const char *text, void *field,
                         char *expected) {
    (void)option;
    struct neap_size *size = field;
    snprintf(expected, EXPECTED_BYTES,
             "a size (bytes, 512M, 2G or 2GiB, 2GB, up to 100%% of what is available, min, max)");
    if (!strcmp(text, "min") || !strcmp(text, "max")) {
        *size = (struct neap_size){.kind = strcmp(text, "min") ? NEAP_SIZE_MAX : NEAP_SIZE_MIN};
        return true;
    }
    if (!parse_size(text, size) || (size->kind == NEAP_SIZE_PERCENT && size->percent > 100))
        return false;
    if (size->kind == NEAP_SIZE_PERCENT) {
        size->kind = NEAP_SIZE_BYTES; /* what was asked for stays in percent, to be shown */
        size->bytes = (int64_t)((double)neap_available_bytes() * size->percent / 100);
    }
    return true;
}

/* A number is checked here, like that of other options; a schedule by the library. */
static bool parse_steps(const struct option *option, const char *text, void *field,
                        char *expected) {
    (void)option;
    int64_t value;
    snprintf(expected, EXPECTED_BYTES,
             "a whole number of at least 1, or a schedule (0:8,4:4 by epoch, s0:8,s500:4 by "
             "update)");
    if (!strchr(text, ':') && (!parse_whole(text, &value) || value < 1))
        return false;
    *(const char **)field = text;
    return true;
}

static bool parse_crop(const struct option *option, const char *text, void *field, char *expected) {
    (void)option;
    struct neap_resized_crop crop = {.ratio = {NEAP_RATIO_LOW, NEAP_RATIO_HIGH}};
    double *scale = crop.scale, *ratio = crop.ratio;
    int ends[2] = {0};
    snprintf(expected, EXPECTED_BYTES,
             "S0,S1 or S0,S1,R0,R1 with 0 < S0 <= S1 <= 1 and 0 < R0 <= R1 (0.08,1)");
    const int n = sscanf(text, "%lf,%lf%n,%lf,%lf%n", &scale[0], &scale[1], &ends[0], &ratio[0],
                         &ratio[1], &ends[1]);
    *(struct neap_resized_crop *)field = crop;
    return (n == 2 || n == 4) && !text[ends[n == 4]] && scale[0] > 0 && scale[0] <= scale[1] &&
           scale[1] <= 1 && ratio[0] > 0 && ratio[0] <= ratio[1] && isfinite(ratio[1]);
}

/* One more of them. */
static bool parse_more(const struct option *option, const char *text, void *field, char *expected,
                       bool (*parse)(const struct option *option, const char *text, void *field,
                                     char *expected)) {
    struct sizes *sizes = field;
    struct neap_size size;
    if (!parse(option, text, &size, expected))
        return false;
    snprintf(expected, EXPECTED_BYTES, "taken: %d bounds are the most", SIZES_LIMIT);
    if (sizes->n == SIZES_LIMIT)
        return false;
    sizes->at[sizes->n++] = size;
    return true;
}

static bool parse_memories(const struct option *option, const char *text, void *field,
                           char *expected) {
    return parse_more(option, text, field, expected, parse_memory);
}

static bool parse_arenas(const struct option *option, const char *text, void *field,
                         char *expected) {
    return parse_more(option, text, field, expected, parse_arena);
}

static bool parse_scale(const struct option *option, const char *text, void *field,
                        char *expected) {
    char *end;
    double value = strtod(text, &end), divisor = 1;
    if (*end == '/' && isdigit((unsigned char)end[1]))
        divisor = strtod(end + 1, &end);
    bool number = isdigit((unsigned char)*text) && !*end && isfinite(value / divisor);
    expect(option, "a number or a fraction (1/4)", number, value / divisor, expected);
    if (!number || !in_range(option, value / divisor))
        return false;
    *(double *)field = value / divisor;
    return true;
}

static bool parse_batch(const struct option *option, const char *text, void *field,
                        char *expected) {
    if (!strcmp(text, "max")) {
        *(int64_t *)field = NEAP_BATCH_MAX;
        return true;
    }
    return parse_count(option, text, field, expected);
}

static bool parse_micro_batch(const struct option *option, const char *text, void *field,
                              char *expected) {
    bool off = !strcmp(text, "off"), automatic = !strcmp(text, "auto");
    if (off || automatic) {
        *(int64_t *)field = off ? 0 : NEAP_MICRO_BATCH_AUTO;
        return true;
    }
    if (parse_count(option, text, field, expected))
        return true;
    snprintf(expected, EXPECTED_BYTES, "'off', 'auto' or a whole number of at least 1");
    return false;
}

/* ---- value to text: "" where unset ---------------------------------------------------------- */

static void print_count(const struct option *option, const void *field, char *text) {
    int64_t value = *(const int64_t *)field;
    if (in_range(option, (double)value))
        snprintf(text, VALUE_BYTES, "%lld", (long long)value);
}

static void print_threads(const struct option *option, const void *field, char *text) {
    print_count(option, &(int64_t){*(const int *)field}, text);
}

static void print_seed(const struct option *option, const void *field, char *text) {
    print_count(option, &(int64_t){(int64_t) * (const uint64_t *)field}, text);
}

static void print_real(const struct option *option, const void *field, char *text) {
    double value = *(const double *)field;
    if (in_range(option, value))
        snprintf(text, VALUE_BYTES, "%s", real_text(value).s);
}

static void print_percent(const struct option *option, const void *field, char *text) {
    double value = 100 * *(const double *)field;
    if (in_range(option, value))
        snprintf(text, VALUE_BYTES, "%.15g%%", value);
}

static void print_flag(const struct option *option, const void *field, char *text) {
    (void)option;
    snprintf(text, VALUE_BYTES, "%s", *(const bool *)field ? "true" : "false");
}

static void print_choice(const struct option *option, const void *field, char *text) {
    snprintf(text, VALUE_BYTES, "%s", option->choices[*(const int *)field]);
}

static void print_size(const struct option *option, const void *field, char *text) {
    (void)option;
    const struct neap_size *size = field;
    static const char *const words[] = {[NEAP_SIZE_MIN] = "min", [NEAP_SIZE_MAX] = "max"};
    if (size->kind == NEAP_SIZE_BYTES)
        snprintf(text, VALUE_BYTES, "%lld", (long long)size->bytes);
    else if (size->kind == NEAP_SIZE_PERCENT)
        snprintf(text, VALUE_BYTES, "%s%%", real_text(size->percent).s);
    else if (size->kind != NEAP_SIZE_UNSET)
        snprintf(text, VALUE_BYTES, "%s", words[size->kind]);
}

static void print_sizes(const struct option *option, const void *field, char *text) {
    const struct sizes *sizes = field;
    for (int64_t i = 0; i < sizes->n; i++) {
        char size[VALUE_BYTES] = "";
        size_t used = strlen(text);
        print_size(option, &sizes->at[i], size);
        snprintf(text + used, VALUE_BYTES - used, "%s%s", i ? ", " : "", size);
    }
}

static void print_files(const struct option *option, const void *field, char *text) {
    const char *const *files = field;
    for (int i = 0; option->choices[i] && !*text; i++)
        if (files[i])
            snprintf(text, VALUE_BYTES, "%s %s", option->choices[i], files[i]);
}

static void print_crop(const struct option *option, const void *field, char *text) {
    (void)option;
    const struct neap_resized_crop *crop = field;
    if (crop->scale[1] != 0)
        snprintf(text, VALUE_BYTES, "%.23s,%.23s,%.23s,%.23s", real_text(crop->scale[0]).s,
                 real_text(crop->scale[1]).s, real_text(crop->ratio[0]).s,
                 real_text(crop->ratio[1]).s);
}

static void print_batch(const struct option *option, const void *field, char *text) {
    snprintf(text, VALUE_BYTES, "max");
    print_count(option, field, text);
}

static void print_micro_batch(const struct option *option, const void *field, char *text) {
    snprintf(text, VALUE_BYTES, *(const int64_t *)field ? "auto" : "off");
    print_count(option, field, text);
}

static const struct value_type {
    bool (*parse)(const struct option *option, const char *text, void *field, char *expected);
    void (*print)(const struct option *option, const void *field, char *text); /* NULL: a string */
} types[] = {
    [OPTION_FLAG] = {parse_flag, print_flag},
    [OPTION_COUNT] = {parse_count, print_count},
    [OPTION_THREADS] = {parse_threads, print_threads},
    [OPTION_SEED] = {parse_seed, print_seed},
    [OPTION_REAL] = {parse_real, print_real},
    [OPTION_PERCENT] = {parse_percent, print_percent},
    [OPTION_TEXT] = {parse_text, NULL},
    [OPTION_WORD] = {parse_word, NULL},
    [OPTION_STEPS] = {parse_steps, NULL},
    [OPTION_CHOICE] = {parse_choice, print_choice},
    [OPTION_MEMORY] = {parse_memory, print_size},
    [OPTION_ARENA] = {parse_arena, print_size},
    [OPTION_MEMORIES] = {parse_memories, print_sizes},
    [OPTION_ARENAS] = {parse_arenas, print_sizes},
    [OPTION_SCALE] = {parse_scale, print_real},
    [OPTION_BATCH] = {parse_batch, print_batch},
    [OPTION_MICRO_BATCH] = {parse_micro_batch, print_micro_batch},
    [OPTION_CROP] = {parse_crop, print_crop},
    [OPTION_FILES] = {parse_files, print_files},
};

const char *option_parse(const struct option *option, const char *text, void *field,
                         char expected[EXPECTED_BYTES]) {
    return types[option->type].parse(option, text, field, expected) ? NULL : expected;
}

const char *option_parse_choice(const struct option *option, const char *text, int *index,
                                char expected[EXPECTED_BYTES]) {
    return parse_choice(option, text, index, expected) ? NULL : expected;
}

const char *option_print(const struct option *option, const void *field, char text[VALUE_BYTES]) {
    if (!types[option->type].print) {
        const char *string = *(const char *const *)field;
        return string ? string : "";
    }
    text[0] = 0;
    types[option->type].print(option, field, text);
    return text;
}

bool option_is_number(const struct option *option, const char *text) {
    if (!types[option->type].print)
        return false;
    bool numeric = option->type == OPTION_REAL || option->type == OPTION_FLAG;
    return numeric || !text[strspn(text, "0123456789")];
}
