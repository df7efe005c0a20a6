#include "core/base/gzip.h"

#include <zlib.h>

#include <array>

#include "core/base/error.h"

namespace reverie {

std::string gunzip(std::string_view bytes) {
  constexpr int kGzip = 16;  // added to the window's bits: a gzip header and nothing else
  z_stream stream{};
  REVERIE_CHECK(inflateInit2(&stream, kGzip + MAX_WBITS) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string result;
  std::array<char, 1 << 16> piece;
  int status = Z_OK;
  while (status == Z_OK || (status == Z_STREAM_END && stream.avail_in > 0)) {
    if (status == Z_STREAM_END) inflateReset(&stream);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    status = inflate(&stream, Z_NO_FLUSH);
    result.append(piece.data(), piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw InputError("is damaged, or was not packed by gzip");
  return result;
}

}  // namespace reverie
