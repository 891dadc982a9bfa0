/* Weights of a grouped convolution: (O,I/g,h,w) in the graph, (g,O/g,I/g,h,w) to oneDNN. */
#ifndef NEAP_OPS_GROUPED_WEIGHT_DNN_H
#define NEAP_OPS_GROUPED_WEIGHT_DNN_H

#include "backend/cpu/dnn.h"
#include "ops/conv2d.h"

/* The library's descriptor of weights that lie so in the graph; NULL: for it to choose. */
dnnl_memory_desc_t grouped_weight_desc(const struct conv2d_geometry *c, enum dtype dtype,
                                       const struct layout *layout);
/* Back again; false where the two dimensions of the channels cannot be one. */
bool grouped_weight_layout_of(const struct conv2d_geometry *c, const dnnl_memory_desc_t *desc,
                              struct layout *out);

#endif
