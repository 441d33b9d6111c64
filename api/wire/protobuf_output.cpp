// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"
#include "api/wire/protobuf_bytes.hpp"
#include "api/wire/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace tinkaf::wire {

namespace {

using Fields = std::map<std::string, TensorData>;
using Shape = std::vector<std::int64_t>;

constexpr std::string_view what = "forward_backward result";

/// A record without fields is nothing but a number, so it alone says how much memory to take.
constexpr std::int64_t max_empty_datums = 1'000'000;

template <class... Args>
tl::unexpected<Error> refuse(Errc code, fmt::format_string<Args...> format, Args&&... args) {
  return fail(code, fmt::format("{}: {}", what, fmt::format(format, std::forward<Args>(args)...)));
}

std::string readable(std::string_view name) {
  return replace_invalid_utf8(excerpt(name, 80));
}

/// All dimensions but the first; a tensor without a shape is a vector.
Shape trailing_shape(const TensorData& tensor) {
  if (!tensor.shape || tensor.shape->empty())
    return {};
  return {tensor.shape->begin() + 1, tensor.shape->end()};
}

// --- writing
// --------------------------------------------------------------------------------------

bool same_names(const Fields& a, const Fields& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first; });
}

/// True if both may travel in one record: element types and trailing dimensions agree.
bool same_layout(const Fields& a, const Fields& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.second.dtype() == y.second.dtype()
           && trailing_shape(x.second) == trailing_shape(y.second);
  });
}

void write_record(const std::vector<Fields>& outputs, std::size_t first, std::size_t last,
                  const std::string& type_tag, proto::ArrayRecord& out) {
  out.set_type_tag(type_tag);
  out.set_num_datums(static_cast<std::int64_t>(last - first));
  for (const auto& [name, leader] : outputs[first]) {
    auto& entry = *out.add_fields();
    entry.set_key(name);
    auto& batched = *entry.mutable_value();
    batched.set_dtype(dtype_of(leader.data));
    auto trailing = trailing_shape(leader);
    batched.mutable_trailing_shape()->Add(trailing.begin(), trailing.end());
    std::vector<std::int64_t> offsets{0};
    for (auto i = first; i < last; ++i) {
      batched.mutable_data()->append(to_bytes(to_dense(outputs[i].at(name)).data));
      offsets.push_back(static_cast<std::int64_t>(batched.data().size()));
    }
    batched.set_offsets(to_bytes(offsets));
  }
}

Result<void> check(const ForwardBackwardOutput& output) {
  const auto& outputs = output.loss_fn_outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!same_names(outputs[i], outputs.front()))
      return refuse(Errc::invalid_argument,
                    "`loss_fn_outputs[{}]` has other fields than `loss_fn_outputs[0]`", i);
    for (const auto& [name, tensor] : outputs[i]) {
      if (!is_utf8(name))
        return refuse(Errc::invalid_argument,
                      "`loss_fn_outputs[{}]` has a name that is not UTF-8: {}", i, readable(name));
      if (!tensor.sparse)
        continue;
      auto valid = validate(tensor, fmt::format("{}: `loss_fn_outputs[{}].{}`", what, i, name));
      if (!valid)
        return valid;
    }
  }
  for (const auto& [name, value] : output.metrics)
    if (!is_utf8(name))
      return refuse(Errc::invalid_argument, "`metrics` has a name that is not UTF-8: {}",
                    readable(name));
  return {};
}

// --- reading
// --------------------------------------------------------------------------------------

/// Elements of one row; nothing if a dimension is negative or the product overflows.
std::optional<std::int64_t> product(const Shape& shape) {
  std::int64_t count = 1;
  for (auto length : shape)
    if (length < 0 || __builtin_mul_overflow(count, length, &count))
      return std::nullopt;
  return count;
}

/// Cuts a field into one tensor per datum.
Result<std::vector<TensorData>> read_field(const proto::BatchedTensor& field,
                                           std::string_view name) {
  auto bad
      = [name](std::string_view why) { return refuse(Errc::protocol_error, "`{}` {}", name, why); };
  auto offsets = from_bytes<std::int64_t>(field.offsets());
  if (!offsets || offsets->empty())
    return bad(fmt::format("has {} bytes of offsets, but needs 8 for each datum and 8 more",
                           field.offsets().size()));
  Shape trailing{field.trailing_shape().begin(), field.trailing_shape().end()};
  auto row = product(trailing);
  if (!row)
    return bad("has an impossible trailing shape");
  std::string_view data = field.data();
  std::vector<TensorData> out;
  out.reserve(offsets->size() - 1);
  for (std::size_t i = 0; i + 1 < offsets->size(); ++i) {
    auto begin = (*offsets)[i];
    auto end = (*offsets)[i + 1];
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(data.size()))
      return bad(fmt::format("has the offsets {} and {} for datum {}, outside its {} bytes", begin,
                             end, i, data.size()));
    auto values = widen(field.dtype(), data.substr(static_cast<std::size_t>(begin),
                                                   static_cast<std::size_t>(end - begin)));
    if (!values)
      return bad(fmt::format("(datum {}) {}", i, values.error()));
    TensorData tensor{.data = std::move(*values)};
    auto count = static_cast<std::int64_t>(tensor.size());
    if (*row != 0 && count % *row != 0)
      return bad(fmt::format("(datum {}) has {} elements in rows of {}", i, count, *row));
    Shape shape{*row == 0 ? 0 : count / *row};
    shape.insert(shape.end(), trailing.begin(), trailing.end());
    tensor.shape = std::move(shape);
    out.push_back(std::move(tensor));
  }
  return out;
}

Result<std::vector<Fields>> read_record(const proto::ArrayRecord& record, int index) {
  if (record.num_datums() < 0
      || (record.fields().empty() && record.num_datums() > max_empty_datums))
    return refuse(Errc::protocol_error, "`loss_fn_outputs[{}].num_datums` is {}", index,
                  record.num_datums());
  std::optional<std::size_t> count;
  if (record.num_datums() != 0)
    count = static_cast<std::size_t>(record.num_datums());
  std::vector<Fields> out;
  if (record.fields().empty())
    out.resize(count.value_or(0));
  for (const auto& entry : record.fields()) {
    auto name = fmt::format("loss_fn_outputs[{}].{}", index, readable(entry.key()));
    if (!is_utf8(entry.key()))
      return refuse(Errc::protocol_error, "`{}` has a name that is not UTF-8", name);
    auto tensors = read_field(entry.value(), name);
    if (!tensors)
      return fail(std::move(tensors.error()));
    if (!count)
      count = tensors->size();
    if (tensors->size() != *count)
      return refuse(Errc::protocol_error, "`{}` has {} datums, but its record has {}", name,
                    tensors->size(), *count);
    out.resize(*count);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i].insert_or_assign(entry.key(), std::move((*tensors)[i]));
  }
  return out;
}

} // namespace

Result<std::string> to_protobuf(const ForwardBackwardOutput& output) {
  auto checked = check(output);
  if (!checked)
    return fail(std::move(checked.error()));
  const auto& outputs = output.loss_fn_outputs;
  proto::ForwardBackwardOutput out;
  out.set_loss_fn_output_type(output.loss_fn_output_type);
  auto tag = output.loss_fn_output_type.substr(output.loss_fn_output_type.rfind(':') + 1);
  for (std::size_t first = 0; first < outputs.size();) {
    auto last = first + 1;
    while (last < outputs.size() && same_layout(outputs[first], outputs[last]))
      ++last;
    write_record(outputs, first, last, tag, *out.add_loss_fn_outputs());
    first = last;
  }
  for (const auto& [name, value] : output.metrics) {
    auto& entry = *out.add_metrics();
    entry.set_key(name);
    entry.set_value(value);
  }
  return serialize(out, what);
}

Result<ForwardBackwardOutput> forward_backward_output_from_protobuf(std::string_view bytes) {
  proto::ForwardBackwardOutput in;
  if (!parse(in, bytes))
    return refuse(Errc::protocol_error, "the body is not a protobuf message of this kind");
  ForwardBackwardOutput out{.loss_fn_output_type = replace_invalid_utf8(in.loss_fn_output_type())};
  if (in.loss_fn_outputs().empty()) {
    if (out.loss_fn_output_type.empty())
      out.loss_fn_output_type = "ArrayRecord";
  } else {
    out.loss_fn_output_type.erase(0, out.loss_fn_output_type.rfind(':') + 1);
  }
  for (int i = 0; i < in.loss_fn_outputs_size(); ++i) {
    auto record = read_record(in.loss_fn_outputs(i), i);
    if (!record)
      return fail(std::move(record.error()));
    for (auto& fields : *record) {
      if (!out.loss_fn_outputs.empty() && !same_names(fields, out.loss_fn_outputs.front()))
        return refuse(Errc::protocol_error,
                      "`loss_fn_outputs[{}]` has other fields than `loss_fn_outputs[0]`", i);
      out.loss_fn_outputs.push_back(std::move(fields));
    }
  }
  for (const auto& entry : in.metrics()) {
    if (!is_utf8(entry.key()))
      return refuse(Errc::protocol_error, "`metrics` has a name that is not UTF-8: {}",
                    readable(entry.key()));
    out.metrics.insert_or_assign(entry.key(), entry.value());
  }
  return out;
}

} // namespace tinkaf::wire
