/* The defaults of every option: what `neap train` does unless told otherwise. */
#include "neap.h"

void neap_options_default(struct neap_options *o) {
    *o = (struct neap_options){
        .dropout = -1,
        .max_overhead = -1,
        .batch = 64,
        .grad_accum_steps = 1,
        .recompute = "auto",
        .precision = "fp32",
        .optimizer = "sgd",
        .lr = 0.05,
        .momentum = 0.9,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8,
        .schedule = "constant",
        .normalize = "auto",
        .data_format = "auto",
        .random_crop = -1,
        .epochs = 1,
        .updates = 3,
        .shuffle = true,
        .loader_threads = 1,
        .device = "cpu",
    };
}
