package main

import (
	"fmt"
	"math"
)

// picture is square, of grey pixels.
type picture struct {
	side   int
	pixels []byte
}

// A white box on black, and its corners.
const boxSide = 240

var boxCorners = [][2]float64{{80, 90}, {159, 90}, {80, 149}, {159, 149}}

func box() picture {
	p := picture{boxSide, make([]byte, boxSide*boxSide)}
	for y := 90; y < 150; y++ {
		for x := 80; x < 160; x++ {
			p.pixels[y*boxSide+x] = 255
		}
	}
	return p
}

// White pixels on black, in a grid. All are equally strong corners, so that max_features leaves none of them out.
const (
	dotsSide   = 1200
	dotsPitch  = 4
	dotsBorder = 32 // the first dot beyond edge_threshold, 31; the last one is as far from the other side
	dotsInRow  = (dotsSide-2*dotsBorder)/dotsPitch + 1
)

func dots() picture {
	p := picture{dotsSide, make([]byte, dotsSide*dotsSide)}
	for y := 0; y < dotsSide; y += dotsPitch {
		for x := 0; x < dotsSide; x += dotsPitch {
			p.pixels[y*dotsSide+x] = 255
		}
	}
	return p
}

func (p picture) raw(width int) fields {
	return fields{"raw": fields{"format": "PIXEL_FORMAT_GRAY8", "width": width, "height": p.side, "data": p.pixels}}
}

func (p picture) image() fields { return p.raw(p.side) }

// wrong is a picture without width.
func (p picture) wrong() fields { return p.raw(0) }

func (p picture) pgm() []byte {
	return append([]byte(fmt.Sprintf("P5\n%d %d\n255\n", p.side, p.side)), p.pixels...)
}

// checkCounts wants complete arrays, and returns their length.
func checkCounts(features message) int {
	count := len(features.floats("x"))
	for _, name := range []string{"y", "size", "angle", "response"} {
		length := len(features.floats(name))
		check(length == count, "expected %d elements of %s, as of x, got %d", count, name, length)
	}
	octaves := len(features.ints("octave"))
	check(octaves == count, "expected %d elements of octave, as of x, got %d", count, octaves)
	width := features.get("descriptor_bytes").Int()
	check(width == 32, "expected descriptors of 32 bytes, got %d", width)
	bytes := len(features.get("descriptors").Bytes())
	check(bytes == 32*count, "expected %d bytes of descriptors, got %d", 32*count, bytes)
	check(!features.get("truncated").Bool(), "expected all keypoints, got truncated")
	return count
}

// checkBox wants keypoints at the corners of the box alone, and at each of them.
func checkBox(features message) {
	checkCounts(features)
	x, y, size := features.floats("x"), features.floats("y"), features.floats("size")
	found := make([]int, len(boxCorners))
	for i := range x {
		near := false
		for c, corner := range boxCorners {
			if math.Hypot(float64(x[i])-corner[0], float64(y[i])-corner[1]) < float64(size[i])/4 {
				near = true
				found[c]++
			}
		}
		check(near, "expected keypoint %d at a corner of the box, got %v, %v", i, x[i], y[i])
	}
	for c, corner := range boxCorners {
		check(found[c] > 0, "expected a keypoint at corner %v, got none", corner)
	}
}

// checkDots wants one keypoint at each dot, row by row.
func checkDots(features message) {
	count := checkCounts(features)
	check(count == dotsInRow*dotsInRow, "expected %d keypoints, got %d", dotsInRow*dotsInRow, count)
	x, y := features.floats("x"), features.floats("y")
	for i := range x {
		wantX := float32(dotsBorder + i%dotsInRow*dotsPitch)
		wantY := float32(dotsBorder + i/dotsInRow*dotsPitch)
		check(x[i] == wantX && y[i] == wantY, "expected keypoint %d at %v, %v, got %v, %v", i, wantX, wantY, x[i], y[i])
	}
}
