/* Listing an image folder: see folder_list.h. */
#include "data/folder_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"

enum { MOST_DEPTH = 32, MOST_CLASSES = 1 << 24 }; /* a link may lead back up */

const char *folder_list_path(const struct folder_list *list, size_t file) {
    return list->text + list->files[file].path_at;
}

/* ---- reading a folder ----------------------------------------------------------------------- */

enum entry_kind { ENTRY_FILE, ENTRY_FOLDER, ENTRY_OTHER };

/* A link to nothing is a file: whoever opens it says what is wrong. */
static neap_error *kind_of(const char *folder, const struct dirent *entry, enum entry_kind *kind) {
    *kind = entry->d_type == DT_REG   ? ENTRY_FILE
            : entry->d_type == DT_DIR ? ENTRY_FOLDER
                                      : ENTRY_OTHER;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return NULL;
    char *path;
    struct stat info;
    TRY(memory_format(&path, "%s/%s", folder, entry->d_name));
    const bool there = stat(path, &info) == 0;
    *kind = !there || S_ISREG(info.st_mode) ? ENTRY_FILE
            : S_ISDIR(info.st_mode)         ? ENTRY_FOLDER
                                            : ENTRY_OTHER;
    free(path);
    return NULL;
}

/* Calls on_entry for everything that does not start with a dot, in no order. */
static neap_error *each_entry(const char *folder,
                              neap_error *(*on_entry)(void *context, const char *name,
                                                      enum entry_kind kind),
                              void *context) {
    DIR *directory = opendir(folder);
    neap_error *error = NULL;
    if (!directory)
        return file_error(NEAP_ERROR_DATA, errno, "cannot read folder '%s'", folder);
    errno = 0;
    for (struct dirent *entry; !error && (entry = readdir(directory)); errno = 0) {
        enum entry_kind kind;
        if (entry->d_name[0] == '.')
            continue;
        error = kind_of(folder, entry, &kind);
        if (!error)
            error = on_entry(context, entry->d_name, kind);
    }
    if (!error && errno)
        error = file_error(NEAP_ERROR_DATA, errno, "cannot read folder '%s'", folder);
    closedir(directory);
    return error;
}

/* ---- classes -------------------------------------------------------------------------------- */

static neap_error *add_class(void *context, const char *name, enum entry_kind kind) {
    struct folder_list *list = context;
    if (kind != ENTRY_FOLDER || list->n_classes == MOST_CLASSES)
        return NULL;
    TRY(memory_grow(&list->classes, &list->room_classes, list->n_classes + 1,
                    sizeof *list->classes));
    TRY(memory_string(name, &list->classes[list->n_classes]));
    list->n_classes++;
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

neap_error *folder_list_classes(const char *folder, struct folder_list *out) {
    *out = (struct folder_list){0};
    neap_error *error = each_entry(folder, add_class, out);
    if (error)
        folder_list_free(out);
    else if (out->n_classes > 0)
        qsort(out->classes, out->n_classes, sizeof *out->classes, compare_names);
    return error;
}

/* ---- a class's files ------------------------------------------------------------------------ */

struct walk {
    struct folder_list *list;
    const char *top;    /* the folder of all classes */
    const char *within; /* where in it the walk is */
    int32_t class;
    int depth;
    size_t most; /* files in the list after it */
};

static neap_error *walk_folder(const struct walk *walk);

static neap_error *add_file(struct folder_list *list, int32_t class, const char *path) {
    const size_t bytes = strlen(path) + 1;
    TRY(memory_grow(&list->files, &list->room_files, list->n_files + 1, sizeof *list->files));
    TRY(memory_grow(&list->text, &list->room_text, list->text_bytes + bytes, 1));
    memcpy(list->text + list->text_bytes, path, bytes);
    list->files[list->n_files++] = (struct listed_file){list->text_bytes, class};
    list->text_bytes += bytes;
    return NULL;
}

static neap_error *walk_entry(void *context, const char *name, enum entry_kind kind) {
    const struct walk *walk = context;
    char *path;
    if (kind == ENTRY_OTHER || walk->list->n_files >= walk->most)
        return NULL;
    TRY(memory_format(&path, "%s/%s", walk->within, name));
    struct walk deeper = *walk;
    deeper.within = path;
    deeper.depth++;
    neap_error *error =
        kind == ENTRY_FILE ? add_file(walk->list, walk->class, path) : walk_folder(&deeper);
    free(path);
    return error;
}

static neap_error *walk_folder(const struct walk *walk) {
    char *folder;
    struct walk here = *walk;
    if (walk->depth == MOST_DEPTH)
        return error_make(NEAP_ERROR_DATA, "%s/%s: folders in folders, %d deep: a link upwards?",
                          walk->top, walk->within, MOST_DEPTH);
    TRY(memory_format(&folder, "%s/%s", walk->top, walk->within));
    neap_error *error = each_entry(folder, walk_entry, &here);
    free(folder);
    return error;
}

/* First by the folder, then by the name: as torchvision sorts what os.walk finds. */
static int compare_files(const void *a, const void *b, void *context) {
    const struct folder_list *list = context;
    const char *text[2] = {list->text + ((const struct listed_file *)a)->path_at,
                           list->text + ((const struct listed_file *)b)->path_at};
    const size_t n[2] = {(size_t)(strrchr(text[0], '/') - text[0]),
                         (size_t)(strrchr(text[1], '/') - text[1])};
    const int folders = memcmp(text[0], text[1], n[0] < n[1] ? n[0] : n[1]);
    if (folders)
        return folders;
    return n[0] != n[1] ? (n[0] < n[1] ? -1 : 1) : strcmp(text[0] + n[0], text[1] + n[1]);
}

neap_error *folder_list_files(const char *folder, struct folder_list *list, int32_t class,
                              size_t most) {
    const size_t first = list->n_files;
    TRY(walk_folder(&(struct walk){.list = list,
                                   .top = folder,
                                   .within = list->classes[class],
                                   .class = class,
                                   .most = most < SIZE_MAX - first ? first + most : SIZE_MAX}));
    if (list->n_files > first)
        qsort_r(list->files + first, list->n_files - first, sizeof *list->files, compare_files,
                list);
    return NULL;
}

/* ---- together ------------------------------------------------------------------------------- */

neap_error *folder_list(const char *folder, struct folder_list *out) {
    neap_error *error = folder_list_classes(folder, out);
    for (size_t i = 0; i < out->n_classes && !error; i++) {
        const size_t before = out->n_files;
        error = folder_list_files(folder, out, (int32_t)i, SIZE_MAX);
        if (!error && out->n_files == before)
            error = error_make(NEAP_ERROR_DATA, "%s/%s: a class without images", folder,
                               out->classes[i]);
    }
    if (!error && out->n_classes == 0)
        error = error_make(NEAP_ERROR_DATA, "%s: no folders of classes in it", folder);
    if (error)
        folder_list_free(out);
    return error;
}

void folder_list_free(struct folder_list *list) {
    for (size_t i = 0; i < list->n_classes; i++)
        free(list->classes[i]);
    free(list->classes);
    free(list->files);
    free(list->text);
    *list = (struct folder_list){0};
}
