/* The graph in Graphviz's language: `dot -Tsvg FILE`. */
#include "report/graph_dot.h"

#include <inttypes.h>

#include "base/file.h"

static const struct {
    const char *legend, *colour;
} looks[N_GRAPH_DOT_KINDS] = {
    [GRAPH_DOT_INPUT] = {"input", "#d9d9d9"},
    [GRAPH_DOT_KEPT] = {"kept for backward", "#8fbbe3"},
    [GRAPH_DOT_RECOMPUTED] = {"recomputed", "#f2a65a"},
    [GRAPH_DOT_DROPPED] = {"dropped, not needed again", "#ffffff"},
    [GRAPH_DOT_BACKWARD] = {"backward", "#b5d6b2"},
    [GRAPH_DOT_UPDATE] = {"update", "#d7c5e6"},
};

/* Within double quotes. */
static void write_escaped(FILE *file, const char *text) {
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', file);
        fputc(*text, file);
    }
}

static void write_node(FILE *file, size_t id, const struct graph_dot_node *node) {
    fprintf(file, "  n%zu [label=\"", id);
    write_escaped(file, node->name);
    if (node->op) {
        fputs("\\n", file);
        write_escaped(file, node->op);
    }
    if (node->runs > 1)
        fprintf(file, "\\n%" PRIu32 " runs", node->runs);
    fprintf(file, "\\n%.1f MiB\", fillcolor=\"%s\"%s, tooltip=\"%.3g ms\"];\n",
            (double)node->bytes / (1 << 20), looks[node->kind].colour,
            node->kind == GRAPH_DOT_INPUT ? ", shape=ellipse" : "", 1e3 * node->seconds);
}

/* What a recomputed op makes is drawn dashed: it is not there all the time. */
static void write_edge(FILE *file, const struct graph_dot *g, const struct graph_dot_edge *edge) {
    bool again = g->nodes[edge->from].kind == GRAPH_DOT_RECOMPUTED;
    fprintf(file, "  n%" PRIu32 " -> n%" PRIu32 " [tooltip=\"%.1f MiB\"%s];\n", edge->from,
            edge->to, (double)edge->bytes / (1 << 20), again ? ", style=dashed" : "");
}

static void write_legend(FILE *file) {
    fputs("  subgraph cluster_legend {\n    label=\"legend\";\n", file);
    for (int k = 0; k < N_GRAPH_DOT_KINDS; k++)
        fprintf(file, "    legend%d [label=\"%s\", fillcolor=\"%s\"];\n", k, looks[k].legend,
                looks[k].colour);
    fputs("  }\n", file);
}

neap_error *graph_dot_write(const struct graph_dot *g, const char *path) {
    struct file_writer *writer;
    TRY(file_writer_open(path, &writer));
    FILE *file = file_writer_stream(writer);
    fputs("digraph step {\n  label=\"", file);
    write_escaped(file, g->title);
    fputs("\";\n  labelloc=t;\n  bgcolor=white;\n"
          "  node [shape=box, style=filled, fontname=Helvetica, fontsize=10];\n"
          "  splines=line;\n  nslimit=2;\n  nslimit1=2;\n", /* else hundreds of ops take minutes */
          file);
    write_legend(file);
    for (size_t i = 0; i < g->n_nodes; i++)
        write_node(file, i, &g->nodes[i]);
    for (size_t i = 0; i < g->n_edges; i++)
        write_edge(file, g, &g->edges[i]);
    fputs("}\n", file);
    return file_writer_commit(writer);
}
