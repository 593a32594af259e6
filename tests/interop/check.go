package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// check ends the program, with the lines of this program that led here, unless ok.
func check(ok bool, format string, values ...interface{}) {
	if !ok {
		fail(2, format, values...)
	}
}

func checkNoError(err error) {
	if err != nil {
		fail(2, "expected success, got: %v", err)
	}
}

// checkEnd wants what a stream says that ended with status OK.
func checkEnd(err error) {
	if err != io.EOF {
		fail(2, "expected the end of the stream, got: %v", err)
	}
}

// checkStatus wants an error of this code, whose text has all parts.
func checkStatus(err error, code codes.Code, parts ...string) {
	if got := status.Code(err); got != code {
		fail(2, "expected status %v, got %v: %v", code, got, err)
	}
	for _, part := range parts {
		if text := status.Convert(err).Message(); !strings.Contains(text, part) {
			fail(2, "expected a text with %q, got %q", part, text)
		}
	}
}

// fail skips so many frames of the stack, its own first.
func fail(skip int, format string, values ...interface{}) {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(skip+1, callers)])
	var lines []string
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if strings.HasPrefix(frame.Function, "main.") {
			lines = append(lines, fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line))
		}
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", strings.Join(lines, " < "), fmt.Sprintf(format, values...))
	os.Exit(1)
}
