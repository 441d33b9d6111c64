// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/linear.hpp"

#include <cstddef>

namespace tinkaf::model {

/// y[rows, out] = x[rows, in] * W[out, in]^T, plus what y held if `add`, for few rows.
///
/// A library's matrix product chooses its order of summation by the number of rows; here each
/// number is summed in one order whatever stands beside it. So a sequence gets the same bits alone
/// and among others. Reads each weight once for all rows, packed ones as they are.
/// @param ldy distance between the rows of y
/// @param pool helpers, which take outputs; null for none
void row_products(ThreadPool* pool, std::size_t rows, std::size_t in, std::size_t out,
                  const float* x, Weights w, float* y, std::size_t ldy, bool add = false);

} // namespace tinkaf::model
