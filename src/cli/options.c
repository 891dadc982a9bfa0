/* The table of options: parsing, --config, args.json, help and range checks all read it. Which
 * commands take an option is a set of bits; an option that would do nothing is not taken. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

#define RUN(field) offsetof(struct settings, run.field)
#define OWN(field) offsetof(struct settings, field)
#define ANY HUGE_VAL

/* Commands that build a plan for training, and those that take a model at all. */
enum {
    STEP = PLAN | TRAIN | VERIFY,
    MODEL = STEP | EVAL,
    MODEL_OR_LAYERS = MODEL | INSPECT,
    STEP_OR_LAYERS = STEP | INSPECT,
    LISTS = MODELS | DATASETS | ENV,
    BARE = PROBLEM | PLACEMENT,
    ONE = BENCH | BENCH_MODEL,
    SUITE = BENCH | BENCH_SUITE,
    EITHER = ONE | SUITE,
};

static const char *const costs[] = {"model", "measured", NULL}; /* as enum neap_cost */
static const char *const orders[] = {"free", "fixed", NULL};    /* as enum neap_order */
static const char *const toggles[] = {"auto", "off", NULL};     /* as enum neap_toggle */
static const char *const on_nans[] = {"stop", "skip", NULL};    /* as enum neap_on_nan */
static const char *const precisions[] = {"fp32", "bf16", "fp16", NULL};
static const char *const optimizers[] = {"sgd", "adam", "adamw", NULL};
static const char *const optimizers_and_none[] = {"sgd", "adam", "adamw", "none", NULL};
static const char *const schedules[] = {"constant", "step",     "multistep",
                                        "cosine",   "onecycle", NULL};
static const char *const normalizations[] = {"auto", "imagenet", "none", NULL};
static const char *const emits[] = {"dot", "svg", "csv", "torch", NULL}; /* as enum neap_emit */
static const char *const formats[] = {"table", "csv", "json", "markdown",
                                      NULL}; /* as enum neap_bench_format */
static const char *const devices[] = {"cpu", "null", NULL};

static const struct option options[] = {
    {"model", OPTION_TEXT, SECTION_MODEL, MODEL | BARE | EITHER, RUN(model), "MODEL",
     .help = "the same as the argument: a name of 'neap models' or a .neap file"},
    {"suite", OPTION_TEXT, SECTION_MODEL, EITHER, OWN(bench.suite), "NAME",
     .help = "networks of a published table instead of a model: ogc"},
    {"networks", OPTION_TEXT, SECTION_MODEL, SUITE, OWN(bench.networks), "LIST",
     .help = "of the suite, separated by commas", .unset = "all"},
    {"scale", OPTION_SCALE, SECTION_MODEL, SUITE, OWN(bench.scale), "X",
     .help = "part of the published batches and bytes (1/4)", .low = 1e-4, .high = 1, .unset = "1"},
    {"num-classes", OPTION_COUNT, SECTION_MODEL, MODEL_OR_LAYERS | ONE, RUN(num_classes), "N",
     .help = "classes of the result", .low = 1, .high = 1e9, .unset = "the model's own"},
    {"img-size", OPTION_COUNT, SECTION_MODEL, MODEL_OR_LAYERS | ONE, RUN(img_size), "N",
     .help = "height and width of the images", .low = 1, .high = 1e6, .unset = "the model's own"},
    {"dropout", OPTION_REAL, SECTION_MODEL, STEP_OR_LAYERS | ONE, RUN(dropout), "P",
     .help = "probability of dropout", .low = 0, .high = 1, .unset = "the model's own"},
    {"input-gradient", OPTION_FLAG, SECTION_MODEL, STEP | EITHER, RUN(input_gradient), NULL,
     .help = "compute the gradient of the input batch too"},

    {"batch", OPTION_BATCH, SECTION_MEMORY, PLAN | TRAIN, RUN(batch), "N|max",
     .help = "samples of one forward; max: the most that fit", .alias = "batch-size", .letter = 'b',
     .low = 1, .high = 1e9},
    {"batch", OPTION_COUNT, SECTION_MEMORY, VERIFY | EVAL | INSPECT | ONE, RUN(batch), "N",
     .help = "samples of one forward", .alias = "batch-size", .letter = 'b', .low = 1, .high = 1e9},
    {"max-batch", OPTION_FLAG, SECTION_MEMORY, PLAN, RUN(max_batch), NULL,
     .help = "find the largest batch that fits, and plan that unless -b is given"},
    {"memory", OPTION_MEMORY, SECTION_MEMORY, MODEL_OR_LAYERS, RUN(memory), "SIZE",
     .help = "bound of everything, weights and state too (512M, 2GB, 80%, min, max)", .letter = 'm',
     .unset = "what is available less 256 MiB"},
    {"arena", OPTION_ARENA, SECTION_MEMORY, STEP_OR_LAYERS | BARE, RUN(arena), "SIZE|P%",
     .help = "bound of the arena alone; a percentage is of store-all's arena", .unset = "none"},
    {"max-overhead", OPTION_PERCENT, SECTION_MEMORY, STEP_OR_LAYERS, RUN(max_overhead), "P%",
     .help = "the smallest arena whose plan takes at most so much longer than store-all, instead "
             "of a bound of memory",
     .low = 0, .high = 1e6, .unset = "none"},
    {"micro-batch", OPTION_MICRO_BATCH, SECTION_MEMORY, STEP | EITHER, RUN(micro_batch),
     "off|auto|N",
     .help = "run the batch in slices of N samples; auto: of what takes the least time", .low = 1,
     .high = 1e9},
    {"memory", OPTION_MEMORIES, SECTION_MEMORY, ONE, OWN(memories), "SIZE",
     .help = "bound of everything, for a row of 'auto'; may be given again", .letter = 'm',
     .unset = "none"},
    {"arena", OPTION_ARENAS, SECTION_MEMORY, ONE, OWN(arenas), "SIZE|P%",
     .help = "bound of the arena alone, likewise", .unset = "50% where no bound is given"},
    {"strategies", OPTION_TEXT, SECTION_MEMORY, ONE, OWN(bench.strategies), "LIST",
     .help = "what to measure: none, all, sqrt, sequential:K and auto, separated by commas",
     .unset = "none,sequential:2,sqrt,auto"},
    {"grad-accum-steps", OPTION_STEPS, SECTION_MEMORY, STEP | ONE, RUN(grad_accum_steps),
     "N|FROM:N,...", .help = "batches to one update; by epoch 0:8,4:4, by update s0:8,s500:4",
     .unset = "1"},
    {"effective-batch", OPTION_COUNT, SECTION_MEMORY, STEP, RUN(effective_batch), "N",
     .help = "samples to one update: instead of --grad-accum-steps", .low = 1, .high = 1e15,
     .unset = "-b times --grad-accum-steps"},
    {"recompute", OPTION_TEXT, SECTION_MEMORY, STEP_OR_LAYERS, RUN(recompute), "HOW",
     .help = "what to compute again: auto, none, all, sqrt, sequential:K, segments, or as a "
             "plan's .json does",
     .unset = "segments where the model marks any, else auto"},
    {"recompute-layers", OPTION_TEXT, SECTION_MEMORY, STEP, RUN(recompute_layers), "PATTERN",
     .help = "layers and modules to compute again, each as one piece: 'layer3.*,conv1'",
     .unset = "none"},
    {"plan", OPTION_TEXT, SECTION_MEMORY, STEP, RUN(plan), "FILE",
     .help = "run the plan that 'neap plan -o FILE' saved, as it is", .unset = "none"},
    {"fuse-update", OPTION_CHOICE, SECTION_MEMORY, STEP | ONE, RUN(fuse_update), "auto|off",
     .help = "update weights during backward where that saves gradients", .choices = toggles},
    {"cost", OPTION_CHOICE, SECTION_MEMORY, STEP_OR_LAYERS | EITHER, RUN(cost), "model|measured",
     .help = "where the seconds of ops come from", .choices = costs},
    {"order", OPTION_CHOICE, SECTION_MEMORY, STEP | PROBLEM | EITHER, RUN(plan_order), "free|fixed",
     .help = "whether the plan may change the order in which ops first run", .choices = orders},
    {"time-limit", OPTION_REAL, SECTION_MEMORY, STEP | PROBLEM | EITHER, RUN(time_limit_seconds),
     "SEC", .help = "seconds that planning may take", .low = 1e-3, .high = 1e9, .unset = "none"},
    {"seed", OPTION_SEED, SECTION_MEMORY, PLAN | PROBLEM, RUN(plan_seed), "N",
     .help = "of the planner's search", .low = 0, .high = ANY},

    {"precision", OPTION_WORD, SECTION_OPTIMIZER, MODEL, RUN(precision), "TYPE",
     .help = "of activations: fp32, bf16 or fp16", .unset = "fp32", .choices = precisions},
    {"loss-scale", OPTION_TEXT, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(loss_scale), "SCALE",
     .help = "of fp16: dynamic, dynamic:START or a number", .unset = "dynamic"},
    {"precision", OPTION_TEXT, SECTION_OPTIMIZER, EITHER, OWN(bench.precisions), "LIST",
     .help = "of activations: fp32, bf16, fp16, separated by commas", .unset = "fp32"},
    {"opt", OPTION_WORD, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(optimizer), "NAME",
     .help = "optimizer: sgd, adam or adamw", .alias = "optimizer", .unset = "sgd",
     .choices = optimizers},
    {"opt", OPTION_WORD, SECTION_OPTIMIZER, PLAN | ONE, RUN(optimizer), "NAME",
     .help = "optimizer: sgd, adam, adamw, or none: forward and backward alone",
     .alias = "optimizer", .unset = "sgd", .choices = optimizers_and_none},
    {"lr", OPTION_REAL, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(lr), "X", .help = "learning rate",
     .low = 0, .high = ANY},
    {"momentum", OPTION_REAL, SECTION_OPTIMIZER, STEP | ONE, RUN(momentum), "X",
     .help = "momentum of sgd", .low = 0, .high = 1, .unset = "0.9"},
    {"nesterov", OPTION_FLAG, SECTION_OPTIMIZER, STEP | ONE, RUN(nesterov), NULL,
     .help = "Nesterov's momentum"},
    {"weight-decay", OPTION_REAL, SECTION_OPTIMIZER, STEP | ONE, RUN(weight_decay), "X",
     .help = "weight decay", .low = 0, .high = ANY},
    {"decay-norms", OPTION_FLAG, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(decay_norms), NULL,
     .help = "let norms and biases decay like other weights"},
    {"clip-grad", OPTION_REAL, SECTION_OPTIMIZER, STEP, RUN(clip_grad), "X",
     .help = "bound the norm of an update's gradient", .low = 1e-30, .high = ANY, .unset = "none"},
    {"label-smoothing", OPTION_REAL, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(label_smoothing), "X",
     .help = "part of the target that all classes share, in training", .low = 0, .high = 1},
    {"beta1", OPTION_REAL, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(beta1), "X",
     .help = "decay of Adam's first moment", .low = 0, .high = 1, .unset = "0.9"},
    {"beta2", OPTION_REAL, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(beta2), "X",
     .help = "decay of Adam's second moment", .low = 0, .high = 1, .unset = "0.999"},
    {"eps", OPTION_REAL, SECTION_OPTIMIZER, TRAIN | VERIFY, RUN(eps), "X", .help = "Adam's epsilon",
     .low = 0, .high = ANY, .unset = "1e-8"},
    {"sched", OPTION_WORD, SECTION_OPTIMIZER, TRAIN, RUN(schedule), "NAME",
     .help = "learning rate over time", .alias = "schedule", .unset = "constant",
     .choices = schedules},
    {"min-lr", OPTION_REAL, SECTION_OPTIMIZER, TRAIN, RUN(min_lr), "X",
     .help = "learning rate that cosine and onecycle end at", .low = 0, .high = ANY,
     .unset = "0, of onecycle --lr / 250000"},
    {"decay-rate", OPTION_REAL, SECTION_OPTIMIZER, TRAIN, RUN(decay_rate), "X",
     .help = "factor of step and multistep", .low = 0, .high = 1, .unset = "0.1"},
    {"decay-epochs", OPTION_COUNT, SECTION_OPTIMIZER, TRAIN, RUN(decay_epochs), "N",
     .help = "epochs between the steps of step", .low = 1, .high = 1e9, .unset = "none"},
    {"decay-milestones", OPTION_TEXT, SECTION_OPTIMIZER, TRAIN, RUN(decay_milestones), "N,...",
     .help = "epochs at which multistep steps", .unset = "none"},
    {"warmup-epochs", OPTION_REAL, SECTION_OPTIMIZER, TRAIN, RUN(warmup_epochs), "X",
     .help = "epochs over which the learning rate rises to --lr", .low = 0, .high = 1e9},

    {"data", OPTION_TEXT, SECTION_DATA, TRAIN | EVAL, RUN(data), "NAME|PATH",
     .help = "what to read: a name of 'neap datasets' or a path", .required = TRAIN | EVAL},
    {"val-data", OPTION_TEXT, SECTION_DATA, TRAIN, RUN(val_data), "NAME|PATH",
     .help = "what to evaluate on after each epoch", .unset = "the data's own test set"},
    {"data-format", OPTION_TEXT, SECTION_DATA, TRAIN | EVAL, RUN(data_format), "FORMAT",
     .help = "format of the data, instead of looking", .unset = "auto"},
    {"normalize", OPTION_WORD, SECTION_DATA, TRAIN | EVAL, RUN(normalize), "HOW",
     .help = "auto, imagenet or none", .unset = "auto", .choices = normalizations},
    {"rotate", OPTION_REAL, SECTION_DATA, TRAIN, RUN(rotate), "DEG",
     .help = "turn training images by up to DEG degrees", .low = 1e-6, .high = 180,
     .unset = "none"},
    {"random-crop", OPTION_COUNT, SECTION_DATA, TRAIN, RUN(random_crop), "PAD",
     .help = "cut training images anywhere, with PAD zeros around them", .low = 0, .high = 1e6,
     .unset = "none"},
    {"random-resized-crop", OPTION_CROP, SECTION_DATA, TRAIN, RUN(random_resized_crop),
     "S0,S1[,R0,R1]",
     .help = "scale a part of training images: its share of the area, width over height",
     .unset = "none"},
    {"hflip", OPTION_FLAG, SECTION_DATA, TRAIN, RUN(hflip), NULL,
     .help = "mirror half of the training images"},
    {"skip-bad", OPTION_FLAG, SECTION_DATA, TRAIN, RUN(skip_bad), NULL,
     .help = "leave out image files that cannot be decoded: looks through all of them first"},
    {"shuffle", OPTION_FLAG, SECTION_DATA, TRAIN, RUN(shuffle), NULL,
     .help = "a new order of the samples each epoch"},
    {"loader-threads", OPTION_THREADS, SECTION_DATA, TRAIN | EVAL, RUN(loader_threads), "N",
     .help = "threads that read data", .alias = "workers", .letter = 'j', .low = 1, .high = 1024,
     .unset = "automatic"},

    {"epochs", OPTION_COUNT, SECTION_RUN, TRAIN, RUN(epochs), "N", .help = "passes over the data",
     .low = 1, .high = 1e9},
    {"max-updates", OPTION_COUNT, SECTION_RUN, TRAIN, RUN(max_updates), "N",
     .help = "stop after N updates", .low = 1, .high = 1e15, .unset = "no limit"},
    {"updates", OPTION_COUNT, SECTION_RUN, VERIFY, RUN(updates), "N",
     .help = "updates to compare after", .low = 1, .high = 1e9},
    {"pretrained", OPTION_TEXT, SECTION_RUN, TRAIN, RUN(pretrained), "FILE",
     .help = "weights to start from (.safetensors)", .unset = "none"},
    {"weights", OPTION_TEXT, SECTION_RUN, EVAL, RUN(weights), "FILE|RUN",
     .help = "weights to evaluate: a .safetensors file or a run's folder", .required = EVAL},
    {"seed", OPTION_SEED, SECTION_RUN, TRAIN | VERIFY, RUN(seed), "N",
     .help = "of the start, the order and dropout", .low = 0, .high = ANY},
    {"threads", OPTION_THREADS, SECTION_RUN, MODEL_OR_LAYERS | EITHER, RUN(threads), "N",
     .help = "threads that compute", .low = 1, .high = 4096, .unset = "all processors"},
    {"device", OPTION_WORD, SECTION_RUN, MODEL_OR_LAYERS | EITHER, RUN(device), "NAME",
     .help = "cpu, or null: allocates and computes nothing", .unset = "cpu", .choices = devices},
    {"output", OPTION_TEXT, SECTION_RUN, TRAIN, RUN(output), "DIR", .help = "folder of the run",
     .letter = 'o', .unset = "none"},
    {"resume", OPTION_TEXT, SECTION_RUN, TRAIN, RUN(resume), "PATH|auto",
     .help = "go on with a run or from a checkpoint, with its options; auto: of the folder -o, if "
             "it has one",
     .unset = "none", .once = true},
    {"save-interval", OPTION_COUNT, SECTION_RUN, TRAIN, RUN(save_interval), "N",
     .help = "updates between checkpoints", .low = 1, .high = 1e15,
     .unset = "one after each epoch"},
    {"keep", OPTION_COUNT, SECTION_RUN, TRAIN, RUN(keep), "N",
     .help = "checkpoints that stay, the newest", .low = 1, .high = 1e9, .unset = "3"},
    {"on-nan", OPTION_CHOICE, SECTION_RUN, TRAIN, RUN(on_nan), "stop|skip",
     .help = "what to do about a loss or gradient that is not finite: end, or leave the update out",
     .choices = on_nans},
    {"tensorboard", OPTION_FLAG, SECTION_RUN, TRAIN, RUN(tensorboard), NULL,
     .help = "event files for TensorBoard in the run's folder"},
    {"log-interval", OPTION_COUNT, SECTION_RUN, TRAIN, RUN(log_interval), "N",
     .help = "updates between lines of progress, of log.txt and of TensorBoard", .low = 1,
     .high = 1e15, .unset = "automatic"},
    {"dry-run", OPTION_FLAG, SECTION_RUN, TRAIN | EITHER, RUN(dry_run), NULL,
     .help = "stop after the plan"},

    {"seconds", OPTION_REAL, SECTION_RUN, EITHER, OWN(bench.seconds), "SEC",
     .help = "of steps, for rows that take turns; each takes three at least", .low = 1e-3,
     .high = 1e6, .unset = "20"},
    {"output", OPTION_TEXT, SECTION_OUTPUT, EITHER, RUN(output), "FILE",
     .help = "keep the results (.json), and take from there what was measured before",
     .letter = 'o'},
    {"format", OPTION_CHOICE, SECTION_OUTPUT, EITHER, OWN(format), "table|csv|json|markdown",
     .help = "of the results on standard output", .choices = formats},
    {"output", OPTION_TEXT, SECTION_OUTPUT, PLAN | BARE, RUN(output), "FILE",
     .help = "save the plan in full (.json); of a bare problem its schedule or offsets",
     .letter = 'o'},
    {"explain", OPTION_FLAG, SECTION_OUTPUT, PLAN, OWN(explain), NULL,
     .help = "one line per step: op, kernel, offsets, bytes"},
    {"curve", OPTION_COUNT, SECTION_OUTPUT, PLAN | PROBLEM, OWN(curve), "[N]",
     .help = "the whole frontier of memory and time, from N budgets, 20 if N is left out", .low = 2,
     .high = 1000, .unset = "none", .alone = "20"},
    {"emit", OPTION_FILES, SECTION_OUTPUT, PLAN | PROBLEM, OWN(emits), "dot|svg|csv|torch",
     .help =
         "write the plan as a graph, a figure, its numbers, or Python for PyTorch; with --curve "
         "svg and csv are the curve's",
     .choices = emits, .second = "FILE"},
    {"dump-after", OPTION_TEXT, SECTION_OUTPUT, PLAN, OWN(dump_after), "STAGE",
     .help = "print the graph after a stage of the compiler"},
    {"stop-after", OPTION_TEXT, SECTION_OUTPUT, PLAN, OWN(stop_after), "STAGE",
     .help = "stop after a stage of the compiler"},
    {"config", OPTION_TEXT, SECTION_OUTPUT, MODEL_OR_LAYERS | BARE | EITHER, OWN(config), "FILE",
     .help = "options from a JSON file; the command line goes before it"},
    {"json", OPTION_FLAG, SECTION_OUTPUT, MODEL_OR_LAYERS | LISTS | BARE | EITHER, OWN(json), NULL,
     .help = "JSON on standard output"},
    {"quiet", OPTION_FLAG, SECTION_OUTPUT, MODEL_OR_LAYERS | BARE | EITHER, OWN(quiet), NULL,
     .help = "results and errors only", .letter = 'q'},
    {"verbose", OPTION_FLAG, SECTION_OUTPUT, MODEL_OR_LAYERS | BARE | EITHER, OWN(verbose), NULL,
     .help = "more: where every option's value comes from", .letter = 'v'},
    {"help", OPTION_FLAG, SECTION_OUTPUT, ~0U, OWN(help), NULL, .help = "this text", .letter = 'h'},
};

_Static_assert(sizeof options / sizeof *options <= OPTION_LIMIT, "room in settings.sources");

const struct option *option_at(size_t index) {
    return index < sizeof options / sizeof *options ? &options[index] : NULL;
}

static bool is_named(const struct option *option, const char *name) {
    return !strcmp(option->name, name) || (option->alias && !strcmp(option->alias, name));
}

const struct option *option_find(const char *name, unsigned commands, bool *negated) {
    bool no = !strncmp(name, "no-", 3);
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++) {
        if (!(option->commands & commands))
            continue;
        *negated = no && option->type == OPTION_FLAG && is_named(option, name + 3);
        if (*negated || is_named(option, name))
            return option;
    }
    return NULL;
}

const struct option *option_find_letter(char letter, unsigned commands) {
    const struct option *option;
    for (size_t i = 0; (option = option_at(i)); i++)
        if (option->letter == letter && (option->commands & commands))
            return option;
    return NULL;
}

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), n = strlen(ending);
    return length > n && !strcmp(text + length - n, ending);
}

unsigned option_takers(const struct settings *settings) {
    unsigned bit = settings->command->bit;
    const char *model = settings->run.model;
    if (bit == BENCH)
        return settings->bench.suite ? BENCH_SUITE : BENCH_MODEL;
    if (bit != PLAN || !model)
        return bit;
    return ends_in(model, ".problem") ? PROBLEM : ends_in(model, ".csv") ? PLACEMENT : bit;
}

static int option_misplaced(const struct command *command, const char *where, const char *shown,
                            const struct option *option) {
    char takers[160] = "";
    size_t length = 0;
    unsigned commands = 0;
    const struct option *same;
    const struct command *other;
    for (size_t i = 0; (same = option_at(i)); i++)
        if (!strcmp(same->name, option->name))
            commands |= same->commands;
    for (size_t i = 0; (other = command_at(i)); i++)
        if (commands & other->bit)
            length += (size_t)snprintf(takers + length, sizeof takers - length, "%s%s",
                                       length ? ", " : "", other->name);
    return fail(NEAP_ERROR_USAGE, "%s'neap %s' does not take '%s', an option of %s", where,
                command->name, shown, takers);
}

int option_unknown(const struct command *command, const char *where, const char *shown,
                   const char *name) {
    bool negated;
    const struct option *option = option_find(name, ~0U, &negated);
    if (option)
        return option_misplaced(command, where, shown, option);
    bool key = *where;
    struct nearest nearest = nearest_start(name);
    char no[40];
    for (size_t i = 0; (option = option_at(i)); i++) {
        if (!(option->commands & command->bit))
            continue;
        nearest_offer(&nearest, option->name);
        if (option->alias)
            nearest_offer(&nearest, option->alias);
        if (option->type == OPTION_FLAG && !strncmp(name, "no-", 3)) {
            snprintf(no, sizeof no, "no-%s", option->name);
            nearest_offer(&nearest, no);
        }
    }
    return fail(NEAP_ERROR_USAGE, "%sunknown %s '%s'%s", where, key ? "key" : "option", shown,
                nearest_text(&nearest, key ? "" : "--").s);
}

int option_set(struct settings *settings, const struct option *option, const char *text,
               enum source source, const char *where) {
    char expected[EXPECTED_BYTES];
    void *field = (char *)settings + option->offset;
    const char *problem = option_parse(option, text, field, expected);
    if (problem)
        return fail(NEAP_ERROR_USAGE, "%s: '%s' is not %s", where, text, problem);
    settings->sources[option - options] = (unsigned char)source;
    return NEAP_OK;
}

int option_set_pair(struct settings *settings, const struct option *option, const char *first,
                    const char *second, enum source source, const char *where) {
    char expected[EXPECTED_BYTES];
    const char **field = (const char **)((char *)settings + option->offset);
    int index;
    const char *problem = option_parse_choice(option, first, &index, expected);
    if (problem)
        return fail(NEAP_ERROR_USAGE, "%s: '%s' is not %s", where, first, problem);
    if (!*second)
        return fail(NEAP_ERROR_USAGE, "%s: '%s' needs a %s", where, first, option->second);
    field[index] = second;
    settings->sources[option - options] = (unsigned char)source;
    return NEAP_OK;
}

bool option_mark(struct settings *settings, const struct option *option) {
    bool before = settings->in_config[option - options];
    settings->in_config[option - options] = true;
    return before;
}

enum source option_source(const struct settings *settings, const struct option *option) {
    return (enum source)settings->sources[option - options];
}

void settings_default(struct settings *settings, const struct command *command) {
    *settings = (struct settings){.command = command};
    neap_options_default(&settings->run);
    if (command->bit == BENCH) /* what is measured is planned with what is measured */
        settings->run.cost = NEAP_COST_MEASURED;
}
