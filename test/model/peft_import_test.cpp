// SPDX-License-Identifier: Apache-2.0
#include "server/model/peft_import.hpp"

#include "server/model/safetensors.hpp"
#include "test/model/model_fixture.hpp"

#include <algorithm>
#include <cmath>

using namespace tinkaf;
using namespace tinkaf::model;

namespace {

/// scale * B A of an adapted matrix of the first layer, or of the head.
std::vector<double> change_of(const AdapterWeights& weights, Linear linear) {
  const auto& layout = weights.layout();
  const auto* l = layout.find(linear, 0);
  REQUIRE(l != nullptr);
  std::vector<double> out(l->out * l->in);
  for (std::size_t o = 0; o < l->out; ++o)
    for (std::size_t i = 0; i < l->in; ++i)
      for (std::size_t r = 0; r < layout.rank; ++r)
        out[o * l->in + i] += static_cast<double>(layout.scale)
                              * weights.parameters()[l->b + o * layout.rank + r]
                              * weights.parameters()[l->a + r * l->in + i];
  return out;
}

void check_near(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::fabs(a[i] - b[i]));
  CHECK(worst < 1e-5);
}

/// A folder with an adapter of rank 3: of attention only q, in one layer; and the head under the
/// name that PEFT gives it.
struct Foreign {
  Foreign() {
    std::filesystem::create_directory(place);
    Random random{7};
    for (auto& x : numbers)
      x = static_cast<float>(0.1 * random.normal());
    config(R"("lora_alpha": 6, "rank_pattern": {}, "target_modules": ["q_proj", "lm_head"])");
    tensors(0);
  }

  void config(const std::string& more, const std::string& r = "3") const {
    write_all(place / "adapter_config.json",
              R"({"peft_type": "LORA", "base_model_name_or_path": "elsewhere", "bias": "none",)"
              R"( "r": )"
                  + r + ", " + more + "}");
  }

  /// Writes the tensors without the first `left_out`.
  void tensors(std::size_t left_out) const {
    std::vector<TensorSource> sources;
    const std::span<const float> all{numbers};
    for (const auto& [name, l] :
         {std::pair{"model.layers.0.self_attn.q_proj", q}, std::pair{"lm_head", head}}) {
      const auto start = std::string{"base_model.model."} + name;
      sources.push_back({start + ".lora_A.weight", {rank, l->in}, all.subspan(l->a, rank * l->in)});
      sources.push_back(
          {start + ".lora_B.weight", {l->out, rank}, all.subspan(l->b, l->out * rank)});
    }
    sources.erase(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(left_out));
    REQUIRE(write_safetensors(place / "adapter_model.safetensors", sources, StoredType::f32, {}));
  }

  std::vector<double> product(const AdaptedLinear& l, double scale) const {
    std::vector<double> out(l.out * l.in);
    for (std::size_t o = 0; o < l.out; ++o)
      for (std::size_t i = 0; i < l.in; ++i)
        for (std::size_t r = 0; r < rank; ++r)
          out[o * l.in + i] += scale * static_cast<double>(numbers[l.b + o * rank + r])
                               * numbers[l.a + r * l.in + i];
    return out;
  }

  static constexpr std::size_t rank = 3;
  TemporaryFolder folder;
  std::filesystem::path place = folder / "peft";
  std::shared_ptr<const BaseModel> base = random_model();
  AdapterLayout shape{base->config(), rank, true, false, true};
  const AdaptedLinear* q = shape.find(Linear::q, 0);
  const AdaptedLinear* head = shape.find(Linear::unembed, 0);
  std::vector<float> numbers = std::vector<float>(shape.size);
};

} // namespace

TEST_CASE_METHOD(Foreign, "an adapter of another program keeps its change of the base", "[model]") {
  auto imported = import_peft(base, place, 1).value();
  CHECK(imported.config().rank == 4);
  CHECK(imported.config().train_attn);
  CHECK_FALSE(imported.config().train_mlp);
  CHECK(imported.config().train_unembed);
  for (const auto* l : {q, head})
    check_near(change_of(imported.weights(), l->linear), product(*l, 2.0));
  const auto of_k = change_of(imported.weights(), Linear::k);
  CHECK(std::all_of(of_k.begin(), of_k.end(), [](double x) { return x == 0.0; }));
  // It can be trained on: what was not adapted has a gradient too.
  ThreadPool pool{1};
  const std::vector<Datum> data{datum_of(random_tokens(20, 1))};
  REQUIRE(forward_backward(imported, data, LossFn::cross_entropy, {}, false, pool));
  REQUIRE(imported.step({}));
  const auto trained = change_of(imported.weights(), Linear::k);
  CHECK(std::any_of(trained.begin(), trained.end(), [](double x) { return x != 0.0; }));
}

TEST_CASE_METHOD(Foreign, "the scale of an adapter may grow with the root of its rank", "[model]") {
  config(R"("lora_alpha": 6, "use_rslora": true)");
  check_near(change_of(import_peft(base, place).value().weights(), Linear::q),
             product(*q, 6.0 / std::sqrt(3.0)));
}

TEST_CASE_METHOD(Foreign, "what an adapter has that we do not is named", "[model]") {
  for (const char* unsupported :
       {R"("use_dora": true)", R"("fan_in_fan_out": true)", R"("bias": "all")",
        R"("rank_pattern": {"q_proj": 8})", R"("alpha_pattern": {"q_proj": 8})"}) {
    if (std::string_view{unsupported}.starts_with(R"("bias)"))
      write_all(place / "adapter_config.json",
                std::string{R"({"peft_type": "LORA", "r": 3, )"} + unsupported + "}");
    else
      config(unsupported);
    const std::string name{unsupported + 1, std::string_view{unsupported}.find('"', 1) - 1};
    CHECK(holds(import_peft(base, place).error(), "adapter_config.json: " + name));
  }
  config(R"("lora_alpha": 6)", "4");
  CHECK(holds(import_peft(base, place).error(), "has the shape [3, "));
  config(R"("lora_alpha": 6)", "0");
  CHECK(holds(import_peft(base, place).error(), "adapter_config.json: r: "));
  config(R"("lora_alpha": 6)");
  tensors(1);
  CHECK(holds(import_peft(base, place).error(), "q_proj has lora_B but no lora_A"));
  tensors(4);
  CHECK(holds(import_peft(base, place).error(), "holds no tensors"));
}

TEST_CASE("merged adapters change the base by the weighted sum of their changes", "[model]") {
  TemporaryFolder folder;
  const auto base = random_model();
  const auto a = stirred_adapter(base, 4, 1);
  const auto b = stirred_adapter(base, 8, 2);
  REQUIRE(a.save(folder / "a", true));
  REQUIRE(b.save(folder / "b", false));
  const std::vector<MergePart> parts{{folder / "a", 0.75}, {folder / "b", -0.5}};
  const auto merged = merge_adapters(base, parts).value();
  CHECK(merged.config().rank == 16);
  for (const auto linear : {Linear::q, Linear::down, Linear::unembed}) {
    auto expected = change_of(a.weights(), linear);
    const auto second = change_of(b.weights(), linear);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = 0.75 * expected[i] - 0.5 * second[i];
    check_near(change_of(merged.weights(), linear), expected);
  }
}
