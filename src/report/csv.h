/* Fields of comma-separated values (RFC 4180). */
#ifndef NEAP_REPORT_CSV_H
#define NEAP_REPORT_CSV_H

#include <stdio.h>
#include <string.h>

/* A text field, quoted where it has to be. */
static inline void csv_text(FILE *file, const char *text) {
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++)
        fprintf(file, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', file);
}

#endif
