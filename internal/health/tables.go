// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// acceptTable is the Accept header with which kubectl requests tables.
const acceptTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// errNoTable means that the API server has no table with the columns: it has other CRDs.
var errNoTable = errors.New("the API server has no table with these columns")

// Tables reads lists as the tables that kubectl prints: a row has a hundredth of the size of an object with prompts and
// results.
type Tables struct{ client rest.Interface }

// NewTables returns tables that are read with the permissions of config.
func NewTables(config *rest.Config) (*Tables, error) {
	config = rest.CopyConfig(config)
	version := v1beta1.GroupVersion
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return &Tables{client: client}, nil
}

// table is the part of a metav1.Table that is used.
type table struct {
	Kind              string `json:"kind"`
	ColumnDefinitions []struct {
		Name string `json:"name"`
	} `json:"columnDefinitions"`
	Rows []struct {
		Cells []any `json:"cells"`
	} `json:"rows"`
}

// read returns the cells of the columns, a slice for each object. An API server that does not support the field
// selector returns all objects.
func (t *Tables) read(ctx context.Context, namespace, resource, selector string, columns []string) ([][]string, error) {
	request := t.client.Get().Namespace(namespace).Resource(resource).SetHeader("Accept", acceptTable).
		Param("includeObject", "None").Param("resourceVersion", "0")
	if selector != "" {
		request = request.Param("fieldSelector", selector)
	}
	data, err := request.Do(ctx).Raw()
	if apierrors.IsBadRequest(err) && selector != "" {
		return t.read(ctx, namespace, resource, "", columns)
	}
	if err != nil {
		return nil, err
	}
	var read table
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("read the table of %s: %w", resource, err)
	}
	return read.cells(columns)
}

func (t table) cells(columns []string) ([][]string, error) {
	if t.Kind != "Table" {
		return nil, errNoTable
	}
	places := make([]int, len(columns))
	for i, name := range columns {
		places[i] = slices.IndexFunc(t.ColumnDefinitions, func(d struct {
			Name string `json:"name"`
		}) bool {
			return d.Name == name
		})
		if places[i] < 0 {
			return nil, errNoTable
		}
	}
	rows := make([][]string, 0, len(t.Rows))
	for _, r := range t.Rows {
		cells := make([]string, len(columns))
		for i, place := range places {
			if place < len(r.Cells) {
				cells[i], _ = r.Cells[place].(string) // null if the object has no value
			}
		}
		rows = append(rows, cells)
	}
	return rows, nil
}
