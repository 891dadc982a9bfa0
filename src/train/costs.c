/* The folder of measured costs: see costs.h. */
#include "train/costs.h"

#include <stdlib.h>

#include "base/memory.h"

/* NULL where the environment names none: nothing is kept then. */
static neap_error *find_folder(char **out) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    *out = NULL;
    if (cache && *cache == '/') /* a relative path is to be ignored, says the standard */
        return memory_format(out, "%s/neap", cache);
    return home && *home ? memory_format(out, "%s/.cache/neap", home) : NULL;
}

neap_error *costs_open(const struct neap_options *options, const struct device *device,
                       struct measured **out) {
    char *folder;
    *out = NULL;
    if (options->cost != NEAP_COST_MEASURED)
        return NULL;
    TRY(find_folder(&folder));
    neap_error *error = measured_open(device, folder, out);
    free(folder);
    return error;
}
