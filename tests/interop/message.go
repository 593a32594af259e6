package main

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// fields of a message to send, by the names of the contract. Bytes are []byte, enums the names of their values.
type fields map[string]interface{}

// message is one of the contract.
type message struct{ protoreflect.Message }

func newMessage(kind protoreflect.MessageDescriptor, values fields) message {
	text, err := json.Marshal(values)
	checkNoError(err)
	m := dynamicpb.NewMessage(kind)
	checkNoError(protojson.Unmarshal(text, m))
	return message{m}
}

func (m message) field(name string) protoreflect.FieldDescriptor {
	descriptor := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	check(descriptor != nil, "expected a field %q in %s, got none", name, m.Descriptor().FullName())
	return descriptor
}

func (m message) get(name string) protoreflect.Value { return m.Get(m.field(name)) }

func (m message) has(name string) bool { return m.Has(m.field(name)) }

func (m message) part(name string) message { return message{m.get(name).Message()} }

func (m message) size() int { return proto.Size(m.Interface()) }

func (m message) bytes() []byte {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Interface())
	checkNoError(err)
	return bytes
}

func (m message) floats(name string) []float32 {
	list := m.get(name).List()
	values := make([]float32, list.Len())
	for i := range values {
		values[i] = float32(list.Get(i).Float())
	}
	return values
}

func (m message) ints(name string) []int64 {
	list := m.get(name).List()
	values := make([]int64, list.Len())
	for i := range values {
		values[i] = list.Get(i).Int()
	}
	return values
}

// codec takes dynamic messages; that of some grpc-go takes generated ones alone.
type codec struct{}

func (codec) Marshal(v interface{}) ([]byte, error) { return proto.Marshal(v.(proto.Message)) }

func (codec) Unmarshal(data []byte, v interface{}) error {
	return proto.Unmarshal(data, v.(proto.Message))
}

func (codec) Name() string { return "proto" }
