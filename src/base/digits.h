/* Numbers in messages: 47,040,016 rather than 47040016. */
#ifndef NEAP_BASE_DIGITS_H
#define NEAP_BASE_DIGITS_H

#include <stdint.h>
#include <stdio.h>

/* Returned by value, so that it can stand in an argument list: digits_of(n).text. */
struct digits {
    char text[28];
};

static inline struct digits digits_of(int64_t number) {
    char plain[24];
    int length = snprintf(plain, sizeof plain, "%lld", (long long)number);
    struct digits grouped;
    char *to = grouped.text;
    for (int i = 0; i < length; i++) {
        *to++ = plain[i];
        int left = length - 1 - i;
        if (left > 0 && left % 3 == 0 && plain[i] != '-')
            *to++ = ',';
    }
    *to = '\0';
    return grouped;
}

#endif
