package main

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	deadline = time.Second
	// The two ends round the deadline in their own way.
	rounding = 50 * time.Millisecond
	// Then the server ends a call without messages by itself.
	serverTimeout = 10 * time.Second
	// For what takes milliseconds on an idle machine.
	patience = time.Minute
)

// testDeadline waits for answers to messages that are not sent.
func (c *client) testDeadline(ctx context.Context, want message) {
	for _, method := range []string{"Detect", "DetectStream"} {
		begin := time.Now()
		short, cancel := context.WithTimeout(ctx, deadline)
		s, err := c.tryOpen(short, method)
		if err == nil {
			_, err = s.receive()
		}
		took := time.Since(begin)
		cancel()
		checkStatus(err, codes.DeadlineExceeded)
		check(took > deadline-rounding && took < serverTimeout, "expected %s to end after %v, got %v", method, deadline,
			took)
		checkSame(c.detect(ctx, box(), nil), want)
	}
	past, cancel := context.WithTimeout(ctx, -deadline)
	defer cancel()
	_, err := c.call(past, "Detect", fields{"image": box().image()})
	checkStatus(err, codes.DeadlineExceeded)
	checkSame(c.detect(ctx, box(), nil), want)
}

// testCancel cancels one of as many streams as a client may have, in the middle of its frames. Then its place is free,
// and the others go on.
func (c *client) testCancel(ctx context.Context, want message) {
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	victim := c.awaitPlace(cancelled, want)
	var others []stream
	for share := c.shareOfSessions(ctx); len(others) < share-1; {
		others = append(others, c.awaitPlace(ctx, want))
	}
	_, err := c.tryStream(ctx, want)
	checkStatus(err, codes.ResourceExhausted, "--max-sessions-per-peer")

	for id := uint64(2); id <= 6; id++ {
		victim.sendFrame(id, box().image())
	}
	victim.receiveFrame(2, want)
	victim.receiveFrame(3, want)
	cancel()
	for err = nil; err == nil; { // answers that were there already
		_, err = victim.receive()
	}
	checkStatus(err, codes.Canceled)

	others = append(others, c.awaitPlace(ctx, want))
	for _, s := range others {
		s.sendFrame(2, box().image())
		s.receiveFrame(2, want)
		s.finish()
	}
	checkSame(c.detect(ctx, box(), nil), want)
}

// shareOfSessions returns how many streams one client may have by default: three quarters of all.
func (c *client) shareOfSessions(ctx context.Context) int {
	info, err := c.call(ctx, "GetServerInfo", fields{})
	checkNoError(err)
	limits := info.part("limits")
	share, all := int(limits.get("max_sessions_per_client").Int()), int(limits.get("max_sessions").Int())
	check(all >= 4 && share == all-all/4, "expected three quarters of %d sessions, got %d", all, share)
	return share
}

// tryStream opens a stream and has a first frame answered. An error is the server's refusal.
func (c *client) tryStream(ctx context.Context, want message) (stream, error) {
	s := c.openDetect(ctx, nil)
	s.sendFrame(1, box().image())
	result, err := s.receive()
	if err == nil {
		result.checkFrame(1, codes.OK)
		checkSame(result.part("features"), want)
	}
	return s, err
}

// awaitPlace tries until the server has a place for another stream.
func (c *client) awaitPlace(ctx context.Context, want message) stream {
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		s, err := c.tryStream(ctx, want)
		if err == nil {
			return s
		}
		checkStatus(err, codes.ResourceExhausted, "--max-sessions-per-peer")
		check(time.Since(begin) < patience, "expected a place for a stream within %v, got: %v", patience,
			status.Convert(err).Message())
	}
}
