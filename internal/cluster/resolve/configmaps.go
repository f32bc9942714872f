// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// configMaps reads the ConfigMaps of one role, each of them once.
type configMaps struct {
	finder    Finder
	namespace string
	read      map[string]*corev1.ConfigMap // nil for one that does not exist
}

// get returns a ConfigMap, or nil if it does not exist.
func (c *configMaps) get(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	if config, ok := c.read[name]; ok {
		return config, nil
	}
	config := &corev1.ConfigMap{}
	err := c.finder.Live.Get(ctx, types.NamespacedName{Namespace: c.namespace, Name: name}, config)
	if apierrors.IsNotFound(err) {
		config, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get config map %s/%s: %w", c.namespace, name, err)
	}
	if c.read == nil {
		c.read = map[string]*corev1.ConfigMap{}
	}
	c.read[name] = config
	return config, nil
}

// text returns the text under a key. If it is missing, the error names what needs it.
func (c *configMaps) text(ctx context.Context, ref v1beta1.ConfigMapKeyRef, why string) (string, error) {
	config, err := c.get(ctx, ref.Name)
	if err != nil {
		return "", err
	}
	if config != nil && config.Data[ref.Key] != "" {
		return config.Data[ref.Key], nil
	}
	return "", &Missing{Reason: v1beta1.ReasonConfigMapNotFound,
		Message: fmt.Sprintf("Create the ConfigMap %q in the namespace %s with text under the key %q: %s.", ref.Name, c.namespace, ref.Key, why)}
}

// names returns the names of the ConfigMaps that were read, in order, including those that do not exist.
func (c *configMaps) names() []string { return slices.Sorted(maps.Keys(c.read)) }
