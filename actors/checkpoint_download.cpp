// SPDX-License-Identifier: Apache-2.0
#include "actors/checkpoint_download.hpp"

#include "actors/exceptions.hpp"
#include "api/checkpoint_folder.hpp"

#include <caf/scoped_actor.hpp>

#include <utility>

namespace tinkaf {

namespace {

Result<DownloadedCheckpoint> run(caf::actor_system& system, DownloadCheckpoint request,
                                 const CheckpointDownloadSettings& settings) {
  auto client = HttpClient::create(settings.http);
  if (!client)
    return fail(std::move(client.error()));
  caf::scoped_actor asker{system};
  auto source = [&]() -> Result<CheckpointArchiveUrlResponse> {
    Result<CheckpointArchiveUrlResponse> url;
    asker->request(settings.rest, caf::infinite, GetCheckpointArchiveUrl{request.checkpoint})
        .receive([&](CheckpointArchiveUrlResponse& x) { url = std::move(x); },
                 [&](const caf::error& error) { url = fail(from_caf(error)); });
    return url;
  };
  ArchiveDownloadOptions options{.retry = settings.retry,
                                 .stall_timeout = settings.stall_timeout,
                                 .progress = request.progress};
  return download_checkpoint(**client, source, request, options, {}, settings.stop);
}

} // namespace

CheckpointDownloadActor::behavior_type checkpoint_download(CheckpointDownloadActor::pointer self,
                                                           CheckpointDownloadSettings settings) {
  end_on_exception(self);
  return {[self, settings = std::move(settings)](
              DownloadCheckpoint& request) -> caf::result<DownloadedCheckpoint> {
    self->quit();
    auto done = run(self->home_system(), std::move(request), settings);
    if (!done)
      return to_caf(std::move(done.error()));
    return std::move(*done);
  }};
}

} // namespace tinkaf
