package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// client calls the services of a contract over one connection.
type client struct {
	address     string // of the server
	glint       string // path of the command-line tool
	conn        *grpc.ClientConn
	contract    *protoregistry.Files
	connections connectionCounter
}

// dial uses the defaults of grpc-go. No proxy: not all versions know that a socket needs none.
func dial(address, glint string) *client {
	c := &client{address: address, glint: glint}
	conn, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithNoProxy(), grpc.WithStatsHandler(&c.connections))
	checkNoError(err)
	c.conn = conn
	return c
}

// method finds one of the services that findContract asked for, by its name alone: no two have the same.
func (c *client) method(name string) (protoreflect.MethodDescriptor, string) {
	for _, service := range []string{detection, serverItself} {
		descriptor, err := c.contract.FindDescriptorByName(protoreflect.FullName(service + "." + name))
		if err == nil {
			return descriptor.(protoreflect.MethodDescriptor), fmt.Sprintf("/%s/%s", service, name)
		}
	}
	check(false, "expected a method %s, got none", name)
	return nil, ""
}

// kind finds a message of the contract.
func (c *client) kind(name string) protoreflect.MessageDescriptor {
	descriptor, err := c.contract.FindDescriptorByName(protoreflect.FullName(name))
	checkNoError(err)
	return descriptor.(protoreflect.MessageDescriptor)
}

// call makes a unary call.
func (c *client) call(ctx context.Context, name string, request fields, options ...grpc.CallOption) (message, error) {
	method, path := c.method(name)
	response := dynamicpb.NewMessage(method.Output())
	options = append(options, grpc.ForceCodec(codec{}))
	err := c.conn.Invoke(ctx, path, newMessage(method.Input(), request).Interface(), response, options...)
	return message{response}, err
}

type stream struct {
	grpc.ClientStream
	method protoreflect.MethodDescriptor
}

// tryOpen begins a call as a stream, whatever the method is.
func (c *client) tryOpen(ctx context.Context, name string, options ...grpc.CallOption) (stream, error) {
	method, path := c.method(name)
	options = append(options, grpc.ForceCodec(codec{}))
	both := &grpc.StreamDesc{StreamName: name, ClientStreams: true, ServerStreams: true}
	call, err := c.conn.NewStream(ctx, both, path, options...)
	return stream{call, method}, err
}

func (c *client) open(ctx context.Context, name string, options ...grpc.CallOption) stream {
	s, err := c.tryOpen(ctx, name, options...)
	checkNoError(err)
	return s
}

// send leaves the error of a call that has ended to receive.
func (s stream) send(values fields) {
	err := s.SendMsg(newMessage(s.method.Input(), values).Interface())
	check(err == nil || err == io.EOF, "expected to send, got: %v", err)
}

func (s stream) receive() (message, error) {
	response := dynamicpb.NewMessage(s.method.Output())
	err := s.RecvMsg(response)
	return message{response}, err
}

// finish closes a stream whose messages are all answered.
func (s stream) finish() {
	checkNoError(s.CloseSend())
	_, err := s.receive()
	checkEnd(err)
}

// connectionCounter counts the connections that were made.
type connectionCounter struct{ count int32 }

func (c *connectionCounter) HandleConn(_ context.Context, event stats.ConnStats) {
	if _, ok := event.(*stats.ConnBegin); ok {
		atomic.AddInt32(&c.count, 1)
	}
}

func (c *connectionCounter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}

func (c *connectionCounter) HandleRPC(context.Context, stats.RPCStats) {}

func (c *connectionCounter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return ctx
}
