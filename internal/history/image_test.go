// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/ledger"
)

var _ = Describe("Images of a transcript", func() {
	It("are served to readers of the transcript, and to no one else", func() {
		l := newLedger()
		w := serve(l)
		DeferCleanup(func() { w.stop() })
		namespace("team-a")
		namespace("team-b")
		show := func(of, name, uid, digest, mediaType, data string) {
			GinkgoHelper()
			pen := historytest.Chat(of, name, uid)
			write(pen.WriteImages(ctx, l, []ledger.Image{{Digest: digest, MediaType: mediaType, Data: []byte(data)}}, pen.Orchestrator(),
				agent.MessageArrived{Message: "m", Text: "See.", Images: []agent.Image{{Digest: digest, MediaType: mediaType, Size: int64(len(data)), Name: "a.png"}}}))
		}
		show("team-a", "drawn", "uid-drawn", "sha256:a", "image/png", "the bytes of a")
		show("team-b", "drawn", "uid-other", "sha256:b", "image/png", "the bytes of b")

		entries := transcriptOf("team-a", "chat.drawn").Entries
		Expect(entries[1].Images).To(HaveLen(1))
		Expect(entries[1].Images[0]).To(And(HaveField("Name", "a.png"), HaveField("Digest", "sha256:a"), HaveField("Size", int64(14))))
		image := func(namespace, digest string, more ...string) (string, error) {
			return kubectl(append([]string{"get", "--raw", raw(namespace, "transcripts/chat.drawn/image?digest="+digest)}, more...)...)
		}
		Expect(must(image("team-a", "sha256:a"))).To(Equal("the bytes of a"))

		By("not by the digest of another agent's image")
		for _, digest := range []string{"sha256:b", "sha256:none"} {
			Expect(errorText(image("team-a", digest))).To(ContainSubstring("no entry of the transcript has an image with this digest"))
		}
		Expect(errorText(image("team-a", ""))).To(ContainSubstring("set digest"))

		By("not without the right")
		Expect(errorText(image("team-b", "sha256:b", "--as", "stranger"))).To(ContainSubstring("orbidden"))
	})
})
