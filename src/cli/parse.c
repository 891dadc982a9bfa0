/* argv into settings: `--opt value`, `--opt=value`, `--flag`, `--no-flag`, `-b 64`, `-b64`, `-qv`,
 * `--` before arguments that start with a dash. Names are taken whole: an abbreviation that works
 * today is another option tomorrow. The last of an option given twice counts. */
#include "cli/cli.h"

#include <string.h>

/* The words not read yet. */
struct words {
    char **at, **end;
};

static int set_from_line(struct settings *settings, const struct option *option,
                         const char *written, const char *value) {
    char where[80];
    snprintf(where, sizeof where, "option '%.60s'", written);
    return option_set(settings, option, value, FROM_LINE, where);
}

static bool is_value(const struct words *words) {
    return words->at < words->end && strncmp(*words->at, "--", 2) != 0;
}

/* `first` is attached or the next word, the second word is the one behind it. */
static int set_with_pair(struct settings *settings, const struct option *option,
                         const char *written, const char *first, struct words *words) {
    char where[80];
    snprintf(where, sizeof where, "option '%.60s'", written);
    if (!first && is_value(words))
        first = *words->at++;
    if (!first || !is_value(words))
        return fail(NEAP_ERROR_USAGE, "option '%s' needs two values: %s %s", written,
                    option->metavar, option->second);
    return option_set_pair(settings, option, first, *words->at++, FROM_LINE, where);
}

/* A value that may be left out is a number. */
static bool is_number(const struct words *words) {
    return words->at < words->end && **words->at && !(*words->at)[strspn(*words->at, "0123456789")];
}

/* The value of `option`: what is attached to it, or else the next word. */
static int set_with_value(struct settings *settings, const struct option *option,
                          const char *written, const char *attached, struct words *words) {
    if (option->second)
        return set_with_pair(settings, option, written, attached, words);
    if (attached)
        return set_from_line(settings, option, written, attached);
    if (option->alone && !is_number(words))
        return set_from_line(settings, option, written, option->alone);
    if (!is_value(words))
        return fail(NEAP_ERROR_USAGE, "option '%s' needs a value: %s", written, option->metavar);
    return set_from_line(settings, option, written, *words->at++);
}

static int parse_long(struct settings *settings, const char *word, struct words *words) {
    char name[64];
    size_t length = strcspn(word, "=");
    const char *attached = word[length] ? word + length + 1 : NULL;
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1,
             word);
    bool negated;
    const struct option *option = option_find(name + 2, settings->command->bit, &negated);
    if (!option)
        return option_unknown(settings->command, "", name, name + 2);
    if (option->type != OPTION_FLAG)
        return set_with_value(settings, option, name, attached, words);
    if (attached)
        return fail(NEAP_ERROR_USAGE, "option '%s' takes no value: use '--%s' or '--no-%s'", name,
                    option->name, option->name);
    return set_from_line(settings, option, name, negated ? "false" : "true");
}

static int parse_letters(struct settings *settings, const char *word, struct words *words) {
    for (const char *at = word + 1; *at; at++) {
        char written[3] = {'-', *at, 0};
        const struct option *option = option_find_letter(*at, settings->command->bit);
        if (!option && (option = option_find_letter(*at, ~0U)))
            return option_unknown(settings->command, "", written, option->name);
        if (!option)
            return fail(NEAP_ERROR_USAGE, "unknown option '%s' (see 'neap help %s')", written,
                        settings->command->name);
        if (option->type != OPTION_FLAG)
            return set_with_value(settings, option, written, at[1] ? at + 1 + (at[1] == '=') : NULL,
                                  words);
        int code = set_from_line(settings, option, written, "true");
        if (code)
            return code;
    }
    return NEAP_OK;
}

static int parse_operand(struct settings *settings, const char *word) {
    if (!settings->command->operand || settings->operand)
        return fail(NEAP_ERROR_USAGE, "unexpected argument '%s' (see 'neap help %s')", word,
                    settings->command->name);
    settings->operand = word;
    return NEAP_OK;
}

/* A command whose options have a model takes it as its argument too. */
static int operand_into_model(struct settings *settings) {
    bool negated;
    const struct option *model = option_find("model", settings->command->bit, &negated);
    if (!model || !settings->operand)
        return NEAP_OK;
    if (option_source(settings, model) == FROM_LINE)
        return fail(NEAP_ERROR_USAGE, "two models: '%s' and '--model %s'", settings->operand,
                    settings->run.model);
    return set_from_line(settings, model, "MODEL", settings->operand);
}

/* A name without a path or an ending can only be one of the zoo's. */
static int check_model(const struct settings *settings) {
    const char *model = settings->run.model;
    bool named = model && !strpbrk(model, "./");
    return named && !model_find(model) ? model_unknown(model, "not a model") : NEAP_OK;
}

static int check_required(const struct settings *settings) {
    const struct command *command = settings->command;
    bool negated, missing = command->operand && command->operand[0] != '[' && !settings->operand;
    if (option_find("model", command->bit, &negated))
        missing = !settings->run.model && !settings->bench.suite;
    if (missing)
        return fail(NEAP_ERROR_USAGE, "'neap %s' needs a %s: see 'neap models' or 'neap help %s'",
                    command->name, command->operand, command->name);
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++) {
        bool needed = option->required & command->bit;
        if (needed && option_source(settings, option) == FROM_DEFAULT)
            return fail(NEAP_ERROR_USAGE, "'neap %s' needs '--%s %s' (%s)", command->name,
                        option->name, option->metavar, option->help);
    }
    return NEAP_OK;
}

/* What the command is given, for an option that is not about it. */
static int fail_taker(const struct settings *settings, const struct option *option,
                      unsigned takers) {
    if (takers == BENCH_SUITE)
        return fail(NEAP_ERROR_USAGE, "'--%s' is for a model: a suite has its own", option->name);
    if (takers == BENCH_MODEL)
        return fail(NEAP_ERROR_USAGE, "'--%s' is for '--suite', and '%s' is a model", option->name,
                    settings->run.model);
    return fail(NEAP_ERROR_USAGE,
                "'--%s' is for models, and '%s' is a %s problem (see 'neap help "
                "plan')",
                option->name, settings->run.model,
                takers == PROBLEM ? "bare planning" : "placement");
}

/* Each option that was given says something about what the command is given. */
static int check_takers(const struct settings *settings) {
    unsigned takers = option_takers(settings);
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (option_source(settings, option) != FROM_DEFAULT && !(option->commands & takers))
            return fail_taker(settings, option, takers);
    return NEAP_OK;
}

static void print_resolved(const struct settings *settings) {
    struct neap_size memory = settings->run.memory;
    if (memory.kind == NEAP_SIZE_BYTES && memory.percent > 0)
        note("%g%% of what is available is %s", memory.percent, exact_bytes_text(memory.bytes).s);
}

static void print_sources(const struct settings *settings) {
    static const char *const names[] = {"default", "the run", "config", "command line"};
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++) {
        char text[VALUE_BYTES];
        const void *field = (const char *)settings + option->offset;
        const char *value = option_print(option, field, text);
        bool shown = (option->commands & option_takers(settings)) &&
                     option->section != SECTION_OUTPUT && (*value || option->unset);
        if (shown)
            note("--%s %s (%s)", option->name, *value ? value : option->unset,
                 names[option_source(settings, option)]);
    }
}

int parse_arguments(struct settings *settings, int argc, char **argv) {
    struct words words = {argv, argv + argc};
    bool only_operands = false;
    int code = NEAP_OK;
    while (!code && words.at < words.end) {
        const char *word = *words.at++;
        if (only_operands || word[0] != '-' || !word[1])
            code = parse_operand(settings, word);
        else if (!strcmp(word, "--"))
            only_operands = true;
        else if (word[1] == '-')
            code = parse_long(settings, word, &words);
        else
            code = parse_letters(settings, word, &words);
    }
    if (code || settings->help)
        return code;
    code = operand_into_model(settings);
    if (!code && settings->config)
        code = config_read(settings, settings->config, FROM_CONFIG);
    if (!code && settings->run.resume)
        code = config_resume(settings);
    if (!code)
        code = check_required(settings);
    if (!code)
        code = check_takers(settings);
    if (!code)
        code = check_model(settings);
    if (!code && !settings->quiet)
        print_resolved(settings);
    if (!code && settings->verbose)
        print_sources(settings);
    return code;
}
