/* The version, as CMakeLists.txt has it. */
#include "neap.h"

const char *neap_version(void) {
    return "neap 0.1.0";
}
