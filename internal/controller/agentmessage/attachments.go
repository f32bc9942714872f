// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/attachment"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// content is the content of a message for an agent: its text with the attached texts, the attached images, and their
// bytes for the ledger.
type content struct {
	text   string
	labels []string
	images []agent.Image
	stored []ledger.Image
}

// readContent returns the content of a message with its attachments, or why the message is rejected.
func (r *Reconciler) readContent(ctx context.Context, message *v1beta1.AgentMessage) (content, *outcome, error) {
	files := make([]attachment.File, 0, len(message.Spec.Attachments))
	for i := range message.Spec.Attachments {
		a := &message.Spec.Attachments[i]
		file := attachment.File{Name: a.Name, MediaType: a.MediaType, Data: a.Data}
		if ref := a.ConfigMapKeyRef; ref != nil {
			var err error
			if file.Data, err = r.readConfigMap(ctx, message.Namespace, *ref); err != nil {
				return content{}, nil, err
			}
			if file.Data == nil {
				return content{}, rejected(v1beta1.ReasonAttachmentInvalid,
					"The attachment %q cannot be read: the ConfigMap %q needs the key %q and the label %s: \"true\". Send the message again when it has them.",
					a.Name, ref.Name, ref.Key, v1beta1.LabelAttachment), nil
			}
		}
		files = append(files, file)
	}
	if err := attachment.Check(files); err != nil {
		return content{}, rejected(v1beta1.ReasonAttachmentInvalid, "The message was not delivered: %s. Send it again with other attachments.", err), nil
	}
	read := content{text: attachment.Text(message.Spec.Content, files), labels: v1beta1.ContentNames(v1beta1.Content(len(files) == 0, message.Spec.ContentLabels))}
	for _, file := range files {
		if file.IsImage() {
			digest := engine.ImageDigest(file.Data)
			read.images = append(read.images, agent.Image{Digest: digest, MediaType: file.MediaType, Size: int64(len(file.Data)), Name: file.Name})
			read.stored = append(read.stored, ledger.Image{Digest: digest, MediaType: file.MediaType, Data: file.Data})
		}
	}
	return read, nil, nil
}

// readConfigMap returns the value of a key of a ConfigMap that is marked as an attachment, or nil. Without the mark, a
// person could read through a model what they may not read themselves.
func (r *Reconciler) readConfigMap(ctx context.Context, namespace string, ref v1beta1.ConfigMapKeyRef) ([]byte, error) {
	var config corev1.ConfigMap
	err := r.Runner.Live(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &config)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get config map %s/%s: %w", namespace, ref.Name, err)
	}
	if config.Labels[v1beta1.LabelAttachment] != "true" {
		return nil, nil
	}
	if text, ok := config.Data[ref.Key]; ok {
		return []byte(text), nil
	}
	return config.BinaryData[ref.Key], nil
}
