/* costs: seconds modelled from FLOPs and bytes, so that a plan is the same everywhere.
 *
 * The roofline (Williams et al. 2009) of two AVX-512 cores as measured there with this project's
 * own kernels, and a floor for a launch: what counts for planning are the ratios. */
#include "compile/compile.h"
#include "ir/op.h"

static const double flops_per_second = 200e9;
static const double bf16_gain = 2; /* products a cycle, of avx512_bf16 over fp32 */
static const double bytes_per_second = 20e9;
static const double launch_seconds = 3e-6;

double compile_model_seconds(const neap_graph *g, const struct node *node) {
    struct op_cost cost = {0};
    if (node->op->cost)
        node->op->cost(g, node, &cost);
    double compute = cost.flops / flops_per_second;
    if (node_has_input(node, 1) && node_input(g, node, 1)->dtype == DTYPE_BF16)
        compute /= bf16_gain; /* convolutions and products: nothing else is bound by FLOPs */
    double memory = (cost.bytes_read + cost.bytes_written) / bytes_per_second;
    return (compute > memory ? compute : memory) + launch_seconds;
}
