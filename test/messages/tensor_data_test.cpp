// SPDX-License-Identifier: Apache-2.0
#include "messages/tensor_data.hpp"

#include "test/catch.hpp"

#include <limits>
#include <string>

using namespace tinkaf;

namespace {

TensorData csr_3x4() {
  return {.data = std::vector<float>{1, 2},
          .shape = std::vector<std::int64_t>{3, 4},
          .sparse = CsrIndices{{0, 1, 1, 2}, {1, 3}}};
}

std::string message_of(const TensorData& tensor) {
  auto result = validate(tensor, "weights");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::invalid_argument);
  return result.error().message;
}

} // namespace

TEST_CASE("A vector becomes a tensor of one dimension", "[messages][tensor_data]") {
  auto tensor = TensorData::of(std::vector<std::int64_t>{7, 8, 9});
  CHECK(tensor.dtype() == DType::int64);
  CHECK(tensor.shape == std::vector<std::int64_t>{3});
  CHECK(validate(tensor, "x").has_value());
}

TEST_CASE("A shape that does not fit the data is refused with both", "[messages][tensor_data]") {
  auto text = message_of(TensorData::of(std::vector<float>{1, 2, 3}, {2, 2}));
  CHECK(text == "weights: shape [2, 2] needs 4 elements, got 3");
  message_of(TensorData::of(std::vector<float>{1}, {-1}));
  message_of(TensorData::of(std::vector<float>{1}, {1LL << 62, 4}));
}

TEST_CASE("A float that is not finite is refused with its index", "[messages][tensor_data]") {
  auto bad = std::numeric_limits<float>::quiet_NaN();
  auto text = message_of(TensorData::of(std::vector<float>{1, bad}));
  CHECK(text.find("weights[1]") != std::string::npos);
}

TEST_CASE("A sparse tensor fills up with zeros", "[messages][tensor_data]") {
  auto tensor = csr_3x4();
  REQUIRE(validate(tensor, "x").has_value());
  auto full = to_dense(tensor);
  CHECK(full == TensorData::of(std::vector<float>{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, {3, 4}));
  CHECK(to_dense(full) == full);
}

TEST_CASE("Sparse indices are checked one by one", "[messages][tensor_data]") {
  auto tensor = csr_3x4();
  SECTION("too few rows") {
    tensor.sparse->crow_indices.pop_back();
  }
  SECTION("falling row starts") {
    tensor.sparse->crow_indices = {0, 2, 1, 2};
  }
  SECTION("row starts that do not end at the values") {
    tensor.sparse->crow_indices.back() = 1;
  }
  SECTION("a column outside") {
    tensor.sparse->col_indices[1] = 4;
  }
  SECTION("a negative column") {
    tensor.sparse->col_indices[0] = -1;
  }
  SECTION("too few columns") {
    tensor.sparse->col_indices.pop_back();
  }
  SECTION("no shape") {
    tensor.shape.reset();
  }
  SECTION("another number of dimensions") {
    tensor.shape = {12};
  }
  message_of(tensor);
}
