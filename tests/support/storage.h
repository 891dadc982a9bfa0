/* Values as they lie in memory, moved element by element: slow, and right by definition. */
#ifndef NEAP_TESTS_SUPPORT_STORAGE_H
#define NEAP_TESTS_SUPPORT_STORAGE_H

#include "ir/op.h"

/* 64-byte aligned and not a byte more than the value has, so that a sanitizer sees overruns. */
MUST_USE neap_error *storage_alloc(const struct value *value, unsigned char filler, void **out);

/* Storage as a flat tensor, padding and all, and where in it the value's element `at` lies. */
struct tensor storage_tensor(const struct value *value, void *data);
int64_t storage_place(const struct value *value, int64_t at);

/* A plain tensor into the value's layout, with zeros in the padding. */
void storage_pack(const struct value *value, const struct tensor *from, void *data);
bool storage_padding_is_zero(const struct value *value, void *data);

#endif
