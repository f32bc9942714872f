// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// maxDepth bounds the nesting of a result.
const maxDepth = 32

var errTooLarge = errors.New("the result is too large")

// toJSON converts a value to what encoding/json produces: nil, bool, int64, float64, string, []any and map[string]any.
func toJSON(value ref.Val) (any, error) {
	budget := MaxSize
	return (&converter{budget: &budget}).convert(value, 0)
}

// converter bounds a conversion: a list may be far larger than the memory that it takes.
type converter struct{ budget *int }

func (c *converter) take(size int) error {
	if *c.budget -= size + 1; *c.budget < 0 {
		return errTooLarge
	}
	return nil
}

func (c *converter) convert(value ref.Val, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("the result is nested too deeply")
	}
	switch v := value.(type) {
	case types.String:
		return string(v), c.take(len(v))
	case types.Bytes:
		return base64.StdEncoding.EncodeToString(v), c.take(len(v) * 4 / 3)
	case traits.Lister:
		return c.list(v, depth)
	case traits.Mapper:
		return c.object(v, depth)
	case *types.Optional:
		if v.HasValue() {
			return c.convert(v.GetValue(), depth+1)
		}
		return nil, c.take(1)
	}
	if err := c.take(8); err != nil { // numbers, times and the like
		return nil, err
	}
	return scalar(value)
}

func scalar(value ref.Val) (any, error) {
	switch v := value.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, fmt.Errorf("the number %d is too large", v)
		}
		return int64(v), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("%v is not a JSON number", float64(v))
		}
		return float64(v), nil
	case types.Timestamp:
		return v.Time.UTC().Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.String(), nil
	}
	return nil, fmt.Errorf("a value of type %s cannot be written as JSON", value.Type().TypeName())
}

func (c *converter) list(list traits.Lister, depth int) (any, error) {
	out := []any{}
	for it := list.Iterator(); it.HasNext() == types.True; {
		item, err := c.convert(it.Next(), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, c.take(1)
}

func (c *converter) object(object traits.Mapper, depth int) (any, error) {
	out := map[string]any{}
	for it := object.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, err := textOfKey(key)
		if err != nil {
			return nil, err
		}
		if err := c.take(len(name)); err != nil {
			return nil, err
		}
		if out[name], err = c.convert(object.Get(key), depth+1); err != nil {
			return nil, err
		}
	}
	return out, c.take(1)
}

func textOfKey(key ref.Val) (string, error) {
	if name, ok := key.(types.String); ok {
		return string(name), nil
	}
	value, err := scalar(key)
	if err != nil {
		return "", err
	}
	return formatText(value)
}

// formatText returns a string as it is, and other values as compact JSON.
func formatText(value any) (string, error) {
	if text, ok := value.(string); ok {
		return text, nil
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("write the result as JSON: %w", err)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
