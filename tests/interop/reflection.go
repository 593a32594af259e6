// What a server says about itself: grpc.reflection.v1alpha.

package main

import (
	"context"
	"sort"

	"google.golang.org/grpc"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// ask sends one question on a stream of its own.
func ask(ctx context.Context, conn *grpc.ClientConn,
	question *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
	stream, err := reflection.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	checkNoError(err)
	checkNoError(stream.Send(question))
	answer, err := stream.Recv()
	checkNoError(err)
	checkNoError(stream.CloseSend())
	_, err = stream.Recv()
	checkEnd(err)
	refusal := answer.GetErrorResponse()
	check(refusal == nil, "expected an answer to %v, got %v", question, refusal)
	return answer
}

func listServices(ctx context.Context, conn *grpc.ClientConn) []string {
	question := &reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{ListServices: "*"},
	}
	var names []string
	for _, service := range ask(ctx, conn, question).GetListServicesResponse().GetService() {
		names = append(names, service.GetName())
	}
	sort.Strings(names)
	return names
}

// describe returns the definitions of services: their files, and all that these import.
func describe(ctx context.Context, conn *grpc.ClientConn, services ...string) *protoregistry.Files {
	files := map[string]*descriptorpb.FileDescriptorProto{}
	var missing []string
	add := func(question *reflection.ServerReflectionRequest) {
		for _, bytes := range ask(ctx, conn, question).GetFileDescriptorResponse().GetFileDescriptorProto() {
			file := &descriptorpb.FileDescriptorProto{}
			checkNoError(proto.Unmarshal(bytes, file))
			files[file.GetName()] = file
			missing = append(missing, file.GetDependency()...)
		}
	}
	for _, service := range services {
		add(&reflection.ServerReflectionRequest{
			MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service},
		})
	}
	for len(missing) > 0 {
		name := missing[0]
		missing = missing[1:]
		if files[name] == nil {
			add(&reflection.ServerReflectionRequest{
				MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: name},
			})
			check(files[name] != nil, "expected file %q, got others", name)
		}
	}

	set := &descriptorpb.FileDescriptorSet{}
	for _, file := range files {
		set.File = append(set.File, file)
	}
	registry, err := protodesc.NewFiles(set)
	checkNoError(err)
	for _, service := range services {
		descriptor, err := registry.FindDescriptorByName(protoreflect.FullName(service))
		checkNoError(err)
		_, ok := descriptor.(protoreflect.ServiceDescriptor)
		check(ok, "expected a service, got %v", descriptor)
	}
	return registry
}
