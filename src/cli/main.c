/* neap's command line: the table of commands, and the way from argv to one of them. */
#include "cli/cli.h"

#include <string.h>

static const struct command commands[] = {
    {"plan", "MODEL|FILE", "memory and time of a training step, without data or weights", PLAN,
     command_plan},
    {"train", "MODEL", "train a model within a memory budget", TRAIN, command_train},
    {"eval", "MODEL", "loss and accuracy of trained weights", EVAL, command_eval},
    {"verify", "MODEL", "prove on this machine that a plan changes nothing", VERIFY,
     command_verify},
    {"bench", "MODEL|--suite NAME", "time and memory of strategies, measured side by side", BENCH,
     command_bench},
    {"inspect", "FILE|NAME", "what a file is, or the layers of a model", INSPECT, command_inspect},
    {"models", NULL, "the models there are", MODELS, command_models},
    {"datasets", NULL, "the datasets known by name", DATASETS, command_datasets},
    {"env", NULL, "versions, processor, memory and devices", ENV, command_env},
    {"help", "[COMMAND]", "this text, or a command's options", HELP, command_help},
};

const struct command *command_at(size_t index) {
    return index < sizeof commands / sizeof *commands ? &commands[index] : NULL;
}

const struct command *command_find(const char *name) {
    struct nearest nearest = nearest_start(name);
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (!strcmp(command->name, name))
            return command;
        nearest_offer(&nearest, command->name);
    }
    fail(NEAP_ERROR_USAGE, "unknown command '%s'%s", name, nearest_text(&nearest, "").s);
    return NULL;
}

/* What is printed late can fail late: a full disk behind stdout is an error like any other. */
static int finish(int code) {
    return code ? code : output_flush();
}

static int run(const struct command *command, int argc, char **argv) {
    struct settings settings;
    settings_default(&settings, command);
    int code = parse_arguments(&settings, argc, argv);
    if (code == NEAP_OK && settings.help) {
        settings.operand = command->name;
        code = command_help(&settings);
    } else if (code == NEAP_OK) {
        code = command->run(&settings);
    }
    settings_free(&settings);
    return code;
}

int main(int argc, char **argv) {
    threads_wait_briefly(argv);
    if (argc < 2) {
        help_overview(stderr);
        return NEAP_ERROR_USAGE;
    }
    const char *first = argv[1];
    if (!strcmp(first, "--version")) {
        puts(neap_version());
        return finish(NEAP_OK);
    }
    if (!strcmp(first, "--help") || !strcmp(first, "-h"))
        first = "help";
    if (first[0] == '-')
        return fail(NEAP_ERROR_USAGE,
                    "unknown option '%s': options follow a command, see 'neap help'", first);
    const struct command *command = command_find(first);
    return command ? finish(run(command, argc - 2, argv + 2)) : NEAP_ERROR_USAGE;
}
