// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/test/stack"
)

// checkLeaks runs two equal waves of work through one operator and compares its footprint after each.
func (w *world) checkLeaks(ctx context.Context) error {
	size := max(12*len(w.operators()), w.settings.agents/8) // every replica should work in both waves
	var before footprint
	for wave := range 2 {
		if err := w.wave(ctx, fmt.Sprintf("v%d-", wave), size); err != nil {
			return fmt.Errorf("wave %d: %w", wave+1, err)
		}
		if wave == 0 {
			var err error
			if before, err = w.footprint(ctx); err != nil {
				return err
			}
		}
	}
	return eventually(ctx, settleTimeout, func(ctx context.Context) error {
		after, err := w.footprint(ctx)
		if err != nil {
			return err
		}
		return before.check(after, size, len(w.operators()))
	})
}

// wave runs some work to its end and deletes it.
func (w *world) wave(ctx context.Context, prefix string, agents int) error {
	p := &planner{random: w.random, prefix: prefix}
	earlier := w.orders
	orders := p.plan(agents)
	for _, o := range orders {
		o.deleted = false
	}
	w.orders = orders
	defer func() { w.orders = earlier }()
	for _, o := range orders {
		if err := w.createOrder(ctx, o); err != nil {
			return err
		}
	}
	pause(ctx, time.Second)
	for _, o := range orders {
		if err := client.IgnoreNotFound(w.stack.API.Delete(ctx, o.objects()[0])); err != nil {
			return fmt.Errorf("delete order %s: %w", o.name, err)
		}
	}
	return eventually(ctx, recoveryTimeout, func(ctx context.Context) error { return w.checkWaveDeleted(ctx, prefix) })
}

// checkWaveDeleted returns an error if objects of a wave remain.
func (w *world) checkWaveDeleted(ctx context.Context, prefix string) error {
	found, err := w.objects(ctx)
	if err != nil {
		return err
	}
	for _, o := range found.all() {
		if strings.HasPrefix(o.GetName(), prefix) && !isUndeliverable(o) {
			return fmt.Errorf("%T %s still exists", o, o.GetName())
		}
	}
	return nil
}

// footprint is the resource usage of an operator.
type footprint struct {
	connections int
	heap        int64
	goroutines  map[string]int // by the function that they began with
}

func (f footprint) running() int {
	total := 0
	for _, n := range f.goroutines {
		total += n
	}
	return total
}

// more lists the functions of which after has more goroutines.
func (f footprint) more(after footprint) string {
	var lines []string
	for function, n := range after.goroutines {
		if n > f.goroutines[function] {
			lines = append(lines, fmt.Sprintf("%+d %s", n-f.goroutines[function], function))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// check returns an error if the footprint has grown more than by chance. Idle connections to models are kept for a
// while, and their number depends on how many calls were made in parallel.
func (f footprint) check(after footprint, agents, operators int) error {
	var wrong problems
	if after.running() > f.running()+agents/3+4*operators {
		wrong.add("%d goroutines after one wave, %d after the next: %s", f.running(), after.running(), f.more(after))
	}
	if after.connections > f.connections+agents+8*operators {
		wrong.add("%d open files after one wave, %d after the next", f.connections, after.connections)
	}
	if after.heap > 2*f.heap+int64(operators)*16<<20 {
		wrong.add("%d bytes of heap after one wave, %d after the next", f.heap, after.heap)
	}
	return wrong.err()
}

// footprint returns the resource usage of all operators together.
func (w *world) footprint(ctx context.Context) (footprint, error) {
	sum := footprint{goroutines: map[string]int{}}
	for _, r := range w.operators() {
		f, err := footprintOf(ctx, r)
		if err != nil {
			return sum, err
		}
		sum.connections, sum.heap = sum.connections+f.connections, sum.heap+f.heap
		for function, n := range f.goroutines {
			sum.goroutines[function] += n
		}
	}
	return sum, nil
}

func footprintOf(ctx context.Context, r *stack.Replica) (footprint, error) {
	var f footprint
	stacks, err := profile(ctx, r, "goroutine?debug=1")
	if err != nil {
		return f, err
	}
	f.goroutines = countGoroutines(stacks)
	heap, err := profile(ctx, r, "heap?gc=1&debug=1")
	if err != nil {
		return f, err
	}
	match := regexp.MustCompile(`# HeapAlloc = (\d+)`).FindStringSubmatch(heap)
	if match == nil {
		return f, fmt.Errorf("the operator's heap profile does not contain HeapAlloc")
	}
	if f.heap, err = strconv.ParseInt(match[1], 10, 64); err != nil {
		return f, err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.Pid))
	if err != nil {
		return f, fmt.Errorf("count the operator's open files: %w", err)
	}
	f.connections = len(files)
	return f, nil
}

// block matches the goroutines of a profile that have the same stack: their number, and the function that they began
// with.
var block = regexp.MustCompile(`(?m)^(\d+) @ [^\n]*\n(?:#\t[^\n]*\n)*#\t0x[0-9a-f]+\t([^+\t\n]+)[^\n]*$`)

// countGoroutines excludes goroutines of idle connections, which are counted separately.
func countGoroutines(stacks string) map[string]int {
	counts := map[string]int{}
	for text := range strings.SplitSeq(stacks, "\n\n") {
		if strings.Contains(text, "net/http.(*persistConn)") || strings.Contains(text, "net/http.(*conn).serve") {
			continue
		}
		if match := block.FindStringSubmatch(text); match != nil {
			n, _ := strconv.Atoi(match[1]) // it consists of digits
			counts[match[2]] += n
		}
	}
	return counts
}

func profile(ctx context.Context, r *stack.Replica, name string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Profiles+"/debug/pprof/"+name, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("read a profile of the operator: %w", err)
	}
	defer response.Body.Close()
	words, err := io.ReadAll(response.Body)
	return string(words), err
}
