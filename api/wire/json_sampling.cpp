// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_data.hpp"

// Requests for samples.

namespace tinkaf::wire {

namespace {

void write_stop(JsonWriter& v, const Stop& stop) {
  std::visit(
      [&v](const auto& x) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(x)>, std::monostate>)
          v.field("stop", x);
      },
      stop);
}

void read_stop(JsonReader& v, Stop& stop) {
  const auto* found = v.member("stop");
  if (found == nullptr)
    return;
  if (found->IsString())
    v.field("stop", stop.emplace<std::string>());
  else if (found->IsArray() && !found->Empty() && (*found)[0].IsNumber())
    v.field("stop", stop.emplace<std::vector<Token>>());
  else if (found->IsArray())
    v.field("stop", stop.emplace<std::vector<std::string>>());
  else
    v.within("stop", *found, [&v] { v.expected("a string, or an array of strings or tokens"); });
}

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, SamplingParams>& x) {
  v.optional("max_tokens", x.max_tokens);
  v.optional("seed", x.seed);
  if constexpr (V::writing)
    write_stop(v, x.stop);
  else
    read_stop(v, x.stop);
  v.defaulted("temperature", x.temperature);
  v.defaulted("top_k", x.top_k);
  v.defaulted("top_p", x.top_p);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, AsampleRequest>& x) {
  v.defaulted("num_samples", x.sample.num_samples);
  v.field("prompt", x.sample.prompt);
  v.field("sampling_params", x.sample.sampling_params);
  v.optional("sampling_session_id", x.sampling_session_id);
  v.optional("seq_id", x.seq_id);
  v.optional("base_model", x.base_model);
  v.optional("model_path", x.model_path);
  v.defaulted("prompt_logprobs", x.sample.include_prompt_logprobs);
  v.defaulted("topk_prompt_logprobs", x.sample.topk_prompt_logprobs);
  v.literal("type", "sample");
}

Result<std::string> to_json(const AsampleRequest& x) {
  return write_json(x, "asample request");
}

template <>
Result<AsampleRequest> from_json(std::string_view json) {
  return read_json<AsampleRequest>(json, "asample request", Errc::invalid_argument);
}

} // namespace tinkaf::wire
