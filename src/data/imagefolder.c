/* ImageFolder: DIR/train/<class>/… to train on, DIR/val (valid, validation or test) to validate
 * on, or DIR/<class>/… alone. JPEG and PNG files of any size; torchvision's order of classes and
 * files. Normalised with ImageNet's moments.
 *
 * Files are listed and their headers read when the folder is opened; images are decoded when they
 * are asked for. With skip_bad every file is decoded once at the start, and those that cannot be
 * are left out: what is trained on is known then, and the same in every epoch. About 100 bytes a
 * file in memory. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/folder_survey.h"
#include "data/source.h"

struct imagefolder {
    char *folder; /* of the classes */
    struct folder_list list;
    int64_t encoded_bytes, decoded_bytes; /* of the largest file and image */
    int64_t least_height, least_width, most_height, most_width;
    int64_t n_png;
    struct pipeline pipeline;
};

/* ---- folders -------------------------------------------------------------------------------- */

static const char *const train_names[] = {"train", "training", NULL};
static const char *const val_names[] = {"val", "valid", "validation", "test", NULL};

/* The first of the names that is a folder in `folder`, in *out; NULL where none is. */
static neap_error *find_folder(const char *folder, const char *const *names, char **out) {
    for (*out = NULL; *names; names++) {
        TRY(memory_format(out, "%s/%s", folder, *names));
        if (file_is_directory(*out))
            return NULL;
        free(*out);
        *out = NULL;
    }
    return NULL;
}

/* The folder of a split's classes, in *out. */
static neap_error *find_split(const struct source_request *request, const char *folder,
                              char **out) {
    const bool train = request->split == SPLIT_TRAIN;
    char *other;
    TRY(find_folder(folder, train ? train_names : val_names, out));
    if (*out)
        return NULL;
    TRY(find_folder(folder, train ? val_names : train_names, &other));
    const bool split = other;
    free(other);
    if (!split && (train || request->whole))
        return memory_string(folder, out);
    return error_make(NEAP_ERROR_DATA,
                      train ? "no folder train in '%s'"
                            : "no folder val, valid, validation or test in '%s' to validate on: "
                              "another can be given (--val-data)",
                      folder);
}

/* Whether a class among the first has an image among the first files that are met in it. */
static bool holds_image(const char *folder) {
    enum { CLASSES = 8, FILES = 16 };
    struct folder_list list;
    bool found = false;
    neap_error *error = folder_list_classes(folder, &list);
    for (size_t c = 0; !error && c < CLASSES && c < list.n_classes; c++)
        error = folder_list_files(folder, &list, (int32_t)c, FILES);
    for (size_t i = 0; !error && i < list.n_files && !found; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, folder_list_path(&list, i));
        found = survey_is_image(path);
    }
    neap_error_free(error);
    folder_list_free(&list);
    return found;
}

static bool recognise(const char *folder) {
    const char *const *const names[] = {train_names, val_names};
    for (int i = 0; i < 2; i++) {
        char *split;
        neap_error *error = find_folder(folder, names[i], &split);
        const bool found = !error && split && holds_image(split);
        neap_error_free(error);
        free(split);
        if (found)
            return true;
    }
    return holds_image(folder);
}

/* ---- opening -------------------------------------------------------------------------------- */

static neap_error *leave_out(struct source *source, struct surveyed *files) {
    struct imagefolder *own = source->state;
    struct folder_list *list = &own->list;
    size_t kept = 0, n_bad = 0;
    for (size_t i = 0; i < list->n_files; i++)
        n_bad += files[i].error != NULL;
    TRY(memory_alloc(n_bad, sizeof *source->left_out, &source->left_out));
    for (size_t i = 0; i < list->n_files; i++) {
        if (files[i].error) {
            source->left_out[source->n_left_out++] = files[i].error;
            files[i].error = NULL;
            continue;
        }
        files[kept] = files[i];
        list->files[kept++] = list->files[i];
    }
    for (size_t i = kept; i < list->n_files; i++)
        files[i].error = NULL;
    list->n_files = kept;
    return kept ? NULL
                : error_make(NEAP_ERROR_DATA, "%s: none of its %s files can be read; the first: %s",
                             own->folder, digits_of((int64_t)n_bad).text,
                             neap_error_message(source->left_out[0]));
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* What the largest of them take. */
static void measure(struct source *source, const struct surveyed *files) {
    struct imagefolder *own = source->state;
    int64_t way_bytes = 0;
    own->least_height = own->least_width = INT64_MAX;
    for (size_t i = 0; i < own->list.n_files; i++) {
        const struct picture *picture = &files[i].picture;
        const bool turned = picture->orientation > 4;
        const int64_t height = turned ? picture->width : picture->height,
                      width = turned ? picture->height : picture->width;
        own->encoded_bytes = larger(own->encoded_bytes, files[i].n_bytes);
        own->decoded_bytes = larger(own->decoded_bytes, decode_bytes(picture));
        own->least_height = smaller(own->least_height, height);
        own->least_width = smaller(own->least_width, width);
        own->most_height = larger(own->most_height, height);
        own->most_width = larger(own->most_width, width);
        own->n_png += strcmp(picture->format, "PNG") == 0;
        way_bytes = larger(way_bytes, pipeline_scratch_bytes(&own->pipeline, height, width));
        source->library_bytes = larger(source->library_bytes, picture->library_bytes);
    }
    own->encoded_bytes = round_up(own->encoded_bytes, 16);
    own->decoded_bytes = round_up(own->decoded_bytes, 16);
    source->scratch_bytes = own->encoded_bytes + own->decoded_bytes + way_bytes;
}

static neap_error *open_imagefolder(const struct source_request *request, const char *folder,
                                    struct source *source) {
    struct imagefolder *own;
    struct surveyed *files;
    TRY(memory_alloc(1, sizeof *own, &own));
    source->state = own;
    TRY(find_split(request, folder, &own->folder));
    TRY(folder_list(own->folder, &own->list));
    const size_t n_listed = own->list.n_files;
    source->shape = request->shape;
    if (source->shape.channels == 0) /* to look at the files alone */
        source->shape = (struct sample_shape){DECODED_CHANNELS, 224, 224};
    source->shape.channels = DECODED_CHANNELS;
    TRY(source_set_pipeline(request, source, true, &imagenet_moments, &own->pipeline));
    TRY(survey_files(own->folder, &own->list, request->skip_bad, request->n_threads, &files));
    neap_error *error = leave_out(source, files);
    if (!error)
        measure(source, files);
    survey_free(files, n_listed);
    source->n_samples = (int64_t)own->list.n_files;
    source->n_classes = (int64_t)own->list.n_classes;
    source->class_names = (const char *const *)own->list.classes;
    source->resident_bytes = (int64_t)(sizeof *own + own->list.room_text +
                                       own->list.room_files * sizeof *own->list.files +
                                       own->list.room_classes * sizeof *own->list.classes);
    return error;
}

/* ---- reading -------------------------------------------------------------------------------- */

static neap_error *read_imagefolder(const struct source *source, struct sample_request request,
                                    float *image, int32_t *label) {
    const struct imagefolder *own = source->state;
    uint8_t *bytes = request.scratch, *pixels = bytes + own->encoded_bytes;
    char path[PATH_MAX];
    struct encoded file = {path, bytes, 0, false};
    struct picture picture;
    snprintf(path, sizeof path, "%s/%s", own->folder,
             folder_list_path(&own->list, (size_t)request.index));
    TRY(survey_read(path, bytes, own->encoded_bytes, &file.n_bytes));
    TRY(decode_picture(&file, pixels, own->decoded_bytes, &picture));
    request.scratch = pixels + own->decoded_bytes;
    *label = own->list.files[request.index].class;
    const struct image decoded =
        image_orient(image_interleaved(pixels, DECODED_CHANNELS, picture.height, picture.width),
                     picture.orientation);
    if (pipeline_scratch_bytes(&own->pipeline, decoded.height, decoded.width) >
        source->scratch_bytes - own->encoded_bytes - own->decoded_bytes)
        return error_make(NEAP_ERROR_DATA, "%s: %lld x %lld pixels: changed since it was opened?",
                          path, (long long)decoded.width, (long long)decoded.height);
    pipeline_run(&own->pipeline, decoded, &request, image);
    return NULL;
}

/* ---- for people ----------------------------------------------------------------------------- */

static void describe(const struct source *source, FILE *file) {
    enum { SHOWN_CLASSES = 10 };
    const struct imagefolder *own = source->state;
    fprintf(file,
            "    %s: %s JPEG, %s PNG, %lldx%lld to %lldx%lld pixels\n    classes:", own->folder,
            digits_of(source->n_samples - own->n_png).text, digits_of(own->n_png).text,
            (long long)own->least_width, (long long)own->least_height, (long long)own->most_width,
            (long long)own->most_height);
    size_t i = 0;
    for (int32_t c = 0; c < source->n_classes && c < SHOWN_CLASSES; c++) {
        const size_t first = i;
        while (i < own->list.n_files && own->list.files[i].class == c)
            i++;
        fprintf(file, "%s %s (%s)", c ? "," : "", own->list.classes[c],
                digits_of((int64_t)(i - first)).text);
    }
    fputs(source->n_classes > SHOWN_CLASSES ? ", ...\n" : "\n", file);
}

static void close_imagefolder(void *state) {
    struct imagefolder *own = state;
    if (!own)
        return;
    folder_list_free(&own->list);
    free(own->folder);
    free(own);
}

const struct source_format source_imagefolder = {
    .name = "imagefolder",
    .files = "an image folder's train/<class>/<file>",
    .augments = true,
    .skips_bad = true,
    .recognise = recognise,
    .open = open_imagefolder,
    .read = read_imagefolder,
    .describe = describe,
    .close = close_imagefolder,
};
