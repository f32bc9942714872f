// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

// Factory creates sessions from the flags that every kubectl command has.
type Factory struct {
	getter  genericclioptions.RESTClientGetter
	streams genericiooptions.IOStreams
	environ []string
}

// session is one command's connection to the cluster.
type session struct {
	genericiooptions.IOStreams
	config    *rest.Config
	scheme    *runtime.Scheme
	mapper    meta.RESTMapper
	api       client.WithWatch
	namespace string
	environ   []string
	now       func() time.Time
	warnings  *serverWarnings
}

// connect returns a session. It sends no request.
func (f *Factory) connect() (*session, error) {
	config, err := f.getter.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; set --kubeconfig, --context or $KUBECONFIG", err)
	}
	namespace, _, err := f.getter.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("find the namespace: %w", err)
	}
	// The default rate limit suits long-running programs, not a command that a person waits for.
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100
	s := &session{IOStreams: f.streams, config: config, namespace: namespace, environ: f.environ, now: time.Now}
	s.warnings = &serverWarnings{out: f.streams.ErrOut, warned: map[string]bool{}}
	config.WarningHandler = s.warnings
	s.scheme = kube.NewScheme()
	s.mapper = kube.NewMapper(s.scheme)
	s.api, err = client.NewWithWatch(config, client.Options{Scheme: s.scheme, Mapper: s.mapper})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return s, nil
}

func (s *session) cluster() follow.Cluster {
	return follow.Cluster{Config: s.config, Scheme: s.scheme, Mapper: s.mapper}
}

func (s *session) history() *history.Reader { return history.NewReader(s.config, s.api, s.namespace) }

// humanOutput returns the writer for human-readable output, with colours on a terminal.
func (s *session) humanOutput() io.Writer { return terminal.Writer(s.Out, s.environ) }

// redraw replaces the last printed text, unless the new text is the same. It returns the text that is now on the
// screen.
func (s *session) redraw(last, text string) string {
	switch {
	case text == last:
		return last
	case isTerminal(s.Out):
		fmt.Fprint(s.Out, clearScreen)
	case last != "":
		fmt.Fprintln(s.Out)
	}
	fmt.Fprint(s.humanOutput(), text)
	return text
}

// width returns the width of the terminal, or 0 if the output is not one.
func (s *session) width() int {
	file, ok := s.Out.(*os.File)
	if !ok || !terminal.IsTerminal(file.Fd()) {
		return 0
	}
	return terminal.Columns(file.Fd())
}

// noticef prints a notice on standard error.
func (s *session) noticef(format string, args ...any) { fmt.Fprintf(s.ErrOut, format+"\n", args...) }

// noticeIfInterrupted prints a notice if the command stopped waiting, because of Ctrl-C or --timeout. A terminal shows
// "^C" without a line break.
func (s *session) noticeIfInterrupted(ctx context.Context, format string, args ...any) {
	if ctx.Err() == nil {
		return
	}
	if isTerminal(s.ErrOut) && !errors.Is(context.Cause(ctx), errTimeout) {
		fmt.Fprintln(s.ErrOut)
	}
	s.noticef(format, args...)
}

// interactive reports whether standard input and output are terminals.
func (s *session) interactive() bool { return isTerminal(s.In) && isTerminal(s.Out) }

func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && terminal.IsTerminal(file.Fd())
}

// withTimeout returns a context with a timeout; 0 means none.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, errTimeout)
}

// runE returns the run function of a command: it connects, runs, and explains errors.
func (f *Factory) runE(
	run func(ctx context.Context, s *session, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := f.connect()
		if err != nil {
			return err
		}
		return explain(run(cmd.Context(), s, args))
	}
}
