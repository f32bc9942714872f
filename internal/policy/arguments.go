// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// maxDepth bounds the nesting of arguments.
const maxDepth = 64

var (
	errUTF8   = errors.New("they are not valid UTF-8")
	errObject = errors.New("they are not one JSON object")
	errDeep   = fmt.Errorf("they are nested more than %d levels deep", maxDepth)
)

// CheckArguments returns an error for arguments that no policy allows.
func CheckArguments(raw string) error {
	_, err := decodeArguments([]byte(raw))
	return err
}

// decodeArguments decodes the arguments of a call. It refuses what programs decode differently, because a policy and
// the tool must read the same: keys that occur twice or differ only in case, text that is not valid Unicode, and
// numbers that CEL would round.
func decodeArguments(raw []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	if !utf8.Valid(raw) || hasLoneSurrogate(raw) {
		return nil, errUTF8
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	value, err := decode(decoder, 0)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if _, err := decoder.Token(); !ok || !errors.Is(err, io.EOF) {
		return nil, errObject
	}
	return object, nil
}

func decode(decoder *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, errObject
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return decodeObject(decoder, depth)
		}
		items := []any{}
		for decoder.More() {
			item, err := decode(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		_, err := decoder.Token()
		return items, err
	case json.Number:
		return number(string(t))
	}
	return token, nil
}

func decodeObject(decoder *json.Decoder, depth int) (any, error) {
	object, folded := map[string]any{}, map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, errObject
		}
		key, _ := token.(string)
		name := fold(key)
		if folded[name] {
			return nil, fmt.Errorf("the key %q occurs twice, or differs from another one only in case", shorten.UntrustedLine(key, 64))
		}
		folded[name] = true
		if object[key], err = decode(decoder, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return object, err
}

// fold returns the same text for all keys that encoding/json matches with the same field.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return next
			}
			r = next
		}
	}, key)
}

// number returns the value that CEL compares: an int64, or a float64 with the same decimal digits.
func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || digits(strconv.FormatFloat(f, 'e', -1, 64)) != digits(text) {
		return nil, fmt.Errorf("the number %s cannot be compared exactly", shorten.UntrustedLine(text, 40))
	}
	return f, nil
}

// decimal is a number as its significant digits and the power of ten of the last of them.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// digits returns a JSON number without leading and trailing zeros.
func digits(text string) decimal {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	if power != "" {
		n, err := strconv.Atoi(power)
		if err != nil {
			return decimal{digits: text} // equal to no float64
		}
		d.exponent = n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exponent -= len(fraction)
	all := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(all, "0")
	if d.digits == "" {
		return decimal{}
	}
	d.exponent += len(all) - len(d.digits)
	return d
}

// hasLoneSurrogate reports whether text has half of a UTF-16 pair as an escape, which decoders replace in different ways.
func hasLoneSurrogate(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(raw[i:])
		if !ok {
			i++ // an escape of one character
			continue
		}
		i += len(`\uffff`) - 1
		if unit < 0xd800 || unit > 0xdfff {
			continue
		}
		low, ok := escapedUnit(raw[i+1:])
		if unit > 0xdbff || !ok || low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += len(`\uffff`)
	}
	return false
}

// escapedUnit reads \uXXXX at the beginning of text.
func escapedUnit(raw []byte) (uint64, bool) {
	if len(raw) < len(`\uffff`) || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return unit, err == nil
}
