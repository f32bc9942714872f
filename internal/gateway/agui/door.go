// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

const doorName = "ag-ui"

type runs interface {
	Start(ctx context.Context, r run.Request) (*v1beta1.AgentTask, bool, error)
	Task(ctx context.Context, namespace, name string) (*v1beta1.AgentTask, error)
	Tasks(ctx context.Context, namespace string, selector labels.Selector) ([]v1beta1.AgentTask, error)
	OpenAsk(ctx context.Context, task *v1beta1.AgentTask) (*run.Ask, error)
	FollowTask(ctx context.Context, namespace, name string, from run.Cursor) iter.Seq2[run.Event, error]
	Answer(ctx context.Context, ask run.Ask, text, key string) error
	Decide(ctx context.Context, ask run.Ask, d run.Decision, key string) (string, error)
	HasAnswered(ctx context.Context, namespace, about, key string) (ask string, answered bool, err error)
	Cancel(ctx context.Context, namespace, task, key string) error
	Discard(ctx context.Context, task *v1beta1.AgentTask) (suggestion string, err error)
}

// Door serves AG-UI at /ag-ui/NAMESPACE/ROLE.
type Door struct{}

func New() *Door { return &Door{} }

func (d *Door) Name() string { return doorName }

func (d *Door) Routes(mux *gateway.Mux) {
	mux.Handle("POST /ag-ui/{namespace}/{role}", func(w http.ResponseWriter, r *http.Request, caller *run.Caller) error {
		return serve(w, r, caller, r.PathValue("namespace"), r.PathValue("role"))
	})
}

func (d *Door) WriteError(w http.ResponseWriter, err error) {
	p := gateway.ProblemOf(err)
	p.WriteHeaders(w)
	gateway.WriteJSON(w, p.Code, map[string]any{"message": p.Message, "code": p.Reason})
}

func serve(w http.ResponseWriter, r *http.Request, all runs, namespace, role string) error {
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Label(role)) > 0 {
		http.NotFound(w, r)
		return nil
	}
	if !acceptsEvents(r) {
		return &apierrors.StatusError{ErrStatus: notAcceptable}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	in, err := parseInput(body)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	t := thread{runs: all, in: in, namespace: namespace, role: role}
	where, err := t.open(r.Context())
	if err != nil {
		return err
	}
	stream := gateway.NewEventStream(w)
	defer stream.Close()
	// An event cannot be sent if the client has disconnected; the run continues.
	_ = t.stream(r.Context(), where, func(e event) error { return stream.Send("", e) })
	return nil
}

// acceptsEvents reports whether the client takes server-sent events.
func acceptsEvents(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return accept == "" || strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*") || strings.Contains(accept, "text/*")
}

// digest returns text in a form that fits into a label.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// stream sends the events of a run from a position on.
func (t *thread) stream(ctx context.Context, where start, send func(event) error) error {
	m := newMapper(t.in, where.task.Name)
	m.start(where.task)
	if where.stale {
		m.notify("This reply was not used: the run no longer waits for this answer.")
	}
	for e, err := range t.runs.FollowTask(ctx, t.namespace, where.task.Name, where.from) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		last := err != nil
		switch {
		case err != nil:
			p := gateway.ProblemOf(err)
			m.fail(p.Message, p.Reason)
		case e.Kind == run.Blocked:
			p := gateway.ProblemOf(run.CannotStart(ctx, t.runs, e, where.created))
			m.fail(p.Message, p.Reason)
			last = true
		case e.Kind == run.Waiting && e.Ask.Ref() == where.answered:
			// The answer was sent; the task does not show it yet.
		default:
			last = m.add(e)
		}
		for _, event := range m.take() {
			if err := send(event); err != nil {
				return fmt.Errorf("send an event: %w", err)
			}
		}
		if last {
			return nil
		}
	}
	return nil
}
