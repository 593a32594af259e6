#include "server/rpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/error.h"
#include "server/operations/operation.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

std::vector<std::string> Services() {
  std::vector<std::string> services;
  for (const OperationMethod& row : OperationMethods()) {
    if (services.empty() || services.back() != row.service) services.emplace_back(row.service);
  }
  for (const char* own : {"glint.v1.Server", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                          "grpc.reflection.v1alpha.ServerReflection"}) {
    services.emplace_back(own);
  }
  return services;
}

// Numbers of the oneof's fields.
enum Question : uint32_t {
  kNone = 0,
  kFileByName = 3,
  kFileOfSymbol = 4,
  kFileOfExtension = 5,
  kExtensionsOfType = 6,
  kListServices = 7,
};
enum Reply : uint32_t { kFiles = 4, kExtensionNumbers = 5, kServiceList = 6, kError = 7 };

struct ReflectionRequest {
  std::string host;
  uint32_t question = kNone;
  std::string text;  // of the request; or the extended type
  int32_t extension = 0;
};

absl::Span<const uint8_t> AsPiece(const std::string& bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

bool Parse(const std::string& bytes, ReflectionRequest* request) {
  const absl::Span<const uint8_t> piece = AsPiece(bytes);
  WireReader in({&piece, 1});
  const auto text = [&] {
    const WireBytes at = in.String();
    return bytes.substr(at.begin, at.size);
  };
  // As in protobuf's oneof, a later request replaces an earlier one.
  const auto ask = [request](uint32_t question) {
    if (request->question == question) return;
    request->question = question;
    request->text.clear();
    request->extension = 0;
  };
  while (const uint32_t tag = in.NextField()) {
    const uint32_t field = tag >> 3;
    if (tag == WireTag(1, WireType::kBytes)) {
      request->host = text();
    } else if (tag == WireTag(kFileOfExtension, WireType::kBytes)) {
      ask(field);
      in.Message([&](uint32_t inner) {
        if (inner == WireTag(1, WireType::kBytes)) {
          request->text = text();
        } else if (inner == WireTag(2, WireType::kVarint)) {
          request->extension = static_cast<int32_t>(in.Varint());
        } else {
          in.Unknown(inner);
        }
      });
    } else if (field >= kFileByName && field <= kListServices && tag == WireTag(field, WireType::kBytes)) {
      ask(field);
      request->text = text();
    } else {
      in.Unknown(tag);
    }
  }
  return in.ok();
}

// A file and all that it imports, each once.
void AppendFiles(const FileDescriptor* file, std::set<const FileDescriptor*>* seen, std::string* out) {
  if (!seen->insert(file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  AppendBytesField(1, proto.SerializeAsString(), out);
  for (int i = 0; i < file->dependency_count(); ++i) AppendFiles(file->dependency(i), seen, out);
}

std::string Error(absl::StatusCode code, const std::string& text) {
  std::string error;
  AppendVarintField(1, static_cast<uint64_t>(code), &error);
  AppendBytesField(2, text, &error);
  return error;
}

std::string NotFound(const std::string& what) {
  return Error(absl::StatusCode::kNotFound, absl::StrCat("\"", Echo(what), "\" is not known here"));
}

// Oneof of the response: field number and content.
std::pair<uint32_t, std::string> Answer(const ReflectionRequest& request) {
  const DescriptorPool* const pool = DescriptorPool::generated_pool();
  const Descriptor* const type = pool->FindMessageTypeByName(request.text);
  std::string content;
  const FileDescriptor* file = nullptr;
  switch (request.question) {
    case kListServices:
      for (const std::string& service : Services()) {
        std::string name;
        AppendBytesField(1, service, &name);
        AppendBytesField(1, name, &content);
      }
      return {kServiceList, content};
    case kExtensionsOfType: {
      if (type == nullptr) break;
      AppendBytesField(1, request.text, &content);
      std::vector<const FieldDescriptor*> extensions;
      pool->FindAllExtensions(type, &extensions);
      for (const FieldDescriptor* e : extensions) AppendVarintField(2, static_cast<uint64_t>(e->number()), &content);
      return {kExtensionNumbers, content};
    }
    case kFileByName:
      file = pool->FindFileByName(request.text);
      break;
    case kFileOfSymbol:
      file = pool->FindFileContainingSymbol(request.text);
      break;
    case kFileOfExtension:
      if (type == nullptr) break;
      if (const FieldDescriptor* e = pool->FindExtensionByNumber(type, request.extension); e != nullptr)
        file = e->file();
      break;
    default:
      return {kError, Error(absl::StatusCode::kUnimplemented, "not a question that is known here")};
  }
  if (file == nullptr) return {kError, NotFound(request.text)};
  std::set<const FileDescriptor*> seen;
  AppendFiles(file, &seen, &content);
  return {kFiles, content};
}

}  // namespace

absl::StatusOr<std::string> AnswerReflection(const std::string& bytes) {
  ReflectionRequest request;
  if (!Parse(bytes, &request)) {
    return absl::InvalidArgumentError("request: not a serialized ServerReflectionRequest");
  }
  const auto [field, content] = Answer(request);
  std::string response;
  AppendBytesField(1, request.host, &response);
  AppendBytesField(2, bytes, &response);
  AppendBytesField(field, content, &response);
  return response;
}

}  // namespace glint
