// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useMemo, useState } from 'react';
import { signOut } from '../api/client';
import type { Badge, Chat } from '../api/types';
import { ago, moment, plural } from '../model/format';
import { inOrder, repeated, runsOf, standing, viewOf, waitingOf } from '../model/runs';
import { Empty, Loading } from '../parts/Empty';
import { Icon, type IconName } from '../parts/Icon';
import { StatusDot } from '../parts/Badge';
import { useSite, useSnapshot } from '../state/context';
import { useNow, useTheme, type Theme } from '../state/hooks';
import { go, hrefOf, useLink, type Route } from '../state/route';
import { NamespacePicker } from './NamespacePicker';
import { openPalette, paletteKeys } from './Palette';

/** The chats of a namespace, and the navigation. */
export function Sidebar({ route, onHelp }: { route: Route; onHelp: () => void }) {
  const { namespace, person } = useSite();
  const home = useLink(hrefOf({ namespace }));
  return (
    <nav className="sidebar" aria-label="Chats">
      <div className="sidebar-head">
        <a className="brand" {...home}>
          <img src="/icon.svg" alt="" width={22} height={22} /> Nestor
        </a>
        <button type="button" className="button ghost icon-only small" aria-label="Go to" title={`Go to (${paletteKeys})`} aria-haspopup="dialog" onClick={openPalette}>
          <Icon name="search" size={14} />
        </button>
        <a className="button primary small" {...home} aria-keyshortcuts="n">
          <Icon name="plus" size={14} /> New chat
        </a>
      </div>
      <NamespacePicker />
      <ChatList current={route.chat} />
      <div className="sidebar-foot">
        <RunsPlace current={route.page === 'runs' || route.page === 'run'} />
        <Place href={hrefOf({ namespace, page: 'roles' })} icon="users" current={route.page === 'roles'}>
          Roles
        </Place>
        <Place href={hrefOf({ namespace, page: 'models' })} icon="spark" current={route.page === 'models'}>
          Models
        </Place>
        <Place href={hrefOf({ namespace, page: 'tools' })} icon="tool" current={route.page === 'tools'}>
          Tools
        </Place>
        <Place href={hrefOf({ namespace, page: 'policies' })} icon="ban" current={route.page === 'policies'}>
          Policies
        </Place>
        {person.may.readEvaluations && (
          <Place href={hrefOf({ namespace, page: 'evaluations' })} icon="check" current={route.page === 'evaluations'}>
            Evaluations
          </Place>
        )}
        {person.may.readTriggers && (
          <Place href={hrefOf({ namespace, page: 'triggers' })} icon="clock" current={route.page === 'triggers'}>
            Triggers
          </Place>
        )}
        <Place href={hrefOf({ namespace, page: 'usage' })} icon="chart" current={route.page === 'usage'}>
          Usage
        </Place>
        <div className="sidebar-person">
          <span className="person" title={`You are ${person.user}`}>
            {person.user}
          </span>
          {person.signIn !== 'link' && (
            <button
              type="button"
              className="button ghost small"
              onClick={() => void signOut().then(() => location.assign('/'))}
            >
              Sign out
            </button>
          )}
          <button type="button" className="button ghost icon-only small" aria-label="Keyboard help" title="Keyboard help (?)" onClick={onHelp}>
            <Icon name="help" size={14} />
          </button>
          <ThemeButton />
        </div>
      </div>
    </nav>
  );
}

function Place({ href, icon, current, children }: { href: string; icon: IconName; current: boolean; children: string }) {
  return (
    <a className="place" aria-current={current ? 'page' : undefined} {...useLink(href)}>
      <Icon name={icon} /> {children}
    </a>
  );
}

/** The link to the inbox, with the number of runs that wait. */
function RunsPlace({ current }: { current: boolean }) {
  const { namespace } = useSite();
  const { inbox } = useSnapshot();
  const count = useMemo(() => waitingOf(runsOf(inbox.chats, inbox.tasks)).length, [inbox]);
  return (
    <a className="place" aria-current={current ? 'page' : undefined} aria-keyshortcuts="r" {...useLink(hrefOf({ namespace, page: 'runs' }))}>
      <Icon name="inbox" /> Runs
      {count > 0 && (
        <span className="place-count" aria-label={`${count} waiting for you`}>
          {count}
        </span>
      )}
    </a>
  );
}

const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const themeIcon: Record<Theme, IconName> = { system: 'auto', light: 'sun', dark: 'moon' };

function ThemeButton() {
  const [theme, setTheme] = useTheme();
  const label = `Theme: ${theme}. Change to ${nextTheme[theme]}`;
  return (
    <button type="button" className="button ghost icon-only small" aria-label={label} title={label} onClick={() => setTheme(nextTheme[theme])}>
      <Icon name={themeIcon[theme]} size={14} />
    </button>
  );
}

/** The number of chats from which the search is shown. */
const searchable = 8;

function ChatList({ current }: { current?: string }) {
  const { person } = useSite();
  const { chats, synced, problems } = useSnapshot();
  const [search, setSearch] = useState('');
  const now = useNow(true, 30_000);
  const sorted = useMemo(() => inOrder(chats), [chats]);
  const shown = sorted.filter((chat) => `${chat.metadata.name}\n${viewOf(chat).title.toLowerCase()}`.includes(search.trim().toLowerCase()));
  const alike = useMemo(() => repeated(chats.map((chat) => viewOf(chat).title)), [chats]);
  const problem = problems.get('agentchats');
  if (problem?.final || !person.may.readChats) return <p className="sidebar-note">You may not list the chats of this namespace.</p>;
  if (!synced.has('agentchats')) return <Loading what="chats" lines={5} />;
  if (chats.length === 0) return <Empty icon="chat" title="No chats yet">Send a message to start one.</Empty>;
  return (
    <>
      {chats.length >= searchable && (
        <label className="search">
          <Icon name="search" size={14} />
          <input value={search} placeholder="Find a chat" aria-label="Find a chat" onChange={(event) => setSearch(event.target.value)} />
        </label>
      )}
      <ul className="chat-list">
        {shown.map((chat) => (
          <ChatItem key={chat.metadata.uid} chat={chat} current={chat.metadata.name === current} now={now} alike={alike.has(viewOf(chat).title)} />
        ))}
        {shown.length === 0 && <li className="sidebar-note">No matching chats.</li>}
      </ul>
    </>
  );
}

const counted: [keyof NonNullable<NonNullable<Chat['status']>['tasks']>, Badge, string][] = [
  ['waiting', 'waiting', 'waiting'],
  ['running', 'running', 'running'],
  ['pending', 'pending', 'pending'],
  ['failed', 'failed', 'failed'],
  ['cancelled', 'cancelled', 'cancelled'],
  ['success', 'success', 'done'],
];

/** alike: another chat has the same title. */
function ChatItem({ chat, current, now, alike }: { chat: Chat; current: boolean; now: number; alike: boolean }) {
  const { namespace } = useSite();
  const { name, creationTimestamp, deletionTimestamp } = chat.metadata;
  const link = useLink(hrefOf({ namespace, chat: name }));
  const tasks = chat.status?.tasks ?? {};
  const { title, badge, activeTime } = viewOf(chat);
  return (
    <li>
      <a className="chat-item" aria-current={current ? 'page' : undefined} {...link}>
        <StatusDot kind={badge} label={standing(chat)} />
        <span className="chat-name" title={title === name ? name : `${title}\n${name}`}>
          {title}
          {alike && <small className="mono"> {name}</small>}
        </span>
        <span className="chat-age" title={`Created ${moment(creationTimestamp)}, last message ${moment(activeTime)}`}>
          {deletionTimestamp ? 'deleting' : ago(activeTime, now)}
        </span>
        <span className="chat-tasks">
          {counted.map(([key, badge, words]) => {
            const count = tasks[key] ?? 0;
            return (
              count > 0 && (
                <span key={key} className={`count ${badge}`} title={`${plural(count, 'task')} ${words}`}>
                  <StatusDot kind={badge} label={`${plural(count, 'task')} ${words}`} />
                  {count}
                </span>
              )
            );
          })}
        </span>
      </a>
    </li>
  );
}

/** The chat before or after the current one. */
export function step(chats: Chat[], namespace: string, current: string | undefined, by: number): void {
  const names = inOrder(chats).map((chat) => chat.metadata.name);
  const next = names[Math.max(0, Math.min(names.length - 1, names.indexOf(current ?? '') + by))];
  if (next) go(hrefOf({ namespace, chat: next }));
}
