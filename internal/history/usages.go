// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/quota"
)

type usages struct {
	namespaced
	ledger Ledger
}

// dimensions are the dimensions of usage, in the order of a list.
var dimensions = []struct {
	by     api.UsageDimension
	prefix string
	ledger []ledger.Dimension
	value  func(ledger.Group) string
}{
	{api.UsageTotal, "total", nil, func(ledger.Group) string { return "" }},
	{api.UsageByChat, "chat", []ledger.Dimension{ledger.ByChat}, func(g ledger.Group) string { return g.Chat }},
	{api.UsageByRole, "role", []ledger.Dimension{ledger.ByRole}, func(g ledger.Group) string { return g.Role }},
	{api.UsageByModel, "model", []ledger.Dimension{ledger.ByModel}, func(g ledger.Group) string { return g.Model }},
	// Chats and roles have no dots in their names, so each name is that of one combination.
	{api.UsageByEach, "each", []ledger.Dimension{ledger.ByChat, ledger.ByRole, ledger.ByModel}, func(g ledger.Group) string {
		return g.Chat + "." + g.Role + "." + g.Model
	}},
}

func (u *usages) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	scope := ledger.Scope{Namespace: genericapirequest.NamespaceValue(ctx)}
	divided, start, rest := cutPeriod(name)
	if divided.name != "" {
		scope.Since, scope.Until = start, quota.Period(divided.name).End(start)
	}
	prefix, _, _ := strings.Cut(strings.TrimSuffix(rest, "-none"), ".")
	all, err := u.all(ctx, scope, divided, func(p string, _ api.UsageDimension) bool { return p == prefix })
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(usage api.Usage) bool { return usage.Name == name })
	if i < 0 {
		return nil, notFound("usages", name, "there are total, chat.NAME, role.NAME, model.NAME and each.CHAT.ROLE.MODEL, and the same of a day as 2006-01-02.total")
	}
	return &all[i], nil
}

// List lists usages. Its pages are cut from sums that are computed for each request.
func (u *usages) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	a, err := parseListOptions(genericapirequest.NamespaceValue(ctx), options)
	if err != nil {
		return nil, err
	}
	for field, into := range map[string]*string{
		api.FieldUsageChat: &a.scope.Chat, api.FieldUsageRole: &a.scope.Role, api.FieldUsageModel: &a.scope.Model,
	} {
		if value, ok := a.fields[field]; ok {
			a.restrict(into, value)
		}
	}
	divided, err := parsePeriod(a.fields[api.FieldUsagePeriod])
	if err != nil {
		return nil, err
	}
	by, name := a.fields[api.FieldUsageBy], a.fields[api.FieldName]
	summed, next, err := readPages(a, func(page ledger.Page) (ledger.List[api.Usage], error) {
		all, err := u.all(ctx, a.scope, divided, func(_ string, d api.UsageDimension) bool {
			return by == string(d) || by == "" && d != api.UsageByEach
		})
		if err != nil {
			return ledger.List[api.Usage]{}, err
		}
		return pageOf(slices.DeleteFunc(all, func(usage api.Usage) bool { return name != "" && usage.Name != name }), page)
	})
	if err != nil {
		return nil, err
	}
	return &api.UsageList{ListMeta: metav1.ListMeta{Continue: next}, Items: append([]api.Usage{}, summed...)}, nil
}

// place is where a usage is in a list. A cursor is the place of the last usage before it: a number would repeat or omit usages if one was
// recorded between two pages.
type place struct {
	Dimension                int
	Namespace                string
	Start                    int64
	Value, Chat, Role, Model string
}

func placeOf(u api.Usage) place {
	p := place{Namespace: u.Namespace, Value: u.Value, Chat: u.Chat, Role: u.Role, Model: u.Model}
	for i, d := range dimensions {
		if d.by == u.By {
			p.Dimension = i
		}
	}
	if u.StartTime != nil {
		p.Start = u.StartTime.Unix()
	}
	return p
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.Dimension, q.Dimension), cmp.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Start, q.Start), cmp.Compare(p.Value, q.Value),
		cmp.Compare(p.Chat, q.Chat), cmp.Compare(p.Role, q.Role), cmp.Compare(p.Model, q.Model))
}

// pageOf returns a page of all items, which are in the order of their places.
func pageOf(all []api.Usage, page ledger.Page) (ledger.List[api.Usage], error) {
	if page.Cursor != "" {
		var after place
		if err := json.Unmarshal([]byte(page.Cursor), &after); err != nil {
			return ledger.List[api.Usage]{}, fmt.Errorf("%w: cursor %q is not the Next of a page", ledger.ErrInvalid, page.Cursor)
		}
		all = slices.DeleteFunc(all, func(u api.Usage) bool { return placeOf(u).compare(after) <= 0 })
	}
	to := min(page.Size(), len(all))
	list := ledger.List[api.Usage]{Items: all[:to]}
	if to < len(all) {
		next, err := json.Marshal(placeOf(all[to-1]))
		if err != nil {
			return ledger.List[api.Usage]{}, err
		}
		list.Next = string(next)
	}
	return list, nil
}

// all returns the usage of a scope by the requested dimensions, and by time if it is divided.
func (u *usages) all(ctx context.Context, scope ledger.Scope, divided period, wanted func(prefix string, by api.UsageDimension) bool) ([]api.Usage, error) {
	var all []api.Usage
	for _, d := range dimensions {
		if !wanted(d.prefix, d.by) {
			continue
		}
		query := ledger.ReportQuery{Scope: scope, GroupBy: []ledger.Dimension{ledger.ByNamespace}, Every: divided.every}
		query.GroupBy = append(query.GroupBy, d.ledger...)
		groups, err := u.groups(ctx, query, divided)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			value := d.value(g.Group)
			name := usageName(d.prefix, d.by, value)
			usage := api.Usage{
				ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: g.Namespace},
				By:         d.by, Value: value, ModelCalls: callUsage(g.calls), Runs: tallyOf(g.runs),
			}
			if d.by == api.UsageByEach {
				usage.Value, usage.Chat, usage.Role, usage.Model = "", g.Chat, g.Role, g.Model
			}
			divided.mark(&usage, g.Start)
			usage.UID = types.UID(g.Namespace + "." + usage.Name)
			all = append(all, usage)
		}
	}
	return all, nil
}

// group has the totals of the calls and runs of a group.
type group struct {
	ledger.Group
	calls ledger.CallTotals
	runs  ledger.Tally
}

// groups merges the two reports of the ledger: agents without model calls are only in one of them. The intervals of the ledger become
// those of the period.
func (u *usages) groups(ctx context.Context, query ledger.ReportQuery, divided period) ([]group, error) {
	everything := listQuery{limit: math.MaxInt}
	calls, _, err := readPages(everything, func(page ledger.Page) (ledger.List[ledger.Usage], error) { return u.ledger.Usage(ctx, query, page) })
	if err != nil {
		return nil, err
	}
	runs, _, err := readPages(everything, func(page ledger.Page) (ledger.List[ledger.Outcome], error) {
		return u.ledger.Outcomes(ctx, query, page)
	})
	if err != nil {
		return nil, err
	}
	found := map[ledger.Group]group{}
	for _, r := range runs {
		r.Start = divided.start(r.Start)
		g := found[r.Group]
		g.Group, g.runs = r.Group, g.runs.Plus(r.Tally)
		found[r.Group] = g
	}
	for _, c := range calls {
		c.Start = divided.start(c.Start)
		g := found[c.Group]
		g.Group, g.calls = c.Group, g.calls.Plus(c.CallTotals)
		found[c.Group] = g
	}
	groups := make([]group, 0, len(found))
	for _, g := range found {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), a.Start.Compare(b.Start), cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Role, b.Role), cmp.Compare(a.Model, b.Model))
	})
	return groups, nil
}

// pathEscaper replaces characters that cannot be in a path.
var pathEscaper = strings.NewReplacer("/", "_", "%", "_")

func usageName(prefix string, by api.UsageDimension, value string) string {
	switch {
	case by == api.UsageTotal:
		return prefix
	case value == "":
		return prefix + "-none"
	}
	return prefix + "." + pathEscaper.Replace(value)
}

func callUsage(c ledger.CallTotals) api.CallUsage {
	usage := api.CallUsage{
		Tally: tallyOf(c.Tally), PromptTokens: c.PromptTokens, CachedTokens: c.CachedTokens, CompletionTokens: c.CompletionTokens, ReasoningTokens: c.ReasoningTokens,
		TotalTokens: c.PromptTokens + c.CompletionTokens, UnknownTokenCalls: c.UnknownTokenCalls, UnknownCostCalls: c.UnknownCostCalls,
	}
	for _, currency := range slices.Sorted(maps.Keys(c.Costs)) {
		usage.Costs = append(usage.Costs, api.Cost{Currency: currency, CostMicros: c.Costs[currency]})
	}
	return usage
}

func tallyOf(t ledger.Tally) api.Tally {
	tally := api.Tally{Total: t.Total, Live: t.Running, Succeeded: t.Succeeded, Failed: t.Failed(), Cancelled: t.Cancelled}
	if rate, ok := t.SuccessRate(); ok {
		percent := int32(math.Round(100 * rate))
		tally.SuccessPercent = &percent
	}
	if mean, ok := t.MeanDuration(); ok {
		millis, longest := mean.Milliseconds(), t.MaxDuration.Milliseconds()
		tally.MeanDurationMillis, tally.MaxDurationMillis = &millis, &longest
	}
	return tally
}
