package main

import (
	"context"
	"sort"
	"strings"

	"google.golang.org/grpc/codes"
)

const service = "glint.v1.FeatureDetection"

// findContract asks which services there are, and for the definition of one of them.
func (c *client) findContract(ctx context.Context) int {
	names := listServices(ctx, c.conn)
	for _, name := range []string{service, "grpc.health.v1.Health"} {
		i := sort.SearchStrings(names, name)
		check(i < len(names) && names[i] == name, "expected service %s, got %q", name, names)
	}
	c.service = describe(ctx, c.conn, service)
	return len(names)
}

// testDetect returns what all later answers for the box are compared with.
func (c *client) testDetect(ctx context.Context) message {
	features := c.detect(ctx, box(), nil)
	checkBox(features)
	c.checkAgainstGlint(features, box())
	return features
}

func (c *client) testBadOptions(ctx context.Context) {
	_, err := c.call(ctx, "Detect", fields{"image": box().image(), "options": fields{"levels": 99}})
	checkStatus(err, codes.InvalidArgument, "levels: 99 is not in 1..12")
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
	}
	s.finish()
}

func (c *client) testFrameBeforeOptions(ctx context.Context) {
	s := c.open(ctx, "DetectStream")
	s.sendFrame(1, box().image())
	_, err := s.receive()
	checkStatus(err, codes.FailedPrecondition, "options")
}
