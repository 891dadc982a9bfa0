/* Activation layouts as [batch][blocks][space][lanes]: see view.h. */
#include "backend/cpu/view.h"

bool channel_view_of(const struct value *value, struct channel_view *out) {
    struct shape shape = value->shape;
    struct layout layout = value->layout;
    if (shape.rank != 2 && shape.rank != 4)
        return false;
    struct channel_view view = {
        .batch = shape.dim[0], .channels = shape.dim[1], .height = 1, .width = 1};
    if (shape.rank == 4) {
        view.height = shape.dim[2];
        view.width = shape.dim[3];
    }
    view.space = view.height * view.width;
    bool last = shape.rank == 2 || layout_equal(layout, layout_channels_last());
    bool blocked = layout.n_blocks == 1 && !layout.permuted && layout.block_dim[0] == 1;
    if (shape.rank == 2 && !layout_is_plain(layout))
        return false;
    if (!last && !blocked && !layout_is_plain(layout))
        return false;
    view.lanes = last ? view.channels : blocked ? layout.block_size[0] : 1;
    view.blocks = (view.channels + view.lanes - 1) / view.lanes;
    *out = view;
    return true;
}
