// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
)

// output converts a server's result to a tool's output. Content that is not text gets a note at its place in the
// text, for models that accept only text.
func output(result *sdk.CallToolResult) (tool.Output, error) {
	o := tool.Output{IsError: result.IsError}
	if result.StructuredContent != nil {
		structured, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return tool.Output{}, fmt.Errorf("encode structured content: %w", err)
		}
		o.Structured = structured
	}
	if diff, ok := result.Meta[tool.DiffMeta].(string); ok && len(diff) <= tool.MaxDiff {
		o.Diff = strings.ToValidUTF8(diff, "\uFFFD")
	}
	var parts []string
	for _, content := range result.Content {
		text, image := read(content)
		parts = append(parts, text)
		if image != nil {
			o.Images = append(o.Images, *image)
		}
	}
	o.Text = strings.Join(parts, "\n")
	return o, nil
}

// read returns the text for a content block, and its image if it is one.
func read(content sdk.Content) (string, *tool.Image) {
	switch c := content.(type) {
	case *sdk.TextContent:
		return c.Text, nil
	case *sdk.ImageContent:
		return picture("image", c.MIMEType, c.Data)
	case *sdk.AudioContent:
		return describe("audio", c.MIMEType, len(c.Data)), nil
	case *sdk.EmbeddedResource:
		return resource(c.Resource)
	case *sdk.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[link to %s: %s] %s", c.Name, c.URI, c.Description)), nil
	default:
		return fmt.Sprintf("[content of the unknown kind %T]", content), nil
	}
}

func resource(r *sdk.ResourceContents) (string, *tool.Image) {
	switch {
	case r == nil:
		return "[empty resource]", nil
	case strings.HasPrefix(r.MIMEType, "image/") && len(r.Blob) > 0:
		return picture("resource "+r.URI, r.MIMEType, r.Blob)
	case len(r.Blob) > 0:
		return describe("resource "+r.URI, r.MIMEType, len(r.Blob)), nil
	default:
		return fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text), nil
	}
}

func picture(what, mimeType string, data []byte) (string, *tool.Image) {
	return describe(what, mimeType, len(data)), &tool.Image{MIMEType: mimeType, Data: data}
}

func describe(what, mimeType string, size int) string {
	return fmt.Sprintf("[%s: %s, %d bytes]", what, mimeType, size)
}
