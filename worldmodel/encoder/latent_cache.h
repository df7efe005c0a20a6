#pragma once

#include <functional>
#include <string>

#include "worldmodel/batch/episode_source.h"
#include "worldmodel/encoder/encoder.h"
#include "worldmodel/network/processes.h"

namespace reverie {

/// Latents of all states of `data`, on the CPU, each encoded once. `observe` is
/// called with the number of states done.
Latents encode_states(const EpisodeSource& data, Encoder& encoder,
                      const std::function<void(int)>& observe = {});

/// The same, kept in the file `path`: read from it where it holds the latents of just this data
/// under just this encoder, otherwise written anew.
Latents cached_latents(const std::string& path, const EpisodeSource& data, Encoder& encoder,
                       const std::function<void(int)>& observe = {});

/// The same for several processes: the first makes the file, and the others read it.
Latents cached_latents(const std::string& path, const EpisodeSource& data, Encoder& encoder,
                       const Processes& processes, const std::function<void(int)>& observe = {});

}  // namespace reverie
