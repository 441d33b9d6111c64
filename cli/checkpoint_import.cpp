// SPDX-License-Identifier: Apache-2.0
#include "cli/checkpoint_import.hpp"

#include "api/client_options.hpp"
#include "api/headers.hpp"
#include "api/http/http_client.hpp"
#include "api/rest_path.hpp"
#include "api/wire/error_body.hpp"
#include "api/wire/json_reader.hpp"
#include "server/model/atomic_file.hpp"
#include "server/tar.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <future>
#include <limits>
#include <memory>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace tinkaf::cli {

namespace {

namespace fs = std::filesystem;

/// An upload and the reading of it by the server.
constexpr auto import_timeout = std::chrono::minutes{10};

struct Imported {
  std::string path;
  std::string sampler_path;
};

void describe(wire::JsonReader& v, Imported& x) {
  v.field("path", x.path);
  v.field("sampler_path", x.sampler_path);
}

/// The adapter as a tar.
Result<std::string> packed(const fs::path& folder) {
  const std::array files{folder / "adapter_config.json", folder / "adapter_model.safetensors"};
  for (const auto& file : files)
    if (auto failed = std::error_code{}; !fs::is_regular_file(file, failed))
      return fail(Errc::not_found, fmt::format("{} is no adapter in PEFT's layout: it has no {}",
                                               folder.string(), file.filename().string()));
  const auto archive = fs::temp_directory_path() / fmt::format("tinkaf-import-{}.tar", ::getpid());
  auto out = server::write_tar(files, now(), archive).and_then([&] {
    return model::read_text_file(archive, std::numeric_limits<std::size_t>::max());
  });
  auto ignored = std::error_code{};
  fs::remove(archive, ignored);
  return out;
}

Result<HttpResponse> send(HttpRequest request, const StorageCall& call) {
  auto client = HttpClient::create(http_client_options(call.options));
  if (!client)
    return fail(std::move(client.error()));
  const auto answer = std::make_shared<std::promise<Result<HttpResponse>>>();
  auto arrived = answer->get_future();
  (*client)->submit(std::move(request),
                    [answer](Result<HttpResponse> x) { answer->set_value(std::move(x)); });
  while (arrived.wait_for(std::chrono::milliseconds{100}) != std::future_status::ready)
    if (call.stop.stop_requested())
      return fail(Errc::cancelled, "stopped");
  return arrived.get();
}

} // namespace

void add_import_options(CLI::App& command, ImportArguments& arguments) {
  command.add_option("FOLDER", arguments.folder, "With adapter_config.json and its weights")
      ->required();
  command.add_option("--model", arguments.base_model, "Its base model [the server's only one]");
  command.add_option("--name", arguments.name, "Name of the checkpoint")->capture_default_str();
}

Result<void> import_checkpoint(const ImportArguments& arguments, const StorageCall& call) {
  auto tar = packed(arguments.folder);
  if (!tar)
    return fail(std::move(tar.error()));
  HttpRequest request{
      .path = RestPath{"import_checkpoint"}
                  .query("name", arguments.name)
                  .query("base_model", arguments.base_model)
                  .str(),
      .headers = {{"Content-Type", "application/x-tar"}},
      .secret_headers = call.options.secret_headers,
      .body = std::make_shared<const std::string>(std::move(*tar)),
      .timeout = import_timeout,
  };
  if (!call.options.api_key.empty())
    for (auto& header : credential_headers(call.options.api_key))
      request.secret_headers.push_back(std::move(header));
  const auto response = send(std::move(request), call);
  if (!response)
    return fail(response.error());
  if (response->status == 405 || response->status == 404)
    return fail(Errc::not_found,
                fmt::format("{} takes in no adapters; a local server does", call.options.base_url));
  if (response->status != 200)
    return fail(wire::read_error("the import", *response));
  const auto imported
      = wire::read_json<Imported>(response->body, "import answer", Errc::protocol_error);
  if (!imported)
    return fail(imported.error());
  if (call.format == OutputFormat::json)
    print_line(pretty_json(response->body));
  else
    print_line(fmt::format("to train on:    {}\nto sample from: {}", imported->path,
                           imported->sampler_path));
  return {};
}

} // namespace tinkaf::cli
