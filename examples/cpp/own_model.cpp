// An operation and a model of one's own, trained with the library's loop.
#include <spex/core/error.h>
#include <spex/data/generators.h>
#include <spex/model/layers.h>
#include <spex/run/phases.h>

#include <cmath>
#include <cstdio>
#include <numeric>

namespace {

using spex::Var;

// y = sin x; dx = cos(x) dy. Kept for backward: x.
Var sine(spex::Tape& tape, const Var& x) {
  spex::Matrix y(x.rows(), x.cols(), spex::MemoryTag::activations);
  for (size_t r = 0; r < y.rows(); ++r)
    for (size_t c = 0; c < y.cols(); ++c) y(r, c) = std::sin(x.value()(r, c));
  return tape.result_owning(spex::Tape::share(std::move(y)), {x},
                            [kept = x.keep(), dx = x.gradient()](spex::Matrix dy) {
                              for (size_t r = 0; r < dy.rows(); ++r)
                                for (size_t c = 0; c < dy.cols(); ++c)
                                  dy(r, c) *= std::cos(kept->view()(r, c));
                              dx->give(std::move(dy));
                            });
}

// A hidden layer of sines over the node and its neighbours.
class Waves : public spex::Model {
 public:
  Waves(const spex::Shape& shape, size_t width, uint64_t seed) : Model(shape) {
    spex::Maker maker{*this, seed};
    in_ = spex::Linear(maker, "in", shape.inputs, width, true);
    out_ = spex::Linear(maker, "out", width, shape.outputs, true);
  }
  Var forward(spex::Tape& tape, const spex::ModelInput& input,
              const spex::Neighbourhood& neighbourhood, const spex::Pass&) override {
    Var x = sine(tape, in_(tape, input));
    return out_(tape, neighbourhood.normalized_sum(tape, 0, x));
  }

 private:
  spex::Linear in_, out_;
};

struct WavesOptions : spex::Options<WavesOptions> {
  size_t width = 32;
  void list(spex::SettingList& s) override { s.add("width", width, {1, 1024}, "sines per node"); }
  spex::Needs needs() const override {
    spex::Needs needs;
    needs.local = true;
    return needs;
  }
  std::unique_ptr<spex::Model> make(const spex::Shape& shape, uint64_t seed) const override {
    return std::make_unique<Waves>(shape, width, seed);
  }
};

}  // namespace

int main() try {
  spex::Config config("mlp");
  spex::Phase& phase = config.final();
  phase.name = "waves";
  phase.model = std::unique_ptr<spex::ModelOptions>(std::make_unique<WavesOptions>());
  phase.recipe.epochs = 30;
  spex::MinesweeperOptions field;
  field.rows = field.columns = 40;
  spex::Problem problem = spex::make_problem(spex::generate_minesweeper(field), config);
  auto model = phase.model->make(spex::shape_of(problem, config), 0);
  spex::TrainState state;
  spex::train_phase(phase, *model, problem, config, 0, state, {});
  std::printf("best epoch %zu: validation %.3f, test %.3f\n", state.best_epoch,
              state.best_validation, state.best_test);
  std::vector<spex::NodeId> nodes(3);
  std::iota(nodes.begin(), nodes.end(), 0U);
  spex::Matrix logits =
      spex::predict_logits(phase, *model, problem, 0, state.best_epoch, 1.0F, nodes, 0);
  for (size_t i = 0; i < nodes.size(); ++i) std::printf("cell %u: %.3f\n", nodes[i], logits(i, 0));
} catch (const spex::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
