// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/requests.hpp"

#include <string>
#include <string_view>

// The binary wire: training requests, and the results of training and sampling. Never throws; what
// comes in is not trusted.

namespace tinkaf::wire {

/// Encodes a training request; `seq_id` 0 stands for none.
/// @returns `Errc::invalid_argument` that names the datum and the field: an image by address (those
///   are for sampling only), a `seq_id` or shape that the wire cannot carry, text that is not UTF-8
[[nodiscard]] Result<std::string> to_protobuf(const ForwardBackwardRequest& request);

/// Decodes a training request; packed and unpacked shapes, tensors of any element type of the
/// schema (widened to float32 or int64).
/// @returns `Errc::invalid_argument` that names the datum and the field
[[nodiscard]] Result<ForwardBackwardRequest>
forward_backward_request_from_protobuf(std::string_view bytes);

/// Encodes the result of a training pass; `hashes` are not sent.
///
/// All outputs must have the same field names. Datums whose tensors agree in element type and in
/// all dimensions but the first travel as one record.
[[nodiscard]] Result<std::string> to_protobuf(const ForwardBackwardOutput& output);

/// Decodes the result of a training pass.
/// @returns `Errc::protocol_error` that names record and field
[[nodiscard]] Result<ForwardBackwardOutput>
forward_backward_output_from_protobuf(std::string_view bytes);

/// Encodes samples; a missing log-probability travels as NaN.
[[nodiscard]] Result<std::string> to_protobuf(const SampleResponse& response);

/// Decodes samples; NaN becomes a missing log-probability.
/// @returns `Errc::protocol_error` that names sequence and field
[[nodiscard]] Result<SampleResponse> sample_response_from_protobuf(std::string_view bytes);

} // namespace tinkaf::wire
