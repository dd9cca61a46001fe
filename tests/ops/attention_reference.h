// Attention in double precision, straight from its definition: the specification of the kernels.
#pragma once

#include <spex/ops/attention.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace spex::testing_support {

struct Edge {
  size_t query, key, type;
  double log_score = 0;
};

struct AttentionReference {
  size_t heads, width;  // width of all heads together
  double scale, temperature, clamp;
  std::vector<Edge> edges;
  std::vector<double> q, k, v, mod,
      bias;  // [row * width + d], mod [type * width + d], bias [type * H + h]
  std::vector<double> log_score_weight;  // per head; zeros when not used

  std::vector<double> out, scores;  // scores: [edge * H + h]
  std::vector<double> dq, dk, dv, dmod, dbias, dlog_score_weight;

  double raw_score(const Edge& e, size_t h) const {
    size_t d_head = width / heads;
    double sum = bias[e.type * heads + h] + log_score_weight[h] * e.log_score;
    for (size_t d = h * d_head; d < (h + 1) * d_head; ++d)
      sum += scale * mod[e.type * width + d] * q[e.query * width + d] * k[e.key * width + d];
    return sum / temperature;
  }

  void forward(size_t queries) {
    size_t d_head = width / heads;
    out.assign(queries * width, 0);
    scores.assign(edges.size() * heads, 0);
    std::vector<double> sums(queries * heads, 0);
    for (size_t e = 0; e < edges.size(); ++e)
      for (size_t h = 0; h < heads; ++h) {
        double w = std::exp(std::clamp(raw_score(edges[e], h), -clamp, clamp));
        scores[e * heads + h] = w;
        sums[edges[e].query * heads + h] += w;
      }
    for (size_t e = 0; e < edges.size(); ++e)
      for (size_t h = 0; h < heads; ++h) {
        double& w = scores[e * heads + h];
        double sum = sums[edges[e].query * heads + h];
        for (size_t d = h * d_head; d < (h + 1) * d_head; ++d)
          out[edges[e].query * width + d] += w / (sum + 1e-6) * v[edges[e].key * width + d];
        w /= sum;
      }
  }

  // After forward. The softmax of a row: ds = a (do.v - do.o), a = w / (sum + 1e-6).
  void backward(const std::vector<double>& dout) {
    size_t d_head = width / heads;
    dq.assign(q.size(), 0);
    dk.assign(k.size(), 0);
    dv.assign(v.size(), 0);
    dmod.assign(mod.size(), 0);
    dbias.assign(bias.size(), 0);
    dlog_score_weight.assign(heads, 0);
    std::vector<double> sums(dout.size() / width * heads, 0);
    for (const Edge& e : edges)
      for (size_t h = 0; h < heads; ++h)
        sums[e.query * heads + h] += std::exp(std::clamp(raw_score(e, h), -clamp, clamp));
    for (const Edge& e : edges)
      for (size_t h = 0; h < heads; ++h) {
        double raw = raw_score(e, h);
        double a = std::exp(std::clamp(raw, -clamp, clamp)) / (sums[e.query * heads + h] + 1e-6);
        double inner = 0;
        for (size_t d = h * d_head; d < (h + 1) * d_head; ++d) {
          inner += dout[e.query * width + d] * (v[e.key * width + d] - out[e.query * width + d]);
          dv[e.key * width + d] += a * dout[e.query * width + d];
        }
        if (std::abs(raw) > clamp) continue;
        double ds = a * inner / temperature;
        dbias[e.type * heads + h] += ds;
        dlog_score_weight[h] += ds * e.log_score;
        for (size_t d = h * d_head; d < (h + 1) * d_head; ++d) {
          double m = mod[e.type * width + d], x = q[e.query * width + d], y = k[e.key * width + d];
          dq[e.query * width + d] += ds * scale * m * y;
          dk[e.key * width + d] += ds * scale * m * x;
          dmod[e.type * width + d] += ds * scale * x * y;
        }
      }
  }
};

}  // namespace spex::testing_support
