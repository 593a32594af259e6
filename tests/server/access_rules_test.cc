// The file of --access-file, what one client may take, and tokens as the server knows them: without a server.
#include "server/access/access_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "server/access/access_file.h"
#include "server/access/client_account.h"
#include "server/net/listen.h"
#include "server/rpc/async_service.h"
#include "server/wire/status_details.h"
#include "tests/support/status.h"

namespace glint {
namespace {

using ::testing::HasSubstr;
using Method = AsyncService::Method;

Method MethodCalled(const std::string& name) {
  const std::vector<std::string> names = AsyncService::MethodNames();
  return static_cast<Method>(std::find(names.begin(), names.end(), name) - names.begin());
}
const Method kDetect = MethodCalled("Detect"), kDetectStream = MethodCalled("DetectStream");

constexpr int64_t kSecond = 1'000'000'000;

std::string Hex(const std::string& token) {
  const TokenDigest digest = DigestOf(token);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Credentials Token(const std::string& token) {
  Credentials credentials;
  credentials.authorizations = 1;
  credentials.token = DigestOf(token);
  return credentials;
}
Credentials Certificate(const std::vector<std::string>& names) {
  Credentials credentials;
  credentials.has_certificate = true;
  credentials.names = names;
  return credentials;
}
Credentials User(uint32_t uid) {
  Credentials credentials;
  credentials.uid = uid;
  return credentials;
}

AccessRules Rules(const std::string& text) {
  auto rules = AccessRules::Parse("f", text, AsyncService::MethodNames());
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *std::move(rules);
}

// Who may call DetectStream, or why not.
std::string Caller(const AccessRules& rules, const Credentials& credentials, Method method = kDetectStream) {
  const auto identity = rules.Check(credentials, method);
  if (!identity.ok()) return std::string(absl::StatusCodeToString(identity.status().code()));
  return *identity == nullptr ? "inside" : (*identity)->name;
}

TEST(TokenDigestTest, IsSha256) {
  EXPECT_EQ(Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-4's example
  const auto parsed = ParseDigest("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(SameDigest(*parsed, DigestOf("abc")));
  for (size_t i = 0; i < parsed->size(); ++i) {
    TokenDigest other = *parsed;
    other[i] ^= 0x80;
    EXPECT_FALSE(SameDigest(*parsed, other)) << i;
  }
  for (const std::string bad : {"", "ba78", "g"}) EXPECT_FALSE(ParseDigest(bad).has_value());
  EXPECT_FALSE(ParseDigest(std::string(64, 'x')).has_value());
}

TEST(AccessRulesTest, KnowsWhoCalls) {
  const AccessRules rules =
      Rules(absl::StrCat("# comment\n\n", "camera-1 token=", Hex("one"), " token=", Hex("next"), "\r\n",
                         "  robot\tdns=robot.example uri=spiffe://plant/robot\n", "local uid=1000 uid=1001\n"));
  EXPECT_EQ(rules.identities(), 3u);
  EXPECT_EQ(rules.first_certificate_line(), 4);
  EXPECT_EQ(Caller(rules, Token("one")), "camera-1");
  EXPECT_EQ(Caller(rules, Token("next")), "camera-1");
  EXPECT_EQ(Caller(rules, Token("two")), "UNAUTHENTICATED");
  EXPECT_EQ(Caller(rules, Certificate({"ip=192.0.2.1", "uri=spiffe://plant/robot"})), "robot");
  EXPECT_EQ(Caller(rules, Certificate({"uri=robot.example"})), "PERMISSION_DENIED");  // a name of another kind
  EXPECT_EQ(Caller(rules, User(1001)), "local");
  EXPECT_EQ(Caller(rules, User(0)), "PERMISSION_DENIED");
  EXPECT_EQ(Caller(rules, Credentials()), "UNAUTHENTICATED");
  Credentials inside;
  inside.inside = true;
  EXPECT_EQ(Caller(rules, inside), "inside");
}

TEST(AccessRulesTest, ATokenThatIsSentDecidesAlone) {
  const AccessRules rules = Rules(absl::StrCat("a token=", Hex("a"), "\nu uid=7\nanonymous may=Detect\n"));
  Credentials both = User(7);
  both.authorizations = 1;
  both.token = DigestOf("wrong");
  EXPECT_EQ(Caller(rules, both), "UNAUTHENTICATED");
  both.token = DigestOf("a");
  EXPECT_EQ(Caller(rules, both), "a");
  both.authorizations = 2;
  EXPECT_EQ(Caller(rules, both), "UNAUTHENTICATED");
  both.authorizations = 1;
  both.token.reset();  // "Basic ..."
  EXPECT_EQ(Caller(rules, both), "UNAUTHENTICATED");
}

TEST(AccessRulesTest, SaysWhatEachMayCall) {
  const AccessRules rules = Rules(absl::StrCat("a may=Detect,ServerReflectionInfo token=", Hex("a"),
                                               "\nb token=", Hex("b"), "\nanonymous may=GetServerInfo\n"));
  EXPECT_EQ(Caller(rules, Token("a"), kDetect), "a");
  EXPECT_EQ(Caller(rules, Token("a"), Method::kReflection), "a");
  EXPECT_EQ(Caller(rules, Token("a"), Method::kReflectionAlpha), "a");
  EXPECT_EQ(rules.Check(Token("a"), kDetectStream).status(),
            absl::PermissionDeniedError("method: a may not call DetectStream"));
  EXPECT_EQ(Caller(rules, Token("b"), Method::kRegisterSharedMemory), "b");
  EXPECT_EQ(Caller(rules, Credentials(), Method::kGetServerInfo), "anonymous");
  EXPECT_EQ(Caller(rules, Credentials(), kDetect), "PERMISSION_DENIED");
}

TEST(AccessRulesTest, UsersHandMemoryOverWhereTheyAreKnownOrDoNotMatter) {
  EXPECT_TRUE(Rules(absl::StrCat("a token=", Hex("a"))).KnowsUser(5));
  EXPECT_TRUE(Rules("a uid=5").KnowsUser(5));
  EXPECT_FALSE(Rules("a uid=5").KnowsUser(6));
}

TEST(AccessRulesTest, ErrorsNameFileLineAndField) {
  const std::string hex = Hex("a");
  const std::pair<std::string, std::string> cases[] = {
      {"", "access-file: f: has no identity; nobody could call"},
      {"# a token=b", "access-file: f: has no identity; nobody could call"},
      {"a token=" + hex + "\nb token=secret",
       "access-file: f:2: token: is not the SHA-256 of a token, 64 hexadecimal digits"},
      {"a token=", "access-file: f:1: token: has no value"},
      {"a token", "access-file: f:1: token: has no value"},
      {"a", "access-file: f:1: a: has none of token, dns, uri, email, ip, uid: nobody could be known by it"},
      {"a may=Detect", "access-file: f:1: a: has none of token, dns, uri, email, ip, uid: nobody could be known by it"},
      {"\n\na uid=-1", "access-file: f:3: uid: -1 is not in 0..4294967295"},
      {"a uid=4294967296", "access-file: f:1: uid: 4294967296 is not in 0..4294967295"},
      {"a uid=1 uid=1", "access-file: f:1: uid: is there before, with a"},
      {"a uid=1\nb uid=01", "access-file: f:2: uid: is there before, with a"},
      {"a token=" + hex + "\nb token=" + absl::AsciiStrToUpper(hex),
       "access-file: f:2: token: is there before, with a"},
      {"a dns=x\nb dns=x", "access-file: f:2: dns: is there before, with a"},
      {"a uid=1\na uid=2", "access-file: f:2: name: is there before, with a"},
      {"a may=Detect may=Detect uid=1", "access-file: f:1: may: is there twice"},
      {"a cn=x", "access-file: f:1: field: \"cn\" is not one of may, token, dns, uri, email, ip, uid"},
      {"anonymous uid=1", "access-file: f:1: anonymous: is for callers that show nothing, and takes \"may\" only"},
      {"a! uid=1", "access-file: f:1: name: \"a!\" is not 1..64 letters, digits and ._-@/:"},
      {std::string(65, 'a') + " uid=1",
       "access-file: f:1: name: \"" + std::string(65, 'a') + "\" is not 1..64 letters, digits and ._-@/:"},
  };
  for (const auto& [text, error] : cases) {
    EXPECT_EQ(testing::CodeAndText(AccessRules::Parse("f", text, AsyncService::MethodNames()).status()),
              absl::InvalidArgumentError(error))
        << text;
  }
  EXPECT_THAT(AccessRules::Parse("f", "a may=detect uid=1", AsyncService::MethodNames()).status().message(),
              HasSubstr("f:1: may: \"detect\" is not one of Check, Detect, DetectStream, GetServerInfo, "));
}

class AccessFileTest : public ::testing::Test {
 protected:
  AccessFileTest() : path_(absl::StrCat(::testing::TempDir(), "glint-access-", getpid())) {}
  ~AccessFileTest() override { std::remove(path_.c_str()); }
  void Write(const std::string& text) const { std::ofstream(path_) << text; }

  const std::string path_;
};

TEST_F(AccessFileTest, KeepsItsRulesUntilThereAreGoodOnes) {
  AccessFile file(path_, AsyncService::MethodNames(), false);
  EXPECT_THAT(file.Load().message(), HasSubstr("access-file: cannot read " + path_));
  EXPECT_EQ(file.rules(), nullptr);
  Write("a uid=1\n");
  ASSERT_TRUE(file.Load().ok());
  Write("a uid=\n");
  EXPECT_THAT(file.Load().message(), HasSubstr(":1: uid: has no value"));
  EXPECT_EQ(Caller(*file.rules(), User(1)), "a");
  Write("a dns=x\n");
  EXPECT_THAT(file.Load().message(), HasSubstr(":1: certificates need --tls-client-ca"));
  EXPECT_TRUE(AccessFile(path_, AsyncService::MethodNames(), true).Load().ok());
  Write(std::string(kMaxAccessFileBytes + 1, '#'));
  EXPECT_THAT(file.Load().message(), HasSubstr("is larger than 1048576 bytes"));
  EXPECT_EQ(Caller(*file.rules(), User(1)), "a");
}

TEST_F(AccessFileTest, ANewVersionIsReadOnceNobodyWritesIt) {
  AccessFile file(path_, AsyncService::MethodNames(), false);
  Write("a uid=1\n");
  ASSERT_TRUE(file.Load().ok());
  file.HasChanged();
  EXPECT_FALSE(file.HasChanged());
  Write("a uid=1\nb uid=2\n");
  EXPECT_FALSE(file.HasChanged());  // just seen
  Write("a uid=1\nb uid=2\nc uid=3\n");
  EXPECT_FALSE(file.HasChanged());  // still being written
  EXPECT_TRUE(file.HasChanged());
  ASSERT_TRUE(file.Load().ok());
  EXPECT_FALSE(file.HasChanged());
  Write("b\n");
  file.HasChanged();
  EXPECT_TRUE(file.HasChanged());
  EXPECT_FALSE(file.Load().ok());
  EXPECT_FALSE(file.HasChanged());  // a bad version is read once
  std::remove(path_.c_str());
  file.HasChanged();
  EXPECT_TRUE(file.HasChanged());
}

// ---- What one client may take.

TEST(ClientAccountTest, LimitsFramesInFlight) {
  ClientLimits limits;
  limits.frames = 2;
  ClientAccount account("identity a", limits);
  EXPECT_TRUE(account.Take(1, kSecond).status.ok());
  EXPECT_TRUE(account.Take(1, kSecond).status.ok());
  const ClientAccount::Refusal refusal = account.Take(1, kSecond);
  EXPECT_EQ(refusal.limit, ClientLimit::kFrames);
  EXPECT_GE(refusal.retry_after_ns, 1'000'000);
  EXPECT_EQ(testing::CodeAndText(refusal.status),
            absl::ResourceExhaustedError("frames: one more in flight of identity a is over this server's limit of 2 "
                                         "(--max-frames-per-client); try again later"));
  account.GiveBack(1, 0, kSecond);
  EXPECT_TRUE(account.Take(1, kSecond).status.ok());
}

TEST(ClientAccountTest, LimitsBytesInFlight) {
  ClientLimits limits;
  limits.bytes = 100;
  ClientAccount account("a", limits);
  EXPECT_TRUE(account.Take(60, 1).status.ok());
  EXPECT_EQ(account.Take(41, 1).limit, ClientLimit::kBytes);
  EXPECT_THAT(account.Take(41, 1).status.message(), HasSubstr("100 (--max-bytes-per-client)"));
  EXPECT_TRUE(account.Take(40, 1).status.ok());
  account.GiveBack(60, 0, 1);
  EXPECT_TRUE(account.Take(60, 1).status.ok());
}

TEST(ClientAccountTest, LimitsFramesASecond) {
  ClientLimits limits;
  limits.frame_rate = 10;
  ClientAccount account("a", limits);
  int64_t now = kSecond;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(account.Take(1, now).status.ok()) << i;  // what a second brings
  const ClientAccount::Refusal refusal = account.Take(1, now);
  EXPECT_EQ(refusal.limit, ClientLimit::kFrameRate);
  EXPECT_NEAR(static_cast<double>(refusal.retry_after_ns), 0.1 * kSecond, 1000);
  EXPECT_TRUE(account.Take(1, now + refusal.retry_after_ns).status.ok());
  int taken = 0;
  for (int64_t t = 2 * kSecond; t < 12 * kSecond; t += kSecond / 100) taken += account.Take(1, t).status.ok();
  EXPECT_NEAR(taken, 10 * 10 + 8, 1);  // and what had been saved until the first
}

TEST(ClientAccountTest, LimitsLaneSecondsASecond) {
  ClientLimits limits;
  limits.lane_seconds = 0.5;
  ClientAccount account("a", limits);
  EXPECT_TRUE(account.Take(1, kSecond).status.ok());
  account.GiveBack(1, kSecond, kSecond);  // a second of a lane: half of it is a debt
  const ClientAccount::Refusal refusal = account.Take(1, kSecond);
  EXPECT_EQ(refusal.limit, ClientLimit::kLaneSeconds);
  EXPECT_NEAR(static_cast<double>(refusal.retry_after_ns), kSecond, 1000);
  EXPECT_FALSE(account.rested(kSecond));
  EXPECT_TRUE(account.Take(1, 2 * kSecond + 1000).status.ok());
  account.GiveBack(1, 0, 2 * kSecond + 1000);
  // One lane all the time, where half of one is allowed: every other second is refused.
  int64_t now = 10 * kSecond, busy = 0;
  for (; now < 110 * kSecond; now += kSecond / 10) {
    if (!account.Take(1, now).status.ok()) continue;
    account.GiveBack(1, kSecond / 10, now);
    busy += kSecond / 10;
  }
  EXPECT_NEAR(static_cast<double>(busy), 50.0 * kSecond, kSecond);
  EXPECT_TRUE(account.rested(now + 10 * kSecond));
}

TEST(ClientAccountTest, NothingIsLimitedByDefault) {
  ClientAccount account("a", ClientLimits());
  for (int i = 0; i < 10000; ++i) EXPECT_TRUE(account.Take(int64_t{1} << 40, 1).status.ok());
}

// A client that ends all its calls and comes again has what it had.
TEST(ClientAccountsTest, AreKeptUntilNothingIsOwed) {
  ClientLimits limits;
  limits.frame_rate = 1;
  ClientAccounts accounts(limits);
  EXPECT_TRUE(accounts.Of("a", kSecond)->Take(1, kSecond).status.ok());
  accounts.Of("a", kSecond)->GiveBack(1, 0, kSecond);
  for (int i = 0; i < 1000; ++i) accounts.Of(absl::StrCat("other ", i), kSecond);
  EXPECT_FALSE(accounts.Of("a", kSecond)->Take(1, kSecond).status.ok());
  EXPECT_LT(accounts.size(), 500);
  // This process itself has no limits.
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(accounts.Of("", kSecond)->Take(1, kSecond).status.ok());
}

TEST(RetryTest, TravelsAsRetryInfo) {
  EXPECT_EQ(SerializeStatusDetails(absl::ResourceExhaustedError("x")), "");
  // google.rpc.Status {code: 8, message: "x", details: Any {type_url, value: RetryInfo {Duration {2 s, 500 ns}}}}
  const std::string url = "type.googleapis.com/google.rpc.RetryInfo";
  const std::string any = absl::StrCat("\x0a\x28", url, std::string("\x12\x07\x0a\x05\x08\x02\x10\xf4\x03", 9));
  EXPECT_EQ(SerializeStatusDetails(WithRetryAfter(absl::ResourceExhaustedError("x"), 2 * kSecond + 500)),
            absl::StrCat("\x08\x08\x12\x01x\x1a", std::string(1, static_cast<char>(any.size())), any));
}

TEST(ListenTest, KnowsWhichAddressesOthersReach) {
  for (const char* local :
       {"127.0.0.1:1", "127.9.9.9:0", "localhost:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "unix:/a"}) {
    EXPECT_TRUE(IsLoopbackAddress(local)) << local;
  }
  for (const char* open : {"0.0.0.0:1", "[::]:80", "192.0.2.1:80", "robot.example:80", "127.example:80"}) {
    EXPECT_FALSE(IsLoopbackAddress(open)) << open;
  }
}

}  // namespace
}  // namespace glint
