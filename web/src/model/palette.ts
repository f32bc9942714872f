// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Chat, Person, Role } from '../api/types';
import { transcriptOf, type ExcerptPart, type FoundTranscript } from '../api/history';
import { hrefOf, orchestrator, type Route } from '../state/route';
import { viewOf, type Run } from './runs';

/** A place that the palette leads to. */
export interface Place {
  key: string;
  kind: 'page' | 'chat' | 'run' | 'role' | 'entry';
  title: string;
  /** What distinguishes it from others with the same title. */
  detail?: string;
  href: string;
  /** The words around what was found in an entry. */
  excerpt?: ExcerptPart[];
}

/** may: the permission without which the page is not offered. */
const pages: { title: string; page: Route['page']; may?: keyof Person['may'] }[] = [
  { title: 'New chat', page: 'home' },
  { title: 'Runs', page: 'runs' },
  { title: 'Roles', page: 'roles' },
  { title: 'Models', page: 'models' },
  { title: 'Tools', page: 'tools' },
  { title: 'Policies', page: 'policies' },
  { title: 'Evaluations', page: 'evaluations', may: 'readEvaluations' },
  { title: 'Triggers', page: 'triggers', may: 'readTriggers' },
  { title: 'Usage', page: 'usage' },
];

/** Everything that the palette can go to: the pages and the chats of a namespace, its roles, and the runs of all namespaces. */
export function placesOf({ namespace, chats, runs, roles, may: granted }: { namespace: string; chats: Chat[]; runs: Run[]; roles: Role[]; may: Partial<Person['may']> }): Place[] {
  const here = new Set(chats.map(({ metadata }) => metadata.uid));
  const inOther = (of: string) => (of === namespace ? '' : ` in ${of}`);
  return [
    ...pages.filter(({ may }) => !may || granted[may]).map(({ title, page }): Place => ({ key: `page/${page}`, kind: 'page', title, href: hrefOf({ namespace, page }) })),
    ...chats.map((chat): Place => ({ key: chat.metadata.uid, kind: 'chat', title: viewOf(chat).title, detail: chat.metadata.name, href: hrefOf({ namespace, chat: chat.metadata.name }) })),
    ...runs
      .filter(({ key }) => !here.has(key))
      .map((run): Place => ({ key: run.key, kind: run.kind === 'chat' ? 'chat' : 'run', title: run.title, detail: run.name + inOther(run.namespace), href: hrefOf({ namespace: run.namespace, ...(run.kind === 'chat' ? { chat: run.name } : { run: run.name }) }) })),
    ...roles.map(({ metadata, spec }): Place => ({ key: `role/${metadata.name}`, kind: 'role', title: spec.displayName || metadata.name, detail: metadata.name, href: hrefOf({ namespace, page: 'roles', edit: metadata.name }) })),
  ];
}

/** The places that contain every word, best first: those whose title begins with the search, then those with a word that begins with it. */
export function find(places: Place[], search: string, most = 50): Place[] {
  const wanted = search.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter(Boolean);
  const ranked = places.flatMap((place, order) => {
    const title = place.title.toLowerCase();
    const text = `${title}\n${place.detail?.toLowerCase() ?? ''}\n${place.kind}`;
    if (!words.every((word) => text.includes(word))) return [];
    const rank = title.startsWith(wanted) ? 0 : title.split(/[\s-]+/).some((part) => part.startsWith(wanted)) ? 1 : title.includes(wanted) ? 2 : 3;
    return [{ place, order, rank }];
  });
  return ranked.sort((a, b) => a.rank - b.rank || a.order - b.order).slice(0, most).map(({ place }) => place);
}

/** The shortest search in transcripts: with fewer letters it would find most of them. */
export const leastSearch = 3;

const transcriptKinds = { AgentChat: 'chat', SubAgent: 'subagent', AgentTask: 'task' } as const;

/** The newest entry of each transcript that a search found, if the page can show it: not those of deleted chats and replaced agents. */
export function entriesOf(found: FoundTranscript[], chats: Chat[]): Place[] {
  const existing = new Set(chats.map(({ metadata }) => metadata.name));
  return found.flatMap(({ metadata: { name, namespace, uid }, agent, matches }): Place[] => {
    const match = matches[0];
    if (!match || name !== transcriptOf(transcriptKinds[agent.kind], agent.name) || (agent.chat && !existing.has(agent.chat))) return [];
    // A task below a standalone one has the name of the one above it and a number.
    const run = agent.name.replace(new RegExp(`(-\\d+){${Math.max(0, (agent.depth ?? 1) - 1)}}$`), '');
    const place = agent.chat ? { chat: agent.chat } : { run };
    const inspected = agent.kind === 'AgentChat' ? orchestrator : agent.name;
    return [{ key: `entry/${uid}`, kind: 'entry', title: match.excerpt.map(({ text }) => text).join(''), detail: agent.name, href: hrefOf({ namespace, ...place, agent: inspected, entry: match.seq }), excerpt: match.excerpt }];
  });
}
