/* The Python file: a list with comments, and the few lines that apply it. */
#include "report/torch_py.h"

#include <inttypes.h>

#include "base/file.h"

static const char about[] =
    "# neap plans single tensors; PyTorch checkpoints whole modules, so this is the nearest list "
    "of\n"
    "# modules, not the plan itself: bytes and seconds differ from neap's. Modules are wrapped, "
    "those\n"
    "# first of which the plan recomputes the largest share, until they drop as many bytes as the\n"
    "# plan does inside modules. A wrapped module keeps its input and its result and runs forward\n"
    "# again in backward. Batch norm in it then updates its running statistics twice per step "
    "(neap\n"
    "# does not): a momentum of 1 - (1 - m)**0.5 in place of m makes up for it.\n";

static const char code[] =
    "\n\n"
    "def apply(model):\n"
    "    \"\"\"Wraps the modules of MODULES and RUNS, in place; parameters keep their "
    "names.\"\"\"\n"
    "    from torch.utils.checkpoint import checkpoint\n"
    "    for name in MODULES:\n"
    "        module = model.get_submodule(name)\n"
    "        module.forward = functools.partial(checkpoint, module.forward, use_reentrant=False)\n"
    "    for name in dict.fromkeys(run[0] for run in RUNS):\n"
    "        ends = {first: end for run, first, end in RUNS if run == name}\n"
    "        sequential = model.get_submodule(name)\n"
    "        sequential.forward = functools.partial(run_children, list(sequential), ends)\n"
    "    return model\n"
    "\n\n"
    "def run_children(children, ends, x):\n"
    "    from torch.utils.checkpoint import checkpoint\n"
    "\n"
    "    def run(first, end, x):\n"
    "        for child in children[first:end]:\n"
    "            x = child(x)\n"
    "        return x\n"
    "\n"
    "    at = 0\n"
    "    while at < len(children):\n"
    "        end = ends.get(at, at + 1)\n"
    "        if at in ends:\n"
    "            x = checkpoint(run, at, end, x, use_reentrant=False)\n"
    "        else:\n"
    "            x = run(at, end, x)\n"
    "        at = end\n"
    "    return x\n";

static double mib(int64_t bytes) {
    return (double)bytes / (1 << 20);
}

/* A Python string. */
static void write_string(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

/* In a comment: a line break would end it. */
static void write_comment(FILE *file, const char *text) {
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
}

static void write_module(FILE *file, const struct torch_module *m) {
    fputs(m->end ? "    (" : "    ", file);
    write_string(file, m->name);
    if (m->end)
        fprintf(file, ", %" PRId64 ", %" PRId64 ")", m->first, m->end);
    fprintf(file, ",  # the plan recomputes %.1f MiB inside", mib(m->recomputed_bytes));
    if (m->kept_bytes)
        fprintf(file, ", and keeps %.1f MiB that this does not", mib(m->kept_bytes));
    fputc('\n', file);
}

static void write_list(FILE *file, const struct torch_py *t, const char *name, bool runs) {
    fprintf(file, "%s = [\n", name);
    for (size_t i = 0; i < t->n_modules; i++)
        if ((t->modules[i].end > 0) == runs)
            write_module(file, &t->modules[i]);
    fputs("]\n", file);
}

neap_error *torch_py_write(const struct torch_py *t, const char *path) {
    struct file_writer *writer;
    int64_t covered = 0;
    for (size_t i = 0; i < t->n_modules; i++)
        covered += t->modules[i].recomputed_bytes;
    TRY(file_writer_open(path, &writer));
    FILE *file = file_writer_stream(writer);
    fputs("# Recompute in PyTorch after neap's plan of ", file);
    write_comment(file, t->title);
    fprintf(file,
            ".\n# %.1f of the %.1f MiB that the plan recomputes lie inside these modules.\n%s",
            mib(covered), mib(t->recomputed_bytes), about);
    fputs("import functools\n\n", file);
    write_list(file, t, "MODULES", false);
    fputs("# Children of a torch.nn.Sequential, from the first number up to the second.\n", file);
    write_list(file, t, "RUNS", true);
    fputs(code, file);
    return file_writer_commit(writer);
}
