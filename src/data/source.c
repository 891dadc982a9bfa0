/* Opening a data set by name or folder: see source.h. */
#include "data/source.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/file.h"
#include "base/memory.h"
#include "data/datasets.h"

/* In the order in which a folder is looked at. */
static const struct source_format *const formats[] = {
    &source_idx,         &source_cifar10,   &source_cifar100, &source_cifar100_coarse,
    &source_imagefolder, &source_synthetic,
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

const struct source_format *source_format_find(const char *name) {
    for (size_t i = 0; i < N_FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

int64_t sample_elements(struct sample_shape shape) {
    int64_t elements;
    bool fits = size_multiply(shape.channels, shape.height, &elements) &&
                size_multiply(elements, shape.width, &elements);
    return fits ? elements : -1;
}

const struct source_format *source_format_recognise(const char *folder) {
    for (size_t i = 0; i < N_FORMATS; i++)
        if (formats[i]->recognise && formats[i]->recognise(folder))
            return formats[i];
    return NULL;
}

static neap_error *requested_format(const char *name, const struct source_format **out) {
    char known[160] = "auto";
    *out = NULL;
    if (!name || strcmp(name, "auto") == 0)
        return NULL;
    *out = source_format_find(name);
    for (size_t i = 0, used = 4; i < N_FORMATS && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, ", %s", formats[i]->name);
    return *out ? NULL
                : error_make(NEAP_ERROR_USAGE, "unknown data format '%s' (formats: %s)", name,
                             known);
}

static neap_error *check_folder(const char *path) {
    if (!file_exists(path)) {
        if (errno != ENOENT || strchr(path, '/'))
            return file_error(NEAP_ERROR_DATA, errno, "cannot read data folder '%s'", path);
        struct dataset_names known = dataset_names();
        return error_make(NEAP_ERROR_DATA, "no data set or folder '%s' (data sets: %s)", path,
                          known.text);
    }
    if (!file_is_directory(path))
        return error_make(NEAP_ERROR_DATA, "'%s' is a file; data is given by the folder it is in",
                          path);
    if (access(path, R_OK | X_OK) != 0)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read data folder '%s'", path);
    return NULL;
}

static neap_error *recognise(const char *folder, const struct source_format **out) {
    *out = source_format_recognise(folder);
    return *out ? NULL
                : error_make(NEAP_ERROR_DATA,
                             "'%s' holds no data that neap knows: neither %s, %s, %s nor %s",
                             folder, source_idx.files, source_cifar10.files, source_cifar100.files,
                             source_imagefolder.files);
}

/* An option that would do nothing is refused. */
static neap_error *check_request(const struct source_request *request,
                                 const struct source_format *format) {
    if (request->augment && !format->augments)
        return error_make(NEAP_ERROR_USAGE,
                          "%s data is not augmented: flips, crops and rotations are for images",
                          format->name);
    if (request->skip_bad && !format->skips_bad)
        return error_make(NEAP_ERROR_USAGE,
                          "'%s' is of format %s: only an imagefolder's files can be skipped where "
                          "they are bad",
                          request->name, format->name);
    return NULL;
}

/* Which format, and in which folder (NULL: none needed; free() it). */
static neap_error *locate(const struct source_request *request, const struct source_format **format,
                          char **folder) {
    *folder = NULL;
    if (!request->name)
        return error_make(NEAP_ERROR_USAGE, "no data given: a data set's name or a folder");
    TRY(requested_format(request->format, format));
    const struct dataset *dataset = dataset_find(request->name);
    if (dataset && *format && *format != dataset->format)
        return error_make(NEAP_ERROR_USAGE, "data set '%s' is of format %s, not %s", request->name,
                          dataset->format->name, (*format)->name);
    if (dataset) {
        *format = dataset->format;
        return dataset_locate(dataset, folder);
    }
    if (*format && !(*format)->files)
        return error_make(NEAP_ERROR_USAGE, "%s data is not read from a folder ('%s')",
                          (*format)->name, request->name);
    TRY(check_folder(request->name));
    if (!*format)
        TRY(recognise(request->name, format));
    return memory_string(request->name, folder);
}

neap_error *source_open(const struct source_request *request, struct source **out) {
    neap_error *error = NULL;
    const struct source_format *format;
    struct source *source = NULL;
    char *folder;
    TRY_GOTO(locate(request, &format, &folder));
    TRY_GOTO(check_request(request, format));
    TRY_GOTO(memory_alloc(1, sizeof *source, &source));
    source->format = format;
    TRY_GOTO(memory_string(request->name, &source->name));
    TRY_GOTO(format->open(request, folder, source));
    *out = source;
    source = NULL;
done:
    source_close(source);
    free(folder);
    return error;
}

void source_close(struct source *source) {
    if (!source)
        return;
    source->format->close(source->state);
    for (int64_t i = 0; i < source->n_left_out; i++)
        neap_error_free(source->left_out[i]);
    free(source->left_out);
    free(source->name);
    free(source);
}

neap_error *source_read(const struct source *source, struct sample_request request, float *image,
                        int32_t *label) {
    assert(request.index >= 0 && request.index < source->n_samples);
    return source->format->read(source, request, image, label);
}

neap_error *source_set_pipeline(const struct source_request *request, const struct source *source,
                                bool resizes, const struct moments *own,
                                struct pipeline *pipeline) {
    *pipeline = (struct pipeline){.channels = source->shape.channels,
                                  .height = source->shape.height,
                                  .width = source->shape.width,
                                  .resizes = resizes,
                                  .seed = request->seed};
    if (request->augment)
        pipeline->augment = *request->augment;
    TRY(pipeline_check(pipeline));
    return normalizer_set(&pipeline->normalizer, request->normalize, pipeline->channels, own);
}

neap_error *source_check(const struct source *source, struct sample_shape shape,
                         int64_t n_classes) {
    const struct sample_shape own = source->shape;
    if (own.channels != shape.channels || own.height != shape.height || own.width != shape.width)
        return error_make(NEAP_ERROR_USAGE,
                          "the samples of '%s' are %lldx%lldx%lld, the model takes %lldx%lldx%lld",
                          source->name, (long long)own.channels, (long long)own.height,
                          (long long)own.width, (long long)shape.channels, (long long)shape.height,
                          (long long)shape.width);
    if (source->n_classes > n_classes)
        return error_make(NEAP_ERROR_USAGE, "'%s' has %s classes, the model tells %s apart",
                          source->name, digits_of(source->n_classes).text,
                          digits_of(n_classes).text);
    return NULL;
}

neap_error *source_check_classes(const struct source *train, const struct source *val) {
    if (!train->class_names || !val->class_names)
        return NULL;
    if (train->n_classes != val->n_classes)
        return error_make(NEAP_ERROR_DATA, "'%s' has %s classes to train on, '%s' %s to validate",
                          train->name, digits_of(train->n_classes).text, val->name,
                          digits_of(val->n_classes).text);
    for (int64_t i = 0; i < train->n_classes; i++)
        if (strcmp(train->class_names[i], val->class_names[i]) != 0)
            return error_make(NEAP_ERROR_DATA,
                              "class %s is '%s' in '%s' to train on, '%s' in '%s' to validate",
                              digits_of(i).text, train->class_names[i], train->name,
                              val->class_names[i], val->name);
    return NULL;
}
