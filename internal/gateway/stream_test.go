// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleStreamHasComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		stream := NewEventStream(w)
		if err := stream.SendText("first"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*heartbeatInterval + time.Second) //nolint:forbidigo // fake time of synctest
		stream.Close()
		if got, want := w.Body.String(), "data: first\n\n"+strings.Repeat(": still here\n\n", 2); got != want {
			t.Errorf("the stream is %q, want %q", got, want)
		}
	})
}

func TestRequestEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		revoked := time.Now().Add(3*reviewInterval + time.Second)
		go endWithToken(ctx, cancel, func(context.Context) bool { return time.Now().Before(revoked) })
		<-ctx.Done()
		if late := time.Since(revoked); late < 0 || late > reviewInterval {
			t.Errorf("the request ended %v after the token was revoked", late)
		}
	})
}
