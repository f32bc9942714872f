// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { afterEach, expect, it, vi } from 'vitest';
import { Store } from './store';

afterEach(() => vi.unstubAllGlobals());

/** A response that sends deltas of a reply and stays open. */
function stream(...texts: string[]): Response {
  const events = texts.map((text) => `event: transcript\nid: x\ndata: ${JSON.stringify({ transcript: 'chat.one', entries: [{ seq: 1, time: '', kind: 'Delta', modelCall: 'a.1', delta: { text } }] })}\n\n`);
  return new Response(new ReadableStream({ start: (out) => events.forEach((event) => out.enqueue(new TextEncoder().encode(event))) }), { status: 200 });
}

it('does not repeat the beginning of a reply when it subscribes again', async () => {
  const answers = [stream('Once', ' upon'), stream('Once upon a', ' time')];
  vi.stubGlobal('fetch', () => Promise.resolve(answers.shift() ?? new Promise(() => undefined)));
  const store = new Store();
  const text = () => store.read().transcripts.get('chat.one')?.streaming?.text;
  store.listen({ namespace: 'default', chat: 'one', transcripts: [{ name: 'chat.one', tail: 1 }] });
  await vi.waitFor(() => expect(text()).toBe('Once upon'), 60_000);
  store.listen({ namespace: 'default', chat: 'one', transcripts: [{ name: 'chat.one', tail: 1 }, { name: 'subagent.x', tail: 1 }] });
  await vi.waitFor(() => expect(text()).toBe('Once upon a time'), 60_000);
  store.stop();
});
