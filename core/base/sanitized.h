#pragma once

/// REVERIE_SANITIZED: 1 where the address or thread sanitizer is compiled in, 0 elsewhere. Those
/// reserve all addresses, keep memory of their own, and end a process in their own way.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REVERIE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REVERIE_SANITIZED 1
#endif
#endif
#ifndef REVERIE_SANITIZED
#define REVERIE_SANITIZED 0
#endif
