// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// Bounds of arguments. A model's arguments are far smaller; larger ones are a mistake or an attack and must not reach
// the schema library.
const (
	maxArgumentBytes = 1 << 20
	maxArgumentDepth = 64
	maxExponent      = 400 // beyond float64, so beyond what tools can read
)

// decodeArguments parses the arguments of a call into the values that a schema is checked against. Empty text means
// no arguments.
func decodeArguments(raw json.RawMessage) (map[string]any, error) {
	if len(raw) > maxArgumentBytes {
		return nil, fmt.Errorf("%d bytes, more than the limit of %d", len(raw), maxArgumentBytes)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	value, err := decodeStrict(raw)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("expected a JSON object such as {\"name\": \"value\"}, got %s", jsonType(value))
	}
	return object, nil
}

// decodeStrict parses JSON and rejects what parsers interpret differently: duplicate keys (the approved value might
// not be the one that is used), numbers out of range, invalid UTF-8, trailing text.
func decodeStrict(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("not valid UTF-8")
	}
	var syntax json.RawMessage
	if err := json.Unmarshal(raw, &syntax); err != nil {
		return nil, explainSyntax(raw, err)
	}
	d := decoder{Decoder: json.NewDecoder(bytes.NewReader(raw))}
	d.UseNumber()
	return d.value()
}

// decoder builds values from well-formed JSON.
type decoder struct {
	*json.Decoder
	path []string // the place of the current value; joined only for an error, because keys may be long
}

func (d *decoder) value() (any, error) {
	if len(d.path) > maxArgumentDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxArgumentDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return d.object()
		}
		return d.array()
	case json.Number:
		if problem := numberProblem(token); problem != "" {
			return nil, fmt.Errorf("%s %s", describePlace(d.path), problem)
		}
	}
	return token, nil
}

// at decodes the value of a key or an index.
func (d *decoder) at(key string) (any, error) {
	d.path = append(d.path, key)
	value, err := d.value()
	if err == nil {
		d.path = d.path[:len(d.path)-1]
	}
	return value, err
}

func (d *decoder) object() (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string)
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("%s has the key %q twice", describePlace(d.path), shorten.HeadBytes(key, maxViolation))
		}
		if object[key], err = d.at(key); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return object, err
}

func (d *decoder) array() (any, error) {
	array := []any{}
	for d.More() {
		value, err := d.at(strconv.Itoa(len(array)))
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := d.Token()
	return array, err
}

// numberProblem returns why a number is rejected, or "".
func numberProblem(n json.Number) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	e, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	if exponent != "" && (err != nil || e < -maxExponent || e > maxExponent) {
		return "is out of range"
	}
	if len(mantissa) > maxExponent {
		return "has too many digits"
	}
	return ""
}

// explainSyntax adds the position of a syntax error and the text around it.
func explainSyntax(raw []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	at := min(int(syntax.Offset), len(raw))
	if at == len(raw) && strings.Contains(err.Error(), "unexpected end") {
		return fmt.Errorf("not valid JSON: it ends too early, after %q", shorten.TailBytes(string(raw), 24))
	}
	return fmt.Errorf("not valid JSON: %w (byte %d, after %q)", err, at, shorten.TailBytes(string(raw[:max(at-1, 0)]), 24))
}

// describePlace returns the JSON pointer of a place in a value, for a model.
func describePlace(path []string) string {
	if len(path) == 0 {
		return "the arguments object"
	}
	var pointer strings.Builder
	for _, key := range path {
		pointer.WriteString("/" + pointerEscaper.Replace(key))
	}
	return shorten.HeadBytes(pointer.String(), maxViolation)
}

// pointerEscaper escapes keys in JSON pointers. It is built once because every call uses it.
var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func jsonType(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}
