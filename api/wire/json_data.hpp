// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/base64.hpp"
#include "api/wire/json_describe.hpp"
#include "messages/datum.hpp"

#include <array>
#include <string_view>
#include <variant>

// Prompts, tensors and examples, as training and sampling share them.

namespace tinkaf::wire {

template <JsonVisitor V>
void visit_bytes(V& v, std::string_view name, Visited<V, std::string>& x) {
  if constexpr (V::writing) {
    v.field(name, to_base64(x));
  } else {
    std::string text;
    v.field(name, text);
    if (auto bytes = from_base64(text))
      x = std::move(*bytes);
    else if (const auto* found = v.member(name))
      v.within(name, *found, [&] { v.refuse("is not base64"); });
  }
}

template <JsonVisitor V>
void visit_format(V& v, Visited<V, ImageFormat>& x) {
  if constexpr (V::writing) {
    v.field("format", std::string{to_string(x)});
  } else {
    std::string text;
    v.field("format", text);
    if (text == "png")
      x = ImageFormat::png;
    else if (text == "jpeg")
      x = ImageFormat::jpeg;
    else if (const auto* found = v.member("format"))
      v.within("format", *found, [&] { v.refuse(R"(must be "png" or "jpeg")"); });
  }
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, EncodedTextChunk>& x) {
  v.field("tokens", x.tokens);
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, ImageChunk>& x) {
  visit_bytes(v, "data", x.data);
  visit_format(v, x.format);
  v.optional("expected_tokens", x.expected_tokens);
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, ImageAssetPointerChunk>& x) {
  v.field("location", x.location);
  visit_format(v, x.format);
  v.optional("expected_tokens", x.expected_tokens);
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, DmelChunk>& x) {
  visit_bytes(v, "dmel", x.dmel);
}

[[nodiscard]] constexpr std::string_view chunk_type(std::size_t index) noexcept {
  constexpr std::array<std::string_view, 4> names{"encoded_text", "image", "image_asset_pointer",
                                                  "dmel"};
  static_assert(names.size() == std::variant_size_v<ModelInputChunk>);
  return names[index];
}

inline void describe(JsonWriter& v, const ModelInputChunk& x) {
  v.literal("type", chunk_type(x.index()));
  std::visit([&v](const auto& chunk) { describe_fields(v, chunk); }, x);
}

inline void describe(JsonReader& v, ModelInputChunk& x) {
  std::string type;
  v.field("type", type);
  if (type == chunk_type(0))
    x = EncodedTextChunk{};
  else if (type == chunk_type(1))
    x = ImageChunk{};
  else if (type == chunk_type(2))
    x = ImageAssetPointerChunk{};
  else if (type == chunk_type(3))
    x = DmelChunk{};
  else {
    if (const auto* found = v.member("type"))
      v.within("type", *found, [&] {
        v.refuse(R"(must be "encoded_text", "image", "image_asset_pointer" or "dmel")");
      });
    return;
  }
  std::visit([&v](auto& chunk) { describe_fields(v, chunk); }, x);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, ModelInput>& x) {
  v.field("chunks", x.chunks);
}

inline void describe(JsonWriter& v, const TensorData& x) {
  std::visit([&v](const auto& values) { v.field("data", values); }, x.data);
  v.field("dtype", std::string{to_string(x.dtype())});
  v.optional("shape", x.shape);
  if (x.sparse) {
    v.field("sparse_crow_indices", x.sparse->crow_indices);
    v.field("sparse_col_indices", x.sparse->col_indices);
  }
}

inline void describe(JsonReader& v, TensorData& x) {
  std::string dtype;
  v.field("dtype", dtype);
  if (dtype == "int64")
    x.data = std::vector<std::int64_t>{};
  else if (dtype == "float32")
    x.data = std::vector<float>{};
  else if (const auto* found = v.member("dtype"))
    v.within("dtype", *found, [&] { v.refuse(R"(must be "float32" or "int64")"); });
  std::visit([&v](auto& values) { v.field("data", values); }, x.data);
  v.optional("shape", x.shape);
  if (v.member("sparse_crow_indices") != nullptr || v.member("sparse_col_indices") != nullptr) {
    auto& csr = x.sparse.emplace();
    v.field("sparse_crow_indices", csr.crow_indices);
    v.field("sparse_col_indices", csr.col_indices);
  }
}

template <JsonVisitor V>
void describe(V& v, Visited<V, Datum>& x) {
  v.field("model_input", x.model_input);
  v.field("loss_fn_inputs", x.loss_fn_inputs);
}

} // namespace tinkaf::wire
