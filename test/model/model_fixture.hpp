// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/engine.hpp"
#include "server/model/random.hpp"
#include "server/model/random_model.hpp"
#include "test/catch.hpp"
#include "test/model/numeric_cases.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tinkaf::model {

/// A folder of its own that is gone after the test.
class TemporaryFolder {
public:
  TemporaryFolder() {
    auto name = (std::filesystem::temp_directory_path() / "tinkaf-model-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const char* name) const {
    return path_ / name;
  }

private:
  std::filesystem::path path_;
};

inline std::string read_all(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  REQUIRE(in);
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write_all(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream{file, std::ios::binary} << bytes;
}

/// Puts `to` where the file says `from`.
inline void replace_in(const std::filesystem::path& file, const std::string& from,
                       const std::string& to) {
  auto bytes = read_all(file);
  const auto at = bytes.find(from);
  REQUIRE(at != std::string::npos);
  write_all(file, bytes.replace(at, from.size(), to));
}

/// A datum for cross_entropy that predicts each token from those before it.
inline Datum datum_of(const std::vector<std::int32_t>& tokens) {
  Datum out;
  out.model_input = ModelInput::from_ints({tokens.begin(), tokens.end() - 1});
  out.loss_fn_inputs["target_tokens"]
      = TensorData::of(std::vector<std::int64_t>{tokens.begin() + 1, tokens.end()});
  out.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(tokens.size() - 1, 1.0F));
  return out;
}

inline std::vector<std::int32_t> random_tokens(std::size_t count, std::uint64_t seed,
                                               std::size_t vocab_size = 259) {
  Random random{seed};
  std::vector<std::int32_t> out(count);
  for (auto& x : out)
    x = static_cast<std::int32_t>(random.below(vocab_size));
  return out;
}

/// An adapter whose B is not zero either, so that no gradient vanishes.
inline Adapter stirred_adapter(const std::shared_ptr<const BaseModel>& base, std::int32_t rank = 4,
                               std::uint64_t seed = 3) {
  LoraConfig config;
  config.rank = rank;
  config.seed = 1;
  auto adapter = Adapter::create(base, config).value();
  auto parameters = adapter.weights().parameters();
  Random random{seed};
  for (auto& x : parameters)
    x += static_cast<float>(0.05 * random.normal());
  adapter.set_parameters(parameters);
  return adapter;
}

inline const std::vector<float>& logprobs_of(const ForwardBackwardOutput& output, std::size_t i) {
  return *output.loss_fn_outputs.at(i).at("logprobs").floats();
}

inline bool holds(const Error& error, const std::string& part) {
  INFO(error.message);
  CHECK(error.message.find(part) != std::string::npos);
  return error.message.find(part) != std::string::npos;
}

} // namespace tinkaf::model
