// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useCallback, useEffect, useRef, useState } from 'react';
import { textOf, type Run } from '../model/runs';
import { go, hrefOf } from './route';

const key = 'nestor-notify';
const knownKey = 'nestor-namespaces';
const most = 20;

function stored(name: string): string | undefined {
  try {
    return localStorage.getItem(name) ?? undefined;
  } catch {
    return undefined; // storage may be forbidden
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without storage it lasts until the page is closed.
  }
}

/** The namespaces that were visited in this browser, newest first: a person who may not list namespaces has no other list of them. */
export function visitedNamespaces(current: string): string[] {
  const known = (stored(knownKey) ?? '').split(',').filter((name) => name && name !== current);
  const names = [current, ...known].slice(0, most);
  store(knownKey, names.join(','));
  return names;
}

/** The title of the document: how many runs wait, and the place. */
export const documentTitle = (waiting: number, place?: string) => `${waiting > 0 ? `(${waiting}) ` : ''}${place ? `${place} – ` : ''}Nestor`;

/** The asks of runs that were not known before. A run that waits for the next thing is new again. */
export function newAsks(before: ReadonlySet<string> | undefined, waiting: Run[]): { known: Set<string>; fresh: Run[] } {
  const keysOf = (run: Run) => (run.asks ? run.asks.map((ask) => `${run.key}/${ask.task}/${ask.call ?? ''}/${ask.startTime ?? ''}`) : [run.key]);
  const known = new Set(waiting.flatMap(keysOf));
  return { known, fresh: before ? waiting.filter((run) => keysOf(run).some((ask) => !before.has(ask))) : [] };
}

export type Notify = 'unsupported' | 'off' | 'on' | 'blocked';

const supported = () => typeof Notification !== 'undefined';

function current(): Notify {
  if (!supported()) return 'unsupported';
  if (Notification.permission === 'denied') return 'blocked';
  return Notification.permission === 'granted' && stored(key) === 'on' ? 'on' : 'off';
}

/** Whether the browser notifies the person, and the switch for it. The browser asks for permission only after the switch was used. */
export function useNotify(): [Notify, () => void] {
  const [state, setState] = useState(current);
  const toggle = useCallback(() => {
    if (!supported()) return;
    if (current() === 'on') {
      store(key, 'off');
      setState(current());
      return;
    }
    store(key, 'on');
    void Notification.requestPermission().then(() => setState(current()));
  }, []);
  return [state, toggle];
}

/** Shows a notification for each run that begins to wait while the page is not in front. */
export function useNotifications(waiting: Run[], synced: boolean): void {
  const seen = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (!synced) return;
    const { known, fresh } = newAsks(seen.current, waiting);
    seen.current = known;
    if (current() !== 'on' || document.hasFocus()) return;
    for (const run of fresh) show(run);
  }, [waiting, synced]);
}

function show(run: Run): void {
  const ask = run.asks?.[0];
  const notification = new Notification(ask?.kind === 'Question' ? `${run.title} asks` : `${run.title} requests approval`, { body: ask && textOf(ask).slice(0, 200), tag: run.key });
  notification.onclick = () => {
    window.focus();
    go(hrefOf(run.kind === 'chat' ? { namespace: run.namespace, chat: run.name } : { namespace: run.namespace, run: run.name }));
    notification.close();
  };
}
