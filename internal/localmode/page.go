// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/server"
)

// servePage serves the web page to the person who started the demo, with the permissions of its kubeconfig.
func (l *Local) servePage(ctx context.Context) error {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	link, done, err := server.Local(serving, server.LocalOptions{Config: l.Config, Namespace: "default"})
	if err != nil {
		cancel()
		return err
	}
	l.page = link
	ended := make(chan error, 1)
	go func() {
		err := <-done
		if serving.Err() == nil {
			l.fail(fmt.Errorf("the web page has ended unexpectedly: %w", err))
		}
		ended <- err
	}()
	l.onStop(func() error {
		cancel()
		return <-ended
	})
	return nil
}
