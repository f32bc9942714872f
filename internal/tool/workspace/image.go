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

	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

func (w *Workspace) readImage(_ context.Context, in toolspec.ImageArgs) (*mcp.CallToolResult, error) {
	path, err := in.Resolve(in.Path)
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
		return nil, fmt.Errorf("%s is not a PNG, JPEG, GIF or WebP image but %s", in.Display(path), kind)
	}
	caption := fmt.Sprintf("%s (%s, %s)", in.Display(path), kind, size(int64(len(data))))
	if config, _, err := image.DecodeConfig(bytes.NewReader(data)); err == nil {
		caption = fmt.Sprintf("%s (%s, %d x %d pixels, %s)", in.Display(path), kind, config.Width, config.Height, size(int64(len(data))))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: caption},
		&mcp.ImageContent{MIMEType: kind, Data: data},
	}}, nil
}
