/* The command line: what its files share. It uses the library through neap.h alone.
 *
 * To add a command: write `command_<name>` in <name>.c, declare it here with a bit in
 * `enum command_bit`, and add its line to the table in main.c. To add an option: one line in the
 * table of options.c.
 *
 * Functions that can fail print the error themselves (fail) and return the exit code, 0 being
 * success; every exit code is a `enum neap_code`, see neap.h. */
#ifndef NEAP_CLI_CLI_H
#define NEAP_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "neap.h"

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* ---- commands (main.c) ---------------------------------------------------------------------- */

enum command_bit {
    PLAN = 1 << 0,
    TRAIN = 1 << 1,
    EVAL = 1 << 2,
    VERIFY = 1 << 3,
    INSPECT = 1 << 4,
    MODELS = 1 << 5,
    DATASETS = 1 << 6,
    ENV = 1 << 7,
    HELP = 1 << 8,
    /* What 'neap plan' takes beside models, with options of their own. */
    PROBLEM = 1 << 9,
    PLACEMENT = 1 << 10,
    BENCH = 1 << 11,
    /* And what 'neap bench' measures. */
    BENCH_MODEL = 1 << 12,
    BENCH_SUITE = 1 << 13,
};

struct settings;

struct command {
    const char *name;
    const char *operand; /* its metavar; in brackets where it may be left out; NULL: none */
    const char *summary;
    enum command_bit bit;
    int (*run)(struct settings *settings);
};
/* NULL past the last. */
const struct command *command_at(size_t index);
/* Prints the error and returns NULL where there is none of that name. */
const struct command *command_find(const char *name);

int command_plan(struct settings *settings);
/* The same of a file that is no model (problem.c): a bare problem, or one of placement. */
int plan_problem(const struct settings *settings);
int plan_placement(const struct settings *settings);
int command_train(struct settings *settings);
int command_eval(struct settings *settings);
int command_verify(struct settings *settings);
int command_inspect(struct settings *settings);
int command_models(struct settings *settings);
int command_datasets(struct settings *settings);
int command_bench(struct settings *settings);
int command_env(struct settings *settings);
int command_help(struct settings *settings);

/* Starts the program over with settings that suit it, unless the user chose (threads.c). */
void threads_wait_briefly(char **argv);

/* What 'neap help' prints. */
void help_overview(FILE *file);

/* ---- models by name (models.c) -------------------------------------------------------------- */

bool model_find(const char *name);
/* Reports that `name` is `what` ("not a model"), with the nearest there is. Returns the exit code.
 */
int model_unknown(const char *name, const char *what);

/* ---- options (options.c), their values (value.c) -------------------------------------------- */

enum source { FROM_DEFAULT, FROM_RUN, FROM_CONFIG, FROM_LINE }; /* the weakest first */
enum { OPTION_LIMIT = 128, SIZES_LIMIT = 8 };

/* Of an option that may be given more than once. */
struct sizes {
    struct neap_size at[SIZES_LIMIT];
    int64_t n;
};

/* What a command runs with. Strings are argv's or belong to `config_values`. */
struct settings {
    const struct command *command;
    struct neap_options run;
    const char *operand;
    const char *config, *dump_after, *stop_after;
    const char *emits[NEAP_N_EMITS]; /* where to, by enum neap_emit; NULL: not asked for */
    int64_t curve;                   /* its budgets; 0: no curve */
    struct neap_bench_options bench;
    struct sizes memories, arenas; /* bench's limits */
    enum neap_bench_format format;
    bool json, quiet, verbose, help, explain;
    unsigned char sources[OPTION_LIMIT]; /* enum source, by the option's place in the table */
    bool in_config[OPTION_LIMIT];
    void *config_values; /* the json_t array that owns the strings of configs */
    char *run_folder;    /* of the run that is resumed */
};
void settings_default(struct settings *settings, const struct command *command);
void settings_free(struct settings *settings);

enum option_type {
    OPTION_FLAG,        /* bool; --no-x too */
    OPTION_COUNT,       /* int64_t */
    OPTION_THREADS,     /* int */
    OPTION_SEED,        /* uint64_t */
    OPTION_REAL,        /* double */
    OPTION_PERCENT,     /* double, a fraction; written and ranged in percent */
    OPTION_TEXT,        /* const char * */
    OPTION_WORD,        /* const char *, one of choices */
    OPTION_CHOICE,      /* an enum, the index in choices */
    OPTION_MEMORY,      /* struct neap_size; a percentage is resolved when it is read */
    OPTION_ARENA,       /* struct neap_size; a percentage stays one */
    OPTION_MEMORIES,    /* struct sizes of OPTION_MEMORY */
    OPTION_ARENAS,      /* struct sizes of OPTION_ARENA */
    OPTION_SCALE,       /* double; 1/4 is a number too */
    OPTION_STEPS,       /* const char *: a number or a schedule; the library reads it */
    OPTION_BATCH,       /* int64_t; max is NEAP_BATCH_MAX */
    OPTION_MICRO_BATCH, /* int64_t; off is 0, auto is NEAP_MICRO_BATCH_AUTO */
    OPTION_CROP,        /* struct neap_resized_crop */
    OPTION_FILES,       /* const char *[], by the index in choices; takes two words */
};

enum option_section {
    SECTION_MODEL,
    SECTION_MEMORY,
    SECTION_OPTIMIZER,
    SECTION_DATA,
    SECTION_RUN,
    SECTION_OUTPUT,
    N_SECTIONS
};

struct option {
    const char *name; /* long, without dashes */
    enum option_type type;
    enum option_section section;
    unsigned commands; /* bits of the commands that take it */
    size_t offset;     /* in struct settings */
    const char *metavar;
    const char *help, *alias;
    char letter;
    unsigned required;          /* bits of the commands that need it */
    double low, high;           /* of numbers; a value outside is unset */
    const char *unset;          /* what being unset means, for the help */
    const char *const *choices; /* NULL terminated */
    const char *alone;          /* the value where none follows; else it needs one */
    const char *second;         /* metavar of a second word, which the command line needs too */
    bool once;                  /* of this call alone: a run does not record it */
};

/* NULL past the last. */
const struct option *option_at(size_t index);
/* The option of that long name or alias, without dashes, that `commands` take; `no-` before a
 * flag's name sets *negated. NULL: none. */
const struct option *option_find(const char *name, unsigned commands, bool *negated);
const struct option *option_find_letter(char letter, unsigned commands);
/* The bits whose options make sense: the command's, or those of the kind of file that it is given.
 */
unsigned option_takers(const struct settings *settings);
/* Reports `name`, written by the user as `shown` at `where` ("" or "FILE:1:2: "), as unknown or as
 * belonging to other commands. Returns the exit code. */
int option_unknown(const struct command *command, const char *where, const char *shown,
                   const char *name);
/* Parses `text` into the settings; `where` opens the error ("option '-b'"). */
MUST_USE int option_set(struct settings *settings, const struct option *option, const char *text,
                        enum source source, const char *where);
/* The same for an option of two words. */
MUST_USE int option_set_pair(struct settings *settings, const struct option *option,
                             const char *first, const char *second, enum source source,
                             const char *where);
/* Whether the config that is being read had the option before this call. */
bool option_mark(struct settings *settings, const struct option *option);
enum source option_source(const struct settings *settings, const struct option *option);

/* NULL for success; else what the text is not ("a whole number of at least 1"), in `expected`. */
enum { EXPECTED_BYTES = 192 };
const char *option_parse(const struct option *option, const char *text, void *field,
                         char expected[EXPECTED_BYTES]);
/* Of a word that must be one of the option's choices: its index, into *index. */
const char *option_parse_choice(const struct option *option, const char *text, int *index,
                                char expected[EXPECTED_BYTES]);
/* The value as the option's text; "" where unset. */
enum { VALUE_BYTES = 96 };
const char *option_print(const struct option *option, const void *field, char text[VALUE_BYTES]);
/* Whether JSON writes the printed value without quotes. */
bool option_is_number(const struct option *option, const char *text);

/* ---- where settings come from (parse.c, config.c) and go (config.c) ------------------------- */

MUST_USE int parse_arguments(struct settings *settings, int argc, char **argv);
/* Sets what is unset so far. */
MUST_USE int config_read(struct settings *settings, const char *path, enum source source);
/* The same from the run that --resume goes on with, whose folder becomes the output's. */
MUST_USE int config_resume(struct settings *settings);
/* Every option of the run as a config, written whole or not at all. */
MUST_USE int config_write(const struct settings *settings, const char *folder);

/* ---- text (text.c) -------------------------------------------------------------------------- */

/* "neap: error: ..." on stderr; returns the exit code of `code`. */
int fail(enum neap_code code, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same with the library's error, which it frees. NULL gives 0. */
int fail_with(neap_error *error);
/* Writes out what was printed to stdout; a failure is printed. Returns the exit code. */
int output_flush(void);
void note(const char *format, ...) PRINTF_LIKE(1, 2);
/* Whether escape sequences belong on this stream: a terminal, and no NO_COLOR. */
bool text_in_colour(FILE *file);

struct text {
    char s[80];
};
struct text bytes_text(int64_t bytes);       /* "12.3 MiB", "1.5 GiB" */
struct text count_text(int64_t count);       /* "47,040,000" */
struct text exact_bytes_text(int64_t bytes); /* "12.3 MiB (12,897,485 bytes)" */
struct text seconds_text(double seconds);    /* "1.23 ms", "12.3 s", "3:05" */
struct text real_text(double value);         /* few digits that read back to the same double */
struct text percent_text(double fraction);   /* "+14.2 %" */
struct text dims_text(int rank, const int64_t *dims); /* "128x16x28x28" */

/* The word nearest to what was written, for "did you mean". */
struct nearest {
    const char *word;
    size_t distance;
    char best[48];
};
struct nearest nearest_start(const char *word);
void nearest_offer(struct nearest *nearest, const char *candidate);
/* " (did you mean 'PREFIXbest'?)", or "" where nothing is near. */
struct text nearest_text(const struct nearest *nearest, const char *prefix);

/* ---- JSON out (emit.c): streamed, keys in the order given ----------------------------------- */

struct emit {
    FILE *file;
    bool lines; /* everything on one line */
    int depth;
    bool filled[8]; /* whether something was written at each depth */
};
/* `key` is NULL in arrays and at the top; `bracket` is '{' or '['. */
void emit_open(struct emit *out, const char *key, char bracket);
void emit_close(struct emit *out, char bracket);
void emit_string(struct emit *out, const char *key, const char *value); /* NULL is null */
void emit_integer(struct emit *out, const char *key, int64_t value);
void emit_real(struct emit *out, const char *key, double value);
void emit_bool(struct emit *out, const char *key, bool value);
void emit_raw(struct emit *out, const char *key, const char *number);

/* ---- the frontier (curve.c) ----------------------------------------------------------------- */

void curve_json(struct emit *out, const struct neap_curve_report *report);
void curve_table(FILE *file, const struct neap_curve_report *report);
/* Every --emit: figures and numbers of the curve where there is one, the rest of the plan; nothing
 * of what is NULL. */
int emit_files(const struct settings *settings, const neap_plan *plan, const neap_curve *curve);

/* ---- shared output (summary.c, progress.c) -------------------------------------------------- */

/* Every field of `plan --json` into the open object. */
void summary_json(struct emit *out, const struct neap_plan_report *report);
void summary_table(FILE *file, const struct neap_plan_report *report);

/* A bar on a terminal, plain lines elsewhere; all on stderr. */
struct progress {
    bool bar, lines, drawn;
    bool every; /* every event makes a line: the user chose the interval */
    double shown_seconds;
};
void progress_start(struct progress *progress, const struct settings *settings);
void progress_show(struct progress *progress, const struct neap_event *event);
/* Takes the bar away, before anything else is printed. */
void progress_clear(struct progress *progress);

#endif
