// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package listen_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/listen"
)

func TestServerNeedsTLSOutsideLoopback(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0"} {
		err := listen.Server{Address: address, Handler: http.NotFoundHandler()}.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "not a loopback address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
