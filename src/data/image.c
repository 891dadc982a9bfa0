/* Images as ways to walk bytes: see image.h. */
#include "data/image.h"

struct image image_planar(const uint8_t *bytes, int64_t channels, int64_t height, int64_t width) {
    return (struct image){bytes, channels, height, width, height * width, width, 1};
}

struct image image_interleaved(const uint8_t *bytes, int64_t channels, int64_t height,
                               int64_t width) {
    return (struct image){bytes, channels, height, width, 1, width * channels, channels};
}

struct image image_crop(struct image image, struct box box) {
    image.bytes += box.top * image.row_step + box.left * image.column_step;
    image.height = box.height;
    image.width = box.width;
    return image;
}

struct image image_flip(struct image image) {
    image.bytes += (image.width - 1) * image.column_step;
    image.column_step = -image.column_step;
    return image;
}

static struct image upside_down(struct image image) {
    image.bytes += (image.height - 1) * image.row_step;
    image.row_step = -image.row_step;
    return image;
}

static struct image transpose(struct image image) {
    return (struct image){image.bytes,        image.channels,    image.width,   image.height,
                          image.channel_step, image.column_step, image.row_step};
}

struct image image_orient(struct image image, int orientation) {
    static const struct {
        unsigned char flip, upside_down, transpose; /* in this order */
    } steps[] = {
        [2] = {1, 0, 0}, [3] = {1, 1, 0}, [4] = {0, 1, 0}, [5] = {0, 0, 1},
        [6] = {0, 1, 1}, [7] = {1, 1, 1}, [8] = {1, 0, 1},
    };
    if (orientation < 2 || orientation > 8)
        return image;
    if (steps[orientation].flip)
        image = image_flip(image);
    if (steps[orientation].upside_down)
        image = upside_down(image);
    return steps[orientation].transpose ? transpose(image) : image;
}
