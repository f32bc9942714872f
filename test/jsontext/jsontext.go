// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package jsontext finds JSON inside the strings of statuses. Clients cannot select parts of it, and no schema describes it.
package jsontext

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// foreign are the texts that models, tools and people write, whatever they contain.
var foreign = regexp.MustCompile(`^\.(messages\[\]\.content|toolCalls\[\]\.(result|error|progress)|progress|preview|question|summary|title` +
	`|result\.(summary|details|warnings\[\]|suggestions\[\]|data.*)|error\.message|waiting(\[\])?\.text` +
	`|(toolCalls\[\]|waiting(\[\])?)\.arguments\..*|tools\[\]\.inputSchema\..*)$`)

// Find returns the paths of the strings in an object's status that are JSON objects or arrays.
func Find(object any) ([]string, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("read the object: %w", err)
	}
	return find("", content["status"]), nil
}

func find(path string, value any) []string {
	var found []string
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			found = append(found, find(path+"."+name, field)...)
		}
	case []any:
		for _, item := range value {
			found = append(found, find(path+"[]", item)...)
		}
	case string:
		if !foreign.MatchString(path) && isJSON(value) {
			found = append(found, path+": "+value)
		}
	}
	return found
}

func isJSON(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text)) || strings.HasPrefix(text, "[") && json.Valid([]byte(text))
}
