// SPDX-License-Identifier: Apache-2.0
#include "messages/tensor_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

namespace tinkaf {

namespace {

template <class T>
TensorData dense(std::vector<T> values, std::vector<std::int64_t> shape) {
  return {.data = std::move(values), .shape = std::move(shape)};
}

/// Product of `shape`, or nothing if a dimension is negative or the product overflows.
std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (auto length : shape)
    if (length < 0 || __builtin_mul_overflow(count, length, &count))
      return std::nullopt;
  return count;
}

Result<void> check_rows(const CsrIndices& csr, std::int64_t rows, std::int64_t columns,
                        std::size_t values, std::string_view name) {
  const auto& starts = csr.crow_indices;
  if (rows == std::numeric_limits<std::int64_t>::max()
      || starts.size() != static_cast<std::size_t>(rows) + 1)
    return fail(Errc::invalid_argument,
                fmt::format("{}: crow_indices has {} entries, but {} rows need {}", name,
                            starts.size(), rows, rows + 1));
  if (csr.col_indices.size() != values)
    return fail(Errc::invalid_argument,
                fmt::format("{}: col_indices has {} entries for {} stored values", name,
                            csr.col_indices.size(), values));
  if (starts.front() != 0 || starts.back() != static_cast<std::int64_t>(values))
    return fail(Errc::invalid_argument,
                fmt::format("{}: crow_indices runs from {} to {}, but must run from 0 to {}", name,
                            starts.front(), starts.back(), values));
  for (std::size_t row = 0; row + 1 < starts.size(); ++row)
    if (starts[row] > starts[row + 1])
      return fail(Errc::invalid_argument,
                  fmt::format("{}: crow_indices falls from {} to {} at row {}", name, starts[row],
                              starts[row + 1], row));
  for (auto column : csr.col_indices)
    if (column < 0 || column >= columns)
      return fail(Errc::invalid_argument,
                  fmt::format("{}: column index {} is outside [0, {})", name, column, columns));
  return {};
}

Result<void> check_finite(const std::vector<float>& values, std::string_view name) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return fail(
          Errc::invalid_argument,
          fmt::format("{}[{}] is {}, but must be finite (NonFiniteInTensor)", name, i, values[i]));
  return {};
}

template <class T>
std::vector<T> fill_dense(const std::vector<T>& values, const CsrIndices& csr, std::int64_t rows,
                          std::int64_t columns) {
  std::vector<T> out(static_cast<std::size_t>(rows * columns));
  for (std::int64_t row = 0; row < rows; ++row)
    for (auto i = csr.crow_indices[row]; i < csr.crow_indices[row + 1]; ++i)
      out[row * columns + csr.col_indices[i]] = values[i];
  return out;
}

} // namespace

const char* to_string(DType dtype) noexcept {
  return dtype == DType::float32 ? "float32" : "int64";
}

TensorData TensorData::of(std::vector<float> values) {
  auto length = static_cast<std::int64_t>(values.size());
  return dense(std::move(values), {length});
}

TensorData TensorData::of(std::vector<std::int64_t> values) {
  auto length = static_cast<std::int64_t>(values.size());
  return dense(std::move(values), {length});
}

TensorData TensorData::of(std::vector<float> values, std::vector<std::int64_t> shape) {
  return dense(std::move(values), std::move(shape));
}

TensorData TensorData::of(std::vector<std::int64_t> values, std::vector<std::int64_t> shape) {
  return dense(std::move(values), std::move(shape));
}

DType TensorData::dtype() const noexcept {
  return floats() != nullptr ? DType::float32 : DType::int64;
}

std::size_t TensorData::size() const noexcept {
  return floats() != nullptr ? floats()->size() : ints()->size();
}

std::vector<std::int64_t> TensorData::shape_or_vector() const {
  return shape ? *shape : std::vector{static_cast<std::int64_t>(size())};
}

const std::vector<float>* TensorData::floats() const noexcept {
  return std::get_if<std::vector<float>>(&data);
}

const std::vector<std::int64_t>* TensorData::ints() const noexcept {
  return std::get_if<std::vector<std::int64_t>>(&data);
}

Result<void> validate(const TensorData& tensor, std::string_view name) {
  if (tensor.shape) {
    auto count = element_count(*tensor.shape);
    if (!count)
      return fail(Errc::invalid_argument,
                  fmt::format("{}: shape {} is not possible", name, *tensor.shape));
    if (!tensor.sparse && *count != static_cast<std::int64_t>(tensor.size()))
      return fail(Errc::invalid_argument, fmt::format("{}: shape {} needs {} elements, got {}",
                                                      name, *tensor.shape, *count, tensor.size()));
  }
  if (tensor.sparse) {
    if (!tensor.shape || tensor.shape->size() != 2)
      return fail(Errc::invalid_argument,
                  fmt::format("{}: a sparse tensor needs a shape of two dimensions", name));
    auto rows
        = check_rows(*tensor.sparse, tensor.shape->at(0), tensor.shape->at(1), tensor.size(), name);
    if (!rows)
      return rows;
  }
  if (const auto* values = tensor.floats())
    return check_finite(*values, name);
  return {};
}

TensorData to_dense(const TensorData& tensor) {
  if (!tensor.sparse)
    return tensor;
  auto rows = tensor.shape->at(0);
  auto columns = tensor.shape->at(1);
  return std::visit(
      [&](const auto& values) {
        return dense(fill_dense(values, *tensor.sparse, rows, columns), {rows, columns});
      },
      tensor.data);
}

} // namespace tinkaf
