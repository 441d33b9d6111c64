// SPDX-License-Identifier: Apache-2.0
#include "api/overloaded.hpp"
#include "api/wire/protobuf.hpp"
#include "api/wire/protobuf_bytes.hpp"
#include "api/wire/protobuf_writer.hpp"
#include "api/wire/utf8.hpp"

#include <fmt/format.h>

#include <limits>

namespace tinkaf::wire {

namespace {

constexpr std::string_view what = "forward_backward request";

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) {
  return fail(Errc::invalid_argument,
              fmt::format("{}: {}", what, fmt::format(format, std::forward<Args>(args)...)));
}

std::string readable(std::string_view name) {
  return replace_invalid_utf8(excerpt(name, 80));
}

// --- writing
// --------------------------------------------------------------------------------------

/// Field numbers, as in tinker_public.proto.
namespace field {

enum Request : std::uint32_t { model_id = 1, seq_id, data, loss_fn, loss_fn_config, forward_only };
enum Entry : std::uint32_t { key = 1, value };
enum DatumField : std::uint32_t { model_input = 1, loss_fn_inputs };
enum Chunk : std::uint32_t { encoded_text = 1, image, dmel };
enum Image : std::uint32_t { image_data = 1, image_format, expected_tokens };
enum Tensor : std::uint32_t { dense = 1, sparse_csr, dtype, shape };
enum Csr : std::uint32_t { values = 1, crow_indices, col_indices };

/// The one field of EncodedTextChunk and of DmelChunk.
constexpr std::uint32_t content = 1;

} // namespace field

std::string_view view_of(const TensorData::Values& values) {
  return std::visit([](const auto& x) { return wire::view_of(std::span{x}); }, values);
}

/// A field without presence: left out if empty.
void unless_empty(auto& sink, std::uint32_t number, std::string_view bytes) {
  if (!bytes.empty())
    sink.bytes(number, bytes);
}

void write(auto& sink, const ModelInputChunk& chunk) {
  std::visit(Overloaded{
                 [&](const EncodedTextChunk& x) {
                   sink.message(field::encoded_text, [&](auto& text) {
                     unless_empty(text, field::content, wire::view_of(std::span{x.tokens}));
                   });
                 },
                 [&](const ImageChunk& x) {
                   sink.message(field::image, [&](auto& image) {
                     unless_empty(image, field::image_data, x.data);
                     image.bytes(field::image_format, to_string(x.format));
                     if (x.expected_tokens)
                       image.varint(field::expected_tokens,
                                    static_cast<std::uint64_t>(std::int64_t{*x.expected_tokens}));
                   });
                 },
                 [&](const ImageAssetPointerChunk&) {}, // `check` has refused it
                 [&](const DmelChunk& x) {
                   sink.message(field::dmel,
                                [&](auto& dmel) { unless_empty(dmel, field::content, x.dmel); });
                 },
             },
             chunk);
}

void write(auto& sink, const TensorData& tensor) {
  if (tensor.sparse)
    sink.message(field::sparse_csr, [&](auto& csr) {
      unless_empty(csr, field::values, view_of(tensor.data));
      unless_empty(csr, field::crow_indices, wire::view_of(std::span{tensor.sparse->crow_indices}));
      unless_empty(csr, field::col_indices, wire::view_of(std::span{tensor.sparse->col_indices}));
    });
  else
    sink.bytes(field::dense, view_of(tensor.data));
  sink.varint(field::dtype, static_cast<std::uint64_t>(dtype_of(tensor.data)));
  if (tensor.shape && !tensor.shape->empty())
    sink.packed(field::shape, *tensor.shape);
}

void write(auto& sink, const Datum& datum) {
  for (const auto& chunk : datum.model_input.chunks)
    sink.message(field::model_input, [&](auto& inner) { write(inner, chunk); });
  for (const auto& [key, value] : datum.loss_fn_inputs)
    sink.message(field::loss_fn_inputs, [&name = key, &tensor = value](auto& entry) {
      entry.bytes(field::key, name);
      entry.message(field::value, [&](auto& inner) { write(inner, tensor); });
    });
}

void write(auto& sink, const ForwardBackwardRequest& request) {
  unless_empty(sink, field::model_id, request.model_id);
  if (request.seq_id.value_or(0) != 0)
    sink.varint(field::seq_id, static_cast<std::uint64_t>(*request.seq_id));
  for (const auto& datum : request.data.data())
    sink.message(field::data, [&](auto& inner) { write(inner, datum); });
  sink.bytes(field::loss_fn, to_string(request.loss_fn));
  if (request.loss_fn_config)
    for (const auto& [key, value] : *request.loss_fn_config)
      sink.message(field::loss_fn_config, [&name = key, number = value](auto& entry) {
        entry.bytes(field::key, name);
        entry.number(field::value, number);
      });
  if (request.forward_only)
    sink.varint(field::forward_only, 1);
}

Result<void> check(const Datum& datum, std::size_t index) {
  const auto& chunks = datum.model_input.chunks;
  for (std::size_t i = 0; i < chunks.size(); ++i)
    if (std::holds_alternative<ImageAssetPointerChunk>(chunks[i]))
      return refuse("`data[{}].model_input.chunks[{}]` is an image by address, which is for "
                    "sampling only; send its bytes as an image chunk",
                    index, i);
  for (const auto& [name, tensor] : datum.loss_fn_inputs) {
    if (!is_utf8(name))
      return refuse("`data[{}].loss_fn_inputs` has a name that is not UTF-8: {}", index,
                    readable(name));
    if (tensor.shape)
      for (auto length : *tensor.shape)
        if (length < 0)
          return refuse("`data[{}].loss_fn_inputs.{}.shape` holds the negative length {}", index,
                        name, length);
  }
  return {};
}

Result<void> check(const ForwardBackwardRequest& request) {
  if (!is_utf8(request.model_id))
    return refuse("`model_id` is not UTF-8: {}", readable(request.model_id));
  auto seq_id = request.seq_id.value_or(0);
  if (seq_id < 0 || seq_id > std::numeric_limits<std::int32_t>::max())
    return refuse("`seq_id` is {}, but must be in [0, 2147483647]", seq_id);
  if (request.loss_fn_config)
    for (const auto& [name, value] : *request.loss_fn_config)
      if (!is_utf8(name))
        return refuse("`loss_fn_config` has a name that is not UTF-8: {}", readable(name));
  auto data = request.data.data();
  for (std::size_t i = 0; i < data.size(); ++i)
    if (auto good = check(data[i], i); !good)
      return good;
  return {};
}

// --- reading
// --------------------------------------------------------------------------------------

Result<ModelInputChunk> read_chunk(const proto::Chunk& chunk, std::string_view name) {
  switch (chunk.chunk_case()) {
  case proto::Chunk::kEncodedText: {
    auto tokens = from_bytes<Token>(chunk.encoded_text().tokens());
    if (!tokens)
      return refuse("`{}.tokens` has {} bytes, which is no multiple of 4", name,
                    chunk.encoded_text().tokens().size());
    return EncodedTextChunk{std::move(*tokens)};
  }
  case proto::Chunk::kImage: {
    const auto& image = chunk.image();
    ImageChunk out{.data = image.data()};
    if (image.format() == to_string(ImageFormat::jpeg))
      out.format = ImageFormat::jpeg;
    else if (image.format() != to_string(ImageFormat::png))
      return refuse("`{}.format` is `{}`, but must be png or jpeg", name, readable(image.format()));
    if (image.has_expected_tokens())
      out.expected_tokens = image.expected_tokens();
    return out;
  }
  case proto::Chunk::kDmel:
    return DmelChunk{chunk.dmel().dmel()};
  case proto::Chunk::CHUNK_NOT_SET:
    break;
  }
  return refuse("`{}` has no content that we know", name);
}

Result<CsrIndices> read_indices(const proto::SparseCsr& csr, std::string_view name) {
  auto crow = from_bytes<std::int64_t>(csr.crow_indices());
  auto col = from_bytes<std::int64_t>(csr.col_indices());
  if (!crow || !col)
    return refuse("`{}.{}` has {} bytes, which is no multiple of 8", name,
                  crow ? "col_indices" : "crow_indices",
                  crow ? csr.col_indices().size() : csr.crow_indices().size());
  return CsrIndices{std::move(*crow), std::move(*col)};
}

Result<TensorData> read_tensor(const proto::Tensor& tensor, std::string_view name) {
  if (tensor.encoding_case() == proto::Tensor::ENCODING_NOT_SET)
    return refuse("`{}` has neither dense nor sparse elements", name);
  auto sparse = tensor.encoding_case() == proto::Tensor::kSparseCsr;
  auto values = widen(tensor.dtype(), sparse ? tensor.sparse_csr().values() : tensor.dense());
  if (!values)
    return refuse("`{}` {}", name, values.error());
  TensorData out{.data = std::move(*values)};
  if (!tensor.shape().empty())
    out.shape.emplace(tensor.shape().begin(), tensor.shape().end());
  if (sparse) {
    auto indices = read_indices(tensor.sparse_csr(), name);
    if (!indices)
      return fail(std::move(indices.error()));
    out.sparse = std::move(*indices);
  }
  return out;
}

Result<Datum> read_datum(const proto::Datum& datum, int index) {
  Datum out;
  out.model_input.chunks.reserve(static_cast<std::size_t>(datum.model_input_size()));
  for (int i = 0; i < datum.model_input_size(); ++i) {
    auto name = fmt::format("data[{}].model_input.chunks[{}]", index, i);
    auto chunk = read_chunk(datum.model_input(i), name);
    if (!chunk)
      return fail(std::move(chunk.error()));
    out.model_input.chunks.push_back(std::move(*chunk));
  }
  for (const auto& entry : datum.loss_fn_inputs()) {
    if (!is_utf8(entry.key()))
      return refuse("`data[{}].loss_fn_inputs` has a name that is not UTF-8: {}", index,
                    readable(entry.key()));
    auto name = fmt::format("data[{}].loss_fn_inputs.{}", index, readable(entry.key()));
    auto tensor = read_tensor(entry.value(), name);
    if (!tensor)
      return fail(std::move(tensor.error()));
    out.loss_fn_inputs.insert_or_assign(entry.key(), std::move(*tensor));
  }
  return out;
}

} // namespace

Result<std::string> to_protobuf(const ForwardBackwardRequest& request) {
  if (auto good = check(request); !good)
    return fail(std::move(good.error()));
  const auto body = [&](auto& sink) { write(sink, request); };
  const auto size = ProtobufSize::of(body);
  if (auto good = check_message_size(size, what); !good)
    return fail(std::move(good.error()));
  std::string out;
  out.reserve(size);
  ProtobufWriter writer{out};
  body(writer);
  return out;
}

Result<ForwardBackwardRequest> forward_backward_request_from_protobuf(std::string_view bytes) {
  proto::ForwardBackwardRequest in;
  if (!parse(in, bytes))
    return refuse("the body is not a protobuf message of this kind");
  if (!is_utf8(in.model_id()))
    return refuse("`model_id` is not UTF-8: {}", readable(in.model_id()));
  ForwardBackwardRequest out{.model_id = in.model_id(), .forward_only = in.forward_only()};
  if (in.seq_id() != 0)
    out.seq_id = in.seq_id();
  auto loss_fn = parse_loss_fn(readable(in.loss_fn()));
  if (!loss_fn)
    return refuse("{}", loss_fn.error().message);
  out.loss_fn = *loss_fn;
  for (const auto& entry : in.loss_fn_config()) {
    if (!is_utf8(entry.key()))
      return refuse("`loss_fn_config` has a name that is not UTF-8: {}", readable(entry.key()));
    if (!out.loss_fn_config)
      out.loss_fn_config.emplace();
    out.loss_fn_config->insert_or_assign(entry.key(), entry.value());
  }
  std::vector<Datum> data;
  data.reserve(static_cast<std::size_t>(in.data_size()));
  for (int i = 0; i < in.data_size(); ++i) {
    auto datum = read_datum(in.data(i), i);
    if (!datum)
      return fail(std::move(datum.error()));
    data.push_back(std::move(*datum));
  }
  out.data = BatchSlice::whole(make_batch(std::move(data)));
  return out;
}

} // namespace tinkaf::wire
