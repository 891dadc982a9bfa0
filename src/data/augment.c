/* The way of an image to a network: see augment.h. */
#include "data/augment.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/philox.h"
#include "data/resize.h"
#include "data/rotate.h"

/* ---- random numbers ------------------------------------------------------------------------- */

/* Each choice has blocks of random words of its own, so none depends on whether others are made. */
enum draw { DRAW_ANGLE, DRAW_FLIP, DRAW_CROP, DRAW_RESIZED_CROP, N_TRIES = 10 };
enum { DRAWS_PER_SAMPLE = 16 };
_Static_assert(DRAW_RESIZED_CROP + N_TRIES <= DRAWS_PER_SAMPLE, "a block for each choice");

static struct philox_block draw(const struct pipeline *p, const struct sample_request *request,
                                int number) {
    return philox_at(p->seed ^ philox_hash("augment"), (uint64_t)request->epoch,
                     (uint64_t)request->index * DRAWS_PER_SAMPLE + (uint64_t)number);
}

static double uniform(uint32_t word, double low, double high) {
    return low + (high - low) * ((double)word * 0x1p-32);
}

/* One of 0 … bound − 1. */
static int64_t below(uint32_t word, int64_t bound) {
    return (int64_t)((uint64_t)word * (uint64_t)bound >> 32);
}

/* ---- where to crop -------------------------------------------------------------------------- */

static struct box centre_box(int64_t height, int64_t width, int64_t crop_height,
                             int64_t crop_width) {
    /* torchvision rounds halves as Python does, to the even neighbour. */
    return (struct box){(int64_t)rint((double)(height - crop_height) / 2),
                        (int64_t)rint((double)(width - crop_width) / 2), crop_height, crop_width};
}

static struct box fallback_box(const struct pipeline *p, int64_t height, int64_t width) {
    const double *ratio = p->augment.ratio, own = (double)width / (double)height;
    struct box box = {0, 0, height, width};
    if (own < ratio[0])
        box.height = (int64_t)rint((double)width / ratio[0]);
    else if (own > ratio[1])
        box.width = (int64_t)rint((double)height * ratio[1]);
    box.top = (height - box.height) / 2;
    box.left = (width - box.width) / 2;
    return box;
}

struct box augment_resized_crop(const struct pipeline *p, int64_t height, int64_t width,
                                const struct sample_request *request) {
    const struct augment *a = &p->augment;
    for (int i = 0; i < N_TRIES; i++) {
        const struct philox_block words = draw(p, request, DRAW_RESIZED_CROP + i);
        const double area =
            (double)(height * width) * uniform(words.word[0], a->scale[0], a->scale[1]);
        const double ratio = exp(uniform(words.word[1], log(a->ratio[0]), log(a->ratio[1])));
        const struct box box = {.height = (int64_t)rint(sqrt(area / ratio)),
                                .width = (int64_t)rint(sqrt(area * ratio))};
        if (box.width < 1 || box.width > width || box.height < 1 || box.height > height)
            continue;
        return (struct box){below(words.word[2], height - box.height + 1),
                            below(words.word[3], width - box.width + 1), box.height, box.width};
    }
    return fallback_box(p, height, width);
}

/* The window of an image of that size; RandomCrop's may reach into the padding. */
static struct box window_of(const struct pipeline *p, int64_t height, int64_t width,
                            const struct sample_request *request) {
    if (!p->augment.crop)
        return centre_box(height, width, p->height, p->width);
    const struct philox_block words = draw(p, request, DRAW_CROP);
    const int64_t padding = p->augment.crop_padding;
    return (struct box){below(words.word[0], height + 2 * padding - p->height + 1) - padding,
                        below(words.word[1], width + 2 * padding - p->width + 1) - padding,
                        p->height, p->width};
}

/* ---- sizes ---------------------------------------------------------------------------------- */

/* The size that an image is scaled to before it is cropped: its shorter side as evaluation has it,
 * the other rounded down. */
static void scaled_size(const struct pipeline *p, int64_t height, int64_t width,
                        struct resize *resize) {
    const int64_t side = p->height * 256 / 224;
    resize->height = resize->width = side;
    if (!p->resizes) {
        resize->height = height;
        resize->width = width;
    } else if (height < width) {
        resize->width = (int64_t)((double)(side * width) / (double)height);
    } else {
        resize->height = (int64_t)((double)(side * height) / (double)width);
    }
}

/* What lies inside an image of that size. */
static struct box inside_of(struct box box, int64_t height, int64_t width) {
    const int64_t bottom = box.top + box.height, right = box.left + box.width;
    const int64_t top = box.top > 0 ? box.top : 0, left = box.left > 0 ? box.left : 0;
    return (struct box){top, left, (bottom < height ? bottom : height) - top,
                        (right < width ? right : width) - left};
}

neap_error *pipeline_check(const struct pipeline *p) {
    const struct augment *a = &p->augment;
    if (p->resizes && p->height != p->width)
        return error_make(NEAP_ERROR_USAGE,
                          "images of any size are cut to squares, the model takes %lldx%lld",
                          (long long)p->height, (long long)p->width);
    if (a->crop && a->resized_crop)
        return error_make(NEAP_ERROR_USAGE,
                          "a random crop and a random resized crop: either chooses the part of the "
                          "image, there can be only one");
    if (a->crop && !p->resizes && a->crop_padding == 0)
        return error_make(NEAP_ERROR_USAGE,
                          "a random crop without padding has no effect: the images have the %lldx"
                          "%lld that the model takes",
                          (long long)p->height, (long long)p->width);
    /* More could leave nothing of the image. */
    if (a->crop &&
        (a->crop_padding < 0 || a->crop_padding >= (p->height < p->width ? p->height : p->width)))
        return error_make(NEAP_ERROR_USAGE,
                          "a random crop's padding of %lld is not less than the %lldx%lld pixels "
                          "that the model takes",
                          (long long)a->crop_padding, (long long)p->height, (long long)p->width);
    const bool ordered = a->scale[0] > 0 && a->scale[0] <= a->scale[1] && a->scale[1] <= 1 &&
                         a->ratio[0] > 0 && a->ratio[0] <= a->ratio[1] && isfinite(a->ratio[1]);
    if (a->resized_crop && !ordered)
        return error_make(NEAP_ERROR_USAGE,
                          "a random resized crop takes 0 < S0 <= S1 <= 1 and 0 < R0 <= R1, not "
                          "%g,%g,%g,%g",
                          a->scale[0], a->scale[1], a->ratio[0], a->ratio[1]);
    return NULL;
}

/* ---- the way -------------------------------------------------------------------------------- */

/* Space is taken from scratch front to back: the rotated image, the resized one, resizing itself.
 */
static int64_t rotated_bytes(const struct pipeline *p, int64_t height, int64_t width) {
    return p->augment.rotate_degrees > 0 ? round_up(height * width * p->channels + 4, 16) : 0;
}

static int64_t resized_bytes(const struct pipeline *p) {
    return round_up(p->height * p->width * RESIZED_PIXEL_BYTES, 16);
}

int64_t pipeline_scratch_bytes(const struct pipeline *p, int64_t height, int64_t width) {
    struct resize resize = {p->height, p->width, {0, 0, p->height, p->width}};
    if (!p->resizes && !p->augment.resized_crop)
        return rotated_bytes(p, height, width);
    if (!p->augment.resized_crop)
        scaled_size(p, height, width, &resize);
    return rotated_bytes(p, height, width) + resized_bytes(p) +
           resize_scratch_bytes(height, width, &resize);
}

static struct image resize_into(const struct pipeline *p, const struct image *image,
                                const struct resize *resize, uint8_t *scratch) {
    return resize_bilinear(image, resize, scratch + resized_bytes(p), scratch);
}

/* The part that RandomResizedCrop chooses, rotated first where that is asked for. */
static struct image resized_crop(const struct pipeline *p, struct image image, double angle,
                                 const struct sample_request *request) {
    uint8_t *scratch = request->scratch;
    const struct box box = augment_resized_crop(p, image.height, image.width, request);
    const int64_t used = rotated_bytes(p, image.height, image.width);
    const struct resize resize = {p->height, p->width, {0, 0, p->height, p->width}};
    image = used ? rotate_nearest(&image, angle, box, scratch) : image_crop(image, box);
    return resize_into(p, &image, &resize, scratch + used);
}

/* All of the image, rotated and scaled, as far as it is in *window; moves the window along. */
static struct image scaled(const struct pipeline *p, struct image image, double angle,
                           const struct sample_request *request, struct box *window) {
    uint8_t *scratch = request->scratch;
    const int64_t used = rotated_bytes(p, image.height, image.width);
    struct resize resize;
    if (used)
        image =
            rotate_nearest(&image, angle, (struct box){0, 0, image.height, image.width}, scratch);
    scaled_size(p, image.height, image.width, &resize);
    *window = window_of(p, resize.height, resize.width, request);
    resize.window = inside_of(*window, resize.height, resize.width);
    if (!p->resizes)
        return image;
    window->top -= resize.window.top;
    window->left -= resize.window.left;
    return resize_into(p, &image, &resize, scratch + used);
}

void pipeline_run(const struct pipeline *p, struct image image,
                  const struct sample_request *request, float *out) {
    const struct augment *a = &p->augment;
    const double angle =
        uniform(draw(p, request, DRAW_ANGLE).word[0], -a->rotate_degrees, a->rotate_degrees);
    struct box window = {0, 0, p->height, p->width};
    if (a->resized_crop)
        image = resized_crop(p, image, angle, request);
    else
        image = scaled(p, image, angle, request, &window);
    if (a->hflip && draw(p, request, DRAW_FLIP).word[0] >> 31) {
        window.left = image.width - window.left - window.width;
        image = image_flip(image);
    }
    normalizer_apply(&p->normalizer, &image, window, out);
}
