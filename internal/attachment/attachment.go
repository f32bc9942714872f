// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package attachment checks the images and texts that people attach to messages, and describes them to the model.
package attachment

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of the attachments of one message, which are also those of the API.
const (
	MaxCount = 8
	MaxBytes = 512 << 10
)

// Accepted lists the accepted media types, for people.
const Accepted = "image/png, image/jpeg, image/gif, image/webp, text/*, application/json and application/yaml"

type File struct {
	Name      string
	MediaType string
	Data      []byte
}

func (f File) IsImage() bool { return strings.HasPrefix(f.MediaType, "image/") }

// Check returns an error if the content is not what the media type says. The content is never part of the error.
func (f File) Check() error {
	switch {
	case len(f.Data) == 0:
		return errors.New("it is empty")
	case f.IsImage():
		return f.checkImage()
	case !isText(f.MediaType):
		return fmt.Errorf("the media type %s is not accepted: use %s", f.MediaType, Accepted)
	case !utf8.Valid(f.Data) || bytes.IndexByte(f.Data, 0) >= 0:
		return fmt.Errorf("it is not UTF-8 text, but its media type is %s", f.MediaType)
	}
	return nil
}

func (f File) checkImage() error {
	detected, reason := CheckImage(f.Data)
	switch {
	case reason != "":
		return errors.New(reason)
	case detected != f.MediaType:
		return fmt.Errorf("its media type is %s, but it is %s", f.MediaType, detected)
	}
	return nil
}

func isText(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || mediaType == "application/json" || mediaType == "application/yaml"
}

// Check returns an error if the files of a message exceed the limits, or the content of one is not what its media type says.
func Check(files []File) error {
	if len(files) > MaxCount {
		return fmt.Errorf("a message has at most %d attachments, not %d", MaxCount, len(files))
	}
	size := 0
	for i, f := range files {
		if slices.ContainsFunc(files[:i], func(other File) bool { return other.Name == f.Name }) {
			return fmt.Errorf("two attachments have the name %q", f.Name)
		}
		if err := f.Check(); err != nil {
			return fmt.Errorf("attachment %q: %w", f.Name, err)
		}
		size += len(f.Data)
	}
	if size > MaxBytes {
		return fmt.Errorf("the attachments of a message have at most %d KiB together, not %d KiB", MaxBytes>>10, (size+1023)>>10)
	}
	return nil
}

// TypeOf returns the media type of a file: that of an image by its content, that of text by its extension.
func TypeOf(name string, data []byte) (string, error) {
	if mediaType, reason := CheckImage(data); mediaType != "" || reason != notAnImage {
		if reason != "" {
			return "", errors.New(reason)
		}
		return mediaType, nil
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", errors.New("it is neither a PNG, JPEG, GIF or WebP image nor UTF-8 text")
	}
	if mediaType, ok := textTypes[strings.ToLower(path.Ext(name))]; ok {
		return mediaType, nil
	}
	mediaType, _, err := mime.ParseMediaType(mime.TypeByExtension(path.Ext(name)))
	if err == nil && strings.HasPrefix(mediaType, "text/") {
		return mediaType, nil
	}
	return "text/plain", nil
}

// textTypes are media types that do not depend on the configuration of the machine.
var textTypes = map[string]string{
	".json": "application/json", ".yaml": "application/yaml", ".yml": "application/yaml", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html",
	".txt": "text/plain", ".log": "text/plain",
}

// Text returns the text of a message with its attachments: texts as named, fenced blocks, and the names of images, which models
// receive beside the text.
func Text(content string, files []File) string {
	parts := []string{content}
	for _, f := range files {
		if f.IsImage() {
			parts = append(parts, fmt.Sprintf("[Attached image: %s (%s)]", f.Name, f.MediaType))
			continue
		}
		text := strings.TrimSuffix(string(f.Data), "\n")
		fence := fenceFor(text)
		parts = append(parts, fmt.Sprintf("[Attached file: %s (%s)]\n%s\n%s\n%s", f.Name, f.MediaType, fence, text, fence))
	}
	return strings.Join(parts, "\n\n")
}

// fenceFor returns a fence that is longer than every run of backticks in text.
func fenceFor(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
