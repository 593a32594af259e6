package main

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
)

// What glint detect --format json prints of a picture.
type glintLine struct {
	Status    string
	Count     int
	Keypoints []struct {
		X, Y, Size, Angle, Response float32
		Octave                      int64
		Descriptor                  string
	}
}

func (c *client) runGlint(p picture, flags ...string) glintLine {
	folder, err := os.MkdirTemp("", "glint-interop-")
	checkNoError(err)
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "picture.pgm")
	checkNoError(os.WriteFile(file, p.pgm(), 0o600))
	words := append([]string{"detect", "--server", c.address, "--format", "json", file}, flags...)
	command := exec.Command(c.glint, words...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	check(err == nil, "expected success of %q, got: %v", command.Args, err)
	var line glintLine
	checkNoError(json.Unmarshal(text, &line))
	return line
}

// checkAgainstGlint wants the keypoints of the command-line tool, bit for bit.
func (c *client) checkAgainstGlint(features message, p picture, flags ...string) {
	line := c.runGlint(p, flags...)
	x, y, size := features.floats("x"), features.floats("y"), features.floats("size")
	angle, response, octave := features.floats("angle"), features.floats("response"), features.ints("octave")
	descriptors := features.get("descriptors").Bytes()
	check(line.Status == "OK", "expected status OK of glint, got %s", line.Status)
	check(line.Count == len(x) && len(line.Keypoints) == len(x), "expected %d keypoints of glint, got %d and %d",
		len(x), line.Count, len(line.Keypoints))
	for i, k := range line.Keypoints {
		pairs := []struct {
			name       string
			want, mine float32
		}{{"x", k.X, x[i]}, {"y", k.Y, y[i]}, {"size", k.Size, size[i]}, {"angle", k.Angle, angle[i]},
			{"response", k.Response, response[i]}}
		for _, pair := range pairs {
			check(math.Float32bits(pair.want) == math.Float32bits(pair.mine), "expected %s %v of keypoint %d, got %v",
				pair.name, pair.want, i, pair.mine)
		}
		check(k.Octave == octave[i], "expected octave %d of keypoint %d, got %d", k.Octave, i, octave[i])
		mine := hex.EncodeToString(descriptors[32*i : 32*i+32])
		check(k.Descriptor == mine, "expected descriptor %s of keypoint %d, got %s", k.Descriptor, i, mine)
	}
}
