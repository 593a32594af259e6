package main

import (
	"context"
	"sort"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

const (
	detection    = "glint.v1.FeatureDetection"
	serverItself = "glint.v1.Server"
	// A detail of a status that is an error.
	errorInfo = "glint.v1.ErrorInfo"
)

// findContract asks which services there are, and for the definitions of those that are called.
func (c *client) findContract(ctx context.Context) int {
	names := listServices(ctx, c.conn)
	for _, name := range []string{detection, serverItself, "glint.v1.FeatureMatching", "glint.v1.FeatureTracking",
		"grpc.health.v1.Health"} {
		i := sort.SearchStrings(names, name)
		check(i < len(names) && names[i] == name, "expected service %s, got %q", name, names)
	}
	c.contract = describe(ctx, c.conn, detection, serverItself)
	return len(names)
}

// testDetect returns what all later answers for the box are compared with.
func (c *client) testDetect(ctx context.Context) message {
	features := c.detect(ctx, box(), nil)
	checkBox(features)
	c.checkAgainstGlint(features, box())
	return features
}

// What is wrong with 99 levels.
var badLevels = map[string]string{"field": "detector.levels", "value": "99", "lowest": "1", "highest": "12"}

// testBadOptions wants the text of the error, and the same for programs.
func (c *client) testBadOptions(ctx context.Context) {
	detector := fields{"levels": 99}
	_, err := c.call(ctx, "Detect", fields{"image": box().image(), "detector": detector})
	checkStatus(err, codes.InvalidArgument, "detector.levels: 99 is not in 1..12")
	checkErrorInfo(c.errorInfoOf(err), badLevels)

	_, err = c.openDetect(ctx, detector).receive()
	checkStatus(err, codes.InvalidArgument, "detector.levels: 99 is not in 1..12")
	checkErrorInfo(c.errorInfoOf(err), badLevels)
}

// errorInfoOf reads the only detail of a status: what the server sent as its google.rpc.Status.
func (c *client) errorInfoOf(err error) message {
	all := status.Convert(err).Proto().GetDetails()
	check(len(all) == 1, "expected one detail of the status, got %d", len(all))
	check(all[0].GetTypeUrl() == "type.googleapis.com/google.rpc.ErrorInfo", "expected an ErrorInfo, got a %s",
		all[0].GetTypeUrl())
	info := dynamicpb.NewMessage(c.kind(errorInfo))
	checkNoError(proto.Unmarshal(all[0].GetValue(), info))
	return message{info}
}

// checkErrorInfo wants an error about a range, with this metadata and no other.
func checkErrorInfo(info message, want map[string]string) {
	reason, domain := info.get("reason").String(), info.get("domain").String()
	check(reason == "OUT_OF_RANGE" && domain == "glint", "expected OUT_OF_RANGE of glint, got %s of %s", reason, domain)
	metadata := info.get("metadata").Map()
	check(metadata.Len() == len(want), "expected %d entries of metadata, got %v", len(want), metadata)
	for key, value := range want {
		got := metadata.Get(protoreflect.ValueOfString(key).MapKey())
		check(got.IsValid() && got.String() == value, "expected %s %q, got %v", key, value, got)
	}
}

// testBadFrame sends a bad frame among good ones, all before the first answer is read.
func (c *client) testBadFrame(ctx context.Context, want message) {
	const first, bad, last = 7, 9, 10
	s := c.openDetect(ctx, fields{"preset": "orb"})
	for id := uint64(first); id <= last; id++ {
		image := box().image()
		if id == bad {
			image = box().wrong()
		}
		s.sendFrame(id, image)
	}
	for id := uint64(first); id <= last; id++ {
		if id != bad {
			s.receiveFrame(id, want)
			continue
		}
		result, err := s.receive()
		checkNoError(err)
		text := result.checkFrame(id, codes.InvalidArgument)
		check(strings.Contains(text, "width: 0 is not in 1..16384"), "expected the width and its range, got %q", text)
		checkErrorInfo(result.part("status").part("error"),
			map[string]string{"field": "image.raw.width", "value": "0", "lowest": "1", "highest": "16384"})
	}
	s.finish()
}

func (c *client) testFrameBeforeOptions(ctx context.Context) {
	s := c.open(ctx, "DetectStream")
	s.sendFrame(1, box().image())
	_, err := s.receive()
	checkStatus(err, codes.FailedPrecondition, "options")
}
