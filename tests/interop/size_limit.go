package main

import (
	"context"
	"regexp"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What grpc-go receives at most, unless it is told otherwise.
const defaultReceiveLimit = 4 << 20

var (
	dotsOptions = fields{"preset": "orb", "levels": 1, "max_features": 65536}
	dotsFlags   = []string{"--detector", "orb", "--levels", "1", "--features", "65536"}
)

// testLargeReply wants an answer over the default limit to be refused by the client, and to be right with a higher one.
func (c *client) testLargeReply(ctx context.Context, want message) {
	request := fields{"image": dots().image(), "detector": dotsOptions}
	_, err := c.call(ctx, "Detect", request)
	refused := checkTooLarge(err)
	checkSame(c.detect(ctx, box(), nil), want)

	response, err := c.call(ctx, "Detect", request, grpc.MaxCallRecvMsgSize(2*defaultReceiveLimit))
	checkNoError(err)
	// Timings are of different lengths.
	check(refused > response.size()-200 && refused < response.size()+200, "expected %d bytes, as were refused, got %d",
		refused, response.size())
	checkTimings(response)
	checkDots(response.part("features"))
	c.checkAgainstGlint(response.part("features"), dots(), dotsFlags...)
	c.testLargeReplyInStream(ctx, response.part("features"))
}

// testLargeReplyInStream: too large an answer ends a stream, with those behind it.
func (c *client) testLargeReplyInStream(ctx context.Context, want message) {
	small := c.detect(ctx, box(), dotsOptions)
	s := c.openDetect(ctx, dotsOptions)
	s.sendFrame(1, box().image())
	s.sendFrame(2, dots().image())
	s.sendFrame(3, box().image())
	s.receiveFrame(1, small)
	_, err := s.receive()
	checkTooLarge(err)

	s = c.openDetect(ctx, dotsOptions, grpc.MaxCallRecvMsgSize(2*defaultReceiveLimit))
	s.sendFrame(1, box().image())
	s.sendFrame(2, dots().image())
	s.sendFrame(3, box().image())
	s.receiveFrame(1, small)
	s.receiveFrame(2, want)
	s.receiveFrame(3, small)
	s.finish()
}

// checkTooLarge wants an error that names both sizes, and returns the message's.
func checkTooLarge(err error) int {
	checkStatus(err, codes.ResourceExhausted, "received message larger than max")
	text := status.Convert(err).Message()
	sizes := regexp.MustCompile(`\((\d+) vs\. (\d+)\)`).FindStringSubmatch(text)
	check(sizes != nil, "expected two sizes, got %q", text)
	size, _ := strconv.Atoi(sizes[1])
	limit, _ := strconv.Atoi(sizes[2])
	check(limit == defaultReceiveLimit && size > limit, "expected more than %d bytes, got %q", defaultReceiveLimit,
		text)
	return size
}
