// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitpush

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
)

// MaxMessage is the maximum length of a commit message, in bytes.
const MaxMessage = 8 << 10

// Publisher pushes to one branch of a repository, for one owner.
type Publisher struct {
	// Source names the repository. Its Dir is an existing directory that only the publisher writes; Ref is the
	// branch or tag that the workspace was cloned from.
	Source gitclone.Source
	// Branch is the only branch that is pushed to.
	Branch string
	// Owner is the UID of the chat or task.
	Owner string
	// Allowed are the CI definitions and lists of reviewers that may be published.
	Allowed Allowed

	mu sync.Mutex
}

type Request struct {
	// Call identifies the call. A repeated call has the same value.
	Call string `json:"call"`
	// OnlyCheck looks for an earlier commit of the call, and publishes nothing.
	OnlyCheck bool `json:"onlyCheck,omitempty"`
	// Base is the commit that the patch is relative to.
	Base string `json:"base,omitempty"`
	// Message is the commit message, and Time the date of the commit.
	Message string    `json:"message,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// Patch contains the changes, in the format of package changes.
	Patch []byte `json:"patch,omitempty"`
}

type Result struct {
	// Commit is the commit on the branch that has the changes; empty if they were not published.
	Commit string `json:"commit,omitempty"`
	// Already means that the branch had the changes before this attempt.
	Already bool `json:"already,omitempty"`
	// Refused explains to models and people why nothing was pushed.
	Refused string `json:"refused,omitempty"`
}

// maxAttempts limits how often a push is tried if the branch moves in the meantime.
const maxAttempts = 3

// errRejected means that the server did not accept a push, probably because the branch has moved.
var errRejected = errors.New("the server rejected the push because the branch was changed at the same time")

// Publish makes a commit of the changes and pushes it, unless the branch has it already. An error means that git or its
// server failed; the request may be repeated.
func (p *Publisher) Publish(ctx context.Context, r Request) (Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.validate(r); err != nil {
		return Result{}, err
	}
	dir, err := os.MkdirTemp(p.Source.Dir, "publish-")
	if err != nil {
		return Result{}, fmt.Errorf("create a repository: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	source := p.Source
	source.Dir = dir
	connection, err := source.Connect()
	if err != nil {
		return Result{}, err
	}
	defer connection.Close()
	g := repository{connection, dir, source.URL, source.Ref, p.Branch}
	if err := g.create(ctx, len(r.Base) == sha256NameLength); err != nil {
		return Result{}, err
	}
	for attempt := 1; ; attempt++ {
		result, err := p.attempt(ctx, g, r)
		if err == nil {
			return result, nil
		}
		if !errors.Is(err, errRejected) || attempt == maxAttempts {
			return p.afterFailure(ctx, g, r, err)
		}
	}
}

// afterFailure reports success if the server had accepted a push after all.
func (p *Publisher) afterFailure(ctx context.Context, g repository, r Request, failure error) (Result, error) {
	r.OnlyCheck = true
	if result, err := p.attempt(ctx, g, r); err == nil && result.Commit != "" {
		return result, nil
	}
	return Result{}, failure
}

func (p *Publisher) validate(r Request) error {
	switch {
	case !IsBranch(p.Branch):
		return fmt.Errorf("%q is not a branch that may be pushed to", p.Branch)
	case !isWord(p.Owner) || !isWord(r.Call):
		return errors.New("the owner or the call is not an identifier")
	case r.OnlyCheck:
		return nil
	case !isObjectName(r.Base):
		return fmt.Errorf("%q is not a commit", r.Base)
	case !isMessage(r.Message):
		return fmt.Errorf("the commit message must have 1 to %d bytes", MaxMessage)
	}
	return nil
}

func isMessage(text string) bool {
	valid := utf8.ValidString(text) && !strings.Contains(text, "\x00")
	return valid && strings.TrimSpace(text) != "" && len(text) <= MaxMessage
}

// attempt reads the branch, decides, and pushes at most once.
func (p *Publisher) attempt(ctx context.Context, g repository, r Request) (Result, error) {
	tip, err := g.fetchTip(ctx)
	if err != nil {
		return Result{}, err
	}
	if commit, err := g.find(ctx, tip, mark{Owner: p.Owner, Call: r.Call}); err != nil || commit != "" || r.OnlyCheck {
		return Result{Commit: commit, Already: commit != ""}, err
	}
	if err := g.fetchBase(ctx, r.Base); err != nil {
		return Result{}, err
	}
	tree, problem, err := g.apply(ctx, r.Base, r.Patch)
	if err != nil || problem != "" {
		return Result{Refused: problem}, err
	}
	paths, err := g.refusedPaths(ctx, p.Allowed, r.Base+"^{tree}", tree)
	if err != nil {
		return Result{}, err
	}
	if len(paths) > 0 {
		return Result{Refused: Refusal(paths)}, nil
	}
	parents, result, err := p.chooseParents(ctx, g, tip, r.Base, tree)
	if err != nil || parents == nil {
		return result, err
	}
	commit, err := g.commit(ctx, tree, parents, mark{p.Owner, r.Call, tree}.append(r.Message), r.Time)
	if err != nil {
		return Result{}, err
	}
	problem, err = g.push(ctx, commit)
	if err != nil || problem != "" {
		return Result{Refused: problem}, err
	}
	return Result{Commit: commit}, nil
}

// chooseParents returns the parents of the new commit, or a result if no commit is to be made.
func (p *Publisher) chooseParents(ctx context.Context, g repository, tip, base, tree string) ([]string, Result, error) {
	previous := base
	if tip != "" {
		isBehind, err := g.isAncestor(ctx, tip, base)
		if err != nil {
			return nil, Result{}, err
		}
		if !isBehind {
			previous = tip
		}
	}
	previousTree, err := g.commitTree(ctx, previous)
	if err != nil {
		return nil, Result{}, err
	}
	if previous == base {
		if previousTree == tree {
			return nil, Result{Refused: "There is nothing to publish: the files are as they were cloned."}, nil
		}
		return []string{base}, Result{}, nil
	}
	isOwn, err := g.publishedBy(ctx, tip, p.Owner, previousTree)
	if err != nil {
		return nil, Result{}, err
	}
	if !isOwn {
		return nil, Result{Refused: fmt.Sprintf("The branch %s has commits that were not published from this workspace "+
			"(the last one is %s), and they are left alone: nothing was pushed. "+
			"A person must merge or delete the branch first.", p.Branch, tip)}, nil
	}
	if previousTree == tree {
		return nil, Result{Commit: tip, Already: true}, nil
	}
	parents := []string{tip}
	if contains, err := g.isAncestor(ctx, base, tip); err != nil {
		return nil, Result{}, err
	} else if !contains {
		parents = append(parents, base) // the workspace was cloned again since then
	}
	return parents, Result{}, nil
}
