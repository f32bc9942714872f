// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { ask, Refusal } from './client';
import { EventParser, type ServerEvent } from './sse';

/** What a page subscribes to. */
export interface Wanted {
  namespace: string;
  chat?: string;
  /** A standalone task with everything below it, instead of a chat. */
  task?: string;
  transcripts: { name: string; tail: number }[];
  /** Namespaces whose runs are wanted beside those that the server finds. Without it, the stream has no runs. */
  runs?: string[];
}

export type Connection =
  | { state: 'connecting' }
  | { state: 'live' }
  /** Since when the connection is lost, and why. */
  | { state: 'offline'; since: number; why: string }
  | { state: 'refused'; refusal: Refusal };

/** The server sends something at least every 15 seconds. */
const silence = 40_000;
const longestWait = 15_000;

/**
 * Stream keeps a connection to the server until it is closed. A new connection resumes where the last one ended: the id of
 * the last event contains the position of every source.
 */
export class Stream {
  private cursor = '';
  private running?: AbortController;

  constructor(
    private readonly received: (event: ServerEvent) => void,
    private readonly changed: (connection: Connection) => void,
  ) {}

  /** Subscribes, or changes the subscription. */
  listen(want: Wanted): void {
    this.stop();
    this.cursor = keepWanted(this.cursor, want);
    const running = new AbortController();
    this.running = running;
    void this.run(want, running.signal);
  }

  stop(): void {
    this.running?.abort();
    this.running = undefined;
  }

  private async run(want: Wanted, signal: AbortSignal): Promise<void> {
    let lost = 0;
    for (let failures = 0; !signal.aborted; failures++) {
      if (failures === 0) this.changed({ state: 'connecting' });
      try {
        await this.once(want, signal, () => {
          failures = 0;
          lost = 0;
          this.changed({ state: 'live' });
        });
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refusal && error.code < 500 && error.code !== 429) {
          this.changed({ state: 'refused', refusal: error });
          return;
        }
        lost ||= Date.now();
        this.changed({ state: 'offline', since: lost, why: error instanceof Error ? error.message : String(error) });
      }
      await wait(Math.min(500 * 2 ** failures, longestWait), signal);
    }
  }

  private async once(want: Wanted, signal: AbortSignal, opened: () => void): Promise<void> {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    signal.addEventListener('abort', abort);
    let watchdog = setTimeout(abort, silence);
    try {
      const response = await ask(address(want), { signal: attempt.signal, headers: this.cursor ? { 'Last-Event-ID': this.cursor } : {} });
      opened();
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Error('The connection was closed.');
        clearTimeout(watchdog);
        watchdog = setTimeout(abort, silence);
        for (const event of parser.push(value)) {
          if (signal.aborted) return;
          this.received(event);
          this.cursor = event.id;
        }
      }
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw new Error('The server did not send anything for a while.');
      throw error;
    } finally {
      clearTimeout(watchdog);
      signal.removeEventListener('abort', abort);
    }
  }
}

export function address(want: Wanted): string {
  const query = new URLSearchParams({ namespace: want.namespace });
  if (want.chat) query.set('chat', want.chat);
  if (want.task) query.set('task', want.task);
  if (want.runs) for (const name of new Set([want.namespace, ...want.runs])) query.append('runs', name);
  for (const { name, tail } of want.transcripts) query.append('transcript', `${name}:${tail}`);
  return `/api/stream?${query}`;
}

/** Drops the positions of sources that are no longer subscribed: a new subscription starts from the beginning. */
export function keepWanted(cursor: string, want: Wanted): string {
  const names = new Set([`agentchats@${want.namespace}`]);
  for (const resource of ['agentmessages', 'agenttasks', 'subagents']) names.add(`${resource}@${want.namespace}/${want.chat}`);
  for (const { name } of want.transcripts) names.add(`transcript@${want.namespace}/${name}`);
  const kept = [...new URLSearchParams(cursor)].filter(([name]) => names.has(name));
  return new URLSearchParams(kept).toString();
}

/** Waits, at most until the network is back. */
function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener('online', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    window.addEventListener('online', done);
    signal.addEventListener('abort', done);
  });
}
