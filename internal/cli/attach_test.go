// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/attachment"
)

func TestFilesAreCheckedBeforeSending(t *testing.T) {
	dir := t.TempDir()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"a.png": picture.Bytes(), "a.csv": []byte("1,2\n"), "a.bin": {0, 1, 2}, "empty.txt": nil, "half.png": picture.Bytes()[:20],
		"large.txt": bytes.Repeat([]byte("x"), attachment.MaxBytes+1), "big.txt": bytes.Repeat([]byte("x"), attachment.MaxBytes),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		files []string
		want  string // the media types, or part of the error
	}{
		"an image and a table": {[]string{"a.png", "a.csv"}, "image/png text/csv"},
		"nothing":              {nil, ""},
		"not there":            {[]string{"none.png"}, "no such file"},
		"a directory":          {[]string{"."}, "it is not a file"},
		"binary":               {[]string{"a.bin"}, "neither a PNG"},
		"empty":                {[]string{"empty.txt"}, "it is empty"},
		"damaged":              {[]string{"half.png"}, "damaged"},
		"too large":            {[]string{"large.txt"}, "at most 512 KiB together"},
		"too large together":   {[]string{"big.txt", "a.csv"}, "at most 512 KiB together"},
		"twice":                {[]string{"a.csv", "a.csv"}, "two attachments have the name"},
	} {
		t.Run(name, func(t *testing.T) {
			var paths, types []string
			for _, file := range c.files {
				paths = append(paths, filepath.Join(dir, file))
			}
			attachments, err := readAttachments(nil, paths...)
			for _, a := range attachments {
				types = append(types, a.MediaType)
			}
			got := strings.Join(types, " ")
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) || err == nil && got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}

	actions := newChatActions(nil, "chat")
	if err := actions.Attach(filepath.Join(dir, "a.png")); err != nil {
		t.Fatal(err)
	}
	if err := actions.Attach(filepath.Join(dir, "a.bin")); err == nil {
		t.Error("a file that is no text was attached")
	}
	files, restore := actions.take()
	if len(files) != 1 || files[0].Name != "a.png" {
		t.Errorf("the next message has %d attachments", len(files))
	}
	if again, _ := actions.take(); len(again) != 0 {
		t.Error("the attachments are sent twice")
	}
	restore()
	if again, _ := actions.take(); len(again) != 1 {
		t.Error("the attachments of a message that was not sent are lost")
	}
}
