// What a server says about itself: grpc.reflection.v1alpha, asked through grpc-js, into definitions for grpc-js.
'use strict';

const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const protobuf = require('protobufjs');
const {FileDescriptorProto, FileDescriptorSet} = require('protobufjs/ext/descriptor');

// The fields of the reflection service that are used here.
const {root} = protobuf.parse(`
  syntax = "proto3";
  message Request {
    oneof message_request {
      string file_by_filename = 3;
      string file_containing_symbol = 4;
      string list_services = 7;
    }
  }
  message Response {
    message Files { repeated bytes file_descriptor_proto = 1; }
    message Service { string name = 1; }
    message Services { repeated Service service = 1; }
    message Error { int32 error_code = 1; string error_message = 2; }
    oneof message_response {
      Files file_descriptor_response = 4;
      Services list_services_response = 6;
      Error error_response = 7;
    }
  }`, {keepCase: true});
const Request = root.lookupType('Request');
const Response = root.lookupType('Response');
const METHOD = '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo';

// One question on a stream of its own.
function ask(client, question) {
  return new Promise((resolve, reject) => {
    const call = client.makeBidiStreamRequest(
        METHOD, (message) => Buffer.from(Request.encode(Request.create(message)).finish()),
        (bytes) => Response.decode(bytes));
    call.on('data', (response) => {
      const error = response.error_response;
      if (error) {
        reject(new Error(`reflection: ${error.error_code} ${error.error_message}`));
      } else {
        resolve(response);
      }
    });
    call.on('error', reject);
    call.on('end', () => reject(new Error('reflection: no answer')));
    call.write(question);
    call.end();
  });
}

// Names of all services.
async function listServices(client) {
  const response = await ask(client, {list_services: '*'});
  return response.list_services_response.service.map((service) => service.name);
}

// The definition of a service, for grpc.loadPackageDefinition(), from its file and all that it imports.
async function describe(client, symbol) {
  const files = new Map();
  const add = (response) => {
    for (const bytes of response.file_descriptor_response.file_descriptor_proto) {
      const file = FileDescriptorProto.decode(bytes);
      files.set(file.name, file);
    }
  };
  add(await ask(client, {file_containing_symbol: symbol}));
  const missing = () => [...files.values()].flatMap((file) => file.dependency).find((name) => !files.has(name));
  for (let name = missing(); name !== undefined; name = missing()) add(await ask(client, {file_by_filename: name}));

  const set = FileDescriptorSet.create({file: [...files.values()]});
  return loader.loadFileDescriptorSetFromBuffer(Buffer.from(FileDescriptorSet.encode(set).finish()),
                                                {keepCase: true, longs: Number, enums: String, defaults: true});
}

module.exports = {listServices, describe};
