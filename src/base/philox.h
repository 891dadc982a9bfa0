/* Philox4x32-10, a counter-based generator (Salmon et al., "Parallel random numbers: as easy as
 * 1, 2, 3", SC 2011): the output is a function of (key, counter) alone, so a random number has a
 * name instead of a place in a sequence. */
#ifndef NEAP_BASE_PHILOX_H
#define NEAP_BASE_PHILOX_H

#include <stdint.h>

struct philox_key {
    uint32_t word[2];
};
struct philox_block {
    uint32_t word[4];
};

static inline struct philox_block philox(struct philox_key key, struct philox_block counter) {
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * counter.word[0];
        uint64_t b = (uint64_t)0xCD9E8D57u * counter.word[2];
        counter = (struct philox_block){
            {(uint32_t)(b >> 32) ^ counter.word[1] ^ key.word[0], (uint32_t)b,
             (uint32_t)(a >> 32) ^ counter.word[3] ^ key.word[1], (uint32_t)a}};
        key.word[0] += 0x9E3779B9u;
        key.word[1] += 0xBB67AE85u;
    }
    return counter;
}

static inline struct philox_key philox_key_of(uint64_t seed) {
    return (struct philox_key){{(uint32_t)seed, (uint32_t)(seed >> 32)}};
}

/* The generator's block for a 128-bit counter given as two halves. */
static inline struct philox_block philox_at(uint64_t seed, uint64_t high, uint64_t low) {
    return philox(philox_key_of(seed),
                  (struct philox_block){{(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                                         (uint32_t)(high >> 32)}});
}

/* Uniform in [0, 1) with 24 bits, and with 53. */
static inline float philox_float(uint32_t word) {
    return (float)(word >> 8) * 0x1p-24f;
}
static inline double philox_double(uint32_t high, uint32_t low) {
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

/* FNV-1a of a string: the layer's part of a random number's name. */
static inline uint64_t philox_hash(const char *text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

#endif
