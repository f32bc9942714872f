// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

func RequestSize(req model.Request) int {
	const around = 96
	size := 256
	for i := range req.Messages {
		m := &req.Messages[i]
		size += around + len(m.Text) + len(m.Text)/32
		for j := range m.ToolCalls {
			size += around + 2*len(m.ToolCalls[j].Arguments)
		}
		for j := range m.Images {
			size += around + base64.StdEncoding.EncodedLen(len(m.Images[j].Data))
		}
		for j := range m.ReasoningItems {
			size += around + len(m.ReasoningItems[j].Data)
		}
	}
	for i := range req.Tools {
		size += around + len(req.Tools[i].Description) + len(req.Tools[i].Parameters)
	}
	return size
}

// AppendField appends a field name, verbatim, and its text as JSON.
func AppendField(b []byte, name, text string) []byte {
	return plainjson.AppendString(append(b, name...), text)
}

// AppendComma appends a comma unless the list is empty.
func AppendComma(list []byte) []byte {
	if len(list) == 0 {
		return list
	}
	return append(list, ',')
}

func CheckSchema(tool string, schema json.RawMessage) error {
	if len(schema) == 0 || schema[0] != '{' || !json.Valid(schema) {
		return fmt.Errorf("the schema of tool %s is not a JSON object", tool)
	}
	return nil
}

// DecodeJSON decodes the body of a response that is a single value.
func DecodeJSON(body io.Reader, into any) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if json.Unmarshal(data, into) != nil {
		return Malformed("the provider sent a response that is not JSON")
	}
	return nil
}
