// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/gif"  // for DecodeConfig
	_ "image/jpeg" // for DecodeConfig
	_ "image/png"  // for DecodeConfig
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func imageTool() *mcp.Tool {
	return readOnly("read_image", "Look at an image", "Return an image file (PNG, JPEG, GIF or WebP) as an image.")
}

type imageArgs struct {
	location
	Path string `json:"path" jsonschema:"the image file, for example docs/diagram.png"`
}

func (w *Workspace) readImage(_ context.Context, in imageArgs) (*mcp.CallToolResult, error) {
	path, err := in.resolve(in.Path)
	if err != nil {
		return nil, err
	}
	data, err := w.root.ReadFile(path, w.limits.ImageBytes)
	if err != nil {
		return nil, err
	}
	kind := http.DetectContentType(data)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return nil, fmt.Errorf("%s is not a PNG, JPEG, GIF or WebP image but %s", in.display(path), kind)
	}
	caption := fmt.Sprintf("%s (%s, %s)", in.display(path), kind, size(int64(len(data))))
	if config, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		caption = fmt.Sprintf("%s (%s, %d x %d pixels, %s)", in.display(path), kind, config.Width, config.Height, size(int64(len(data))))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: caption},
		&mcp.ImageContent{MIMEType: kind, Data: data},
	}}, nil
}
