// SPDX-License-Identifier: Apache-2.0
#include "api/overloaded.hpp"
#include "api/wire/protobuf.hpp"
#include "api/wire/protobuf_bytes.hpp"
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

Result<void> write_chunk(const ModelInputChunk& chunk, std::string_view name, proto::Chunk& out) {
  return std::visit(
      Overloaded{
          [&](const EncodedTextChunk& x) -> Result<void> {
            out.mutable_encoded_text()->set_tokens(to_bytes(x.tokens));
            return {};
          },
          [&](const ImageChunk& x) -> Result<void> {
            auto& image = *out.mutable_image();
            image.set_data(x.data);
            image.set_format(to_string(x.format));
            if (x.expected_tokens)
              image.set_expected_tokens(*x.expected_tokens);
            return {};
          },
          [&](const ImageAssetPointerChunk&) -> Result<void> {
            return refuse("{} is an image by address, which is for sampling only; send its bytes "
                          "as an image chunk",
                          name);
          },
          [&](const DmelChunk& x) -> Result<void> {
            out.mutable_dmel()->set_dmel(x.dmel);
            return {};
          },
      },
      chunk);
}

void write_tensor(const TensorData& tensor, proto::Tensor& out) {
  out.set_dtype(dtype_of(tensor.data));
  if (tensor.shape)
    out.mutable_shape()->Add(tensor.shape->begin(), tensor.shape->end());
  if (!tensor.sparse) {
    out.set_dense(to_bytes(tensor.data));
    return;
  }
  auto& csr = *out.mutable_sparse_csr();
  csr.set_values(to_bytes(tensor.data));
  csr.set_crow_indices(to_bytes(tensor.sparse->crow_indices));
  csr.set_col_indices(to_bytes(tensor.sparse->col_indices));
}

Result<void> write_datum(const Datum& datum, std::size_t index, proto::Datum& out) {
  for (std::size_t i = 0; i < datum.model_input.chunks.size(); ++i) {
    auto name = fmt::format("`data[{}].model_input.chunks[{}]`", index, i);
    auto written = write_chunk(datum.model_input.chunks[i], name, *out.add_model_input());
    if (!written)
      return written;
  }
  for (const auto& [name, tensor] : datum.loss_fn_inputs) {
    if (!is_utf8(name))
      return refuse("`data[{}].loss_fn_inputs` has a name that is not UTF-8: {}", index,
                    readable(name));
    if (tensor.shape)
      for (auto length : *tensor.shape)
        if (length < 0)
          return refuse("`data[{}].loss_fn_inputs.{}.shape` holds the negative length {}", index,
                        name, length);
    auto& entry = *out.add_loss_fn_inputs();
    entry.set_key(name);
    write_tensor(tensor, *entry.mutable_value());
  }
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
  if (!is_utf8(request.model_id))
    return refuse("`model_id` is not UTF-8: {}", readable(request.model_id));
  auto seq_id = request.seq_id.value_or(0);
  if (seq_id < 0 || seq_id > std::numeric_limits<std::int32_t>::max())
    return refuse("`seq_id` is {}, but must be in [0, 2147483647]", seq_id);

  proto::ForwardBackwardRequest out;
  out.set_model_id(request.model_id);
  out.set_seq_id(static_cast<std::int32_t>(seq_id));
  out.set_loss_fn(to_string(request.loss_fn));
  out.set_forward_only(request.forward_only);
  if (request.loss_fn_config)
    for (const auto& [name, value] : *request.loss_fn_config) {
      if (!is_utf8(name))
        return refuse("`loss_fn_config` has a name that is not UTF-8: {}", readable(name));
      auto& entry = *out.add_loss_fn_config();
      entry.set_key(name);
      entry.set_value(value);
    }
  auto data = request.data.data();
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto written = write_datum(data[i], i, *out.add_data());
    if (!written)
      return fail(std::move(written.error()));
  }
  return serialize(out, what);
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
