// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestToolsAreListedWithHints(t *testing.T) {
	for _, transport := range []mcp.Transport{mcp.StreamableHTTP, mcp.SSE} {
		t.Run(string(transport), func(t *testing.T) {
			server := lab(
				addTool(sdk.Tool{Name: "write", Description: "Writes."}, answer(text("written"))),
				addTool(sdk.Tool{Name: "look", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, answer(text("seen"))),
				addTool(sdk.Tool{Name: "put", Annotations: &sdk.ToolAnnotations{IdempotentHint: true}}, answer(text("put"))),
				addTool(sdk.Tool{Name: "peek"}, answer(text("peeked"))),
			)
			config := describe(makeHost(t, transport, server), transport)
			config.ReadOnlyTools = []string{"peek", "no-such-tool"}
			session := makeClient(t, mcp.Options{}).connect(t, config)

			want := mcp.Status{
				Ready: true, Reason: mcp.Connected, Message: "4 tools are offered",
				Tools: []mcp.ToolStatus{
					{Name: "look", Description: "look", ReadOnly: true, Pin: "look"},
					{Name: "peek", Description: "peek", ReadOnly: true, ReadOnlyWithoutHints: true, Pin: "peek"},
					{Name: "put", Description: "put", Pin: "put"},
					{Name: "write", Description: "Writes.", Pin: "write"},
				},
			}
			got := session.Status()
			opaque := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Digest" || p.Last().String() == ".Schema" }, cmp.Ignore())
			if diff := cmp.Diff(want, got, opaque); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			for _, tool := range got.Tools {
				if !json.Valid(tool.Schema) {
					t.Errorf("the schema of %s is %q", tool.Name, tool.Schema)
				}
			}
			if diff := cmp.Diff([]string{"lab__look", "lab__peek", "lab__put", "lab__write"}, session.Tools().Names()); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			put, _ := session.Tools().Lookup("lab__put")
			if spec := put.Spec(); !spec.Idempotent || spec.ReadOnly {
				t.Errorf("put is %+v", spec)
			}
			if result := run(t.Context(), session, "lab__write", `{}`); result.Text != "written" {
				t.Errorf("got %q", result.Text)
			}
		})
	}
}

func TestUnusableToolsAreNamed(t *testing.T) {
	server := lab(
		addTool(sdk.Tool{Name: "good"}, answer(text("fine"))),
		addTool(sdk.Tool{Name: "bad", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)}, answer()),
	)
	_, session := connect(t, server)
	status := session.Status()
	if len(status.Tools) != 1 || !strings.HasPrefix(status.Message, "1 tool is offered; left out: bad: ") {
		t.Errorf("status is %+v", status)
	}
}

func TestResultsOfAllKinds(t *testing.T) {
	var drawn, photo bytes.Buffer
	if err := errors.Join(png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 2, 2))), jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 2, 2)), nil)); err != nil {
		t.Fatal(err)
	}
	picture := drawn.Bytes()
	server := lab(
		addTool(sdk.Tool{Name: "mixed"}, answer(
			text("before"),
			&sdk.ImageContent{MIMEType: "image/png", Data: picture},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("abc")},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "lab://notes", MIMEType: "text/plain", Text: "some notes"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "lab://photo", MIMEType: "image/jpeg", Blob: photo.Bytes()}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "lab://blob", MIMEType: "application/zip", Blob: []byte("zip!")}},
			&sdk.ResourceLink{URI: "lab://more", Name: "more", Description: "Read on."},
		)),
		addTool(sdk.Tool{Name: "structured"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: map[string]any{"degrees": 21}}, nil
		}),
		addTool(sdk.Tool{Name: "fails"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{text("no such issue")}}, nil
		}),
	)
	_, session := connect(t, server)

	mixed := run(t.Context(), session, "lab__mixed", `{}`)
	want := strings.Join([]string{
		"before", fmt.Sprintf("[image: image/png, %d bytes]", len(picture)), "[audio: audio/wav, 3 bytes]", "[resource lab://notes]\nsome notes",
		fmt.Sprintf("[resource lab://photo: image/jpeg, %d bytes]", photo.Len()), "[resource lab://blob: application/zip, 4 bytes]", "[link to more: lab://more] Read on.",
	}, "\n")
	if diff := cmp.Diff(want, mixed.Text); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	images := []tool.Image{{MIMEType: "image/png", Data: picture}, {MIMEType: "image/jpeg", Data: photo.Bytes()}}
	if diff := cmp.Diff(images, mixed.Output.Images); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	structured := run(t.Context(), session, "lab__structured", `{}`)
	if structured.Text != `{"degrees":21}` || string(structured.Output.Structured) != `{"degrees":21}` {
		t.Errorf("structured: %q, %s", structured.Text, structured.Output.Structured)
	}
	failed := run(t.Context(), session, "lab__fails", `{}`)
	if failed.Failure != tool.Failed || failed.Text != "no such issue" || failed.OutcomeUnknown {
		t.Errorf("failed: %+v", failed)
	}
}

func TestListChangedUpdatesTheSet(t *testing.T) {
	for name, meddle := range map[string]func(*host){
		"current server": func(*host) {},
		"legacy server":  func(h *host) { h.setIntercept(legacy) },
	} {
		t.Run(name, func(t *testing.T) {
			server := lab(addTool(sdk.Tool{Name: "first"}, answer(text("1"))))
			h := makeHost(t, mcp.StreamableHTTP, server)
			meddle(h)
			c := makeClient(t, mcp.Options{})
			session := c.connect(t, describe(h, mcp.StreamableHTTP))

			addTool(sdk.Tool{Name: "second"}, answer(text("2")))(server)
			c.waitFor(t, session, func(s mcp.Status) bool { return len(s.Tools) == 2 })
			if result := run(t.Context(), session, "lab__second", `{}`); result.Text != "2" {
				t.Errorf("got %q", result.Text)
			}
			server.RemoveTools("first")
			c.waitFor(t, session, func(s mcp.Status) bool { return len(s.Tools) == 1 })
			if result := run(t.Context(), session, "lab__first", `{}`); result.Failure != tool.UnknownTool {
				t.Errorf("a removed tool gives %+v", result)
			}
		})
	}
}
