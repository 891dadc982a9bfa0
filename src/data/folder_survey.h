/* What the files of an image folder are, found before training: sizes decide how much memory
 * reading takes, and what is not an image is named at once. Files are looked at by several threads;
 * the result does not depend on how many. */
#ifndef NEAP_DATA_FOLDER_SURVEY_H
#define NEAP_DATA_FOLDER_SURVEY_H

#include "data/decode.h"
#include "data/folder_list.h"

struct surveyed {
    struct picture picture;
    int64_t n_bytes;
    neap_error *error; /* NULL where the file is fine */
};

/* One for each file of the list, in *out; survey_free() it. Headers are read, or with `decode` all
 * of every file. Without `decode` the first error ends the survey and is returned. */
MUST_USE neap_error *survey_files(const char *folder, const struct folder_list *list, bool decode,
                                  int n_threads, struct surveyed **out);
void survey_free(struct surveyed *files, size_t n_files);

/* Whether a file starts as one of the formats that can be decoded. */
bool survey_is_image(const char *path);

/* All of a file into `bytes`; NEAP_ERROR_DATA where it has more than `room_bytes`. */
MUST_USE neap_error *survey_read(const char *path, uint8_t *bytes, int64_t room_bytes,
                                 int64_t *n_bytes);

#endif
