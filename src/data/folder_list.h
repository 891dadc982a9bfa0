/* The files of an image folder: FOLDER/<class>/<any depth>/<file>. Classes are the names of its
 * folders in the order of their bytes; a class's files are in torchvision's order. What starts with
 * a dot is left out, symbolic links are followed. Expected load: a few million files. */
#ifndef NEAP_DATA_FOLDER_LIST_H
#define NEAP_DATA_FOLDER_LIST_H

#include "base/status.h"

struct folder_list {
    char **classes;
    size_t n_classes;
    struct listed_file *files;
    size_t n_files;
    char *text; /* the files' paths within the folder, one after the other */
    size_t text_bytes;
    size_t room_classes, room_files, room_text;
};

struct listed_file {
    size_t path_at; /* in text */
    int32_t class;
};

/* A class without a file is an error. */
MUST_USE neap_error *folder_list(const char *folder, struct folder_list *out);
/* Classes alone, in order. */
MUST_USE neap_error *folder_list_classes(const char *folder, struct folder_list *out);
/* The files of the next class, at most `most` of them. */
MUST_USE neap_error *folder_list_files(const char *folder, struct folder_list *list, int32_t class,
                                       size_t most);
void folder_list_free(struct folder_list *list);

/* "cat/0007.jpg". */
const char *folder_list_path(const struct folder_list *list, size_t file);

#endif
