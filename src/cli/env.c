/* `neap env`: what a report about a problem should carry. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* Lines of "key: value" into one object. */
static void lines_json(char *lines) {
    struct emit out = {.file = stdout};
    emit_open(&out, NULL, '{');
    for (char *rest = NULL, *line = strtok_r(lines, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = 0;
        emit_string(&out, line, colon + 1 + strspn(colon + 1, " "));
    }
    emit_close(&out, '}');
}

int command_env(struct settings *settings) {
    if (!settings->json)
        return fail_with(neap_env_print(stdout));
    char *lines = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&lines, &length);
    if (!memory)
        return fail(NEAP_ERROR_MEMORY, "out of memory");
    int code = fail_with(neap_env_print(memory));
    if (!fclose(memory) && !code)
        lines_json(lines);
    free(lines);
    return code;
}
