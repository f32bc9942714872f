// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package toolserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

// Pins returns the pins of a ToolServer, and reports whether its tools were pinned. No tools are offered before.
func Pins(object *v1beta1.ToolServer) (pins mcp.Pins, pinned bool) {
	if !Pinned(object) {
		return nil, false
	}
	pins = make(mcp.Pins, len(object.Status.Pins))
	for _, p := range object.Status.Pins {
		pins[p.Name] = mcp.Pin{Digest: p.Digest, Added: p.Added}
	}
	return pins, true
}

// Pinned reports whether the tools of a server have been pinned.
func Pinned(object *v1beta1.ToolServer) bool {
	return object.Status.PinnedEndpoint == endpointOf(object)
}

// endpointOf identifies the endpoint of a ToolServer: another value is another server.
func endpointOf(object *v1beta1.ToolServer) string {
	sum := sha256.Sum256([]byte(string(object.Spec.Transport) + " " + object.Spec.URL))
	return hex.EncodeToString(sum[:])
}

// Pin compares the listed tools with the pins, and writes both to the status. All tools are pinned when they are
// first listed, and when spec.acceptedToolsDigest has their digest. A tool that is added later is pinned then, without its
// hints. The pin of a removed tool is kept, so that it cannot come back changed.
func Pin(object *v1beta1.ToolServer, status mcp.Status) {
	pins, pinned := Pins(object)
	if !pinned || object.Spec.AcceptedToolsDigest == status.Digest {
		pins = mcp.Pins{}
		for _, t := range status.Tools {
			pins[t.Pin] = mcp.Pin{Digest: t.Digest}
		}
	}
	var changed, added []string
	for _, t := range status.Tools {
		p, ok := pins[t.Pin]
		if !ok && len(pins) < mcp.MaxPins {
			p, ok = mcp.Pin{Digest: t.Digest, Added: true}, true
			pins[t.Pin] = p
		}
		switch {
		case !ok || p.Digest != t.Digest:
			changed = append(changed, t.Name)
		case p.Added:
			added = append(added, t.Name)
		}
	}
	s := &object.Status
	s.Pins, s.PinnedEndpoint, s.ToolsDigest = listOf(pins), endpointOf(object), status.Digest
	s.Tools, s.ToolCount = toolsOf(status, pins), int32(len(status.Tools))
	s.Conditions = conditions.Set(s.Conditions, "ToolServer", pinCondition(object, changed, added), metav1.Now())
}

func listOf(pins mcp.Pins) []v1beta1.ToolPin {
	var list []v1beta1.ToolPin
	for name, p := range pins {
		list = append(list, v1beta1.ToolPin{Name: name, Digest: p.Digest, Added: p.Added})
	}
	slices.SortFunc(list, func(a, b v1beta1.ToolPin) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// pinCondition returns a condition with the tools that differ from their pins, and how to accept them.
func pinCondition(object *v1beta1.ToolServer, changed, added []string) metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionToolsChanged, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonToolsAsPinned,
		Message: "All tools match their pins.", ObservedGeneration: object.Generation}
	var sentences []string
	if len(changed) > 0 {
		c.Status, c.Reason = metav1.ConditionTrue, v1beta1.ReasonToolsWithheld
		sentences = append(sentences, "Withheld, because they changed since they were pinned: "+names(changed)+".")
	}
	if len(added) > 0 {
		if len(changed) == 0 {
			c.Reason = v1beta1.ReasonToolsAdded
		}
		sentences = append(sentences, "Added later and offered without the server's hints: "+names(added)+".")
	}
	if len(sentences) > 0 {
		c.Message = fmt.Sprintf(`%s Review them; to accept them: kubectl patch toolserver %s --namespace %s --type merge --patch '{"spec":{"acceptedToolsDigest":"%s"}}'`,
			strings.Join(sentences, " "), object.Name, object.Namespace, object.Status.ToolsDigest)
	}
	return c
}

// names formats a list of tools, limited to the space of a message.
func names(tools []string) string {
	const most, longest = 4, 48
	var shown []string
	for _, name := range tools[:min(len(tools), most)] {
		shown = append(shown, shorten.UntrustedLine(name, longest))
	}
	if more := len(tools) - most; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}
