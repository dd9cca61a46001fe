/* spex in C: data sets from arrays or files, training, prediction. What other languages bind to.
 *
 *   spex_dataset* data;
 *   spex_run* run;
 *   spex_fit_options options = {0};
 *   options.size = sizeof options;
 *   options.model = "gcn";
 *   if (spex_dataset_open("minesweeper", &data) || spex_fit(data, &options, NULL, NULL, &run))
 *     fprintf(stderr, "%s\n", spex_last_error());
 *
 * - A function that can fail returns a status; spex_last_error() then has the sentence, for the
 *   calling thread, until its next call that fails. What a failed call was to give is left alone.
 * - Handles are opaque. Each belongs to the caller, who frees it; NULL may be freed, too.
 * - Arrays that are handed in are borrowed: they must stay as they are until the data set and all
 *   runs trained on it are freed. float32 features without gaps are used where they lie; everything
 *   else is converted once, when the data set is built.
 * - Text that is given back lives as long as the handle it came from.
 * - Any thread may call; calls that compute take turns. A callback may call back in.
 * - Structs that begin with `size` may grow at their end: set it to sizeof. Zero means the default,
 *   in every field.
 */
#ifndef SPEX_SPEX_H
#define SPEX_SPEX_H

#include <spex/version.h>
#include <stddef.h>
#include <stdint.h>

#define SPEX_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum spex_status {
  SPEX_OK = 0,
  SPEX_REFUSED = 1,   /* wrong input, file or setting: the sentence says what to change */
  SPEX_NO_MEMORY = 2, /* the system has no more memory to give */
  SPEX_INTERNAL = 3   /* a mistake of ours */
} spex_status;

SPEX_API const char* spex_last_error(void);
SPEX_API const char* spex_version(void); /* of the library that runs, as "0.1.0" */

/* Where the lines go that say what is being done; NULL: nowhere, which is the default. */
typedef void (*spex_log_function)(const char* line, void* user);
SPEX_API void spex_set_log(spex_log_function function, void* user);

/* The models that can be trained, as JSON:
 * [{"name": .., "help": .., "settings": [{"key": .., "value": .., "meaning": ..}, ..]}, ..] */
SPEX_API spex_status spex_models(const char** json);

/* ---- arrays ---- */

typedef enum spex_type {
  SPEX_BOOL = 1,
  SPEX_INT8,
  SPEX_INT16,
  SPEX_INT32,
  SPEX_INT64,
  SPEX_UINT8,
  SPEX_UINT16,
  SPEX_UINT32,
  SPEX_UINT64,
  SPEX_FLOAT16,
  SPEX_FLOAT32,
  SPEX_FLOAT64
} spex_type;

/* Element (i, j) stands strides[0] * i + strides[1] * j bytes behind `data`. Strides may be
 * negative. dimensions 0: there is no array. */
typedef struct spex_array {
  const void* data;
  int type; /* a spex_type; another number is refused */
  int dimensions;
  size_t shape[2];
  ptrdiff_t strides[2];
} spex_array;

/* Numbers that a call gave, row after row, 32-bit floats. */
typedef struct spex_result spex_result;
SPEX_API spex_array spex_result_array(const spex_result* result);
SPEX_API void spex_result_free(spex_result* result);

/* ---- data sets ---- */

typedef struct spex_dataset spex_dataset;

/* A file, a folder, or a generator's name: what `spex train` takes. */
SPEX_API spex_status spex_dataset_open(const char* data, spex_dataset** dataset);

/* A file or folder whose edges are kept as `flags` (spex_edge_flags) say, by the readers' rule for
 * SPEX_DIRECTED: a source looks at its targets. Runs that are kept get a copy of it, as if it had
 * come from arrays. */
SPEX_API spex_status spex_dataset_read(const char* path, unsigned flags, spex_dataset** dataset);

/* Tables: an edge list, and features and labels where they are not NULL, as CSV files. They are
 * read now: the files may go. */
SPEX_API spex_status spex_dataset_open_tables(const char* edges, const char* features,
                                              const char* labels, spex_dataset** dataset);

/* From arrays: new, then the parts, in any order, then build. nodes 0: as many as the features,
 * labels or masks have rows, or the largest node of an edge says. */
SPEX_API spex_status spex_dataset_new(const char* name, size_t nodes, spex_dataset** dataset);

typedef enum spex_edge_flags {
  SPEX_DIRECTED = 1,        /* an edge counts from its source to its target alone */
  SPEX_KEEP_SELF_LOOPS = 2, /* else they are dropped: models add their own */
  SPEX_KEEP_DUPLICATES = 4  /* else parallel edges count once */
} spex_edge_flags;

/* [2, E] integers: row 0 the sources, row 1 the targets. A target looks at its sources. */
SPEX_API spex_status spex_dataset_edges(spex_dataset* dataset, spex_array edges, unsigned flags);
/* The same from a matrix in compressed rows: row i holds the targets of i. */
SPEX_API spex_status spex_dataset_adjacency(spex_dataset* dataset, spex_array offsets,
                                            spex_array columns, unsigned flags);
/* [E, K] or [E] numbers, in the order of the edges. */
SPEX_API spex_status spex_dataset_edge_features(spex_dataset* dataset, spex_array values);
/* [N, F] numbers. */
SPEX_API spex_status spex_dataset_features(spex_dataset* dataset, spex_array features);
/* Compressed rows, columns ascending within a row; they are never made dense. */
SPEX_API spex_status spex_dataset_sparse_features(spex_dataset* dataset, spex_array offsets,
                                                  spex_array columns, spex_array values,
                                                  size_t width);

typedef enum spex_task {
  SPEX_TASK_BY_VALUES = 0, /* whole numbers [N]: classes; 0 and 1 [N, K]: binary labels */
  SPEX_TASK_CLASSES,       /* [N], from 0; -1 or NaN: unknown */
  SPEX_TASK_BINARY_LABELS, /* [N, K], 0 or 1; -1 or NaN: unknown */
  SPEX_TASK_REGRESSION     /* [N] or [N, K]; NaN: unknown */
} spex_task;

SPEX_API spex_status spex_dataset_labels(spex_dataset* dataset, spex_array labels, spex_task task);
SPEX_API spex_status spex_dataset_class_names(spex_dataset* dataset, const char* const* names,
                                              size_t count);
/* Each part a mask, bool [N] or [N, splits], or a list of nodes [M]. The test part may be absent.
 */
SPEX_API spex_status spex_dataset_split(spex_dataset* dataset, spex_array train,
                                        spex_array validation, spex_array test);
/* Checks everything and makes the graph. */
SPEX_API spex_status spex_dataset_build(spex_dataset* dataset);

/* Everything below needs a data set that was built or opened. */
typedef struct spex_dataset_facts {
  const char* name;
  size_t nodes;
  size_t edges; /* directed: an undirected one counts twice */
  size_t features;
  int sparse_features;
  spex_task task;
  size_t outputs; /* classes, labels or targets; 0: there are no labels */
  size_t splits;
  size_t edge_features;
  int undirected;
} spex_dataset_facts;
SPEX_API spex_status spex_dataset_describe(const spex_dataset* dataset, spex_dataset_facts* facts);
SPEX_API spex_status spex_dataset_class_name(const spex_dataset* dataset, size_t index,
                                             const char** name); /* its number if it has none */
/* What the files call a node, until the next call; its number if they do not. */
SPEX_API spex_status spex_dataset_key(spex_dataset* dataset, size_t node, const char** key);
/* What `spex data info` prints. */
SPEX_API spex_status spex_dataset_text(spex_dataset* dataset, const char** text);

typedef enum spex_part {
  SPEX_OFFSETS = 1,     /* [N + 1]: the sources that node i looks at are */
  SPEX_NEIGHBOURS,      /* neighbours[offsets[i] .. offsets[i + 1]) */
  SPEX_FEATURES,        /* [N, F]; absent where they are sparse */
  SPEX_FEATURE_OFFSETS, /* absent where they are dense */
  SPEX_FEATURE_COLUMNS,
  SPEX_FEATURE_VALUES,
  SPEX_LABELS, /* [N] int32 classes, or [N, outputs] float32 */
  SPEX_TRAIN,  /* nodes of a split */
  SPEX_VALIDATION,
  SPEX_TEST,
  SPEX_EDGE_FEATURES, /* [edges, K], in the order of the neighbours */
  SPEX_KEYS /* [N]: what its file calls node i; absent where that is i; refused of names */
} spex_part;
/* A view, not a copy. `split` counts for the parts of a split. */
SPEX_API spex_status spex_dataset_part(const spex_dataset* dataset, spex_part part, size_t split,
                                       spex_array* array);
/* Its file may go from now on: runs that are kept get a copy, as if it had come from arrays. */
SPEX_API spex_status spex_dataset_detach(spex_dataset* dataset);
SPEX_API spex_status spex_dataset_save(const spex_dataset* dataset, const char* path);
SPEX_API void spex_dataset_free(spex_dataset* dataset);

/* ---- training ---- */

typedef struct spex_run spex_run;

/* One epoch; NaN where a metric was not computed. Metrics are fractions. */
typedef struct spex_epoch {
  const char* phase; /* which network: "estimator", "spexphormer", .. */
  size_t seed;
  size_t epoch;
  size_t epochs; /* planned; 0 in a history */
  double train_loss;
  double train, validation, test;
  double learning_rate;
  double temperature;
  double seconds;
  double sample_seconds; /* of which drawing neighbours */
  size_t peak_bytes;     /* of counted memory */
} spex_epoch;

/* Called after each epoch, by the thread that called; not 0: stop now, with everything saved. */
typedef int (*spex_epoch_function)(const spex_epoch* epoch, void* user);
/* Asked after each epoch, those of trials included, with the same `user`; not 0: stop. */
typedef int (*spex_stop_function)(void* user);

typedef struct spex_fit_options {
  size_t size;
  const char* model;           /* spexphormer */
  const char* preset;          /* that of the data set's name, if there is one */
  const char* config;          /* a TOML file */
  const char* const* settings; /* "seed=1", "gcn.width=64", ..: what --set takes */
  size_t setting_count;
  const char* memory;        /* "2GiB": sets the batch size, or refuses */
  const char* scores;        /* a file of `spex estimate` in place of the first phase */
  const char* directory;     /* of the run; a temporary one that is freed with it */
  int resume;                /* continue the run in `directory` */
  double checkpoint_seconds; /* 60 */
  spex_stop_function stop;
} spex_fit_options;

/* Trains as `spex train` does: the same seed gives the same bytes. A run that a callback stopped
 * is given back, too; it can predict with its best epoch so far. */
SPEX_API spex_status spex_fit(const spex_dataset* dataset, const spex_fit_options* options,
                              spex_epoch_function on_epoch, void* user, spex_run** run);

/* The same on what spex_dataset_open takes. It needs less memory: nothing is held that the training
 * does not need. */
SPEX_API spex_status spex_fit_file(const char* data, const spex_fit_options* options,
                                   spex_epoch_function on_epoch, void* user, spex_run** run);

/* Trains each of `models` on the same splits and seeds; what `spex compare` prints, as JSON, in
 * `json`, to be freed with spex_text_free. A model's own settings count for that model alone.
 * NULL in `json`: it was stopped; the same call goes on. */
SPEX_API spex_status spex_compare(const spex_dataset* dataset, const char* const* models,
                                  size_t model_count, const size_t* splits, size_t split_count,
                                  const spex_fit_options* options, spex_epoch_function on_epoch,
                                  void* user, char** json);
SPEX_API void spex_text_free(char* text);

typedef struct spex_tune_options {
  size_t size;
  const char* const* models; /* to search among; none: the one that `spex train` would take */
  size_t model_count;
  const size_t* splits; /* stored ones to judge on; none: that of the settings */
  size_t split_count;
  size_t seeds;          /* trainings of each finalist on each split: 3, with several splits 1 */
  size_t trials;         /* at most so many configurations; as time allows */
  double budget_seconds; /* 600 */
} spex_tune_options;

/* How far a search is; NaN in `best` and `start`: nothing was trained yet. */
typedef struct spex_tune_progress {
  double seconds, budget_seconds;
  size_t trials;
  double best, start; /* validation metrics of the best trial and of the default settings */
  const char* stage;  /* "search", "finals" or "test" */
} spex_tune_progress;
/* One call at a time, but by any thread; not 0: stop. The options' `stop`, too, is asked by any. */
typedef int (*spex_tune_function)(const spex_tune_progress* progress, void* user);

/* Searches for better settings on validation nodes, as `spex tune` does. `json` is what tune.json
 * holds and, as "best", every setting of the winner, by key; to be freed with spex_text_free. NULL
 * in it: it was stopped; the same call goes on. */
SPEX_API spex_status spex_tune(const spex_dataset* dataset, const spex_tune_options* tuning,
                               const spex_fit_options* options, spex_tune_function on_progress,
                               void* user, char** json);

/* A run directory, of ours or of `spex train`. */
SPEX_API spex_status spex_run_load(const char* directory, spex_run** run);
/* Copies the run's directory, with the data set if that came from arrays, and writes its report. */
SPEX_API spex_status spex_run_save(spex_run* run, const char* directory);
SPEX_API void spex_run_free(spex_run* run);

typedef struct spex_run_facts {
  const char* model;
  const char* directory;
  spex_task task;
  size_t outputs; /* classes, labels or targets */
  size_t features;
  int finished;      /* 0: it was stopped */
  int can_predict;   /* 0: it was stopped before there was anything to predict with */
  size_t peak_bytes; /* of counted memory, while training */
} spex_run_facts;
SPEX_API spex_status spex_run_describe(const spex_run* run, spex_run_facts* facts);
SPEX_API spex_status spex_run_class_name(const spex_run* run, size_t index, const char** name);
SPEX_API spex_status spex_run_history(const spex_run* run, const spex_epoch** rows, size_t* count);
SPEX_API spex_status spex_run_summary(spex_run* run, const char** json); /* of a finished run */
SPEX_API spex_status spex_run_config(spex_run* run, const char** toml);  /* every value in force */
/* The data set it was trained on, as a handle of its own. */
SPEX_API spex_status spex_run_dataset(spex_run* run, spex_dataset** dataset);

/* ---- prediction ---- */

typedef enum spex_output {
  SPEX_PROBABILITIES = 0, /* of classes or labels; of a regression, the targets */
  SPEX_LOGITS,            /* two classes have one */
  SPEX_EMBEDDINGS         /* what the last layer before the outputs gives */
} spex_output;

typedef struct spex_predict_options {
  size_t size;
  const spex_dataset* data; /* another data set with the same features; NULL: the run's own */
  size_t batch;             /* nodes at a time; 0: what is best */
  size_t samples;           /* predictions of so many samples are averaged; 0: 1 */
} spex_predict_options;

/* A row per entry of `nodes`, in its order, or per node in a mask; an absent array: all nodes.
 * `options` may be NULL. */
SPEX_API spex_status spex_run_predict(spex_run* run, spex_output output, spex_array nodes,
                                      const spex_predict_options* options, spex_result** result);

/* [E, 1]: for each edge [2, E] how much its target looks at its source, in layer `layer`; the
 * weights of what a node looks at, expander edges and itself included, sum to 1. An edge that is
 * not in the graph has NaN. An absent array: the edges of the graph, as SPEX_NEIGHBOURS has them.
 */
SPEX_API spex_status spex_run_attention(spex_run* run, size_t layer, spex_array edges,
                                        spex_result** result);

#ifdef __cplusplus
}
#endif

#endif
