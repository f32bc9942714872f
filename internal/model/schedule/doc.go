// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when a model call may start, and at which provider.
//
// A caller submits a [Ticket]. When the call may start, the scheduler calls the function that came with it; when the
// call has ended, the caller releases the [Grant] with the usage and the back-off that the provider requested:
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
// A waiting call is an entry in a queue: it has no goroutine and no timer.
//
// # Limits
//
// Each provider has limits of parallel calls, requests per minute and tokens per minute. The minute is a sliding
// window, so that no sixty seconds exceed the limit. Tokens are reserved by estimate when a call starts and corrected
// when it ends. A 429 with Retry-After blocks the whole provider until then, because other calls would get the same
// response.
//
// # Fairness
//
// Namespaces share a provider max-min fairly by their dominant share: the largest of their fractions of the
// provider's concurrency, requests and tokens, now or in the last minute. The next call always belongs to the waiting
// namespace with the smallest share, so a namespace with a hundred times the load gets no more than the others while
// they wait. Within a namespace, the chat with the fewest calls in flight is next, then the one served longest ago;
// within a chat, calls are served in order.
//
// # Replicas
//
// With Options.Shares the limits hold for all replicas together. A scheduler is then a [share.Source]: it starts calls
// within its share of each limit, and the dominant share of a namespace is that on all replicas.
//
// # Fallback
//
// A provider may name fallbacks. A call whose expected wait exceeds the scheduler's patience, when it is submitted or
// when its provider backs off, goes to the first fallback that is expected to serve it in time. A call that has
// waited that long is moved to where it would wait less. A call that has failed twice at its own provider, or once if
// its attempts would not otherwise reach all fallbacks, is attempted at the fallbacks in turn.
package schedule
