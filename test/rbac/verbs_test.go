// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"context"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

// Requests pass authorization and admission; dry runs do not write.
var (
	dry   = []string{metav1.DryRunAll}
	touch = []byte(`{"metadata":{"annotations":{"example.com/touched":"yes"}}}`)
)

type verb struct {
	name string
	try  func(context.Context, person, kind) error
}

func (k kind) in(who person) dynamic.ResourceInterface {
	return as(who).Resource(resource(k.resource)).Namespace(team)
}

var verbs = []verb{
	{"get", func(ctx context.Context, who person, k kind) error {
		_, err := k.in(who).Get(ctx, k.standing, metav1.GetOptions{})
		return err
	}},
	{"list", func(ctx context.Context, who person, k kind) error {
		_, err := k.in(who).List(ctx, metav1.ListOptions{})
		return err
	}},
	{"watch", func(ctx context.Context, who person, k kind) error {
		w, err := k.in(who).Watch(ctx, metav1.ListOptions{})
		if err == nil {
			w.Stop()
		}
		return err
	}},
	{"create", func(ctx context.Context, who person, k kind) error {
		_, err := k.in(who).Create(ctx, object(k.kind, "new", k.spec), metav1.CreateOptions{DryRun: dry})
		return err
	}},
	{"update", func(ctx context.Context, who person, k kind) error { return k.update(ctx, who) }},
	{"update status", func(ctx context.Context, who person, k kind) error { return k.update(ctx, who, "status") }},
	{"patch", func(ctx context.Context, who person, k kind) error { return k.patch(ctx, who) }},
	{"patch status", func(ctx context.Context, who person, k kind) error { return k.patch(ctx, who, "status") }},
	{"delete", func(ctx context.Context, who person, k kind) error {
		return k.in(who).Delete(ctx, k.standing, metav1.DeleteOptions{DryRun: dry})
	}},
	{"deletecollection", func(ctx context.Context, who person, k kind) error {
		return k.in(who).DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dry}, metav1.ListOptions{FieldSelector: "metadata.name=" + k.standing})
	}},
}

// update writes back the existing object, read as an administrator. The operator may write in between.
func (k kind) update(ctx context.Context, who person, subresources ...string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		standing, err := administrator().Resource(resource(k.resource)).Namespace(team).Get(ctx, k.standing, metav1.GetOptions{})
		if err != nil {
			return err
		}
		standing.SetAnnotations(map[string]string{"example.com/touched": "yes"})
		_, err = k.in(who).Update(ctx, standing, metav1.UpdateOptions{DryRun: dry}, subresources...)
		return err
	})
}

func (k kind) patch(ctx context.Context, who person, subresources ...string) error {
	_, err := k.in(who).Patch(ctx, k.standing, types.MergePatchType, touch, metav1.PatchOptions{DryRun: dry}, subresources...)
	return err
}

// histories are the requests on the history API, which is read-only.
var histories = []struct {
	does string
	try  func(context.Context, person) error
}{
	{"get transcripts", func(ctx context.Context, who person) error {
		_, err := as(who).Resource(history("transcripts")).Namespace(team).Get(ctx, historyv1beta1.TranscriptName("AgentChat", "talk"), metav1.GetOptions{})
		return err
	}},
	{"list transcripts", lists("transcripts")},
	{"get transcripts/image", func(ctx context.Context, who person) error {
		return client.IgnoreNotFound(readSubresource(ctx, who, historyv1beta1.TranscriptName("AgentChat", "talk"), "image", "digest", "sha256:none"))
	}},
	{"get transcripts/log", func(ctx context.Context, who person) error {
		return readSubresource(ctx, who, historyv1beta1.TranscriptName("AgentChat", "talk"), "log", "tail", "1")
	}},
	{"get transcripts/trace", func(ctx context.Context, who person) error {
		return readSubresource(ctx, who, historyv1beta1.TranscriptName("AgentChat", "talk"), "trace", "limit", "1")
	}},
	{"get transcripts/calls", func(ctx context.Context, who person) error {
		return readSubresource(ctx, who, historyv1beta1.TranscriptName("AgentChat", "talk"), "calls", "limit", "1")
	}},
	{"list modelcalls", lists("modelcalls")},
	{"list usages", lists("usages")},
	{"get workspacechanges", func(ctx context.Context, who person) error {
		_, err := as(who).Resource(history("workspacechanges")).Namespace(team).Get(ctx, historyv1beta1.TranscriptName("AgentChat", "talk"), metav1.GetOptions{})
		return client.IgnoreNotFound(err) // the chat has no workspace
	}},
	{"get workspacechanges/file", func(ctx context.Context, who person) error {
		_, err := as(who).Resource(history("workspacechanges")).Namespace(team).Get(ctx, historyv1beta1.TranscriptName("AgentChat", "talk"), metav1.GetOptions{}, "file")
		return client.IgnoreNotFound(err)
	}},
	{"get workspacechanges/archive", func(ctx context.Context, who person) error {
		_, err := as(who).Resource(history("workspacechanges")).Namespace(team).Get(ctx, historyv1beta1.TranscriptName("AgentChat", "talk"), metav1.GetOptions{}, "archive")
		return client.IgnoreNotFound(err)
	}},
	{"list transcripts of all namespaces", func(ctx context.Context, who person) error {
		_, err := as(who).Resource(history("transcripts")).List(ctx, metav1.ListOptions{})
		return err
	}},
}

func lists(name string) func(context.Context, person) error {
	return func(ctx context.Context, who person) error {
		_, err := as(who).Resource(history(name)).Namespace(team).List(ctx, metav1.ListOptions{})
		return err
	}
}

func readSubresource(ctx context.Context, who person, transcript, subresource, parameter, value string) error {
	clients, err := kubernetes.NewForConfig(config(who))
	if err != nil {
		return err
	}
	stream, err := clients.RESTClient().Get().AbsPath("/apis", historyv1beta1.GroupVersion.String(), "namespaces", team, "transcripts", transcript, subresource).
		Param(parameter, value).Stream(ctx)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		return err
	}
	return stream.Close()
}
