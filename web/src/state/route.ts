// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useCallback, useSyncExternalStore } from 'react';

export type ChatView = 'chat' | 'timeline' | 'usage' | 'changes' | 'settings' | 'compare';

/** The current location in the page. The URL contains all of it, so it can be shared and survives a reload. */
export interface Route {
  namespace: string;
  page: 'home' | 'unknown' | 'chat' | 'runs' | 'run' | 'roles' | 'models' | 'usage' | 'triggers' | 'tools' | 'policies' | 'evaluations';
  chat?: string;
  /** A standalone task. */
  run?: string;
  /** The evaluation that is shown, instead of the list. */
  evaluation?: string;
  view: ChatView;
  /** The run that a run is compared with. */
  other?: string;
  /** The object of the page that is edited; empty for a new one. */
  edit?: string;
  /** The task whose agent is inspected, or the orchestrator of the chat. */
  agent?: string;
  /** The entry of the inspected transcript that is shown first. */
  entry?: number;
}

/** Stands for the chat's own agent where a task is named: no task has this name. */
export const orchestrator = '@';

const views: readonly ChatView[] = ['timeline', 'usage', 'changes', 'settings', 'compare'];

const pages = ['runs', 'roles', 'models', 'usage', 'triggers', 'tools', 'policies', 'evaluations'] as const;

const isPage = (page: string | undefined): page is (typeof pages)[number] => (pages as readonly (string | undefined)[]).includes(page);

export function parseRoute(path: string, query: string): Route | undefined {
  const [namespace, page, name] = path.split('/').filter(Boolean).map(decodeURIComponent);
  if (!namespace) return undefined;
  const search = new URLSearchParams(query);
  const view = search.get('view');
  const chat = page === 'chats' ? name : undefined;
  const run = page === 'runs' ? name : undefined;
  return {
    namespace,
    page: chat ? 'chat' : run ? 'run' : isPage(page) ? page : page === undefined || (page === 'chats' && !name) ? 'home' : 'unknown',
    chat,
    run,
    evaluation: page === 'evaluations' ? name : undefined,
    view: views.find((known) => known === view && (run || known !== 'compare')) ?? 'chat',
    other: run && view === 'compare' ? (search.get('with') ?? undefined) : undefined,
    edit: isPage(page) && page !== 'runs' ? (search.get('edit') ?? undefined) : undefined,
    agent: chat || run ? (search.get('agent') ?? undefined) : undefined,
    entry: (chat || run) && Number(search.get('entry')) > 0 ? Number(search.get('entry')) : undefined,
  };
}

export function hrefOf(route: Partial<Route> & { namespace: string }): string {
  const base = `/${encodeURIComponent(route.namespace)}`;
  if (route.evaluation) return `${base}/evaluations/${encodeURIComponent(route.evaluation)}`;
  if (isPage(route.page)) return `${base}/${route.page}${route.edit === undefined ? '' : `?edit=${encodeURIComponent(route.edit)}`}`;
  if (!route.chat && !route.run) return base;
  const query = new URLSearchParams();
  if (route.view && route.view !== 'chat') query.set('view', route.view);
  if (route.view === 'compare' && route.other) query.set('with', route.other);
  if (route.agent) query.set('agent', route.agent);
  if (route.agent && route.entry) query.set('entry', String(route.entry));
  const suffix = query.toString();
  return `${base}/${route.chat ? 'chats' : 'runs'}/${encodeURIComponent(route.chat ?? route.run!)}${suffix ? `?${suffix}` : ''}`;
}

const moved = 'nestor-moved';

export function go(href: string, replace = false): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  window.dispatchEvent(new Event(moved));
}

/** Calls the watcher when the page goes to an address, also to the current one. Returns the function that ends this. */
export function onMove(watcher: () => void): () => void {
  window.addEventListener('popstate', watcher);
  window.addEventListener(moved, watcher);
  return () => {
    window.removeEventListener('popstate', watcher);
    window.removeEventListener(moved, watcher);
  };
}

export function useRoute(): Route | undefined {
  const address = useSyncExternalStore(onMove, () => location.pathname + location.search);
  const [path = '', query = ''] = address.split('?');
  return parseRoute(path, query);
}

/** Handlers of a link inside the page: a plain click navigates in the page, other clicks are left to the browser. */
export function useLink(href: string) {
  const onClick = useCallback(
    (event: React.MouseEvent) => {
      if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      go(href);
    },
    [href],
  );
  return { href, onClick };
}
