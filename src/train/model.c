/* The model that the options name: from the zoo, a file or the caller, and what it takes. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ops/ops.h"
#include "ops/softmax_cross_entropy.h"
#include "train/session.h"

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

neap_error *neap_graph_read(const char *path, neap_graph **out) {
    struct file_bytes text;
    TRY(file_read(path, 64 << 20, NEAP_ERROR_MODEL, &text));
    neap_error *error = NULL;
    if ((int64_t)strlen(text.data) != text.size_bytes)
        error = error_make(NEAP_ERROR_MODEL, "%s: not a graph's text: it holds a zero byte", path);
    else
        error = graph_read_text(text.data, path, &all_ops, out);
    free(text.data);
    return error;
}

static neap_error *build_model(const struct session_request *r, neap_graph **out) {
    const struct neap_options *o = r->options;
    if (o->graph)
        return graph_clone(o->graph, out);
    if (!o->model)
        return error_make(NEAP_ERROR_USAGE, "no model given");
    if (ends_in(o->model, ".neap"))
        return neap_graph_read(o->model, out);
    return neap_graph_model(o->model,
                            &(struct neap_model_options){
                                .batch = o->batch > 0 ? o->batch : 1,
                                .num_classes = o->num_classes ? o->num_classes : r->num_classes,
                                .image_size = o->img_size ? o->img_size : r->image_size,
                                .channels = r->channels,
                                .dropout = o->dropout,
                                .dropout_set = o->dropout >= 0},
                            out);
}

/* Options that the model has no use for are refused: they would do nothing. */
static neap_error *check_model_options(const struct neap_options *o, const neap_graph *model) {
    bool zoo = !o->graph && !ends_in(o->model, ".neap"), drops = false;
    for (node_id n = 0; n < model->n_nodes; n++)
        drops = drops || graph_node(model, n)->op == &op_dropout;
    if (o->dropout > 0 && !zoo)
        return error_make(NEAP_ERROR_USAGE, "--dropout is for models by name: '%s' has its own",
                          model->name);
    if (o->dropout > 0 && !drops)
        return error_make(NEAP_ERROR_USAGE, "--dropout %g: '%s' has no dropout layers", o->dropout,
                          model->name);
    if (!zoo && (o->num_classes || o->img_size))
        return error_make(
            NEAP_ERROR_USAGE,
            "--num-classes and --img-size are for models by name: '%s' has its shapes",
            model->name);
    return NULL;
}

/* Label smoothing into the loss, where the options have it. */
static neap_error *smooth_labels(const struct neap_options *o, const neap_graph *model) {
    value_id loss = model->roles.loss;
    node_id n = loss == ID_NONE ? ID_NONE : graph_value(model, loss)->producer;
    if (o->label_smoothing == 0)
        return NULL;
    if (!(o->label_smoothing > 0 && o->label_smoothing <= 1))
        return error_make(NEAP_ERROR_USAGE, "label smoothing %g is not between 0 and 1",
                          o->label_smoothing);
    if (n == ID_NONE || graph_node(model, n)->op != &op_softmax_cross_entropy)
        return error_make(NEAP_ERROR_USAGE, "label smoothing: the loss of '%s' has no labels",
                          model->name);
    ((struct cross_entropy_attrs *)graph_node(model, n)->attrs)->label_smoothing =
        o->label_smoothing;
    return NULL;
}

neap_error *session_open_model(const struct session_request *request, neap_graph **out) {
    TRY(build_model(request, out));
    neap_error *error = check_model_options(request->options, *out);
    if (!error)
        error = smooth_labels(request->options, *out);
    if (error) {
        graph_free(*out);
        *out = NULL;
    }
    return error;
}

void session_sample_shape(const neap_graph *model, int64_t shape[3], int64_t *n_classes) {
    shape[0] = shape[1] = shape[2] = 1;
    for (value_id v = 0; v < model->n_values; v++) {
        const struct value *value = graph_value(model, v);
        if (value->kind == VALUE_INPUT && v != model->roles.labels && value->shape.rank > 1)
            for (int d = 1; d < value->shape.rank && d < 4; d++)
                shape[d - 1] = value->shape.dim[d];
    }
    *n_classes =
        model->roles.logits == ID_NONE ? 0 : graph_value(model, model->roles.logits)->shape.dim[1];
}

neap_error *session_model_shape(const struct neap_options *options, int64_t shape[3],
                                int64_t *n_classes) {
    neap_graph *model;
    TRY(session_open_model(&(struct session_request){.options = options}, &model));
    session_sample_shape(model, shape, n_classes);
    graph_free(model);
    return NULL;
}
