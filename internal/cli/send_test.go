// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// TestAnswersAreReadable prints a request for approval, whose arguments a program has written, and text of the model, which stays as it is.
func TestAnswersAreReadable(t *testing.T) {
	request := v1beta1.AgentMessage{Spec: v1beta1.AgentMessageSpec{Content: `{"command":"make \u0026\u0026 make test"}` + "\n"}}
	request.Annotations = map[string]string{v1beta1.AnnotationCall: "call-1"}
	text := v1beta1.AgentMessage{Spec: v1beta1.AgentMessageSpec{Content: `\u0026 is an ampersand.`}}
	var out bytes.Buffer
	o := sendOptions{print: newPrintFlags("created")}
	if err := o.printAnswers(&session{IOStreams: genericiooptions.IOStreams{Out: &out}}, []v1beta1.AgentMessage{request, text}); err != nil {
		t.Fatal(err)
	}
	if want := "{\"command\":\"make && make test\"}\n\n\\u0026 is an ampersand.\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}
