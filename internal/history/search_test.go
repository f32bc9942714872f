// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

var _ = Describe("Search", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		l := openLedger("sqlite:"+filepath.Join(GinkgoT().TempDir(), "ledger.db"), sqlstore.Search(transcript.Text))
		for _, name := range []string{"search-a", "search-b"} {
			namespace(name)
			chat := historytest.Chat(name, "release", "uid-of-"+name)
			write(chat.Write(ctx, l, chat.Orchestrator(), agent.MessageArrived{Message: "m", Text: "When is the release? The secret of " + name + "."}))
			write(chat.Write(ctx, l, chat.Replied("The release is tomorrow.")))
		}
		before := historytest.Chat("search-a", "before", "uid-before")
		before.Record.NamespaceUID = "uid-of-the-old-one"
		write(before.Write(ctx, l, before.Orchestrator(), agent.MessageArrived{Message: "m", Text: "the secret of an earlier namespace"}))
		w := serve(l)
		DeferCleanup(func() { w.stop() })
		for role, verbs := range map[string]string{"searcher": "get,list", "lister": "list"} {
			must(kubectl("create", "role", role, "-n", "search-a", "--verb="+verbs, "--resource=transcripts.history.nestor.dev"))
			must(kubectl("create", "rolebinding", role, "-n", "search-a", "--role="+role, "--user="+role))
			waitForPermission(role, "search-a", "list", "transcripts", "")
		}
		must(kubectl("create", "role", "one", "-n", "search-a", "--verb=get", "--resource=transcripts.history.nestor.dev", "--resource-name=chat.other"))
		must(kubectl("create", "rolebinding", "one", "-n", "search-a", "--role=one", "--user=lister"))
		must(kubectl("create", "clusterrole", "lists-all", "--verb=list", "--resource=transcripts.history.nestor.dev"))
		must(kubectl("create", "clusterrolebinding", "lists-all", "--clusterrole=lists-all", "--user=searcher"))
		waitForPermission("searcher", "", "list", "transcripts", "")
		waitForPermission("searcher", "search-a", "get", "transcripts", "")
	})

	search := func(words string, args ...string) []string {
		return append([]string{"get", "transcripts", "--field-selector", "search=" + words}, args...)
	}

	It("finds entries and marks the words", func() {
		var list historyapi.TranscriptList
		Expect(json.Unmarshal([]byte(must(kubectl(search("RELEASE when", "-n", "search-a", "-o", "json")...))), &list)).To(Succeed())
		Expect(list.Items).To(HaveLen(1))
		found := list.Items[0]
		Expect(found.Name).To(Equal("chat.release"))
		Expect(found.Agent.Chat).To(Equal("release"))
		Expect(found.MatchCount).To(BeEquivalentTo(1))
		Expect(found.Matches).To(HaveLen(1))
		Expect(found.Matches[0].Kind).To(Equal(historyapi.EntryUser))
		Expect(found.Matches[0].Seq).To(BeEquivalentTo(2))
		Expect(found.Matches[0].Excerpt).To(Equal([]historyapi.ExcerptPart{
			{Text: "When", Match: true}, {Text: " is the "}, {Text: "release", Match: true}, {Text: "? The secret of search-a."},
		}))
		Expect(firstColumn(must(kubectl(search("tomorrow", "-n", "search-a", "-l", "nestor.dev/chat=release")...)))).To(Equal([]string{"chat.release"}))
		Expect(must(kubectl(search("tomorrow", "-n", "search-a", "-l", "nestor.dev/chat=other")...))).To(BeEmpty())
	})

	It("returns pages", func() {
		var page, next historyapi.TranscriptList
		query := "/apis/" + historyapi.GroupVersion.String() + "/transcripts?fieldSelector=search%3Dsecret&limit=1"
		Expect(json.Unmarshal([]byte(must(fetch(query))), &page)).To(Succeed())
		Expect(page.Items).To(HaveLen(1))
		Expect(json.Unmarshal([]byte(must(fetch(query+"&continue="+page.Continue))), &next)).To(Succeed())
		Expect(next.Items).To(HaveLen(1))
		Expect(next.Items[0].UID).NotTo(Equal(page.Items[0].UID))
	})

	It("shows only what the user may read", func() {
		Expect(must(kubectl(search("secret", "-n", "search-a", "--as", "searcher", "-o", "yaml")...))).To(And(
			ContainSubstring("secret"), Not(ContainSubstring("search-b")), Not(ContainSubstring("earlier namespace"))))
		for _, args := range [][]string{
			search("secret", "-n", "search-b", "--as", "searcher"), // may list it, but not read it
			search("secret", "-A", "--as", "searcher"),
			search("secret", "-n", "search-a", "--as", "lister"),
			search("secret", "-A", "--as", "lister"),
			search("secret", "-n", "search-a", "--as", "stranger"),
			search("absent", "-n", "search-a", "--as", "lister"), // the same as for words that occur
		} {
			Expect(errorText(kubectl(args...))).To(And(ContainSubstring("orbidden"), Not(ContainSubstring("chat.release"))), "%v", args)
		}
		Expect(must(kubectl("get", "transcripts", "-n", "search-a", "--as", "lister"))).To(ContainSubstring("chat.release"), "a list needs no permission to read")
	})

	It("takes any text", func() {
		for _, words := range []string{`"release`, `release* AND`, `NEAR(release`, `release\,\=`, `it's release`} {
			_, err := kubectl(search(words, "-n", "search-a")...)
			Expect(err).NotTo(HaveOccurred(), words)
		}
		Expect(errorText(kubectl(search(`"*"`, "-n", "search-a")...))).To(ContainSubstring("a search needs a word"))
		Expect(errorText(kubectl(search("release,live=true", "-n", "search-a")...))).To(ContainSubstring("cannot be combined"))
	})
})

var _ = Describe("Without search", func() {
	It("is refused with advice", func() {
		w := serve(newLedger())
		DeferCleanup(func() { w.stop() })
		Expect(errorText(kubectl("get", "transcripts", "-A", "--field-selector", "search=word"))).To(ContainSubstring("--ledger-search"))
	})
})
