// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/bench/drive"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

const (
	// limitsDuration is how long the load of the limits scenario lasts.
	limitsDuration = 10 * time.Minute
	// The limits of both providers. Of the first, the concurrency is exhausted at the beginning of each minute and the requests before its end; of the
	// second, the tokens.
	limitConcurrent = 8
	limitRequests   = 480
	limitTokens     = 240_000
	limitLatency    = 300 * time.Millisecond
	limitTurns      = 20
	// requestsProvider and tokensProvider are the names of the providers, and of the roles that use them.
	requestsProvider = "requests"
	tokensProvider   = "tokens"
)

// limitLoads are the namespaces of the limits scenario with their numbers of agents for each provider.
var limitLoads = []struct {
	namespace string
	agents    int
}{{"small", 3}, {"medium", 9}, {"large", 27}}

// Limits loads providers with limits from namespaces of unequal load through three operators.
func Limits(lasts time.Duration) Scenario {
	s := Scenario{
		Name: "limits-" + lasts.String(), Title: fmt.Sprintf("3 operators on PostgreSQL, providers with limits, and three namespaces with 3, 9 and 27 agents at a time for each, %s", lasts),
		Tool: CalculatorTool, warm: "Success", script: turnsScript(CalculatorTool, 1, 0), replicas: &replicas{count: 3}, lasts: lasts,
	}
	models := map[string]*recordedModel{}
	s.prepare = func(ctx context.Context, r *harness) error { return prepareLimits(ctx, r, models) }
	s.run = func(ctx context.Context, r *harness, result *report.Result) error {
		began := time.Now()
		group, loading := errgroup.WithContext(ctx)
		for _, load := range limitLoads {
			for _, provider := range []string{requestsProvider, tokensProvider} {
				l := &steadyLoad{harness: r, namespace: load.namespace, role: provider, until: began.Add(lasts)}
				group.Go(func() error { return l.run(loading, load.agents) })
			}
		}
		err := group.Wait()
		result.WallSeconds = time.Since(began).Seconds()
		return errors.Join(err, r.reportLimits(context.WithoutCancel(ctx), models, began, lasts, result))
	}
	return s
}

// prepareLimits creates the providers, in the operator's namespace, and the namespaces with their roles.
func prepareLimits(ctx context.Context, r *harness, models map[string]*recordedModel) error {
	for _, name := range []string{requestsProvider, tokensProvider} {
		model, url, err := serveRecorded(r, turnsScript(CalculatorTool, limitTurns, limitLatency))
		if err != nil {
			return err
		}
		models[name] = model
		provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: stack.OperatorNamespace, Name: name}}
		provider.Spec.BaseURL, provider.Spec.DefaultModel, provider.Spec.MaxConcurrentRequests = url, "scripted", limitConcurrent
		provider.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
		if name == tokensProvider {
			provider.Spec.MaxTokensPerMinute = new(int64(limitTokens))
		} else {
			provider.Spec.MaxRequestsPerMinute = new(int32(limitRequests))
		}
		if err := r.stack.API.Create(ctx, provider); err != nil {
			return fmt.Errorf("create the provider %s: %w", name, err)
		}
	}
	for _, load := range limitLoads {
		if err := r.stack.API.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: load.namespace}}); err != nil {
			return fmt.Errorf("create the namespace %s: %w", load.namespace, err)
		}
		for _, name := range []string{requestsProvider, tokensProvider} {
			made := role(name, "You work.", CalculatorTool.allow)
			made.Namespace, made.Spec.ModelProvider = load.namespace, name
			if err := r.stack.API.Create(ctx, made); err != nil {
				return fmt.Errorf("create the role %s: %w", name, err)
			}
		}
	}
	return nil
}

// steadyLoad keeps a number of agents of a role active in a namespace for a time.
type steadyLoad struct {
	*harness

	namespace, role string
	until           time.Time
	created, active int
	failed          int
	ended           map[string]bool
}

func (l *steadyLoad) path() string {
	return "/apis/nestor.dev/v1beta1/namespaces/" + l.namespace + "/agenttasks"
}

// run creates a task whenever one has ended, and returns when all have ended after the time.
func (l *steadyLoad) run(ctx context.Context, n int) error {
	l.ended = map[string]bool{}
	for range n {
		if err := l.create(ctx); err != nil {
			return err
		}
	}
	var created error
	err := l.api.Watch(ctx, l.path(), func(o drive.Object) bool {
		name := o.Metadata.Name
		if !strings.HasPrefix(name, l.role) || !slices.Contains(final, o.Status.Phase) || l.ended[name] {
			return false
		}
		l.ended[name] = true
		l.active--
		if o.Status.Phase != string(v1beta1.TaskSuccess) {
			l.failed++
		}
		if time.Now().Before(l.until) {
			created = errors.Join(created, l.create(ctx))
		}
		return l.active == 0 || created != nil
	})
	if l.failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d agents in namespace %s did not succeed", l.failed, l.namespace))
	}
	return errors.Join(err, created)
}

func (l *steadyLoad) create(ctx context.Context) error {
	body := fmt.Appendf(nil, `{"apiVersion":"nestor.dev/v1beta1","kind":"AgentTask","metadata":{"name":"%s-%d"},"spec":{"type":"Agent","role":"%s","instruction":"Work %d"}}`,
		l.role, l.created, l.role, l.created)
	l.created++
	l.active++
	_, err := l.api.Write(ctx, http.MethodPost, l.path(), body)
	return err
}

// reportLimits compares what the models recorded with the limits, and adds the share of each namespace while the load lasted.
func (r *harness) reportLimits(ctx context.Context, models map[string]*recordedModel, began time.Time, lasts time.Duration, result *report.Result) error {
	requests, tokens := models[requestsProvider].ended(), models[tokensProvider].ended()
	concurrent := max(maxConcurrent(requests), maxConcurrent(tokens))
	perMinute := maxInMinute(requests, func(recordedRequest) int64 { return 1 })
	used := maxInMinute(tokens, func(one recordedRequest) int64 { return one.tokens })
	result.Figures = append(result.Figures,
		report.Figure{Name: report.FigureConcurrency, Value: 100 * float64(concurrent) / limitConcurrent, Unit: "%"},
		report.Figure{Name: report.FigureRequests, Value: 100 * float64(perMinute) / limitRequests, Unit: "%"},
		report.Figure{Name: report.FigureTokens, Value: 100 * float64(used) / limitTokens, Unit: "%"},
		report.Figure{Name: "requests of the provider with a limit of requests", Value: 100 * over(len(requests), lasts.Minutes()*limitRequests), Unit: "% of what the limit allows"},
		report.Figure{Name: "tokens of the provider with a limit of tokens", Value: 100 * over(int(sumTokens(tokens)), lasts.Minutes()*limitTokens), Unit: "% of what the limit allows"})
	for _, name := range []string{requestsProvider, tokensProvider} {
		counts, err := r.ledger.CallsByNamespace(ctx, name, began, began.Add(lasts))
		if err != nil {
			return err
		}
		all := int64(0)
		for _, n := range counts {
			all += n
		}
		for _, load := range limitLoads {
			result.Figures = append(result.Figures, report.Figure{
				Name:  fmt.Sprintf("share of namespace %s with %d agents, limit of %s", load.namespace, load.agents, name),
				Value: 100 * over(int(counts[load.namespace]), float64(all)), Unit: "%",
			})
		}
	}
	return nil
}

func sumTokens(requests []recordedRequest) (sum int64) {
	for _, r := range requests {
		sum += r.tokens
	}
	return sum
}

func over(n int, by float64) float64 {
	if by == 0 {
		return 0
	}
	return float64(n) / by
}
