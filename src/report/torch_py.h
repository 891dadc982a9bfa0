/* A plan as Python for PyTorch's users: modules to wrap in torch.utils.checkpoint. */
#ifndef NEAP_REPORT_TORCH_PY_H
#define NEAP_REPORT_TORCH_PY_H

#include "base/status.h"

struct torch_module {
    const char *name;
    int64_t first, end;       /* children of a Sequential, first … end − 1; end 0: all of it */
    int64_t recomputed_bytes; /* inside it: what the plan makes again */
    int64_t kept_bytes;       /* inside it: what the plan keeps and this would not */
};

struct torch_py {
    const char *title;
    const struct torch_module *modules;
    size_t n_modules;
    int64_t recomputed_bytes; /* of all layers */
};

MUST_USE neap_error *torch_py_write(const struct torch_py *torch, const char *path);

#endif
