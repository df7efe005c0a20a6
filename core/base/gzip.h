#pragma once

#include <string>
#include <string_view>

namespace reverie {

/// What the bytes of a whole gzip file (RFC 1952) unpack to. InputError where they are none.
std::string gunzip(std::string_view bytes);

}  // namespace reverie
