/* moment_cut: a bound at a moment as a minimum cut.
 *
 * Three questions about the time after op w's first execution; yes is the source's side of a cut:
 *   first(o)  does op o run for the first time then?  Then so do all that read its work.
 *   again(o)  does op o run at all then?              Then what it reads is needed.
 *   need(k)   is what op o made as value k read then?
 *
 *   again(o) ── cost of o ──> first(o)     it ran before as well, so it runs twice
 *   need(k) ── bytes × price ──> again(o)  nobody makes it then, so it is live at the moment
 *
 * w's ancestors ran before (first is the sink), its descendants run after (the source); all other
 * ops are free: a minimum cut finds the order that suits best. A cut is a way past the moment that
 * costs no more than any schedule pays, plus the price of the bytes it has live; less the price of
 * the bytes there are, that is a bound for each price (Lagrange). The best price is where the
 * lines of a cheap cut with too many bytes and a dear one with few enough meet, until no cut lies
 * below. Integers throughout; where numbers are rounded, bounds become lower. */
#include "plan/moment_cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE = 0, SINK = 1, MOST_PRICES = 50 };
#define UNBOUNDED_COST INT64_MAX

neap_error *moment_cut_open(struct moment *moment, struct moment_cut *c) {
    const struct precede *r = &moment->precede;
    size_t n_ops = r->problem->n_ops;
    size_t n_arcs = 2 * n_ops + 3 * (size_t)r->n_reads + r->n_works;
    int64_t total = 0;
    neap_error *error = NULL;
    *c = (struct moment_cut){.moment = moment};
    for (size_t o = 0; o < n_ops; o++)
        total += moment->cost[o];
    while (total >> c->cost_shift >= FLOW_UNBOUNDED / 4 / ((int64_t)r->n_works + 1))
        c->cost_shift++;
    c->cost_most = (total >> c->cost_shift) + 1;
    TRY_GOTO(flow_open(&c->flow, 2 + 2 * n_ops + r->n_works, n_arcs));
    TRY_GOTO(memory_alloc(n_arcs, sizeof *c->arc_cost, &c->arc_cost));
    TRY_GOTO(memory_alloc(n_arcs, sizeof *c->arc_bytes, &c->arc_bytes));
    TRY_GOTO(memory_alloc(n_ops, sizeof *c->first_node, &c->first_node));
    TRY_GOTO(memory_alloc(n_ops, sizeof *c->again_node, &c->again_node));
    TRY_GOTO(memory_alloc(r->n_works, sizeof *c->need_node, &c->need_node));
done:
    if (error)
        moment_cut_close(c);
    return error;
}

void moment_cut_close(struct moment_cut *c) {
    flow_close(&c->flow);
    free(c->arc_cost);
    free(c->arc_bytes);
    free(c->first_node);
    free(c->again_node);
    free(c->need_node);
    *c = (struct moment_cut){0};
}

/* ---- the network ---------------------------------------------------------------------------- */

static void add_arc(struct moment_cut *c, uint32_t from, uint32_t to, int64_t cost, int64_t bytes) {
    if (from == SINK || to == SOURCE || from == to || from == PLAN_NONE || to == PLAN_NONE)
        return;
    uint32_t arc = flow_arc(&c->flow, from, to);
    c->arc_cost[arc] = cost;
    c->arc_bytes[arc] = bytes;
}

static void demand(struct moment_cut *c, uint32_t from, uint32_t to) {
    if (from != SOURCE || to != SINK)
        add_arc(c, from, to, UNBOUNDED_COST, 0);
}

static void place_op(struct moment_cut *c, uint32_t o) {
    const struct moment *m = c->moment;
    const struct precede *r = &m->precede;
    bool repeats = !plan_op_once(&r->problem->ops[o]);
    if (o == m->w) {
        c->first_node[o] = c->again_node[o] = PLAN_NONE;
    } else if (precede_after(r, m->w, o)) {
        c->first_node[o] = c->again_node[o] = SOURCE;
    } else if (precede_before(r, m->w, o)) {
        c->first_node[o] = SINK;
        c->again_node[o] = repeats && !precede_sealed(r, m->w, o) ? c->n_nodes++ : SINK;
    } else {
        c->first_node[o] = c->n_nodes++;
        c->again_node[o] = repeats ? c->n_nodes++ : c->first_node[o];
    }
    add_arc(c, c->again_node[o], c->first_node[o], m->cost[o] >> c->cost_shift, 0);
    demand(c, c->first_node[o], c->again_node[o]);
}

static void place_work(struct moment_cut *c, uint32_t k) {
    const struct moment *m = c->moment;
    const struct plan_work *work = &m->precede.works[k];
    const struct plan_value *value = &m->precede.problem->values[work->value];
    enum moment_role role = m->role[work->value];
    uint32_t made = work->source == PLAN_NONE ? SINK : c->again_node[work->source];
    if (role == MOMENT_MADE || made == SOURCE || made == PLAN_NONE) {
        c->need_node[k] = PLAN_NONE; /* no question: it is there */
        return;
    }
    int64_t bytes = role == MOMENT_OTHER ? value->bytes : m->spare_bytes[work->value];
    c->need_node[k] = c->n_nodes++;
    c->base_bytes -= role == MOMENT_OTHER ? 0 : bytes;
    add_arc(c, c->need_node[k], made, 0, bytes);
}

static void place_read(struct moment_cut *c, const struct plan_read *read) {
    uint32_t reader = c->first_node[read->reader];
    if (read->source != PLAN_NONE)
        demand(c, c->first_node[read->source], reader);
    if (read->ended_by != PLAN_NONE)
        demand(c, reader, c->first_node[read->ended_by]);
    if (read->work != PLAN_NONE)
        demand(c, c->again_node[read->reader], c->need_node[read->work]);
}

void moment_cut_build(struct moment_cut *c) {
    const struct precede *r = &c->moment->precede;
    memset(c->flow.first_arc, 0xff,
           (2 + 2 * (size_t)r->problem->n_ops + r->n_works) * sizeof *c->flow.first_arc);
    c->flow.n_arcs = 0;
    c->n_nodes = 2;
    c->base_bytes = c->moment->used_bytes;
    for (uint32_t o = 0; o < r->problem->n_ops; o++)
        place_op(c, o);
    for (uint32_t k = 0; k < r->n_works; k++)
        place_work(c, k);
    for (uint32_t i = 0; i < r->n_reads; i++)
        place_read(c, &r->reads[i]);
    c->flow.n_nodes = c->n_nodes;
}

/* ---- cuts ----------------------------------------------------------------------------------- */

/* What the last cut costs and has live. */
static struct moment_line read_line(const struct moment_cut *c) {
    const struct flow *f = &c->flow;
    struct moment_line line = {0, c->base_bytes};
    for (uint32_t a = 0; a < f->n_arcs; a += 2) {
        bool is_cut = f->source_side[f->head[a + 1]] && !f->source_side[f->head[a]];
        line.cost += is_cut ? c->arc_cost[a / 2] : 0;
        line.bytes += is_cut ? c->arc_bytes[a / 2] : 0;
    }
    return line;
}

/* The least bytes live, whatever it costs or without any cost. */
static struct moment_line cut_bytes(struct moment_cut *c, bool at_no_cost) {
    for (uint32_t a = 0; a < c->flow.n_arcs / 2; a++) {
        bool closed = c->arc_cost[a] == UNBOUNDED_COST || (at_no_cost && c->arc_cost[a] > 0);
        c->flow.capacity[a] = closed ? FLOW_UNBOUNDED : c->arc_bytes[a];
    }
    flow_solve(&c->flow);
    return read_line(c);
}

void moment_cut_ends(struct moment_cut *c, struct moment_line *low, struct moment_line *high) {
    *low = cut_bytes(c, true);
    *high = cut_bytes(c, false);
}

/* The least of cost + price × bytes, rounded down. */
static int64_t cut_at_price(struct moment_cut *c, double price) {
    for (uint32_t a = 0; a < c->flow.n_arcs / 2; a++) {
        /* Less than a product's rounding could add. */
        double charge = price * (double)c->arc_bytes[a] * (1 - 0x1p-50);
        int64_t most = c->cost_most, whole = charge < (double)most ? (int64_t)charge : most;
        bool unbounded = c->arc_cost[a] == UNBOUNDED_COST;
        c->flow.capacity[a] = unbounded ? FLOW_UNBOUNDED : c->arc_cost[a] + whole;
    }
    return flow_solve(&c->flow);
}

static void copy_again(const struct moment_cut *c, bool *again) {
    for (uint32_t o = 0; o < c->moment->precede.problem->n_ops; o++) {
        uint32_t node = c->again_node[o], first = c->first_node[o];
        again[o] = node != PLAN_NONE && c->flow.source_side[node] && !c->flow.source_side[first];
    }
}

/* The best that any price can give: where the two lines meet. */
static double meet(struct moment_line low, struct moment_line high, int64_t budget_bytes,
                   double *price) {
    *price = (double)(high.cost - low.cost) / (double)(low.bytes - high.bytes);
    return (double)low.cost + *price * (double)(low.bytes - budget_bytes);
}

int64_t moment_cut_cost(struct moment_cut *c, struct moment_line low, struct moment_line high,
                        int64_t budget_bytes, int64_t enough, bool *again) {
    double best = 0, enough_cost = (double)(enough >> c->cost_shift);
    bool known = false;
    for (int i = 0; i < MOST_PRICES; i++) {
        double price, most = meet(low, high, budget_bytes, &price) * (1 + 0x1p-40);
        bool guess = i == 0 && c->price > 0;
        if (most <= enough_cost || (double)high.cost <= enough_cost)
            return 0;
        price = guess ? c->price : price;
        double cut = (double)cut_at_price(c, price);
        double paid = price * (double)(budget_bytes - c->base_bytes);
        double value = cut - paid - (1 + cut + fabs(paid)) * 0x1p-50;
        struct moment_line line = read_line(c), *side = line.bytes > budget_bytes ? &low : &high;
        if (value > best) {
            best = value;
            c->price = price;
        }
        if (side == &high) {
            copy_again(c, again);
            known = true;
        }
        bool last = line.cost == side->cost && line.bytes == side->bytes;
        if (last && !guess)
            break;
        if (!last && (side == &high ? line.cost <= high.cost : line.bytes <= low.bytes))
            *side = line;
    }
    if (!known) {
        cut_bytes(c, false);
        copy_again(c, again);
    }
    return (int64_t)best << c->cost_shift;
}
