// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"context"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// storage is the part of rest.Storage that does not depend on the resource. The object is an empty one of its kind.
type storage struct{ object runtime.Object }

func (s storage) New() runtime.Object { return s.object.DeepCopyObject() }
func (storage) Destroy()              {}

// namespaced is a resource with a table for kubectl.
type namespaced struct {
	storage
	list     runtime.Object
	singular string
	columns  []string
	cells    func(runtime.Object) []any
}

func (namespaced) NamespaceScoped() bool     { return true }
func (n namespaced) GetSingularName() string { return n.singular }
func (n namespaced) NewList() runtime.Object { return n.list.DeepCopyObject() }

// ConvertToTable returns a table with a row for an object, or for each object of a list.
func (n namespaced) ConvertToTable(_ context.Context, object, options runtime.Object) (*metav1.Table, error) {
	t := &metav1.Table{}
	if wanted, ok := options.(*metav1.TableOptions); !ok || !wanted.NoHeaders {
		t.ColumnDefinitions = definitions(n.columns)
	}
	add := func(o runtime.Object) error {
		t.Rows = append(t.Rows, metav1.TableRow{Cells: n.cells(o), Object: runtime.RawExtension{Object: o}})
		return nil
	}
	if !meta.IsListType(object) {
		return t, add(object)
	}
	list, err := meta.ListAccessor(object)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	t.ResourceVersion, t.Continue = list.GetResourceVersion(), list.GetContinue()
	return t, meta.EachListItem(object, add)
}

// streamed is a subresource whose responses are not objects.
type streamed struct {
	storage
	mediaTypes []string
}

func (s streamed) ProducesMIMETypes(string) []string { return s.mediaTypes }
func (streamed) ProducesObject(string) any           { return "" }

// content is the response of a subresource. It is a runtime.Object because storage must return one, and is never changed.
type content struct {
	data      []byte
	mediaType string
}

func (*content) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (c *content) DeepCopyObject() runtime.Object { return c }

func (c *content) InputStream(context.Context, string, string) (io.ReadCloser, bool, string, error) {
	return io.NopCloser(bytes.NewReader(c.data)), false, c.mediaType, nil
}
