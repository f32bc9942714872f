// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

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

// AppendTemperature appends the temperature, unless it is nil.
func AppendTemperature(b []byte, temperature *float64) ([]byte, error) {
	if temperature == nil {
		return b, nil
	}
	number, err := json.Marshal(*temperature)
	return append(append(b, `,"temperature":`...), number...), err
}

// NoArguments is the schema of a tool without parameters, for APIs that require one.
const NoArguments = `{"type":"object","properties":{}}`

// IsBlank reports whether text has nothing but white space, which some APIs reject.
func IsBlank(text string) bool { return strings.TrimSpace(text) == "" }

// DataURL returns an image in the form of a data URL.
func DataURL(image model.Image) string {
	return "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
}

// IsSet reports whether a JSON field is present and not null.
func IsSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

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
