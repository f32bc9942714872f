// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/attachment"
	"github.com/nestor-dev/nestor/internal/engine"
)

func picture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// An answer with attachments reaches the agent below a standalone task that asked; a bad attachment rejects the
// message, and the question stays open.
func TestAttachmentsOfAnAnswer(t *testing.T) {
	png := picture(t)
	ref := func(name, key string) *v1beta1.ConfigMapKeyRef {
		return &v1beta1.ConfigMapKeyRef{Name: name, Key: key}
	}
	for name, c := range map[string]struct {
		attachments []v1beta1.Attachment
		rejected    string // part of the message
		text        string // part of the answer
		images      int
	}{
		"an image":                  {[]v1beta1.Attachment{{Name: "a.png", MediaType: "image/png", Data: png}}, "", "[Attached image: a.png (image/png)]", 1},
		"a text":                    {[]v1beta1.Attachment{{Name: "a.csv", MediaType: "text/csv", Data: []byte("1,2\n")}}, "", "[Attached file: a.csv (text/csv)]\n```\n1,2\n```", 0},
		"a text in a ConfigMap":     {[]v1beta1.Attachment{{Name: "a", MediaType: "text/plain", ConfigMapKeyRef: ref("offered", "text")}}, "", "```\nhello\n```", 0},
		"an image in a ConfigMap":   {[]v1beta1.Attachment{{Name: "a", MediaType: "image/png", ConfigMapKeyRef: ref("offered", "picture")}}, "", "[Attached image: a (image/png)]", 1},
		"a ConfigMap without label": {[]v1beta1.Attachment{{Name: "a", MediaType: "text/plain", ConfigMapKeyRef: ref("private", "text")}}, `label nestor.dev/attachment: "true"`, "", 0},
		"no ConfigMap":              {[]v1beta1.Attachment{{Name: "a", MediaType: "text/plain", ConfigMapKeyRef: ref("missing", "text")}}, `the ConfigMap "missing" needs the key "text"`, "", 0},
		"no key":                    {[]v1beta1.Attachment{{Name: "a", MediaType: "text/plain", ConfigMapKeyRef: ref("offered", "other")}}, `needs the key "other"`, "", 0},
		"not what it says":          {[]v1beta1.Attachment{{Name: "a.jpg", MediaType: "image/jpeg", Data: png}}, `attachment "a.jpg": its media type is image/jpeg, but it is image/png`, "", 0},
		"too large together": {[]v1beta1.Attachment{{Name: "a", MediaType: "text/plain", ConfigMapKeyRef: ref("offered", "large")},
			{Name: "b", MediaType: "text/plain", Data: []byte("x")}}, "at most 512 KiB together", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			config := func(name string, labels map[string]string) *corev1.ConfigMap {
				return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Labels: labels},
					Data: map[string]string{"text": "hello", "large": strings.Repeat("x", attachment.MaxBytes)}, BinaryData: map[string][]byte{"picture": png}}
			}
			spec := v1beta1.AgentMessageSpec{Task: "mine", Content: "See.", Attachments: c.attachments}
			objects := append(treeWith("mine"), message("said", spec), config("private", nil), config("offered", map[string]string{v1beta1.LabelAttachment: "true"}))
			r, store := reconcilerWith(t, objects...)
			runTree(t, r, store, "mine", agent.ToolCall{ID: "q", Tool: "ask_user", Arguments: `{"question":"Which colour?"}`})
			request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "said"}}
			if _, err := r.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			var said v1beta1.AgentMessage
			if err := r.Client.Get(t.Context(), request.NamespacedName, &said); err != nil {
				t.Fatal(err)
			}
			state, _, err := r.Runner.State(t.Context(), "SubAgent/mine-1")
			if err != nil {
				t.Fatal(err)
			}
			if c.rejected != "" {
				if said.Status.Phase != v1beta1.MessageRejected || said.Status.Reason != v1beta1.ReasonAttachmentInvalid || !strings.Contains(said.Status.Conditions[0].Message, c.rejected) {
					t.Errorf("the message is %+v, want it rejected with %q", said.Status, c.rejected)
				}
				if state.Stage() != agent.StageWaitingForUser {
					t.Errorf("the agent is %s", state.Stage())
				}
				return
			}
			if said.Status.Phase != v1beta1.MessageHandled {
				t.Fatalf("the message is %+v", said.Status)
			}
			messages := state.History.Messages()
			last := messages[len(messages)-1]
			if !strings.HasPrefix(last.Text, "See.\n\n") || !strings.Contains(last.Text, c.text) || len(last.Images) != c.images {
				t.Errorf("the agent received %v", last)
			}
			for _, i := range last.Images {
				stored, err := store.ImageOf(t.Context(), "SubAgent/mine-1", i.Digest)
				if err != nil || !bytes.Equal(stored.Data, png) || i.Digest != engine.ImageDigest(png) || i.Name != c.attachments[0].Name {
					t.Errorf("the ledger has %d bytes for %v (%v)", len(stored.Data), i, err)
				}
			}
		})
	}
}
