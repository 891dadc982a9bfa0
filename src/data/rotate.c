/* Rotation: see rotate.h. Each pixel of the result is looked up at the place it comes from, counted
 * in 16.16 fixed point along each row as PIL does. */
#include "data/rotate.h"

#include <math.h>

/* A place in the input for each place in the result: x = xx·column + xy·row + x0, y likewise. */
struct lookup {
    int64_t xx, xy, x0, yx, yy, y0;
};

static int64_t fixed(double value) {
    return (int64_t)floor(value * 65536 + 0.5);
}

static double digits15(double value) {
    return nearbyint(value * 1e15) / 1e15;
}

static struct lookup lookup_of(const struct image *in, double degrees) {
    const double angle = -fmod(fmod(degrees, 360) + 360, 360) * (M_PI / 180);
    const double c = digits15(cos(angle)), s = digits15(sin(angle));
    const double centre_x = (double)in->width / 2, centre_y = (double)in->height / 2;
    const double x0 = c * -centre_x + s * -centre_y + centre_x;
    const double y0 = -s * -centre_x + c * -centre_y + centre_y;
    return (struct lookup){
        .xx = fixed(c),
        .xy = fixed(s),
        .x0 = fixed(x0 + c * 0.5 + s * 0.5), /* of the middle of the first pixel */
        .yx = fixed(-s),
        .yy = fixed(c),
        .y0 = fixed(y0 - s * 0.5 + c * 0.5),
    };
}

struct image rotate_nearest(const struct image *in, double degrees, struct box box, uint8_t *out) {
    const struct lookup l = lookup_of(in, degrees);
    uint8_t *to = out;
    for (int64_t row = box.top; row < box.top + box.height; row++) {
        int64_t x = l.x0 + l.xy * row + l.xx * box.left, y = l.y0 + l.yy * row + l.yx * box.left;
        for (int64_t i = 0; i < box.width; i++, x += l.xx, y += l.yx) {
            const int64_t from_x = x >> 16, from_y = y >> 16;
            const int inside =
                from_x >= 0 && from_x < in->width && from_y >= 0 && from_y < in->height;
            const uint8_t *from = in->bytes + from_y * in->row_step + from_x * in->column_step;
            for (int64_t c = 0; c < in->channels; c++)
                *to++ = inside ? from[c * in->channel_step] : 0;
        }
    }
    return image_interleaved(out, in->channels, box.height, box.width);
}
