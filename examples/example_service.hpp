// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"
#include "messages/error.hpp"
#include "server/server.hpp"
#include "text/tokenizer.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace tinkaf::examples {

/// The service that the examples use: the one that TINKER_BASE_URL names, with the model that
/// TINKAF_EXAMPLE_MODEL names; else a server in this process with a tiny untrained model.
class ExampleService {
public:
  /// @param limits those of the server in this process
  [[nodiscard]] static Result<ExampleService> start(const ServerLimits& limits = {});

  /// Removes `folder`.
  ~ExampleService();
  ExampleService(ExampleService&&) = default;
  ExampleService& operator=(ExampleService&&) = default;

  /// That of the model: the file that TINKAF_EXAMPLE_TOKENIZER names, where TINKER_BASE_URL names
  /// the service.
  [[nodiscard]] Result<text::Tokenizer> tokenizer() const;

  /// A fresh folder for what an example writes.
  [[nodiscard]] const std::filesystem::path& folder() const noexcept {
    return folder_;
  }

  ClientOptions options;
  std::string model;

private:
  ExampleService() = default;

  std::filesystem::path folder_;
  std::unique_ptr<Server> server_;
};

/// Runs an example against its service and tells on the standard error why it failed, if it did.
/// @param limits as for `ExampleService::start`
/// @returns what `main` returns
[[nodiscard]] int run_example(const std::function<Result<void>(const ExampleService&)>& run,
                              const ServerLimits& limits = {});

} // namespace tinkaf::examples
