// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/internal/tool/workspace/toolspec"
)

// The changes of a git workspace are published by a pod of its own, which alone has the credentials:
//
//	review_changes ─▶ the model receives the changes and a line that identifies them ─▶ publish_changes with that line ─▶ approval
//	─▶ the operator reads the changes again, and compares ─▶ pod of the publisher ─▶ commit, push ─▶ the pod is deleted
//
// The approval thus shows the branch and every file that is pushed there, and nothing else can be pushed with it. A
// repeated call finds its commit on the branch (see package gitpush).

const (
	// publishTimeout bounds the fetching, committing and pushing.
	publishTimeout = 5 * time.Minute
	// publisherIdle is how long an unused publisher stays, if the operator that started it did not delete it.
	publisherIdle = time.Minute
	// requestAttempts and requestPause are how often, and after which growing pause, a new pod is asked.
	requestAttempts = 6
	requestPause    = 500 * time.Millisecond
	// maxListed bounds the files that review_changes lists.
	maxListed = 200
	// maxLine bounds the line that lists every file for an approval, in bytes.
	maxLine = 8 << 10
)

// publishers returns unbound tools that publish changes.
func publishers(wait time.Duration) (map[v1beta1.PushApproval][]*tool.Tool, error) {
	all := map[v1beta1.PushApproval][]*tool.Tool{}
	for push, approval := range map[v1beta1.PushApproval]tool.Approval{v1beta1.PushApprovalRequired: tool.ApprovalRequired, v1beta1.PushApprovalNever: tool.ApprovalNotRequired} {
		specs, err := toolspec.PublishSpecs(approval)
		if err != nil {
			return nil, err
		}
		for _, spec := range specs {
			// Two pods may have to start.
			spec.Timeout, spec.SharedFiles = 2*wait+keepTimeout+publishTimeout+timeoutMargin, true
			t, err := tool.New(spec, unbound)
			if err != nil {
				return nil, fmt.Errorf("create the tool %s: %w", spec.Name, err)
			}
			all[push] = append(all[push], t)
		}
	}
	return all, nil
}

// publishTools returns the tools that publish the changes of a location, if its workspace allows it.
func (w *Workspaces) publishTools(location Location) []*tool.Tool {
	git := location.Workspace.Git
	if git == nil || git.Push == nil {
		return nil
	}
	var bound []*tool.Tool
	for _, t := range w.publishers[cmp.Or(git.Push.Approval, v1beta1.PushApprovalRequired)] {
		run := w.pods.review
		if t.Name() == toolspec.PublishTool {
			run = w.pods.publish
		}
		bound = append(bound, t.With(func(ctx context.Context, call tool.Invocation) (tool.Output, error) { return run(ctx, location, call) }))
	}
	return bound
}

// branch returns the branch that agents may push to.
func (p Location) branch() string {
	if name := p.Workspace.Git.Push.Branch; name != "" {
		return name
	}
	return "nestor/" + strings.ReplaceAll(p.Owner.GetName(), ".", "-")
}

// reviewed are the changes of a workspace at one time.
type reviewed struct {
	branch  string
	allowed gitpush.Allowed
	summary changes.Summary
	patch   []byte
}

// identity identifies the changes and the branch.
func (r reviewed) identity() string {
	var added, deleted int64
	for _, f := range r.summary.Files {
		if f.Additions != nil && f.Deletions != nil {
			added, deleted = added+*f.Additions, deleted+*f.Deletions
		}
	}
	files := fmt.Sprintf("%d files", len(r.summary.Files))
	if len(r.summary.Files) == 1 {
		files = "1 file"
	}
	return fmt.Sprintf("%s: %s, +%d -%d since %s, sha256 %s", r.branch, files, added, deleted, r.summary.BaseCommit, changes.DigestOf(r.patch))
}

// line is what a person approves: the identity and every file.
func (r reviewed) line() string {
	files := make([]string, 0, len(r.summary.Files))
	for _, f := range r.summary.Files {
		files = append(files, fileText(f))
	}
	return r.identity() + ": " + strings.Join(files, ", ")
}

// problem explains why the changes cannot be published, or returns "".
func (r reviewed) problem() string {
	var paths []string
	for _, f := range r.summary.Files {
		paths = append(paths, f.Path)
		if f.From != "" {
			paths = append(paths, f.From)
		}
	}
	if refused := r.allowed.Refused(paths); len(refused) > 0 {
		return gitpush.Refusal(refused)
	}
	if size := len(r.line()); size > maxLine {
		return fmt.Sprintf("Nothing was published, because the list of the %d changed files has %d bytes, and an approval shows at most %d. "+
			"Undo a part of the changes, publish the others, and then do and publish that part.", len(r.summary.Files), size, maxLine)
	}
	return ""
}

// text lists the changes for a model.
func (r reviewed) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Changes since the commit %s, which publish_changes would push to %s:\n", r.summary.BaseCommit, r.branch)
	for i, f := range r.summary.Files {
		if i == maxListed {
			fmt.Fprintf(&b, "... and %d more files\n", len(r.summary.Files)-maxListed)
			break
		}
		fmt.Fprintf(&b, "%s%s\n", fileText(f), lineCounts(f))
	}
	if r.summary.Message != "" {
		fmt.Fprintln(&b, r.summary.Message)
	}
	if problem := r.problem(); problem != "" {
		return b.String() + problem
	}
	fmt.Fprintf(&b, "To publish exactly these, call publish_changes with this line as changes:\n%s", r.line())
	return b.String()
}

// fileText describes a changed file. A path is quoted if it could be taken for something else.
func fileText(f changes.File) string {
	if f.From != "" {
		return f.Change + " " + quotePath(f.From) + " to " + quotePath(f.Path)
	}
	return f.Change + " " + quotePath(f.Path)
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9._/@+=-]+$`)

func quotePath(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return strconv.QuoteToASCII(path)
}

func lineCounts(f changes.File) string {
	if f.Additions == nil || f.Deletions == nil {
		return " (binary)"
	}
	return fmt.Sprintf(" +%d -%d", *f.Additions, *f.Deletions)
}

// read reads the changes of a workspace, and starts its pod if it does not run.
func (p *pods) read(ctx context.Context, location Location, agent string) (reviewed, error) {
	allowed, err := gitpush.ParseAllowed(location.Workspace.Git.Push.AllowPaths)
	r := reviewed{branch: location.branch(), allowed: allowed}
	if err != nil {
		return r, err
	}
	v, err := p.attach(ctx, location, agent)
	if err != nil {
		return r, err
	}
	defer v.release()
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	from := podChanges{p, location}
	summary, err := from.Changes(ctx)
	if err != nil {
		return r, err
	}
	patch, running, err := from.Archive(ctx)
	if err != nil {
		return r, err
	}
	if summary == nil || !running {
		return r, errors.New("the workspace ended before its changes were read. Try again")
	}
	if summary.Digest != "" && summary.Digest != changes.DigestOf(patch) {
		return r, errors.New("the files of the workspace were changed while they were read. Try again when no other agent changes them")
	}
	r.summary, r.patch = *summary, patch
	return r, nil
}

func (p *pods) review(ctx context.Context, location Location, call tool.Invocation) (tool.Output, error) {
	r, err := p.read(ctx, location, call.Agent)
	if err != nil {
		return tool.Output{}, err
	}
	if len(r.patch) == 0 {
		return tool.Output{Text: "Nothing was changed since the workspace was cloned."}, nil
	}
	return tool.Output{Text: r.text()}, nil
}

func (p *pods) publish(ctx context.Context, location Location, call tool.Invocation) (tool.Output, error) {
	var args toolspec.PublishArgs
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return tool.Output{}, fmt.Errorf("read the arguments: %w", err)
	}
	if strings.TrimSpace(args.Message) == "" || len(args.Message) > gitpush.MaxMessage {
		return tool.Output{}, fmt.Errorf("message must have 1 to %d bytes", gitpush.MaxMessage)
	}
	r, err := p.read(ctx, location, call.Agent)
	if err != nil {
		return tool.Output{}, err
	}
	key := sha256.Sum256([]byte(call.IdempotencyKey))
	request := gitpush.Request{Call: hex.EncodeToString(key[:]), Base: r.summary.BaseCommit, Message: args.Message, Time: p.options.Now(), Patch: r.patch}
	same := strings.TrimSpace(args.Changes) == r.line()
	if problem := r.problem(); same && problem != "" {
		return tool.Output{Text: problem, IsError: true}, nil
	}
	if !same {
		// An earlier attempt of this call, which a crash interrupted, may have published what was approved.
		request = gitpush.Request{Call: request.Call, OnlyCheck: true}
	}
	result, err := p.send(ctx, location, request)
	if err != nil {
		return tool.Output{}, err
	}
	switch {
	case result.Commit != "" && result.Already:
		return tool.Output{Text: fmt.Sprintf("The branch %s has these changes already, as the commit %s.", r.branch, result.Commit)}, nil
	case result.Commit != "":
		return tool.Output{Text: fmt.Sprintf("Published %s as the commit %s.", r.identity(), result.Commit)}, nil
	case same:
		return tool.Output{Text: result.Refused, IsError: true}, nil
	}
	return tool.Output{IsError: true, Text: "The workspace does not have the changes that you named, and nothing was published. Call review_changes, and then publish_changes with the line that it prints."}, nil
}

// send starts a publisher, sends it a request, and deletes it.
func (p *pods) send(ctx context.Context, location Location, request gitpush.Request) (result gitpush.Result, err error) {
	spec, err := p.spec(location)
	if err != nil {
		return result, fmt.Errorf("the changes cannot be published: %w", err)
	}
	spec.Publish = &pod.Publish{Branch: location.branch(), AllowPaths: location.Workspace.Git.Push.AllowPaths}
	// The publisher must not reach more than the git server.
	spec.Egress = nil
	if err := spec.Validate(); err != nil {
		return result, fmt.Errorf("the changes cannot be published: %w", err)
	}
	body, err := json.Marshal(request)
	if err != nil {
		return result, fmt.Errorf("encode the changes: %w", err)
	}
	name := types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()}
	p.uses.start(name)
	current, err := p.waitForPod(ctx, spec, name, func(ctx context.Context, ready *corev1.Pod) (bool, string, error) {
		if _, err := p.token(ctx, spec, name); err != nil {
			return false, "", err
		}
		return true, "", p.restoreServiceAndPolicy(ctx, spec, ready)
	})
	if err != nil {
		p.uses.end(name)
		return result, err
	}
	defer p.dismiss(ctx, name, current)
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	answer, err := p.requestAgain(ctx, spec, name, http.MethodPost, "publish", body)
	if err != nil {
		return result, fmt.Errorf("%w. If the branch does not have the changes, call it again", err)
	}
	if err := json.Unmarshal(answer, &result); err != nil {
		return result, fmt.Errorf("read the answer of the publisher: %w", err)
	}
	return result, nil
}

// requestAgain sends a request to a new pod, and again if it gets no answer: nodes learn of the address of a pod a
// moment after it is ready. It is for requests that may be repeated: a publisher finds what the first attempt has
// published, and changes are restored once.
func (p *pods) requestAgain(ctx context.Context, spec pod.Spec, name types.NamespacedName, method, path string, body []byte) ([]byte, error) {
	for attempt := 1; ; attempt++ {
		answer, err := p.request(ctx, spec, name, method, path, body)
		var unanswered *url.Error
		if err == nil || attempt == requestAttempts || !errors.As(err, &unanswered) {
			return answer, err
		}
		if mcp.Pause(ctx, time.Duration(attempt)*requestPause) != nil {
			return nil, err
		}
	}
}

// dismiss ends a call of a publisher, and deletes its pod if there are no others.
func (p *pods) dismiss(ctx context.Context, name types.NamespacedName, current *corev1.Pod) {
	p.uses.end(name)
	last := false
	p.uses.update(name, func(one *podUse) {
		if last = one.calls == 0; last {
			one.removing = current.UID
		}
	})
	if last {
		_ = p.remove(context.WithoutCancel(ctx), current, false) // otherwise the reconciler deletes it, because it is idle
	}
}

func isPublisher(current *corev1.Pod) bool {
	return len(current.Spec.Containers) == 1 && len(current.Spec.Containers[0].Args) > 0 && current.Spec.Containers[0].Args[0] == "publish"
}
