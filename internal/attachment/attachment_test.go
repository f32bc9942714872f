// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attachment

import (
	"bytes"
	"image"
	"image/gif"
	"image/png"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func picture(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestContentMatchesMediaType(t *testing.T) {
	var animation bytes.Buffer
	if err := gif.Encode(&animation, image.NewGray(image.Rect(0, 0, 2, 2)), nil); err != nil {
		t.Fatal(err)
	}
	small := picture(t, 3)
	for name, c := range map[string]struct {
		file File
		want string // part of the error
	}{
		"a PNG":              {File{"a", "image/png", small}, ""},
		"a GIF":              {File{"a", "image/gif", animation.Bytes()}, ""},
		"a WebP":             {File{"a", "image/webp", []byte("RIFF\x00\x00\x00\x00WEBPVP8 ")}, ""},
		"a text":             {File{"a", "text/csv", []byte("a,b\n")}, ""},
		"JSON":               {File{"a", "application/json", []byte("{}")}, ""},
		"a PNG as JPEG":      {File{"a", "image/jpeg", small}, "its media type is image/jpeg, but it is image/png"},
		"a text as an image": {File{"a", "image/png", []byte("<svg/>")}, "not a PNG"},
		"half an image":      {File{"a", "image/png", small[:20]}, "damaged"},
		"a huge image":       {File{"a", "image/png", picture(t, 8001)}, "pixels"},
		"an image as text":   {File{"a", "text/plain", small}, "not UTF-8 text"},
		"a NUL in a text":    {File{"a", "text/plain", []byte("a\x00b")}, "not UTF-8 text"},
		"nothing":            {File{"a", "text/plain", nil}, "empty"},
		"another type":       {File{"a", "application/pdf", []byte("%PDF-1.7")}, "not accepted"},
	} {
		err := c.file.Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestLimitsOfAMessage(t *testing.T) {
	text := func(name string, size int) File { return File{name, "text/plain", bytes.Repeat([]byte("x"), size)} }
	for name, c := range map[string]struct {
		files []File
		want  string
	}{
		"the largest":   {[]File{text("a", MaxBytes/2), text("b", MaxBytes/2)}, ""},
		"one too large": {[]File{text("a", MaxBytes+1)}, "at most 512 KiB together, not 513 KiB"},
		"together":      {[]File{text("a", MaxBytes), text("b", 1)}, "at most 512 KiB"},
		"too many":      {make([]File, 9), "at most 8"},
		"equal names":   {[]File{text("a", 1), text("a", 2)}, `two attachments have the name "a"`},
		"a bad one":     {[]File{text("a", 1), text("b", 0)}, `attachment "b": it is empty`},
	} {
		err := Check(c.files)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestTypeOfAFile(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"a.png": {picture(t, 3), "image/png"}, "wrong.jpg": {picture(t, 3), "image/png"}, "a.csv": {[]byte("a"), "text/csv"}, "a.YAML": {[]byte("a: b"), "application/yaml"},
		"a.json": {[]byte("{}"), "application/json"}, "Makefile": {[]byte("all:"), "text/plain"}, "a.go": {[]byte("package a"), ""}, "a.bin": {[]byte{0, 1, 2}, "error"},
		"half.png": {picture(t, 3)[:20], "error"},
	} {
		got, err := TypeOf(name, c.data)
		switch {
		case c.want == "error":
			if err == nil {
				t.Errorf("%s is %s", name, got)
			}
		case err != nil || c.want != "" && got != c.want:
			t.Errorf("%s is %s (%v), want %s", name, got, err, c.want)
		default:
			if err := (File{name, got, c.data}).Check(); err != nil {
				t.Errorf("%s as %s: %v", name, got, err)
			}
		}
	}
}

// Text cannot end its own block, whatever it contains.
func TestTextStaysInsideItsFence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.StringOfN(rapid.SampledFrom([]rune("`a\n~")), 1, 40, -1).Draw(t, "data")
		text := Text("Look.", []File{{"a.txt", "text/plain", []byte(data)}})
		body, ok := strings.CutPrefix(text, "Look.\n\n[Attached file: a.txt (text/plain)]\n")
		fence, rest, _ := strings.Cut(body, "\n")
		if !ok || strings.Trim(fence, "`") != "" || len(fence) < 3 {
			t.Fatalf("the text is %q", text)
		}
		if inside, ok := strings.CutSuffix(rest, "\n"+fence); !ok || strings.Contains(inside, fence) {
			t.Fatalf("the text is %q", text)
		}
	})
	if got := Text("Look.", []File{{"a.png", "image/png", nil}}); got != "Look.\n\n[Attached image: a.png (image/png)]" {
		t.Errorf("the text is %q", got)
	}
	if got := Text("Look.", nil); got != "Look." {
		t.Errorf("the text is %q", got)
	}
}
