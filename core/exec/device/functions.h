#pragma once

// This text is also part of the kernels that are compiled when a graph is made ready
// (kernel_source.h), where there are no other headers.
#ifndef __CUDACC_RTC__
#include <cmath>
#endif

#ifdef __CUDACC__
#define REVERIE_ON_DEVICE __host__ __device__ inline
#else
#define REVERIE_ON_DEVICE inline
#endif

/// What calls compute of single elements.
namespace reverie::device {

/// Applied last, to what is written.
enum class Activation : unsigned char { kNone, kRelu, kSigmoid, kTanh };

enum class Function : unsigned char {
  // Of one operand x.
  kIdentity,  ///< conversion between element types too
  kRelu,
  kSigmoid,
  kTanh,
  kLeakyRelu,    ///< x < 0: alpha x
  kElu,          ///< x < 0: alpha (exp(x) - 1)
  kHardSigmoid,  ///< alpha x + beta within [0, 1]
  kHardSwish,
  kSoftplus,
  kClip,  ///< x within [alpha, beta]
  kSqrt,
  kErf,
  kExp,
  kLog,
  kNeg,
  kReciprocal,
  kAbs,
  kFloor,
  kCeil,
  kNot,
  // Of two operands.
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMin,
  kMax,
  kAnd,
  kOr,
  kEqual,
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
  // Of more.
  kWhere,      ///< a condition, then both choices
  kSum,        ///< of three operands
  kNormalize,  ///< x, scale, shift, mean, variance: (x - mean) / sqrt(variance + alpha) scale +
               ///< shift
};

REVERIE_ON_DEVICE float activated(float x, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return x < 0 ? 0 : x;
    case Activation::kSigmoid:
      return 1 / (1 + expf(-x));
    case Activation::kTanh:
      return tanhf(x);
    default:
      return x;
  }
}

REVERIE_ON_DEVICE float unary(Function function, float x, float alpha, float beta) {
  switch (function) {
    case Function::kRelu:
      return activated(x, Activation::kRelu);
    case Function::kSigmoid:
      return activated(x, Activation::kSigmoid);
    case Function::kTanh:
      return tanhf(x);
    case Function::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case Function::kElu:
      return x < 0 ? alpha * expm1f(x) : x;
    case Function::kHardSigmoid:
      return fminf(1, fmaxf(0, alpha * x + beta));
    case Function::kHardSwish:
      return x * fminf(1, fmaxf(0, x / 6 + 0.5f));
    case Function::kSoftplus:
      return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
    case Function::kClip:
      x = x < alpha ? alpha : x;
      return x > beta ? beta : x;
    case Function::kSqrt:
      return sqrtf(x);
    case Function::kErf:
      return erff(x);
    case Function::kExp:
      return expf(x);
    case Function::kLog:
      return logf(x);
    case Function::kNeg:
      return -x;
    case Function::kReciprocal:
      return 1 / x;
    case Function::kAbs:
      return fabsf(x);
    case Function::kFloor:
      return floorf(x);
    case Function::kCeil:
      return ceilf(x);
    case Function::kNot:
      return x == 0 ? 1.0f : 0.0f;
    default:
      return x;
  }
}

/// A NaN on either side of a minimum or maximum stays.
REVERIE_ON_DEVICE float binary(Function function, float a, float b) {
  switch (function) {
    case Function::kAdd:
      return a + b;
    case Function::kSub:
      return a - b;
    case Function::kMul:
      return a * b;
    case Function::kDiv:
      return a / b;
    case Function::kPow:
      return b == 2 ? a * a : powf(a, b);
    case Function::kMin:
      return a < b || a != a ? a : b;
    case Function::kMax:
      return a > b || a != a ? a : b;
    case Function::kAnd:
      return a != 0 && b != 0;
    case Function::kOr:
      return a != 0 || b != 0;
    case Function::kEqual:
      return a == b;
    case Function::kGreater:
      return a > b;
    case Function::kGreaterOrEqual:
      return a >= b;
    case Function::kLess:
      return a < b;
    default:
      return a <= b;
  }
}

/// Any but kNormalize. Operands that the function does not take are not looked at.
REVERIE_ON_DEVICE float applied(Function function, float alpha, float beta, float a, float b,
                                float c) {
  if (function == Function::kWhere) return a != 0 ? b : c;
  if (function == Function::kSum) return a + b + c;
  return function >= Function::kAdd ? binary(function, a, b) : unary(function, a, alpha, beta);
}

}  // namespace reverie::device
