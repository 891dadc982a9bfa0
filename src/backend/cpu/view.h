/* The three activation layouts seen as one: [batch][blocks][space][lanes], channel = block × lanes
 * + lane. Plain has one lane a block, channels-last one block, nChw16c sixteen lanes. */
#ifndef NEAP_BACKEND_CPU_VIEW_H
#define NEAP_BACKEND_CPU_VIEW_H

#include "ir/graph.h"

struct channel_view {
    int64_t batch, channels, blocks, space, lanes; /* blocks × lanes ≥ channels */
    int64_t height, width;                         /* space = height × width */
};

/* Of a value of rank 2 or 4; false for any other layout. */
bool channel_view_of(const struct value *value, struct channel_view *out);

#endif
