// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool"
)

func picture(t *testing.T, width int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 1))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnusableImageBecomesNote(t *testing.T) {
	good := picture(t, 4)
	for name, c := range map[string]struct {
		images []tool.Image
		kept   int
		says   string
	}{
		"valid":                    {[]tool.Image{{MIMEType: "image/png", Data: good}}, 1, ""},
		"wrong media type":         {[]tool.Image{{MIMEType: "image/jpeg", Data: good}}, 1, ""},
		"no image":                 {[]tool.Image{{MIMEType: "image/png", Data: []byte("<svg></svg>")}}, 0, "[image 1 of 1 is not shown: it is not a PNG, JPEG, GIF or WebP image]"},
		"empty":                    {[]tool.Image{{MIMEType: "image/png"}}, 0, "is not a PNG"},
		"damaged":                  {[]tool.Image{{MIMEType: "image/png", Data: good[:20]}}, 0, "it is damaged"},
		"too large":                {[]tool.Image{{Data: append(bytes.Clone(good), make([]byte, 6<<20)...)}}, 0, "at most 5 MB are shown"},
		"too wide":                 {[]tool.Image{{Data: picture(t, 9000)}}, 0, "9000 x 1 pixels"},
		"too many":                 {repeated(good, 10), 8, "[image 10 of 10 is not shown: a call shows at most 8 images]"},
		"too many bytes":           {repeated(append(bytes.Clone(good), make([]byte, 4<<20)...), 3), 2, "at most 10 MB together"},
		"a good one in the middle": {[]tool.Image{{}, {Data: good}, {}}, 1, "image 3 of 3"},
	} {
		made, err := tool.New(tool.Spec{Name: "t"}, func(context.Context, tool.Invocation) (tool.Output, error) {
			return tool.Output{Text: "Look:", Images: c.images}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		set, err := tool.NewSet(made)
		if err != nil {
			t.Fatal(err)
		}
		result := execute(t, set, "t", "{}")
		if len(result.Output.Images) != c.kept || !strings.Contains(result.Text, c.says) || !strings.HasPrefix(result.Text, "Look:") {
			t.Errorf("%s: %d images and %q, want %d and %q", name, len(result.Output.Images), result.Text, c.kept, c.says)
		}
		for _, image := range result.Output.Images {
			if image.MIMEType != "image/png" {
				t.Errorf("%s: the media type is %s", name, image.MIMEType)
			}
		}
	}
}

func repeated(data []byte, n int) []tool.Image {
	images := make([]tool.Image, n)
	for i := range images {
		images[i] = tool.Image{MIMEType: "image/png", Data: data}
	}
	return images
}
