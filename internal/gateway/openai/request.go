// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// turn is a message of a conversation, without the API's form.
type turn struct {
	Role   string
	Text   string
	Images []v1beta1.Attachment
	// item is the ID of the item in a response, and reference reports that the client sent the ID without the text.
	item      string
	reference bool
}

// decodeBody decodes a request without parameters that are not supported.
func decodeBody(r *http.Request, into any, refused map[string]string) error {
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return badf("", "The body is not a JSON object: %s.", err)
	}
	for name, why := range refused {
		if value, ok := fields[name]; ok && !isUnset(name, value) {
			return badf(name, "%s is not supported: %s", name, why)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("encode the request: %w", err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		if bad := (*badRequest)(nil); errors.As(err, &bad) {
			return bad
		}
		return badf("", "The request is not valid: %s.", err)
	}
	return nil
}

// isUnset reports whether a field has its default value.
func isUnset(name string, value json.RawMessage) bool {
	switch text := string(value); text {
	case "null", "false", "[]", "{}", `""`:
		return true
	case "1":
		return name == "n"
	case "0":
		return name == "top_logprobs"
	case `"none"`, `"auto"`:
		return name == "tool_choice" || name == "function_call"
	case `["text"]`:
		return name == "modalities"
	}
	return false
}

// target is what a model names.
type target struct{ namespace, role string }

func parseModel(name string) (target, error) {
	namespace, role, ok := strings.Cut(name, "/")
	if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Label(role)) > 0 {
		return target{}, badf("model", "The model %q is not NAMESPACE/ROLE, for example team-a/reviewer. GET /v1/models lists the roles.", name)
	}
	return target{namespace, role}, nil
}

// parseObject parses NAMESPACE/NAME, or NAME in a namespace.
func parseObject(param, text, namespace string) (string, string, error) {
	name := text
	if before, after, ok := strings.Cut(text, "/"); ok {
		namespace, name = before, after
	}
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Label(name)) > 0 {
		return "", "", badf(param, "%q is not NAMESPACE/NAME.", text)
	}
	return namespace, name, nil
}

// content is the content of a message: text, or a list of parts.
type content struct {
	text   string
	images []v1beta1.Attachment
}

// part is a part of a message, in the forms of both APIs.
type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	ImageURL json.RawMessage `json:"image_url"`
}

func (c *content) UnmarshalJSON(data []byte) error {
	if string(data) == "null" || json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []part
	if err := json.Unmarshal(data, &parts); err != nil {
		return errors.New("content must be a string or a list of parts")
	}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text":
			texts = append(texts, p.Text)
		case "refusal":
			texts = append(texts, p.Refusal)
		case "image_url", "input_image":
			image, err := decodeImage(p.ImageURL, len(c.images)+1)
			if err != nil {
				return err
			}
			c.images = append(c.images, image)
		default:
			return fmt.Errorf("parts of type %q are not supported: send text and images", p.Type)
		}
	}
	c.text = strings.Join(texts, "\n")
	return nil
}

// decodeImage decodes an image in a data URL.
func decodeImage(value json.RawMessage, number int) (v1beta1.Attachment, error) {
	var object struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(value, &object.URL) != nil && json.Unmarshal(value, &object) != nil {
		return v1beta1.Attachment{}, errors.New("image_url must be a URL")
	}
	content, isData := strings.CutPrefix(object.URL, "data:")
	kind, encoded, ok := strings.Cut(content, ";base64,")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || !isData {
		return v1beta1.Attachment{}, errors.New("images must be in data URLs (data:image/png;base64,...): the gateway fetches nothing")
	}
	_, extension, _ := strings.Cut(kind, "/")
	return v1beta1.Attachment{Name: fmt.Sprintf("image-%d.%s", number, extension), MediaType: kind, Data: data}, nil
}
