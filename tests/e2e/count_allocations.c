/* Counts allocations, preloaded in front of a program: allocations.sh builds and reads it.
 *
 * At exit a line goes to the file that COUNT_ALLOCATIONS names: calls from the program's own text
 * (what is linked in statically counts), calls for more than COUNT_ABOVE bytes (64 KiB) from
 * anywhere, all calls. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static uintptr_t text_begin, text_end; /* of the program */
static size_t large_bytes = 64 << 10;
static atomic_long n_own, n_large, n_all;

/* The program itself comes first. */
static int find_text(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    (void)user;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
            continue;
        text_begin = info->dlpi_addr + header->p_vaddr;
        text_end = text_begin + header->p_memsz;
    }
    return 1;
}

__attribute__((constructor)) static void begin(void) {
    const char *above = getenv("COUNT_ABOVE");
    if (above)
        large_bytes = strtoul(above, NULL, 10);
    dl_iterate_phdr(find_text, NULL);
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("COUNT_ALLOCATIONS");
    long own = n_own, large = n_large, all = n_all; /* before stdio allocates */
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld %ld %ld\n", own, large, all);
    fclose(file);
}

static void count(const void *caller, size_t bytes) {
    n_all++;
    n_own += (uintptr_t)caller >= text_begin && (uintptr_t)caller < text_end;
    n_large += bytes > large_bytes;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes) {
    count(CALLER, bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) {
    count(CALLER, n * bytes);
    return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes) {
    count(CALLER, bytes);
    return __libc_realloc(memory, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
    count(CALLER, bytes);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    count(CALLER, bytes);
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
    count(CALLER, bytes);
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
    void *(*next)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    count(CALLER, bytes);
    return next(address, bytes, protection, flags, file, offset);
}
