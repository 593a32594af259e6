package main

import (
	"bytes"
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
)

// detect returns the features of a picture.
func (c *client) detect(ctx context.Context, p picture, detector fields, options ...grpc.CallOption) message {
	response, err := c.call(ctx, "Detect", fields{"image": p.image(), "detector": detector}, options...)
	checkNoError(err)
	checkTimings(response)
	return response.part("features")
}

// openDetect begins a stream whose frames are searched with these options.
func (c *client) openDetect(ctx context.Context, detector fields, options ...grpc.CallOption) stream {
	s := c.open(ctx, "DetectStream", options...)
	s.send(fields{"options": fields{"detector": detector}})
	return s
}

func (s stream) sendFrame(id uint64, image fields) {
	s.send(fields{"frame": fields{"frame_id": id, "image": image}})
}

// receiveFrame wants the answer to a good frame.
func (s stream) receiveFrame(id uint64, want message) {
	result, err := s.receive()
	checkNoError(err)
	result.checkFrame(id, codes.OK)
	checkTimings(result)
	checkSame(result.part("features"), want)
}

// checkFrame wants the answer to this frame, of this status, and returns the status' text.
func (m message) checkFrame(id uint64, code codes.Code) string {
	gotID := m.get("frame_id").Uint()
	check(gotID == id, "expected the answer to frame %d, got that to %d", id, gotID)
	got, text := codes.Code(m.part("status").get("code").Int()), m.part("status").get("message").String()
	check(got == code, "expected status %v of frame %d, got %v: %s", code, id, got, text)
	has := m.has("features")
	check(has == (code == codes.OK), "expected features of frame %d if its status is OK, got %v and %v", id, code, has)
	return text
}

func checkTimings(response message) {
	timings := response.part("timings")
	for _, name := range []string{"total_ns", "detect_ns"} {
		check(timings.get(name).Int() > 0, "expected %s above 0, got %d", name, timings.get(name).Int())
	}
}

// checkSame wants the same bytes.
func checkSame(got, want message) {
	check(bytes.Equal(got.bytes(), want.bytes()), "expected the same features, got other bytes: %d keypoints, not %d",
		len(got.floats("x")), len(want.floats("x")))
}
