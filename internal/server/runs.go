// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const (
	// runsPrefix begins the resources of the inbox in events.
	runsPrefix = "runs/"
	// maxRunNamespaces bounds the namespaces in the inbox of a person without the permission to list chats in the whole cluster.
	maxRunNamespaces = 20
	// maxReviews is how many namespaces are checked for permissions, and parallelReviews how many at the same time.
	maxReviews      = 500
	parallelReviews = 8
)

// standaloneRoots selects tasks that belong neither to a chat nor to another task.
const standaloneRoots = "!" + v1beta1.LabelChat + ",!" + v1beta1.LabelParent

// runScope is the scope of the inbox: all namespaces, or some.
type runScope struct {
	All        bool     `json:"all,omitempty"`
	Namespaces []string `json:"namespaces,omitempty"`
	// Omitted counts the namespaces that the person may see beyond the limit.
	Omitted int `json:"omitted,omitempty"`
}

// inboxSource is a source of a stream: the chats and standalone tasks that the person may see. It has no position: a page that reconnects gets
// lists again, whose objects are small.
type inboxSource struct {
	namespaces []string // that the page knows of
	user       string
	config     *rest.Config
	out        *eventBuffer
	retry      retryPolicy
}

// follow sends the scope of the inbox, and then its objects and their changes until ctx ends or access is denied.
func (i *inboxSource) follow(ctx context.Context, _ string) error {
	scope, err := i.findScope(ctx)
	if err != nil {
		return err
	}
	if err := i.out.put(ctx, event{name: "scope", data: encode(scope)}); err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(i.config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	namespaces := scope.Namespaces
	if scope.All {
		namespaces = []string{metav1.NamespaceAll}
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, namespace := range namespaces {
		for resource, selector := range map[string]string{chats: "", tasks: standaloneRoots} {
			source := &objectSource{
				resource: runsPrefix + resource, namespace: namespace, user: i.user, selector: metav1.ListOptions{LabelSelector: selector}, shorten: shortenRun,
				client: client.Resource(nestorResource(resource)).Namespace(namespace), out: i.out, retry: i.retry,
			}
			// A source ends with an error only if the stream ends; all other errors are sent to the page.
			running.Go(func() { _ = source.follow(ctx, "") })
		}
	}
	return nil
}

// findScope repeats findRunScope until it succeeds or ctx ends.
func (i *inboxSource) findScope(ctx context.Context) (runScope, error) {
	for failures := 0; ; failures++ {
		scope, err := findRunScope(ctx, i.config, i.namespaces)
		if err == nil || !i.retry.wait(ctx, failures+1) {
			return scope, err
		}
	}
}

// findRunScope returns all namespaces if the person may list the chats of the cluster, and otherwise the namespaces whose chats the person may
// list: of those that the person may list, and of those that are known, which come first.
func findRunScope(ctx context.Context, config *rest.Config, known []string) (runScope, error) {
	api, err := newClient(config)
	if err != nil {
		return runScope{}, err
	}
	all, err := mayListChats(ctx, api, metav1.NamespaceAll)
	if err != nil || all {
		return runScope{All: all}, err
	}
	var listed corev1.NamespaceList
	err = api.List(ctx, &listed, client.Limit(maxReviews))
	if err != nil && !apierrors.IsForbidden(err) {
		return runScope{}, err
	}
	for _, namespace := range listed.Items {
		known = append(known, namespace.Name)
	}
	allowed, err := filterNamespaces(ctx, api, unique(known))
	if err != nil {
		return runScope{}, err
	}
	shown := allowed[:min(len(allowed), maxRunNamespaces)]
	return runScope{Namespaces: shown, Omitted: len(allowed) - len(shown)}, nil
}

// unique removes later duplicates.
func unique(names []string) []string {
	var kept []string
	for _, name := range names {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// filterNamespaces returns the namespaces whose chats the person may list, in order.
func filterNamespaces(ctx context.Context, api client.Client, names []string) ([]string, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReviews)
	var mu sync.Mutex
	may := map[string]bool{}
	for _, name := range names {
		group.Go(func() error {
			allowed, err := mayListChats(ctx, api, name)
			mu.Lock()
			defer mu.Unlock()
			may[name] = allowed
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !may[name] }), nil
}

func mayListChats(ctx context.Context, api client.Client, namespace string) (bool, error) {
	return mayDo(ctx, api, authorizationv1.ResourceAttributes{Group: "nestor.dev", Resource: chats, Verb: "list", Namespace: namespace})
}

// mayDo asks whether the person of a client has a permission.
func mayDo(ctx context.Context, api client.Client, question authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &question}}
	err := api.Create(ctx, review)
	return review.Status.Allowed, err
}

// maxRunText bounds the instruction of a task in the inbox.
const maxRunText = 300

// shortenRun removes what the inbox does not show: an inbox may have thousands of runs.
func shortenRun(object *unstructured.Unstructured) {
	for _, path := range [][]string{
		{"spec", "arguments"}, {"spec", "outputSchema"}, {"spec", "contextFiles"}, {"spec", "workspace"}, {"status", "result", "details"},
		{"status", "result", "data"}, {"status", "result", "filesCreated"}, {"status", "result", "filesModified"}, {"status", "result", "suggestions"},
	} {
		unstructured.RemoveNestedField(object.Object, path...)
	}
	for _, path := range [][]string{{"spec", "instruction"}, {"status", "result", "summary"}} {
		text, found, err := unstructured.NestedString(object.Object, path...)
		if runes := []rune(text); found && err == nil && len(runes) > maxRunText {
			_ = unstructured.SetNestedField(object.Object, string(runes[:maxRunText])+"…", path...) // the fields above it are objects
		}
	}
}
