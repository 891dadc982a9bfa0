/* Sections: a step in which chains need bytes matters only if no other has all of them and more.
 * Those are the steps behind which something ends or shrinks, something having begun since the last
 * such step: the maximal cliques of an interval graph.
 *
 * Expected load: what place_exact is asked for; the entries are the sum of the chains' lengths in
 * sections. */
#include "plan/place_sections.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHAIN_STEPS = 8 << 20 }; /* entries are fewer, of 16 bytes */

struct maker {
    const struct place_chains *chains;
    struct place_sections *out;
    uint32_t *section_at; /* by step: how many sections lie before it */
    uint32_t n_steps;
};

/* Only of chains with bytes. A member without bytes counts all the same: not to lie inside another
 * life, it needs the others beside it. */
static uint32_t n_members(const struct place_chain *chain) {
    return chain->bytes > 0 ? chain->n_members : 0;
}

/* Sections are numbered by the steps they are; section_at counts those before each step. */
static neap_error *find_sections(struct maker *m) {
    const struct place_chains *chains = m->chains;
    bool *begins, *ends, begun = false;
    neap_error *error;
    for (uint32_t i = 0; i < chains->n_members; i++)
        if (m->n_steps <= chains->members[i].to)
            m->n_steps = chains->members[i].to + 1;
    begins = ends = NULL;
    TRY_GOTO(memory_alloc(m->n_steps, sizeof *begins, &begins));
    TRY_GOTO(memory_alloc(m->n_steps, sizeof *ends, &ends));
    TRY_GOTO(memory_alloc((size_t)m->n_steps + 1, sizeof *m->section_at, &m->section_at));
    for (uint32_t c = 0; c < chains->n; c++) {
        const struct place_member *members = chains->members + chains->at[c].first_member;
        for (uint32_t i = 0; i < n_members(&chains->at[c]); i++) {
            if (members[i].from > members[i].to)
                continue;
            begins[members[i].from] |= i == 0;
            ends[members[i].to] = true;
        }
    }
    for (uint32_t step = 0; step < m->n_steps; step++) {
        begun |= begins[step];
        m->section_at[step + 1] = m->section_at[step] + (begun && ends[step]);
        begun &= !ends[step];
    }
    m->out->n = m->section_at[m->n_steps];
done:
    free(begins);
    free(ends);
    return error;
}

static void add_item(struct maker *m, uint32_t chain, uint32_t *n_pieces) {
    const struct place_chain *c = &m->chains->at[chain];
    struct place_item item = {.chain = chain, .first_piece = *n_pieces};
    for (uint32_t i = 0; i < n_members(c); i++) {
        const struct place_member *member = &m->chains->members[c->first_member + i];
        if (member->from > member->to)
            continue;
        struct place_piece piece = {{m->section_at[member->from], m->section_at[member->to + 1]},
                                    member->bytes};
        if (piece.at.from == piece.at.to)
            continue;
        if (!item.n_pieces)
            item.at.from = piece.at.from;
        item.at.to = piece.at.to;
        item.least_bytes = piece.bytes;
        item.n_pieces++;
        m->out->pieces[(*n_pieces)++] = piece;
    }
    if (item.n_pieces)
        m->out->items[m->out->n_items++] = item;
}

static int compare_items(const void *a, const void *b) {
    const struct place_item *x = a, *y = b;
    if (x->at.from != y->at.from)
        return x->at.from < y->at.from ? -1 : 1;
    return x->chain < y->chain ? -1 : 1;
}

static neap_error *fill_entries(struct place_sections *s) {
    uint32_t *fill;
    size_t n_entries = 0;
    for (uint32_t i = 0; i < s->n_items; i++)
        n_entries += s->items[i].at.to - s->items[i].at.from;
    TRY(memory_alloc(n_entries, sizeof *s->entries, &s->entries));
    for (uint32_t i = 0; i < s->n_items; i++)
        for (uint32_t section = s->items[i].at.from; section < s->items[i].at.to; section++)
            s->first_entry[section + 1]++;
    for (uint32_t section = 0; section < s->n; section++)
        s->first_entry[section + 1] += s->first_entry[section];
    TRY(memory_alloc(s->n, sizeof *fill, &fill));
    memcpy(fill, s->first_entry, s->n * sizeof *fill);
    for (uint32_t i = 0; i < s->n_items; i++) {
        const struct place_piece *piece = s->pieces + s->items[i].first_piece;
        for (uint32_t section = s->items[i].at.from; section < s->items[i].at.to; section++) {
            piece += section >= piece->at.to;
            s->entries[fill[section]++] = (struct place_entry){i, piece->bytes};
        }
    }
    free(fill);
    return NULL;
}

bool place_sections_too_many(const struct place_chains *chains) {
    uint64_t n_chain_steps = 0;
    for (uint32_t c = 0; c < chains->n; c++)
        n_chain_steps += (uint64_t)chains->at[c].to - chains->at[c].from + 1;
    return n_chain_steps > MOST_CHAIN_STEPS;
}

neap_error *place_sections_make(const struct place_chains *chains, struct place_sections *out) {
    struct maker m = {.chains = chains, .out = out};
    uint32_t n_pieces = 0;
    neap_error *error;
    *out = (struct place_sections){0};
    TRY_GOTO(find_sections(&m));
    TRY_GOTO(memory_alloc(chains->n, sizeof *out->items, &out->items));
    TRY_GOTO(memory_alloc(chains->n_members, sizeof *out->pieces, &out->pieces));
    TRY_GOTO(memory_alloc((size_t)out->n + 1, sizeof *out->first_entry, &out->first_entry));
    TRY_GOTO(memory_alloc((size_t)out->n + 1, sizeof *out->first_item, &out->first_item));
    for (uint32_t chain = 0; chain < chains->n; chain++)
        add_item(&m, chain, &n_pieces);
    qsort(out->items, out->n_items, sizeof *out->items, compare_items);
    for (uint32_t section = 0, i = 0; section <= out->n; section++) {
        while (i < out->n_items && out->items[i].at.from < section)
            i++;
        out->first_item[section] = i;
    }
    TRY_GOTO(fill_entries(out));
done:
    free(m.section_at);
    if (error)
        place_sections_free(out);
    return error;
}

void place_sections_free(struct place_sections *sections) {
    free(sections->items);
    free(sections->pieces);
    free(sections->entries);
    free(sections->first_entry);
    free(sections->first_item);
    *sections = (struct place_sections){0};
}
