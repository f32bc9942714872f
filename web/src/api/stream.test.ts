// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { afterEach, describe, expect, it, vi } from 'vitest';
import { EventParser, type ServerEvent } from './sse';
import { address, keepWanted, Stream, type Connection } from './stream';

describe('events', () => {
  it('are read from any pieces', () => {
    const text = 'retry: 1000\n\nevent: object\nid: a=1\ndata: {"x":1}\n\n: quiet\n\nevent: ping\ndata: {}\n\n';
    const want: ServerEvent[] = [{ name: 'object', id: 'a=1', data: '{"x":1}' }, { name: 'ping', id: 'a=1', data: '{}' }];
    for (const size of [1, 3, 7, 1000]) {
      const parser = new EventParser();
      const got = [];
      for (let i = 0; i < text.length; i += size) got.push(...parser.push(text.slice(i, i + size)));
      expect(got).toEqual(want);
    }
  });
});

describe('positions', () => {
  const cursor = new URLSearchParams({ 'agentchats@a': '1', 'agentmessages@a/x': '2', 'transcript@a/subagent.x-1': '3' }).toString();

  it('are kept for what is still wanted, and forgotten for the rest', () => {
    expect(keepWanted(cursor, { namespace: 'a', chat: 'x', transcripts: [] })).toBe('agentchats%40a=1&agentmessages%40a%2Fx=2');
    expect(keepWanted(cursor, { namespace: 'a', chat: 'y', transcripts: [{ name: 'subagent.x-1', tail: 5 }] })).toBe('agentchats%40a=1&transcript%40a%2Fsubagent.x-1=3');
    expect(keepWanted(cursor, { namespace: 'b', transcripts: [] })).toBe('');
  });

  it('are asked for by name', () => {
    expect(address({ namespace: 'a', chat: 'x', transcripts: [{ name: 'chat.x', tail: 1 }] })).toBe('/api/stream?namespace=a&chat=x&transcript=chat.x%3A1');
  });
});

describe('a stream', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it('goes on where it was after it was cut off', async () => {
    vi.useFakeTimers();
    const sent: (string | null)[] = [];
    const bodies = ['event: object\nid: agentchats%40a=7\ndata: {}\n\n', 'event: ping\nid: agentchats%40a=8\ndata: {}\n\n'];
    vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
      sent.push(new Headers(init.headers).get('Last-Event-ID'));
      const body = bodies.shift();
      if (body === undefined) return new Promise(() => undefined);
      return new Response(body);
    });
    const received: string[] = [];
    const states: Connection['state'][] = [];
    const stream = new Stream((event) => received.push(event.name), (connection) => states.push(connection.state));
    stream.listen({ namespace: 'a', transcripts: [] });
    await vi.advanceTimersByTimeAsync(5000);
    stream.stop();
    expect(received).toEqual(['object', 'ping']);
    expect(sent).toEqual([null, 'agentchats%40a=7', 'agentchats%40a=8']);
    expect(states).toEqual(['connecting', 'live', 'offline', 'live', 'offline']);
  });

  it('does not try again when it is refused', async () => {
    vi.useFakeTimers();
    const ask = vi.fn(async () => new Response(JSON.stringify({ message: 'Sign in to continue.' }), { status: 401 }));
    vi.stubGlobal('fetch', ask);
    const states: Connection[] = [];
    const stream = new Stream(() => undefined, (connection) => states.push(connection));
    stream.listen({ namespace: 'a', transcripts: [] });
    await vi.advanceTimersByTimeAsync(60_000);
    stream.stop();
    expect(ask).toHaveBeenCalledTimes(1);
    expect(states.at(-1)).toMatchObject({ state: 'refused', refusal: { code: 401, message: 'Sign in to continue.' } });
  });
});
