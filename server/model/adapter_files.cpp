// SPDX-License-Identifier: Apache-2.0
#include "server/model/adapter.hpp"
#include "server/model/adapter_config.hpp"
#include "server/model/atomic_file.hpp"
#include "server/model/json_fields.hpp"
#include "server/model/safetensors.hpp"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include <unistd.h>

namespace tinkaf::model {

namespace {

namespace fs = std::filesystem;

constexpr const char* weights_file = "adapter_model.safetensors";
constexpr const char* optimizer_file = "optimizer.safetensors";
constexpr const char* gradient_file = "gradient.safetensors";
constexpr const char* state_file = "training_state.json";
constexpr const char* prefix = "base_model.model.";

/// One LoRA tensor as it stands in a file.
struct Part {
  std::string name;
  std::vector<std::size_t> shape;
  std::size_t offset = 0;

  std::size_t size() const {
    return shape[0] * shape[1];
  }
};

std::vector<Part> parts_of(const AdapterLayout& layout) {
  std::vector<Part> out;
  for (const auto& x : layout.linears) {
    out.push_back({prefix + x.name + ".lora_A.weight", {layout.rank, x.in}, x.a});
    out.push_back({prefix + x.name + ".lora_B.weight", {x.out, layout.rank}, x.b});
  }
  return out;
}

/// The name that PEFT gives to a tensor of the head.
std::string peft_name(const std::string& name) {
  constexpr std::string_view ours = "model.unembed_tokens.";
  const auto at = name.find(ours);
  return at == std::string::npos ? name : std::string{name}.replace(at, ours.size(), "lm_head.");
}

/// Reads all tensors with the given suffix into a flat vector; the file must hold nothing else.
Result<void> read_parts(const SafetensorsReader& reader, const AdapterLayout& layout,
                        std::initializer_list<std::pair<const char*, std::vector<float>*>> targets,
                        bool must_be_finite = true) {
  std::size_t expected = 0;
  for (const auto& [suffix, flat] : targets)
    for (const auto& part : parts_of(layout)) {
      auto name = part.name + suffix;
      if (!reader.contains(name) && reader.contains(peft_name(name)))
        name = peft_name(name);
      const std::span out{flat->data() + part.offset, part.size()};
      if (auto done = reader.read(name, part.shape, out); !done)
        return done;
      for (const float x : out)
        if (must_be_finite && !std::isfinite(x))
          return fail(Errc::invalid_argument,
                      fmt::format("{}: tensor \"{}\" holds a number that is not finite",
                                  reader.path().string(), name));
      ++expected;
    }
  if (reader.entries().size() != expected)
    return fail(Errc::invalid_argument,
                fmt::format("{}: holds {} tensors, {} expected; the adapter trains other matrices "
                            "than adapter_config.json says",
                            reader.path().string(), reader.entries().size(), expected));
  return {};
}

std::vector<TensorSource> sources_of(const AdapterLayout& layout, const std::vector<float>& flat,
                                     const char* suffix) {
  std::vector<TensorSource> out;
  for (auto& part : parts_of(layout))
    out.push_back(
        {part.name + suffix, part.shape, std::span{flat}.subspan(part.offset, part.size())});
  return out;
}

struct TrainingState {
  std::int64_t step = 0;
  std::int64_t seed = 0;
};

Result<void> write_state(const fs::path& file, const LoraConfig& config, std::int64_t step) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> w{buffer};
  w.StartObject();
  w.Key("step");
  w.Int64(step);
  w.Key("rank");
  w.Int(config.rank);
  w.Key("seed");
  w.Int64(config.seed.value_or(0));
  w.Key("train_attn");
  w.Bool(config.train_attn);
  w.Key("train_mlp");
  w.Bool(config.train_mlp);
  w.Key("train_unembed");
  w.Bool(config.train_unembed);
  w.EndObject();
  return write_text_file(file, {buffer.GetString(), buffer.GetSize()});
}

Result<TrainingState> read_state(const fs::path& file) {
  auto fields = JsonFields::read(file);
  if (!fields)
    return fail(fields.error());
  TrainingState out;
  out.step = fields->integer("step", 0, std::numeric_limits<std::int64_t>::max());
  out.seed = fields->integer("seed", std::numeric_limits<std::int64_t>::min(),
                             std::numeric_limits<std::int64_t>::max());
  if (auto good = fields->check(); !good)
    return fail(good.error());
  return out;
}

/// A folder that is filled under another name and put in its place when complete.
class NewFolder {
public:
  explicit NewFolder(fs::path place) : place_(std::move(place)), filling_(place_) {
    static std::atomic<unsigned> made{0};
    filling_ += fmt::format(".tmp-{}-{}", ::getpid(), made.fetch_add(1));
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(filling_, ignored);
  }

  const fs::path& path() const {
    return filling_;
  }

  Result<void> create() {
    std::error_code error;
    fs::create_directories(filling_, error);
    return outcome(error);
  }

  Result<void> commit() {
    std::error_code error;
    auto old = filling_;
    old += "-old";
    if (fs::exists(place_, error))
      fs::rename(place_, old, error);
    if (!error)
      fs::rename(filling_, place_, error);
    std::error_code ignored;
    fs::remove_all(old, ignored);
    return outcome(error);
  }

private:
  Result<void> outcome(const std::error_code& error) const {
    if (error)
      return fail(Errc::io_error,
                  fmt::format("cannot write {}: {}", place_.string(), error.message()));
    return {};
  }

  fs::path place_;
  fs::path filling_;
};

} // namespace

Result<std::shared_ptr<const AdapterWeights>>
AdapterWeights::load(std::shared_ptr<const BaseModel> base, const fs::path& folder) {
  auto read = read_weights(std::move(base), folder);
  if (!read)
    return fail(read.error());
  return std::shared_ptr<const AdapterWeights>{std::move(*read)};
}

Result<std::shared_ptr<AdapterWeights>>
AdapterWeights::read_weights(std::shared_ptr<const BaseModel> base, const fs::path& folder) {
  const auto config = read_adapter_config(folder / "adapter_config.json", base->name());
  if (!config)
    return fail(config.error());
  const auto reader = SafetensorsReader::open(folder / weights_file);
  if (!reader)
    return fail(reader.error());
  auto weights = std::make_shared<AdapterWeights>(std::move(base), *config);
  if (auto done = read_parts(*reader, weights->layout_, {{"", &weights->parameters_}}); !done)
    return fail(done.error());
  return weights;
}

Result<Adapter> Adapter::load(std::shared_ptr<const BaseModel> base, const fs::path& folder,
                              bool with_optimizer) {
  auto weights = AdapterWeights::read_weights(std::move(base), folder);
  if (!weights)
    return fail(weights.error());
  Adapter out{std::move(*weights)};
  if (!with_optimizer)
    return out;
  const auto state = read_state(folder / state_file);
  if (!state)
    return fail(state.error());
  const auto reader = SafetensorsReader::open(folder / optimizer_file);
  if (!reader)
    return fail(reader.error());
  if (auto done
      = read_parts(*reader, out.weights_->layout(),
                   {{".exp_avg", &out.first_moment_}, {".exp_avg_sq", &out.second_moment_}});
      !done)
    return fail(done.error());
  out.step_ = state->step;
  out.weights_->config_.seed = state->seed;
  return out;
}

Result<Adapter> Adapter::restore(std::shared_ptr<const BaseModel> base, const fs::path& folder) {
  auto out = load(std::move(base), folder, true);
  if (!out)
    return out;
  const auto reader = SafetensorsReader::open(folder / gradient_file);
  if (!reader)
    return fail(reader.error());
  // A gradient that is not finite is refused by the step that it leads to.
  if (auto done = read_parts(*reader, out->weights_->layout(), {{".grad", &out->gradient_}}, false);
      !done)
    return fail(done.error());
  return out;
}

Result<void> Adapter::save(const fs::path& folder, bool with_optimizer) const {
  return write(folder, with_optimizer ? Extent::optimizer : Extent::weights);
}

Result<void> Adapter::save_state(const fs::path& folder) const {
  return write(folder, Extent::gradient);
}

Result<void> Adapter::write(const fs::path& folder, Extent extent) const {
  const auto& layout = weights_->layout();
  NewFolder place{folder};
  auto done = place.create();
  if (done)
    done = write_adapter_config(place.path() / "adapter_config.json", config(), base()->name());
  if (done)
    done = write_safetensors(place.path() / weights_file,
                             sources_of(layout, weights_->parameters(), ""), StoredType::f32,
                             {{"format", "pt"}});
  if (done && extent != Extent::weights) {
    auto sources = sources_of(layout, first_moment_, ".exp_avg");
    for (auto& x : sources_of(layout, second_moment_, ".exp_avg_sq"))
      sources.push_back(std::move(x));
    done = write_safetensors(place.path() / optimizer_file, sources, StoredType::f32,
                             {{"format", "pt"}});
    if (done)
      done = write_state(place.path() / state_file, config(), step_);
  }
  if (done && extent == Extent::gradient)
    done = write_safetensors(place.path() / gradient_file, sources_of(layout, gradient_, ".grad"),
                             StoredType::f32, {{"format", "pt"}});
  return done ? place.commit() : done;
}

} // namespace tinkaf::model
