// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// An export that is read page by page must neither count a usage twice nor leave one out when another one is recorded meanwhile.
func TestPagesOfUsagesDoNotShift(t *testing.T) {
	day := metav1.NewTime(time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC))
	usages := func(chats ...string) []api.Usage {
		var all []api.Usage
		for _, chat := range chats {
			u := api.Usage{By: api.UsageByEach, Chat: chat, Role: "coder", Model: "m", StartTime: &day}
			u.Namespace = "team"
			all = append(all, u)
		}
		return all
	}
	var read []string
	page := ledger.Page{Limit: 2}
	for _, all := range [][]api.Usage{usages("b", "c", "d", "e"), usages("a", "b", "c", "d", "e"), usages("a", "c", "d", "e", "f")} {
		list, err := pageOf(all, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range list.Items {
			read = append(read, u.Chat)
		}
		if page.Cursor = list.Next; page.Cursor == "" {
			break
		}
	}
	if want := []string{"b", "c", "d", "e"}; !slices.Equal(read, want) {
		t.Errorf("read %s, want %s", strings.Join(read, " "), strings.Join(want, " "))
	}
	if _, err := pageOf(usages("a"), ledger.Page{Cursor: "2"}); err == nil {
		t.Error("a cursor of another form is accepted")
	}
}
