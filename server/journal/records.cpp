// SPDX-License-Identifier: Apache-2.0
#include "server/journal/records.hpp"

#include "api/wire/json_time.hpp"

#include <array>

namespace tinkaf::server {

namespace {

using wire::JsonVisitor;
using wire::Visited;

constexpr auto types = std::array{RequestType::create_model,
                                  RequestType::forward,
                                  RequestType::forward_backward,
                                  RequestType::optim_step,
                                  RequestType::save_weights,
                                  RequestType::load_weights,
                                  RequestType::save_weights_for_sampler,
                                  RequestType::save_weights_external,
                                  RequestType::unload_model,
                                  RequestType::sample};

template <JsonVisitor V>
void visit_type(V& v, Visited<V, RequestType>& x) {
  std::string text;
  if constexpr (V::writing)
    text = to_string(x);
  v.field("type", text);
  if constexpr (!V::writing)
    for (const auto type : types)
      if (text == to_string(type))
        x = type;
}

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, SessionNote>& x) {
  v.field("id", x.id);
  wire::visit_time(v, "created", x.created);
  v.optional("project_id", x.project_id);
  wire::visit_optional_metadata(v, "user_metadata", x.user_metadata);
  v.optional("display_name", x.display_name);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TextNote>& x) {
  v.field("text", x.text);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TimeNote>& x) {
  v.unless_empty("id", x.request_id);
  wire::visit_time(v, "time", x.time);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, ModelNote>& x) {
  v.field("number", x.number);
  v.field("digest", x.digest);
  v.field("id", x.request_id);
  visit_type(v, x.type);
  v.field("base_model", x.base_model);
  v.field("lora_rank", x.config.rank);
  v.optional("seed", x.config.seed);
  v.field("train_unembed", x.config.train_unembed);
  v.field("train_mlp", x.config.train_mlp);
  v.field("train_attn", x.config.train_attn);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, UnloadNote>& x) {
  v.field("model_id", x.model_id);
  v.unless_empty("id", x.request_id);
  v.field("reason", x.reason);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SamplerNote>& x) {
  v.field("number", x.number);
  v.field("digest", x.digest);
  v.field("base_model", x.base_model);
  v.optional("model_path", x.model_path);
  v.optional("weights", x.weights);
  v.unless_empty("version", x.version);
  v.unless_empty("run", x.run_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, RequestNote>& x) {
  v.field("id", x.request_id);
  visit_type(v, x.type);
  v.optional("number", x.number);
  v.field("digest", x.digest);
  v.unless_empty("sampler", x.sampler);
  v.field("protobuf", x.protobuf);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, RefusalNote>& x) {
  v.field("number", x.number);
  v.field("digest", x.digest);
  v.field("status", x.status);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, RunCounts>& x) {
  v.field("run", x.run_id);
  v.field("train", x.tokens.train);
  v.field("prefill", x.tokens.prefill);
  v.field("sample", x.tokens.sample);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, OutcomeNote>& x) {
  v.field("id", x.request_id);
  visit_type(v, x.type);
  wire::visit_time(v, "time", x.time);
  v.field("failed", x.failed);
  v.field("content_type", x.content_type);
  v.optional("counts", x.counts);
}

template <class T>
Result<T> from_text(std::string_view text) {
  return wire::read_json<T>(text, "a note of the journal", Errc::io_error);
}

#define TINKAF_NOTE(T)                                                                             \
  std::string to_text(const T& x) {                                                                \
    return wire::write_json(x);                                                                    \
  }                                                                                                \
  template Result<T> from_text<T>(std::string_view)

TINKAF_NOTE(SessionNote);
TINKAF_NOTE(TextNote);
TINKAF_NOTE(TimeNote);
TINKAF_NOTE(ModelNote);
TINKAF_NOTE(UnloadNote);
TINKAF_NOTE(SamplerNote);
TINKAF_NOTE(RequestNote);
TINKAF_NOTE(RefusalNote);
TINKAF_NOTE(OutcomeNote);

#undef TINKAF_NOTE

} // namespace tinkaf::server
