#include "core/rulekit/generate/identity.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rulekit/generate/basis.h"
#include "core/rulekit/taso/translate.h"
#include "tests/support/identities.h"

namespace reverie::generate {
namespace {

/// A table with the values that a test applies operators to.
class Table {
 public:
  Table() : values_(parse_operators("all"), World{}), maker_(values_, 4, 5) {}

  ValueId input(InputKind kind, int number) const {
    const auto first = std::find(values_.inputs().begin(), values_.inputs().end(), kind);
    return static_cast<ValueId>(first - values_.inputs().begin() + number);
  }
  Application apply(Kind kind, ValueId a, ValueId b = kNoValue) const {
    const auto& ops = values_.operators();
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind != kind) continue;
      const Extents none;
      if (infer(ops[i], values_.extents(a), b == kNoValue ? none : values_.extents(b), World{}))
        return {static_cast<uint8_t>(i), a, b};
    }
    throw InputError("no such operator takes these");
  }
  ValueId add(const Application& application) {
    const Operator& op = values_.operators()[application.op];
    const auto [_, a, b] = application;
    const Extents none, ea = values_.extents(a), eb = b == kNoValue ? none : values_.extents(b);
    const Extents to = *infer(op, ea, eb, World{});
    std::vector<uint64_t> out(static_cast<size_t>(to.size()));
    evaluate(op, ea, values_.content(a), eb, b == kNoValue ? nullptr : values_.content(b), to,
             out.data());
    return values_.add(application, values_.intern(to), ValueTable::fingerprint(to, out.data()),
                       out);
  }
  IdentityMaker& maker() { return maker_; }
  const ValueTable& values() const { return values_; }
  std::string form(const Identity& identity) const {
    return taso::canonical_form(to_taso(identity, values_.operators()));
  }
  std::string form(const std::string& text) const {
    return form(IdentityParser(values_.operators()).parse(text));
  }

 private:
  ValueTable values_;
  IdentityMaker maker_;
};

TEST(Identity, PlantedCollisionsDifferOnFreshInputs) {
  Table table;
  const ValueId x = table.input(InputKind::kMatrix, 0), y = table.input(InputKind::kMatrix, 1),
                z = table.input(InputKind::kMatrix, 2);
  const auto holds = [&](const Application& a, const Application& b) {
    return table.maker().holds(table.maker().make({a}, {b}));
  };
  EXPECT_TRUE(holds(table.apply(Kind::kAdd, x, y), table.apply(Kind::kAdd, y, x)));
  EXPECT_FALSE(holds(table.apply(Kind::kAdd, x, y), table.apply(Kind::kAdd, x, z)));
  EXPECT_FALSE(holds(table.apply(Kind::kAdd, x, y), table.apply(Kind::kMul, x, y)));
  EXPECT_FALSE(holds(table.apply(Kind::kRelu, x), table.apply(Kind::kTanh, x)));
  EXPECT_FALSE(holds(table.apply(Kind::kSub, x, y), table.apply(Kind::kSub, y, x)));
}

TEST(Identity, WhatFitsOnlyTheExtentsOfTheEnumerationDoesNotHold) {
  Table
      table;  // matrices are 2x3 and squares 3x3 there: three matrices have the rows of two squares
  const ValueId x = table.input(InputKind::kMatrix, 0), w = table.input(InputKind::kSquare, 0);
  const ValueId two = table.add(table.apply(Kind::kConcat, x, table.input(InputKind::kMatrix, 1)));
  const ValueId three = table.add(table.apply(Kind::kConcat, two, x));
  const ValueId squares =
      table.add(table.apply(Kind::kConcat, w, table.input(InputKind::kSquare, 1)));
  const Identity identity = table.maker().make({table.apply(Kind::kAdd, three, squares)},
                                               {table.apply(Kind::kAdd, squares, three)});
  EXPECT_FALSE(table.maker().holds(identity));
}

TEST(Identity, CommonPartsBecomeVariables) {
  Table table;
  const ValueId x = table.input(InputKind::kMatrix, 0), y = table.input(InputKind::kMatrix, 1);
  const ValueId product = table.add(table.apply(Kind::kMul, x, y));
  const Identity identity =
      table.maker().make({table.apply(Kind::kRelu, table.add(table.apply(Kind::kRelu, product)))},
                         {table.apply(Kind::kRelu, product)});
  EXPECT_EQ(table.form(table.maker().generalised(identity)), table.form("relu(relu(a)) = relu(a)"));
}

TEST(Identity, UsesOfAVariableAreToldApart) {
  Table table;
  const ValueId x = table.input(InputKind::kMatrix, 0), y = table.input(InputKind::kMatrix, 1);
  const ValueId xy = table.add(table.apply(Kind::kAdd, x, y));
  const ValueId yx = table.add(table.apply(Kind::kAdd, y, x));
  const ValueId xx = table.add(table.apply(Kind::kConcat, x, y));
  const ValueId yy = table.add(table.apply(Kind::kConcat, y, x));
  const Identity identity =
      table.maker().make({table.apply(Kind::kConcat, xy, yx)}, {table.apply(Kind::kAdd, xx, yy)});
  ASSERT_TRUE(table.maker().holds(identity));
  EXPECT_EQ(table.form(table.maker().generalised(identity)),
            table.form("concat_0_2(add(a,b),add(c,d)) = add(concat_0_2(a,c),concat_0_2(b,d))"));
}

TEST(Identity, PoolsCommuteWithKernelsOfOneElementOnly) {
  Table table;
  const ValueId x = table.input(InputKind::kImage, 0);
  const ValueId pooled = table.add(table.apply(Kind::kAveragePool, x));
  for (const auto& [kind, equal] :
       {std::pair(InputKind::kKernel1x1, true), std::pair(InputKind::kKernel3x3, false)}) {
    const ValueId w = table.input(kind, 0);
    const ValueId convolved = table.add(table.apply(Kind::kConv, x, w));
    const Identity identity = table.maker().make({table.apply(Kind::kConv, pooled, w)},
                                                 {table.apply(Kind::kAveragePool, convolved)});
    EXPECT_EQ(table.maker().holds(identity), equal);
    EXPECT_FALSE(table.maker().holds_for_all_kernels(identity));
  }
}

TEST(Identity, ARuleReadsOnlyWhatItsSourceReads) {
  const auto ops = parse_operators("all");
  IdentityParser parser(ops);
  EXPECT_TRUE(parser.parse("split_0_0_2(concat_0_2(a,b)) = a").is_rule());
  EXPECT_FALSE(parser.parse("split_0_0_2(concat_0_2(a,b)) = a").reversed().is_rule());
  EXPECT_FALSE(parser.parse("relu(a) = split_0_0_2(relu(concat_0_2(a,b)))").is_rule());
}

TEST(Basis, NoChainLeadsOverWhatIsUnproved) {
  Table table;
  const ValueId x = table.input(InputKind::kMatrix, 0), y = table.input(InputKind::kMatrix, 1);
  const Application once = table.apply(Kind::kRelu, x);
  const ValueId relu = table.add(once);
  const Application twice = table.apply(Kind::kRelu, relu);
  Identity identity = table.maker().make({twice}, {once});
  const Candidate candidate{
      twice, y, {}};  // as if `twice`, and `once`, had the value of y by chance
  Basis basis(table.values());
  EXPECT_FALSE(basis.follows(candidate));
  identity.is_accepted = false;
  basis.keep(identity);
  EXPECT_FALSE(basis.follows(candidate));
  identity.is_accepted = true;
  basis.keep(identity);
  EXPECT_TRUE(basis.follows(candidate));
  basis.distrust(once);
  EXPECT_FALSE(basis.follows(candidate));
}

}  // namespace
}  // namespace reverie::generate
