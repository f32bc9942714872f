// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// TestContent checks what a model gets of each kind of content, over both transports: Nestor decodes the answers of
// one, and the SDK those of the other.
func TestContent(t *testing.T) {
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	picture, size := drawn.Bytes(), drawn.Len()
	images := []tool.Image{{MIMEType: "image/png", Data: picture}}
	resource := func(r *sdk.ResourceContents) sdk.CallToolResult {
		return sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: r}}}
	}
	cases := map[string]struct {
		result     sdk.CallToolResult
		text       string
		structured string
		images     []tool.Image
		failed     bool
	}{
		"nothing":                  {text: "(no output)"},
		"a link":                   {result: sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///a.txt", Name: "a", Description: "The first."}}}, text: "[link to a: file:///a.txt] The first."},
		"a link without a text":    {result: sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "https://example.com/b", Name: "b"}}}, text: "[link to b: https://example.com/b]"},
		"a text resource":          {result: resource(&sdk.ResourceContents{URI: "lab://notes", MIMEType: "text/markdown", Text: "# Notes"}), text: "[resource lab://notes]\n# Notes"},
		"a resource without type":  {result: resource(&sdk.ResourceContents{URI: "lab://notes", Text: "Notes"}), text: "[resource lab://notes]\nNotes"},
		"a binary resource":        {result: resource(&sdk.ResourceContents{URI: "lab://zip", MIMEType: "application/zip", Blob: []byte("zip!")}), text: "[resource lab://zip: application/zip, 4 bytes]"},
		"an image as a resource":   {result: resource(&sdk.ResourceContents{URI: "lab://dot", MIMEType: "image/png", Blob: picture}), text: fmt.Sprintf("[resource lab://dot: image/png, %d bytes]", size), images: images},
		"a drawing that is a text": {result: resource(&sdk.ResourceContents{URI: "lab://svg", MIMEType: "image/svg+xml", Text: "<svg/>"}), text: "[resource lab://svg]\n<svg/>"},
		"an image": {
			result: sdk.CallToolResult{Content: []sdk.Content{text("See:"), &sdk.ImageContent{MIMEType: "image/png", Data: picture}}},
			text:   fmt.Sprintf("See:\n[image: image/png, %d bytes]", size), images: images,
		},
		"structured content alone": {
			result: sdk.CallToolResult{StructuredContent: json.RawMessage(`{"a":null,"b":[1,2.5]}`)}, text: `{"a":null,"b":[1,2.5]}`, structured: `{"a":null,"b":[1,2.5]}`,
		},
		"structured content with a text": {
			result: sdk.CallToolResult{Content: []sdk.Content{text("21 degrees")}, StructuredContent: json.RawMessage(`{"degrees":21}`)}, text: "21 degrees", structured: `{"degrees":21}`,
		},
		"an error with structured content": {
			result: sdk.CallToolResult{IsError: true, Content: []sdk.Content{text("no such city")}, StructuredContent: json.RawMessage(`{"code":404}`)}, text: "no such city", structured: `{"code":404}`, failed: true,
		},
	}
	for _, transport := range []mcp.Transport{mcp.StreamableHTTP, mcp.SSE} {
		for name, c := range cases {
			t.Run(string(transport)+" "+name, func(t *testing.T) {
				server := lab(addTool(sdk.Tool{Name: "act"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					answer := c.result
					return &answer, nil
				}))
				session := makeClient(t, mcp.Options{}).connect(t, describe(makeHost(t, transport, server), transport))
				got := run(t.Context(), session, "lab__act", `{}`)
				if got.Text != c.text || (got.Failure != "") != c.failed {
					t.Errorf("got %q (%s), want %q", got.Text, got.Failure, c.text)
				}
				if string(got.Output.Structured) != c.structured {
					t.Errorf("structured: %s, want %s", got.Output.Structured, c.structured)
				}
				if diff := cmp.Diff(c.images, got.Output.Images); diff != "" {
					t.Errorf("images (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestStructuredContentIsUnchanged: a number that does not fit into a float64 is often an ID.
func TestStructuredContentIsUnchanged(t *testing.T) {
	const structured = `{"id":12345678901234567890,"price":2.50}`
	for name, content := range map[string]sdk.Content{"text": text("found"), "link": &sdk.ResourceLink{URI: "lab://a", Name: "a"}} {
		t.Run(name, func(t *testing.T) {
			server := lab(addTool(sdk.Tool{Name: "act"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{content}, StructuredContent: json.RawMessage(structured)}, nil
			}))
			_, session := connect(t, server)
			if got := run(t.Context(), session, "lab__act", `{}`); string(got.Output.Structured) != structured {
				t.Errorf("got %s", got.Output.Structured)
			}
		})
	}
}

// TestDiffIsForPeople: what a call changed is recorded, and no text for the model has it.
func TestDiffIsForPeople(t *testing.T) {
	for name, c := range map[string]struct {
		content sdk.Content
		meta    any
		want    string
	}{
		"a diff":                {text("done"), "@@ -1 +1 @@\n-a\n+b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		"beside a link":         {&sdk.ResourceLink{URI: "lab://a", Name: "a"}, "@@", "@@"},
		"too long":              {text("done"), strings.Repeat("x", tool.MaxDiff+1), ""},
		"something that is not": {text("done"), 7, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := lab(addTool(sdk.Tool{Name: "act"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Meta: sdk.Meta{tool.DiffMeta: c.meta}, Content: []sdk.Content{c.content}}, nil
			}))
			_, session := connect(t, server)
			if got := run(t.Context(), session, "lab__act", `{}`); got.Output.Diff != c.want || strings.Contains(got.Text, "@@") {
				t.Errorf("got %.100q, text %.100q", got.Output.Diff, got.Text)
			}
		})
	}
}
