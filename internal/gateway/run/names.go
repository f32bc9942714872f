// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// checkNames returns a NotFound error for a name that cannot be a part of a URL. Clients choose names, and the errors
// of client-go for such names look like those of a broken connection.
func checkNames(names ...string) error {
	for _, name := range names {
		if problems := content.IsPathSegmentName(name); len(problems) > 0 {
			why := strings.Join(problems, ", and ")
			return NotFound(fmt.Sprintf("there is no object with the name %q: a name %s", name, why))
		}
	}
	return nil
}

// checkedClient checks names before it uses them.
type checkedClient struct{ client.WithWatch }

func (c checkedClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if err := checkNames(key.Namespace, key.Name); err != nil {
		return err
	}
	return c.WithWatch.Get(ctx, key, into, options...)
}

func (c checkedClient) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if err := checkNames(namespaceOf(options)); err != nil {
		return err
	}
	return c.WithWatch.List(ctx, into, options...)
}

func (c checkedClient) Watch(ctx context.Context, of client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
	if err := checkNames(namespaceOf(options)); err != nil {
		return nil, err
	}
	return c.WithWatch.Watch(ctx, of, options...)
}

// Create implements client.Writer. The API server checks the name.
func (c checkedClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := checkNames(object.GetNamespace()); err != nil {
		return err
	}
	return c.WithWatch.Create(ctx, object, options...)
}

func namespaceOf(options []client.ListOption) string {
	return new(client.ListOptions).ApplyOptions(options).Namespace
}
