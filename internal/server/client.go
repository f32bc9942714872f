// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/client/kube"
)

// The kinds are registered once: a client is made for every request.
var kinds = sync.OnceValue(kube.NewScheme)

// newClient returns a client with the identity of config. Its mapper is fixed, so that a request does not begin with
// discovery.
func newClient(config *rest.Config) (client.Client, error) {
	api, err := client.New(config, client.Options{Scheme: kinds(), Mapper: kube.NewMapper(kinds())})
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return api, nil
}
