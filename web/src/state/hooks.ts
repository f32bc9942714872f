// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';

/** The current time, updated at an interval. */
export function useNow(active: boolean, every = 1000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!active) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [active, every]);
  return now;
}

export type Theme = 'system' | 'light' | 'dark';

const key = 'nestor-theme';

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => (document.documentElement.dataset.theme as Theme | undefined) ?? 'system');
  const choose = useCallback((chosen: Theme) => {
    setTheme(chosen);
    if (chosen === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    try {
      if (chosen === 'system') localStorage.removeItem(key);
      else localStorage.setItem(key, chosen);
    } catch {
      // Without storage it lasts until the page is closed.
    }
  }, []);
  return [theme, choose];
}

/** Reports whether a media query matches. */
export function useMedia(query: string): boolean {
  const list = useMemo(() => window.matchMedia(query), [query]);
  return useSyncExternalStore(
    (watcher) => {
      list.addEventListener('change', watcher);
      return () => list.removeEventListener('change', watcher);
    },
    () => list.matches,
  );
}

export type Loaded<T> = { state: 'loading' } | { state: 'done'; value: T } | { state: 'failed'; error: Error };

/** The result of a request. It is repeated when one of the keys changes, or on demand. */
export function useLoad<T>(load: () => Promise<T>, keys: unknown[]): [Loaded<T>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading' });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let current = true;
    setLoaded({ state: 'loading' });
    latest.current().then(
      (value) => current && setLoaded({ state: 'done', value }),
      (error: Error) => current && setLoaded({ state: 'failed', error }),
    );
    return () => {
      current = false;
    };
    // The keys decide when to repeat it.
  }, [...keys, round]);
  return [loaded, useCallback(() => setRound((n) => n + 1), [])];
}

/** Two results as one, which is there when both are. */
export function joined<A, B>(a: Loaded<A>, b: Loaded<B>): Loaded<[A, B]> {
  if (a.state === 'failed') return a;
  if (b.state === 'failed') return b;
  return a.state === 'done' && b.state === 'done' ? { state: 'done', value: [a.value, b.value] } : { state: 'loading' };
}

/** A result that may not be readable: then its value is the message of the problem. */
export const orProblem = <T>(loaded: Loaded<T>): Loaded<T | string> => (loaded.state === 'failed' ? { state: 'done', value: loaded.error.message } : loaded);

/** The result of a request that is repeated at an interval, and on demand. The last value stays while the next one loads, and if that fails. */
export function usePolled<T>(load: () => Promise<T>, keys: unknown[], every = 4000): [Loaded<T>, () => void] {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: 'loading' });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    let current = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const repeat = () => {
      const next = () => {
        if (current) timer = setTimeout(repeat, every);
      };
      latest.current().then(
        (value) => {
          if (current) setLoaded({ state: 'done', value });
          next();
        },
        (error: Error) => {
          if (current) setLoaded((before) => (before.state === 'done' ? before : { state: 'failed', error }));
          next();
        },
      );
    };
    repeat();
    return () => {
      current = false;
      clearTimeout(timer);
    };
    // The keys decide when to start again.
  }, [...keys, every, round]);
  return [loaded, useCallback(() => setRound((n) => n + 1), [])];
}

/** A value that follows another one when it has not changed for a moment: what depends on it is then not done again for every change of a burst. */
export function useSettled<T>(value: T, wait = 300): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), wait);
    return () => clearTimeout(timer);
  }, [value, wait]);
  return settled;
}

/** Handles single keys, unless the person is typing. */
export function useKeys(keys: Record<string, (() => void) | undefined>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return;
      const target = event.target as HTMLElement;
      if (target.closest('dialog')) return; // it has its own keys
      const typing = target.closest('input, textarea, select, [contenteditable]');
      if (typing && event.key !== 'Escape') return;
      const action = latest.current[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);
}
