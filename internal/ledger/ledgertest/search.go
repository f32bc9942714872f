// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// said returns an event with a text, in the form of those of agents: a ledger stores only their facts.
func said(text string, seconds int) ledger.Event {
	fact, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		panic(err) // Encoding a string cannot fail.
	}
	return ledger.Event{Type: "Said", At: at(seconds), Data: json.RawMessage(fmt.Sprintf(`{"v":1,"type":"Said","time":%d,"fact":%s}`, at(seconds).UnixMilli(), fact))}
}

func textOf(e ledger.Event) string {
	var event struct {
		Fact struct {
			Text string `json:"text"`
		} `json:"fact"`
	}
	_ = json.Unmarshal(e.Data, &event) // other events have no text
	return event.Fact.Text
}

// speaker returns the batch that starts an agent with texts, a second apart.
func speaker(uid string, seconds int, texts ...string) ledger.Batch {
	agent := Agent(uid)
	agent.CreatedAt = at(seconds)
	batch := ledger.Batch{Agent: uid, Create: &agent}
	for i, text := range texts {
		batch.Events = append(batch.Events, said(text, seconds+i))
	}
	return batch
}

// search returns what a query finds, as UID: the texts of its events.
func search(t testing.TB, l ledger.Ledger, query ledger.SearchQuery) []string {
	t.Helper()
	hits := pages(t, 2, func(page ledger.Page) (ledger.List[ledger.SearchHit], error) {
		return l.Search(t.Context(), query, page)
	})
	return names(hits, func(hit ledger.SearchHit) string {
		texts := names(hit.Events, func(e ledger.Event) string { return fmt.Sprintf("%d %s", e.Seq, textOf(e)) })
		return fmt.Sprintf("%s %d: %s", hit.UID, hit.Count, strings.Join(texts, ", "))
	})
}

func find(t testing.TB, l ledger.Ledger, text string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), search(t, l, ledger.SearchQuery{Text: text})); diff != "" {
		t.Errorf("search %q (-want +got):\n%s", text, diff)
	}
}

func testSearchFindsWords(t *testing.T, db Database) {
	l := db.Open(t, sqlstore.Search(textOf))
	Append(t, l,
		speaker("one", 0, "Deploy the server", "It is down", "The deployment failed", "deploying again", "Deployed."),
		speaker("two", 100, "deploy elsewhere"),
		speaker("three", 50, "nothing of interest: crème brûlée", "東京タワーはどこですか"),
		speaker("four", 200, "deploy or deploy or deploy"))
	find(t, l, "deploy", "four 1: 1 deploy or deploy or deploy", "two 1: 1 deploy elsewhere",
		"one 4: 5 Deployed., 4 deploying again, 3 The deployment failed")
	find(t, l, "SERVER depl", "one 1: 1 Deploy the server")
	find(t, l, "server down") // they are in different events
	find(t, l, "is", "one 1: 2 It is down")
	find(t, l, "Creme", "three 1: 1 nothing of interest: crème brûlée")
	for _, text := range []string{"東京", "タワー", "京", "か"} {
		find(t, l, text, "three 1: 2 東京タワーはどこですか")
	}
	find(t, l, "京東")
	Append(t, l, ledger.Batch{Agent: "one", After: 5, Events: []ledger.Event{said("later elsewhere", 300), {Type: "Silent", At: at(301), Data: json.RawMessage(`{}`)}}})
	find(t, l, "elsewhere", "one 1: 6 later elsewhere", "two 1: 1 deploy elsewhere")
	if n := must(l.UpdateIndex(t.Context(), 0))(t); n != 0 {
		t.Errorf("%d events were missing in the index", n)
	}
}

func testHostileQueriesAreWords(t *testing.T, db Database) {
	l := db.Open(t, sqlstore.Search(textOf))
	Append(t, l, speaker("one", 0, `a "quoted" and near word, it's 100% \\ NOT or`, "other"))
	for _, text := range []string{
		`"quoted`, `quoted"`, `""quoted""`, `quoted*`, `*quoted`, `quoted AND`, `AND and`, `NOT quoted`, `NEAR(quoted word)`, `NEAR(quoted`, `near(quoted, 3)`,
		`words:quoted`, `-quoted`, `^quoted`, `(quoted`, `quoted)`, `quoted + word`, `{quoted}`, `quoted; word --`, `quoted' AND '1'='1`, `quoted:*`, `quoted & !`,
		`quoted <-> word`, `quoted | `, "quoted\x00", "quoted\xff\xfe", `$1 quoted`, `\quoted`, `it's quoted`, "quoted\n\tword", strings.Repeat("quoted ", 1000),
	} {
		hits, err := l.Search(t.Context(), ledger.SearchQuery{Text: text}, ledger.Page{})
		if err != nil || len(hits.Items) > 1 || len(hits.Items) == 1 && hits.Items[0].Events[0].Seq != 1 {
			t.Errorf("search %q: %d hits (%v)", text, len(hits.Items), err)
		}
	}
	find(t, l, `"quoted" (word)`, `one 1: 1 a "quoted" and near word, it's 100% \\ NOT or`)
	find(t, l, `quoted OR absent`)
	for _, text := range []string{"", " ", `"`, `*`, `()`, "\x00", "\xff"} {
		if _, err := l.Search(t.Context(), ledger.SearchQuery{Text: text}, ledger.Page{}); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("search %q: %v, want ErrInvalid", text, err)
		}
	}
	if _, err := l.Search(t.Context(), ledger.SearchQuery{Text: "quoted"}, ledger.Page{Cursor: "'"}); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a cursor of nothing: %v, want ErrInvalid", err)
	}
	// Unusual text must not keep an agent from continuing.
	Append(t, l, speaker("odd", 1, "a\x00b \xff 𝕏 "+strings.Repeat("x", 5000)+" "+strings.Repeat("\u0301", 200)+" ½ ² ﷺ َُِ"+strings.Repeat("字", 3000)))
	find(t, l, "xxxx 字字", "odd 1: "+search(t, l, ledger.SearchQuery{Text: "𝕏"})[0][len("odd 1: "):])
}

func testSearchInScope(t *testing.T, db Database) {
	l := db.Open(t, sqlstore.Search(textOf))
	for i, uid := range []string{"old", "new", "other", "elsewhere"} {
		batch := speaker(uid, 10*i, "the secret of "+uid)
		batch.Create.NamespaceUID = "uid-2"
		switch uid {
		case "old":
			batch.Create.NamespaceUID = "uid-1"
		case "other":
			batch.Create.Chat = "second"
		case "elsewhere":
			batch.Create.Namespace, batch.Create.NamespaceUID = "team-b", "uid-3"
		}
		Append(t, l, batch)
	}
	for _, c := range []struct {
		scope ledger.Scope
		want  string
	}{
		{ledger.Scope{}, "elsewhere other new old"},
		{ledger.Scope{Namespace: "team-a"}, "other new old"},
		{ledger.Scope{Namespace: "team-a", NamespaceUID: "uid-2"}, "other new"},
		{ledger.Scope{Namespace: "team-a", Chat: "second"}, "other"},
		{ledger.Scope{Namespace: "team-b", Chat: "second"}, ""},
		{ledger.Scope{Namespace: "team-b"}, "elsewhere"},
		{ledger.Scope{Since: at(15)}, "elsewhere other"},
	} {
		hits := must(l.Search(t.Context(), ledger.SearchQuery{Scope: c.scope, Text: "secret"}, ledger.Page{}))(t)
		got := strings.Join(names(hits.Items, func(hit ledger.SearchHit) string { return hit.UID }), " ")
		if got != c.want {
			t.Errorf("%+v has %q, want %q", c.scope, got, c.want)
		}
	}
}

func testIndexIsOfTheSameTransaction(t *testing.T, db Database) {
	l := db.Open(t, sqlstore.Search(textOf))
	Append(t, l, speaker("one", 0, "first"))
	if err := l.Append(t.Context(), ledger.Batch{Agent: "one", After: 7, Events: []ledger.Event{said("stale", 1)}}); err == nil {
		t.Error("a stale batch was accepted")
	}
	refused := ledger.Batch{Agent: "one", After: 1, Events: []ledger.Event{said("refused", 1)}, ToolResults: []ledger.ToolResult{output("one/absent", 1, 2)}}
	if err := l.Append(t.Context(), refused); !errors.Is(err, ledger.ErrNoIntent) {
		t.Errorf("append: %v, want ErrNoIntent", err)
	}
	find(t, l, "stale")
	find(t, l, "refused")
	refused.ToolResults = nil
	Append(t, l, refused)
	find(t, l, "refused", "one 1: 2 refused")
	checkIndex(t, db, 2)
}

// checkIndex fails the test unless the index has this number of entries, each with its words.
func checkIndex(t testing.TB, db Database, want int) {
	t.Helper()
	entries, words := db.rows(t, "search_entries"), 0
	query := `SELECT COUNT(*) FROM search_entries WHERE words IS NOT NULL`
	if strings.HasPrefix(db.DSN, "sqlite:") {
		query = `SELECT COUNT(*) FROM search_index_docsize`
	}
	if err := db.Raw.QueryRowContext(t.Context(), query).Scan(&words); err != nil || entries != want || words != want {
		t.Errorf("the index has %d entries and the words of %d (%v), want %d", entries, words, err, want)
	}
}

func testIndexIsFilledLater(t *testing.T, db Database) {
	off := db.Open(t)
	Append(t, off, speaker("one", 0, "alpha", "beta", "gamma"), speaker("two", 10, "alpha again"))
	if _, err := off.Search(t.Context(), ledger.SearchQuery{Text: "alpha"}, ledger.Page{}); !errors.Is(err, ledger.ErrSearchOff) {
		t.Errorf("search without an index: %v, want ErrSearchOff", err)
	}
	on := db.Open(t, sqlstore.Search(textOf))
	// The events of a partly indexed agent come in order.
	Append(t, on, ledger.Batch{Agent: "one", After: 3, Events: []ledger.Event{said("alpha delta", 20)}})
	find(t, on, "alpha")
	for range 2 { // the newest agent first
		if n := must(on.UpdateIndex(t.Context(), 1))(t); n != 1 {
			t.Errorf("a step of 1 indexes %d events", n)
		}
	}
	find(t, on, "alpha", "two 1: 1 alpha again", "one 1: 1 alpha")
	restarted := db.Open(t, sqlstore.Search(textOf))
	if n := must(ledger.Index(t.Context(), restarted))(t); n != 3 {
		t.Errorf("%d events were indexed after a restart, want the other 3", n)
	}
	find(t, restarted, "alpha", "one 2: 4 alpha delta, 1 alpha", "two 1: 1 alpha again")
	Append(t, restarted, ledger.Batch{Agent: "one", After: 4, Events: []ledger.Event{said("epsilon", 30)}})
	find(t, restarted, "epsilon", "one 1: 5 epsilon")
	checkIndex(t, db, 6)
	if n := must(ledger.Index(t.Context(), restarted))(t); n != 0 {
		t.Errorf("%d events were indexed twice", n)
	}
}

func testIndexIsDroppedAndFilledAgain(t *testing.T, db Database) {
	on, off := db.Open(t, sqlstore.Search(textOf)), db.Open(t)
	Append(t, on, speaker("one", 0, "alpha", "beta", "gamma"))
	if n := must(off.UpdateIndex(t.Context(), 1))(t); n != 2 { // the position of the agent, and an entry
		t.Errorf("a step of 1 deletes %d rows", n)
	}
	Append(t, off, ledger.Batch{Agent: "one", After: 3, Events: []ledger.Event{said("delta", 10)}})
	if n := must(ledger.Index(t.Context(), on))(t); n != 4 {
		t.Errorf("%d events were indexed again, want 4", n)
	}
	find(t, on, "beta", "one 1: 2 beta")
	find(t, on, "delta", "one 1: 4 delta")
	checkIndex(t, db, 4)
	must(ledger.Index(t.Context(), off))(t)
	checkIndex(t, db, 0)
	if db.rows(t, "search_agents") != 0 {
		t.Error("the ledger still has positions of an index")
	}
}

func testRacingIndexers(t *testing.T, db Database) {
	const agents, events = 5, 40
	off := db.Open(t)
	for i := range agents {
		Append(t, off, speaker(fmt.Sprintf("a%d", i), i, "alpha", "beta"))
	}
	var writers []func(context.Context) error
	for range 3 {
		l := db.Open(t, sqlstore.Search(textOf))
		writers = append(writers, func(ctx context.Context) error {
			_, err := ledger.Index(ctx, l)
			return err
		})
	}
	appender := db.Open(t, sqlstore.Search(textOf))
	writers = append(writers, func(ctx context.Context) error {
		for n := range events {
			batch := ledger.Batch{Agent: fmt.Sprintf("a%d", n%agents), After: int64(2 + n/agents), Events: []ledger.Event{said("late", 100+n)}}
			if err := appender.Append(ctx, batch); err != nil {
				return err
			}
		}
		return nil
	})
	inParallel(t, len(writers), func(i int) error { return writers[i](t.Context()) })
	must(ledger.Index(t.Context(), appender))(t)
	checkIndex(t, db, 2*agents+events)
	for _, hit := range must(appender.Search(t.Context(), ledger.SearchQuery{Text: "late"}, ledger.Page{}))(t).Items {
		if hit.Count != events/agents {
			t.Errorf("%d events of agent %s are found, want %d", hit.Count, hit.UID, events/agents)
		}
	}
}

func testIndexGoesWithItsAgents(t *testing.T, db Database) {
	l := db.Open(t, sqlstore.Search(textOf))
	old := speaker("old", 0, "alpha", "beta")
	old.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(10)}
	Append(t, l, old, speaker("live", 1, "alpha"))
	bytes := func() int64 { return must(l.Bytes(t.Context()))(t)[0].Bytes }
	var plain int64
	if err := db.Raw.QueryRowContext(t.Context(), `SELECT CAST(SUM(bytes) AS BIGINT) FROM agents`).Scan(&plain); err != nil {
		t.Fatal(err)
	}
	if got := bytes(); got <= plain || got > plain+3*100 {
		t.Errorf("the namespace has %d bytes, of which %d are in its events", got, plain)
	}
	before := bytes()
	if n := must(l.Prune(t.Context(), at(500), 1))(t); n != 1 {
		t.Errorf("a step of 1 deletes %d rows", n)
	}
	find(t, l, "alpha", "live 1: 1 alpha") // an expired agent is not found while its rows are being deleted
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	find(t, l, "beta")
	checkIndex(t, db, 1)
	if db.rows(t, "search_agents") != 1 || bytes() >= before/2 {
		t.Errorf("%d agents have an index of together %d bytes", db.rows(t, "search_agents"), bytes())
	}
	must(l.Prune(t.Context(), time.Now().AddDate(100, 0, 0), 0))(t)
	find(t, l, "alpha", "live 1: 1 alpha")
}
