/* The same from C, on arrays. */
#include <spex/spex.h>
#include <stdio.h>

static int say(const spex_epoch* epoch, void* user) {
  (void)user;
  if (epoch->epoch % 10 == 9) printf("epoch %zu: loss %.3f\n", epoch->epoch + 1, epoch->train_loss);
  return 0;
}

static int failed(spex_status status) {
  if (status) fprintf(stderr, "%s\n", spex_last_error());
  return status != SPEX_OK;
}

int main(void) {
  enum { kNodes = 90 };
  int64_t edges[2][kNodes];
  float features[kNodes][2];
  int8_t labels[kNodes];
  for (int i = 0; i < kNodes; ++i) {
    edges[0][i] = i;
    edges[1][i] = (i + 1) % kNodes;
    labels[i] = (int8_t)(3 * i / kNodes);
    features[i][0] = labels[i] == 0;
    features[i][1] = labels[i] == 1;
  }
  spex_array edge_array = {
      edges, SPEX_INT64, 2, {2, kNodes}, {sizeof edges[0], sizeof edges[0][0]}};
  spex_array feature_array = {
      features, SPEX_FLOAT32, 2, {kNodes, 2}, {sizeof features[0], sizeof(float)}};
  spex_array label_array = {labels, SPEX_INT8, 1, {kNodes, 0}, {1, 0}};

  spex_dataset* data = NULL;
  spex_run* run = NULL;
  spex_result* result = NULL;
  const char* settings[] = {"gcn.epochs=20", "gcn.width=16", "seed=1"};
  spex_fit_options options = {0};
  options.size = sizeof options;
  options.model = "gcn";
  options.settings = settings;
  options.setting_count = 3;
  int32_t nodes[] = {80, 40, 10};
  spex_array node_array = {nodes, SPEX_INT32, 1, {3, 0}, {sizeof nodes[0], 0}};

  int bad = failed(spex_dataset_new("ring", 0, &data)) ||
            failed(spex_dataset_edges(data, edge_array, 0)) ||
            failed(spex_dataset_features(data, feature_array)) ||
            failed(spex_dataset_labels(data, label_array, SPEX_TASK_CLASSES)) ||
            failed(spex_dataset_build(data)) || failed(spex_fit(data, &options, say, NULL, &run)) ||
            failed(spex_run_predict(run, SPEX_PROBABILITIES, node_array, NULL, &result));
  if (!bad) {
    const float* p = spex_result_array(result).data;
    for (int i = 0; i < 3; ++i)
      printf("node %d: %.3f %.3f %.3f\n", nodes[i], p[3 * i], p[3 * i + 1], p[3 * i + 2]);
  }
  spex_result_free(result);
  spex_run_free(run);
  spex_dataset_free(data);
  return bad;
}
