package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
)

// testGzip wants compressed messages to be refused, and others to be answered as before.
func (c *client) testGzip(ctx context.Context, want message) {
	compressed := grpc.UseCompressor(gzip.Name)
	_, err := c.call(ctx, "Detect", fields{"image": box().image()}, compressed)
	checkStatus(err, codes.Unimplemented, "gzip")
	checkSame(c.detect(ctx, box(), nil), want)

	s := c.openDetect(ctx, nil, compressed)
	_, err = s.receive()
	checkStatus(err, codes.Unimplemented, "gzip")
	s = c.openDetect(ctx, nil)
	s.sendFrame(1, box().image())
	s.receiveFrame(1, want)
	s.finish()
}
