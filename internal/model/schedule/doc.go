// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when a model call may start, and at which provider.
//
// A caller submits a [Ticket]. When the call may start, the scheduler calls the function that came with it; when the call
// is over, the caller releases the [Grant] with what was used and what the provider asked for:
//
//	call, err := scheduler.Submit(ticket, func(grant *schedule.Grant) {
//		go func() {
//			reply, err := client(grant.Provider).Complete(ctx, request, listen)
//			grant.Release(result(reply, err))
//		}()
//	})
//	...
//	call.Cancel() // while it waits
//
// A call that waits is an entry in a queue: no goroutine, no timer of its own.
//
// # Limits
//
// Each provider has a number of calls at a time, and of requests and tokens a minute. The minute is a sliding window, so
// that no sixty seconds see more than the limit. Tokens are charged by estimate when a call starts and corrected when it ends.
// A 429 with Retry-After stops the whole provider until then: the other calls would only earn the same answer.
//
// # Fairness
//
// Namespaces share a provider max-min fairly by their dominant share: the largest of the fractions of the provider's
// concurrency, requests and tokens that the namespace holds now (or held in the last minute). The next call is always
// one of the waiting namespace with the smallest share, so a namespace with a hundred times the load gets no more than the others
// until they are content. Inside a namespace the chat with the fewest calls under way is next, then the one that was
// served longest ago; inside a chat it is first come, first served.
//
// # Fallback
//
// A provider may name others to go to. A call whose expected wait exceeds the scheduler's patience, when it is
// submitted or when its provider backs off, goes to the first of them that is expected to serve it in time. One that has
// in fact waited that long looks where it would wait less. And one that has failed twice at its own provider, or once if its tries would not
// reach all of the fallbacks otherwise, is tried at the fallbacks, one after the other.
package schedule
