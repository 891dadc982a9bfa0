/* `neap bench`: strategies side by side, for a model or a suite; how it goes on standard error, the
 * results at the end. */
#include "cli/cli.h"

static void show_progress(void *user, const char *text) {
    (void)user;
    note("%s", text);
}

static int check_settings(const struct settings *settings) {
    if (settings->bench.suite && settings->run.model)
        return fail(NEAP_ERROR_USAGE, "a model or a suite: not both, '%s' and '--suite %s'",
                    settings->run.model, settings->bench.suite);
    if (settings->json && settings->format != NEAP_BENCH_TABLE &&
        settings->format != NEAP_BENCH_JSON)
        return fail(NEAP_ERROR_USAGE, "'--json' is '--format json': no other goes with it");
    return NEAP_OK;
}

int command_bench(struct settings *settings) {
    neap_bench *bench;
    int code = check_settings(settings);
    if (code)
        return code;
    struct neap_bench_options options = settings->bench;
    options.memories = settings->memories.at;
    options.n_memories = (size_t)settings->memories.n;
    options.arenas = settings->arenas.at;
    options.n_arenas = (size_t)settings->arenas.n;
    options.on_progress = settings->quiet ? NULL : show_progress;
    neap_error *error = neap_bench_create(&settings->run, &options, &bench);
    if (!error)
        error =
            neap_bench_print(bench, settings->json ? NEAP_BENCH_JSON : settings->format, stdout);
    neap_bench_free(bench);
    return fail_with(error);
}
