// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace tinkaf {

/// Element types that the API accepts in tensors.
enum class DType : std::uint8_t { float32, int64 };

/// Returns "float32" or "int64".
[[nodiscard]] const char* to_string(DType dtype) noexcept;

/// Where the stored values of a sparse matrix stand, row by row.
struct CsrIndices {
  /// Start of each row in the values, and their number at the end. Shape: [rows + 1].
  std::vector<std::int64_t> crow_indices;

  /// Column of each stored value. Shape: [values].
  std::vector<std::int64_t> col_indices;

  friend bool operator==(const CsrIndices&, const CsrIndices&) = default;
};

/// A tensor as it travels: flat row-major elements with an optional shape, dense or sparse (CSR).
struct TensorData {
  using Values = std::variant<std::vector<float>, std::vector<std::int64_t>>;

  /// Elements, row-major; the stored values only where `sparse` is set.
  Values data;

  /// Length of each dimension (of the dense tensor); absent if not stated.
  std::optional<std::vector<std::int64_t>> shape;

  /// Set for a sparse matrix; `shape` is then required and has two dimensions.
  std::optional<CsrIndices> sparse;

  /// A dense vector of shape [values.size()].
  [[nodiscard]] static TensorData of(std::vector<float> values);
  [[nodiscard]] static TensorData of(std::vector<std::int64_t> values);

  /// A dense tensor of the given shape; check it with `validate`.
  [[nodiscard]] static TensorData of(std::vector<float> values, std::vector<std::int64_t> shape);
  [[nodiscard]] static TensorData of(std::vector<std::int64_t> values,
                                     std::vector<std::int64_t> shape);

  [[nodiscard]] DType dtype() const noexcept;

  /// Number of stored elements.
  [[nodiscard]] std::size_t size() const noexcept;

  /// `shape`, or that of a vector where it is not stated.
  [[nodiscard]] std::vector<std::int64_t> shape_or_vector() const;

  /// The elements as floats, or nullptr if `dtype()` is another.
  [[nodiscard]] const std::vector<float>* floats() const noexcept;

  /// The elements as integers, or nullptr if `dtype()` is another.
  [[nodiscard]] const std::vector<std::int64_t>* ints() const noexcept;

  friend bool operator==(const TensorData&, const TensorData&) = default;
};

/// Checks that data, shape and sparse indices agree and that floats are finite.
/// @param name what to call the tensor in the error, for example "data[3].loss_fn_inputs.weights"
[[nodiscard]] Result<void> validate(const TensorData& tensor, std::string_view name);

/// The same tensor with zeros filled in; a dense tensor is returned as it is.
/// @pre `validate(tensor, …)` has succeeded
[[nodiscard]] TensorData to_dense(const TensorData& tensor);

} // namespace tinkaf
