// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// addOptionConversions teaches a scheme to read the options of this group from query parameters.
func addOptionConversions(scheme *runtime.Scheme) error {
	return errors.Join(
		scheme.AddConversionFunc((*url.Values)(nil), (*TranscriptOptions)(nil), func(in, out any, _ conversion.Scope) error {
			return out.(*TranscriptOptions).read(*in.(*url.Values))
		}),
		scheme.AddConversionFunc((*url.Values)(nil), (*TranscriptLogOptions)(nil), func(in, out any, _ conversion.Scope) error {
			return out.(*TranscriptLogOptions).read(*in.(*url.Values))
		}),
		scheme.AddConversionFunc((*url.Values)(nil), (*TranscriptImageOptions)(nil), func(in, out any, _ conversion.Scope) error {
			return out.(*TranscriptImageOptions).read(*in.(*url.Values))
		}),
		scheme.AddConversionFunc((*url.Values)(nil), (*TranscriptTraceOptions)(nil), func(in, out any, _ conversion.Scope) error {
			return out.(*TranscriptTraceOptions).read(*in.(*url.Values))
		}),
		scheme.AddConversionFunc((*url.Values)(nil), (*TranscriptCallsOptions)(nil), func(in, out any, _ conversion.Scope) error {
			return out.(*TranscriptCallsOptions).read(*in.(*url.Values))
		}),
		scheme.AddConversionFunc((*url.Values)(nil), (*WorkspaceFileOptions)(nil), func(in, out any, _ conversion.Scope) error {
			return out.(*WorkspaceFileOptions).read(*in.(*url.Values))
		}),
	)
}

func (o *TranscriptOptions) read(query url.Values) error {
	p := parameters{query: query}
	p.known("since", "limit", "tail")
	o.Since, o.Limit, o.Tail = p.number("since"), p.number("limit"), p.number("tail")
	if o.Tail > 0 && query.Has("since") {
		p.complain("since and tail do not go together: leave one out")
	}
	return p.err
}

func (o *TranscriptLogOptions) read(query url.Values) error {
	p := parameters{query: query}
	p.known("since", "limit", "tail", "follow", "deltas")
	o.Since, o.Limit, o.Tail = p.number("since"), p.number("limit"), p.number("tail")
	o.Follow = p.truth("follow")
	if query.Has("deltas") {
		deltas := p.truth("deltas")
		o.Deltas = &deltas
	}
	if o.Tail > 0 && query.Has("since") {
		p.complain("since and tail do not go together: leave one out")
	}
	if o.Follow && o.Limit > 0 {
		p.complain("limit and follow do not go together: leave one out")
	}
	return p.err
}

func (o *TranscriptImageOptions) read(query url.Values) error {
	p := parameters{query: query}
	p.known("digest")
	o.Digest = query.Get("digest")
	return p.err
}

func (o *TranscriptTraceOptions) read(query url.Values) error {
	p := parameters{query: query}
	p.known("since", "limit")
	o.Since, o.Limit = p.number("since"), p.number("limit")
	return p.err
}

func (o *TranscriptCallsOptions) read(query url.Values) error {
	p := parameters{query: query}
	p.known("since", "sinceTime", "limit")
	o.Since, o.Limit = p.number("since"), p.number("limit")
	if text := query.Get("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			p.complain("sinceTime must be a time such as 2006-01-02T15:04:05Z, not %q", text)
		}
		o.SinceTime = &metav1.Time{Time: at}
	}
	return p.err
}

func (o *WorkspaceFileOptions) read(query url.Values) error {
	p := parameters{query: query}
	p.known("path", "workingDir", "agent")
	o.Path, o.WorkingDir, o.Agent = query.Get("path"), query.Get("workingDir"), query.Get("agent")
	return p.err
}

// parameters reads query parameters and keeps the first complaint.
type parameters struct {
	query url.Values
	err   error
}

func (p *parameters) complain(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, args...)
	}
}

// standard are the parameters that any client of Kubernetes may add.
var standard = []string{"pretty", "timeout", "resourceVersion"}

// known complains about a parameter that is not one of these: a mistyped one would otherwise be ignored.
func (p *parameters) known(names ...string) {
	for name := range p.query {
		if !slices.Contains(names, name) && !slices.Contains(standard, name) {
			p.complain("unknown parameter %q: there are %s", name, strings.Join(names, ", "))
		}
	}
}

func (p *parameters) number(name string) int64 {
	text := p.query.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		p.complain("%s must be a whole number from 0, not %q", name, text)
	}
	return n
}

func (p *parameters) truth(name string) bool {
	text := p.query.Get(name)
	if text == "" {
		return p.query.Has(name) // ?follow is as good as ?follow=true
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		p.complain("%s must be true or false, not %q", name, text)
	}
	return value
}
