// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const (
	// maxPrompt is the length of the longest prompt with its includes, in characters: that of systemPrompt.
	maxPrompt = 65536
	// maxIncludes bounds the includes of a prompt.
	maxIncludes = 32
)

// include matches {{ include "configmap/key" }}. Helm's include has a second argument, so that a prompt about Helm is
// left alone.
var include = regexp.MustCompile(`\{\{\s*include\s+"([^"\n]*)"\s*\}\}`)

// expandIncludes replaces the includes of a prompt by texts of ConfigMaps. Includes in these texts are not replaced.
func (c *configMaps) expandIncludes(ctx context.Context, role, prompt string) (string, error) {
	places := include.FindAllStringSubmatchIndex(prompt, -1)
	if len(places) == 0 {
		return prompt, nil
	}
	if len(places) > maxIncludes {
		return "", invalidRole("The prompt of the role %s has %d includes, and may have at most %d.", role, len(places), maxIncludes)
	}
	var b strings.Builder
	end := 0
	for _, at := range places {
		b.WriteString(prompt[end:at[0]])
		end = at[1]
		target := prompt[at[2]:at[3]]
		name, key, _ := strings.Cut(target, "/")
		if len(validation.IsDNS1123Subdomain(name)) > 0 || len(validation.IsConfigMapKey(key)) > 0 {
			return "", invalidRole(`The prompt of the role %s includes %q: write the name of a ConfigMap, a slash and a key, for example {{ include "prompts/style.md" }}.`, role, target)
		}
		text, err := c.text(ctx, v1beta1.ConfigMapKeyRef{Name: name, Key: key}, fmt.Sprintf("the prompt of the role %s includes it", role))
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	b.WriteString(prompt[end:])
	if n := utf8.RuneCountInString(b.String()); n > maxPrompt {
		return "", invalidRole("The prompt of the role %s has %d characters with its includes, and may have at most %d.", role, n, maxPrompt)
	}
	return b.String(), nil
}

func invalidRole(format string, args ...any) error {
	return &Missing{Reason: v1beta1.ReasonInvalidSpec, Message: fmt.Sprintf(format, args...)}
}
