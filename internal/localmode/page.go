// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/nestor-dev/nestor/internal/server"
	"github.com/nestor-dev/nestor/web"
)

// servePage serves the web page to the person who started the demo, with the permissions of its kubeconfig. Its address and the session of
// the browser stay valid over restarts.
func (l *Local) servePage(ctx context.Context) error {
	if _, built := web.Page(); !built {
		l.Say("the web page is not in this build: use the terminal")
		return nil
	}
	return l.serveBuiltPage(ctx)
}

func (l *Local) serveBuiltPage(ctx context.Context) error {
	listener, err := l.listenAgain(ctx, "page-address")
	if err != nil {
		return err
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	link, done, err := server.Local(serving, server.LocalOptions{
		Config: l.Config, Namespace: Namespace, Listener: listener, SessionFile: filepath.Join(l.Dir, "page-session"),
		Workspace: l.NewChat("").Spec.Workspace, Ideas: l.ideas(), GatewayURL: l.GatewayURL(),
	})
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
