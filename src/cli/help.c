/* `neap help` and `--help`: written from the tables of commands and options. */
#include "cli/cli.h"

#include <string.h>

enum { HELP_COLUMN = 30, HELP_WIDTH = 80 };

static const char *const section_titles[N_SECTIONS] = {
    [SECTION_MODEL] = "Model",
    [SECTION_MEMORY] = "Batch and memory",
    [SECTION_OPTIMIZER] = "Optimizer",
    [SECTION_DATA] = "Data",
    [SECTION_RUN] = "Run",
    [SECTION_OUTPUT] = "Output",
};

void help_overview(FILE *file) {
    fputs("usage: neap <command> [options]\n\n"
          "neap trains neural networks in the memory you have: it plans what to keep and what to\n"
          "recompute within a byte budget, and no bit of the result changes.\n\ncommands:\n",
          file);
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        char usage[64];
        snprintf(usage, sizeof usage, "%s %s", command->name,
                 command->operand ? command->operand : "");
        fprintf(file, "  %-20s %s\n", usage, command->summary);
    }
    fputs("\n'neap help COMMAND' or 'neap COMMAND --help' shows a command's options.\n"
          "exit codes: 0 ok, 1 runtime, 2 usage, 3 model, 4 data, 5 does not fit the budget,\n"
          "            6 diverged, 130 (SIGINT), 143 (SIGTERM) and\n"
          "            138 (SIGUSR1) interrupted, after a checkpoint\n\n"
          "  neap plan resnet18 -b 64 --arena 50%\n"
          "  neap train resnet20 --data fashion-mnist -b 128 --epochs 2 -m 256M -o run\n"
          "  neap eval resnet20 --weights run --data fashion-mnist\n",
          file);
}

/* The words of `text` from HELP_COLUMN on, wrapped at HELP_WIDTH. */
static void print_wrapped(FILE *file, int column, const char *text) {
    if (column > HELP_COLUMN - 2) {
        putc('\n', file);
        column = 0;
    }
    column += fprintf(file, "%*s", HELP_COLUMN - column, "");
    bool first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > HELP_WIDTH) {
            column = fprintf(file, "\n%*s", HELP_COLUMN, "") - 1;
            first = true;
        }
        column += fprintf(file, "%s%.*s", first ? "" : " ", length, text);
        first = false;
        text += length + (text[length] == ' ');
    }
    putc('\n', file);
}

static void print_option(FILE *file, const struct settings *defaults, const struct option *option) {
    char value[VALUE_BYTES], text[320];
    const void *field = (const char *)defaults + option->offset;
    const char *preset = option_print(option, field, value);
    bool flag = option->type == OPTION_FLAG, on = flag && !strcmp(preset, "true");
    if (!*preset)
        preset = option->unset ? option->unset : "";
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    int column = fprintf(file, "  %s--%s%s%s%s%s", letter, on ? "no-" : "", option->name,
                         flag ? "" : " ", flag ? "" : option->metavar, option->second ? " " : "");
    if (option->second)
        column += fprintf(file, "%s", option->second);
    bool with_default = !flag && *preset;
    snprintf(text, sizeof text, "%s%s%s%s%s%s", on ? "without " : "", option->help,
             with_default ? " (default: " : "", with_default ? preset : "", with_default ? ")" : "",
             option->required & defaults->command->bit ? " (needed)" : "");
    print_wrapped(file, column, text);
}

static void print_section(FILE *file, const struct settings *defaults,
                          enum option_section section) {
    bool titled = false;
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++) {
        if (option->section != section || !(option->commands & defaults->command->bit))
            continue;
        if (!titled)
            fprintf(file, "\n%s\n", section_titles[section]);
        titled = true;
        print_option(file, defaults, option);
    }
}

/* The options that a kind of file takes; those of every command go without saying. */
static void print_takers(FILE *file, const char *title, unsigned bit) {
    char text[320];
    size_t length = 0;
    int column = fprintf(file, "  %s", title);
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++)
        if ((option->commands & bit) && (option->commands & PLAN) && strcmp(option->name, "help") &&
            strcmp(option->name, "model"))
            length += (size_t)snprintf(text + length, sizeof text - length, "%s--%s",
                                       length ? " " : "", option->name);
    print_wrapped(file, column, text);
}

static void help_command(FILE *file, const struct command *command) {
    struct settings defaults;
    settings_default(&defaults, command);
    fprintf(file, "usage: neap %s%s%s [options]\n\n%s\n", command->name,
            command->operand ? " " : "", command->operand ? command->operand : "",
            command->summary);
    for (int section = 0; section < N_SECTIONS; section++)
        print_section(file, &defaults, (enum option_section)section);
    if (command->bit & PLAN) {
        fputs("\nFiles that are no models, and the options that they take\n", file);
        print_takers(file, "a bare problem, .problem", PROBLEM);
        print_takers(file, "a placement, .csv", PLACEMENT);
        fputs("\nStages of the compiler:", file);
        for (size_t i = 0; neap_stage_at(i); i++)
            fprintf(file, " %s", neap_stage_at(i));
        putc('\n', file);
    }
    settings_free(&defaults);
}

int command_help(struct settings *settings) {
    if (!settings->operand) {
        help_overview(stdout);
        return NEAP_OK;
    }
    const struct command *command = command_find(settings->operand);
    if (!command)
        return NEAP_ERROR_USAGE;
    help_command(stdout, command);
    return NEAP_OK;
}
