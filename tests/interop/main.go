// A client of glint-server in Go, by grpc-go with its defaults. It asks the server for the contract.
//
//	interop ADDRESS GLINT
//
// It calls the server at ADDRESS, and compares with what the glint command at path GLINT gets from it.
package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// The whole program; more than a busy machine takes.
const timeout = 4 * time.Minute

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "interop ADDRESS GLINT")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c := dial(os.Args[1], os.Args[2])
	services := c.findContract(ctx)

	want := c.testDetect(ctx)
	c.testBadOptions(ctx)
	c.testBadFrame(ctx, want)
	c.testFrameBeforeOptions(ctx)
	c.testLargeReply(ctx, want)
	c.testGzip(ctx, want)
	c.testDeadline(ctx, want)
	c.testCancel(ctx, want)

	connections := atomic.LoadInt32(&c.connections.count)
	check(connections == 1, "expected one connection for all calls, got %d", connections)
	checkNoError(c.conn.Close())
	fmt.Printf("%d services; a client in Go and glint agree on %d keypoints, also after large answers, compression, "+
		"deadlines and cancellation\n", services, len(want.floats("x")))
}
