// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // reads the ledger directly
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	_ "modernc.org/sqlite" // the same

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// unfilled are columns and tables that no flow fills, with what fills them and where that is tested.
var unfilled = map[string]string{
	"workspace_changes":         "the changes of pods are kept, and no pod runs here; internal/controller/workspace and the ledger's conformance suite fill it",
	"agents.expired_at":         "retention marks the agents that it deletes next; internal/ledger/ledgertest",
	"shards.released":           "without active agents; internal/ledger/ledgertest",
	"replicas.address":          "only with --replica-bind-address; internal/history",
	"replicas.fingerprint":      "the same",
	"shares":                    "only while replicas share the work; internal/ledger/ledgertest",
	"detached_calls":            "only while a shard is handed over; internal/ledger/ledgertest",
	"settings":                  "only while replicas share the work; internal/ledger/ledgertest",
	"search_agents":             "only with --ledger-search; internal/ledger/ledgertest",
	"search_entries":            "the same",
	"search_index":              "the same",
	"search_index_data":         "the same",
	"search_index_idx":          "the same",
	"search_index_docsize":      "the same",
	"search_index_config":       "the same",
	"quota_reservations":        "has a row only while a call is open; internal/ledger/ledgertest",
	"model_call_rows.pruned_at": "only with --call-retention; internal/ledger/ledgertest",
	"tool_call_rows.pruned_at":  "only with --call-retention; internal/ledger/ledgertest",
}

// record covers what the ledger records about the work as a whole.
func record(w *world) {
	It("the ledger records which call started an agent, its context, and which limit ended it", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		// enough turns for a snapshot
		general := MakeRole("general").Obj()
		general.Spec.Limits = &v1beta1.RoleLimits{MaxIterations: 40}
		r.create(ctx, general)
		r.openChat(ctx)
		r.sendMessage(ctx, "request", `Spawn [{"task":"Ponder over the files","context":"full","context_files":["README.md"]}]`)
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorIterationLimit), "limit of 40 iterations"))
		calls, err := w.history.ModelCalls(ctx, ledger.CallFilter{Agent: string(r.agent(ctx, "chat-1").UID)}, ledger.Page{})
		Expect(err).NotTo(HaveOccurred())
		Expect(calls.Items).To(HaveEach(And(
			HaveField("Parent", HavePrefix(string(must(ctx, r.chat).UID)+"/model/")), HaveField("ContextMode", "Full"), HaveField("Files", []string{"README.md"}),
		)))
		last := calls.Items[len(calls.Items)-1]
		Expect(last.Result.Bailout).To(Equal(string(v1beta1.ErrorIterationLimit)))
		asked, err := w.history.ModelCall(ctx, last.Parent)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(asked.Result.ToolCalls)).To(ContainSubstring("spawn_agents"))
		tools, err := w.history.ToolCalls(ctx, last.Agent, ledger.Page{})
		Expect(err).NotTo(HaveOccurred())
		Expect(tools.Items).To(HaveEach(HaveField("ModelCall", HavePrefix(last.Agent+"/model/"))))
	})
}

// wholeSuite reports whether all flows of a ledger run, since only all of them together fill every column.
func wholeSuite() bool {
	suite, _ := GinkgoConfiguration()
	some := slices.ContainsFunc(suite.FocusStrings, func(focus string) bool { return !strings.HasPrefix(focus, "With ") })
	return !some && len(suite.SkipStrings)+len(suite.FocusFiles)+len(suite.SkipFiles) == 0 && suite.LabelFilter == ""
}

// emptyColumns returns the columns of the ledger without a value in any row: NULL, or the zero value of a column that cannot be
// NULL.
func (w *world) emptyColumns(ctx context.Context) ([]string, error) {
	columns, err := w.countColumns(ctx, func(c column) string {
		if c.nullable {
			return c.name + " IS NOT NULL"
		}
		return "CAST(" + c.name + " AS TEXT) NOT IN ('', '0', 'false')"
	})
	var empty []string
	for _, c := range columns {
		if c.rows == 0 && unfilled[c.table] == "" && unfilled[c.table+"."+c.name] == "" {
			empty = append(empty, c.table+"."+c.name)
		}
	}
	return empty, err
}

// columnsWith returns the columns of the ledger that contain text, which must not contain quotes.
func (w *world) columnsWith(ctx context.Context, text string) ([]string, error) {
	columns, err := w.countColumns(ctx, func(c column) string { return "CAST(" + c.name + " AS TEXT) LIKE '%" + text + "%'" })
	var found []string
	for _, c := range columns {
		if c.rows > 0 {
			found = append(found, c.table+"."+c.name)
		}
	}
	return found, err
}

// countColumns returns the columns of the ledger, with the number of rows, at most one, that meet a condition.
func (w *world) countColumns(ctx context.Context, condition func(column) string) ([]column, error) {
	driver, name := "pgx", w.LedgerURL
	query := `SELECT c.table_name, c.column_name, c.is_nullable = 'YES' FROM information_schema.columns c JOIN information_schema.tables t
		ON t.table_schema = c.table_schema AND t.table_name = c.table_name WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'`
	if path, ok := strings.CutPrefix(w.LedgerURL, "sqlite:"); ok {
		driver, name = "sqlite", "file:"+path+"?_pragma=query_only(1)&_pragma=busy_timeout(10000)"
		query = `SELECT t.name, c.name, c."notnull" = 0 FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	columns, err := readColumns(ctx, db, query)
	if err != nil {
		return nil, err
	}
	for i, c := range columns {
		if err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT COUNT(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT 1) AS found", c.table, condition(c))).Scan(&columns[i].rows); err != nil {
			return nil, fmt.Errorf("search %s.%s: %w", c.table, c.name, err)
		}
	}
	return columns, nil
}

type column struct {
	table, name string
	nullable    bool
	rows        int
}

func readColumns(ctx context.Context, db *sql.DB, query string) ([]column, error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var columns []column
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.table, &c.name, &c.nullable); err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, rows.Err()
}
