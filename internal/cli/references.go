// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/similar"
)

// serverWarnings prints the warnings of the API server, except those about a field that the command has warned about.
type serverWarnings struct {
	out    io.Writer
	warned map[string]bool // fields and texts
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *serverWarnings) HandleWarningHeader(code int, _, text string) {
	field, _, _ := strings.Cut(text, ":")
	if code == 299 && text != "" && !w.warned[field] && !w.warned[text] {
		w.warned[text] = true
		fmt.Fprintln(w.out, "warning:", terminal.Line(text))
	}
}

// warnMissing prints a warning for a role and a model provider that do not exist; empty names are not checked. It returns the error
// of the first one that is certainly missing: the work waits until it exists.
func (s *session) warnMissing(ctx context.Context, role, provider string) error {
	operator := s.operatorNamespace(ctx, "")
	finder := resolve.Finder{Reader: s.api, Live: s.api, OperatorNamespace: operator}
	return errors.Join(
		s.warnIfMissing(ctx, "spec.role", role, roleNames, func() error {
			_, err := finder.WithoutTexts(ctx, s.namespace, role)
			return err
		}),
		s.warnIfMissing(ctx, "spec.modelProvider", provider, names(&v1beta1.ModelProviderList{}), func() error {
			_, err := finder.Provider(ctx, s.namespace, provider)
			return err
		}),
	)
}

func (s *session) warnIfMissing(ctx context.Context, field, name string, list lister, find func() error) error {
	if name == "" {
		return nil
	}
	err := find()
	if err == nil {
		return nil
	}
	var candidates []string
	for _, completion := range list(ctx, s) {
		candidates = append(candidates, strings.Split(completion, "\t")[0])
	}
	suggestion := similar.DidYouMean(name, candidates)
	var missing *resolve.Missing
	// Without permission to read the operator's namespace, a name that resembles no other may be a shared object. Then the
	// server's warning is the only one.
	if slices.Contains(candidates, name) || !errors.As(err, &missing) && suggestion == "" {
		return nil
	}
	s.warnings.warned[field] = true
	if suggestion == "" {
		suggestion = "."
	}
	what := map[string]string{"spec.role": "role", "spec.modelProvider": "model provider"}[field]
	s.noticef("warning: there is no %s %q in namespace %s%s The work waits until the %s exists.", what, name, s.namespace, suggestion, what)
	if missing == nil {
		return nil
	}
	return missing
}
