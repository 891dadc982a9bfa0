/* The defaults of every option: what `neap train` does unless told otherwise. */
#include "neap.h"

void neap_options_default(struct neap_options *o) {
    *o = (struct neap_options){
        .dropout = -1,
        .batch = 64,
        .precision = "fp32",
        .optimizer = "sgd",
        .lr = 0.05,
        .momentum = -1,
        .beta1 = -1,
        .beta2 = -1,
        .eps = -1,
        .decay_norms = true,
        .schedule = "constant",
        .min_lr = -1,
        .decay_rate = -1,
        .normalize = "auto",
        .data_format = "auto",
        .epochs = 1,
        .updates = 3,
        .shuffle = true,
        .loader_threads = 1,
        .device = "cpu",
    };
}
