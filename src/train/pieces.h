/* Pieces: which ops are recomputed together, by layers that the options name or segments that the
 * graph marks. */
#ifndef NEAP_TRAIN_PIECES_H
#define NEAP_TRAIN_PIECES_H

#include "compile/compile.h"

/* By op of the problem, PLAN_NONE for what is kept; free() it.
 *
 * A pattern is matched against names part by part, parts being what dots separate; where that
 * fails, against whole names ("*.relu1"). It means a module, "layer3", with all that lies under it,
 * or layers, "conv1", "layer?.0.relu1"; "layer3.*" means all of the module too. A module is a
 * piece; layers that the same module holds and that follow each other are one. A pattern that names
 * no layer is NEAP_ERROR_USAGE. */
MUST_USE neap_error *pieces_of_layers(const neap_graph *model, const struct compiled *c,
                                      const char *patterns, uint32_t **out);
/* The nodes of a segment are a piece, wherever they stand. */
MUST_USE neap_error *pieces_of_segments(const neap_graph *model, const struct compiled *c,
                                        uint32_t **out);
/* Does the graph mark any? */
bool pieces_marked(const neap_graph *model);

#endif
