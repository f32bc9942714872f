// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useCallback, useMemo, useRef, useState } from 'react';
import { write } from '../api/client';
import type { Attachment, Chat, Message } from '../api/types';
import { explainModel } from '../model/errors';
import { money, tokens } from '../model/format';
import { viewOf } from '../model/runs';
import { draftOf, proceeding, repeat, type Draft, type Redo } from '../model/redo';
import { buildTree, inOrder, questionIn, type Tree } from '../model/tree';
import { Allowances } from '../parts/Allow';
import { Badge } from '../parts/Badge';
import { BareHead, MenuButton } from '../parts/BareHead';
import { Composer } from '../parts/Composer';
import { Empty, Loading } from '../parts/Empty';
import { ErrorText } from '../parts/ErrorText';
import { Icon, type IconName } from '../parts/Icon';
import { useSite, useSnapshot } from '../state/context';
import { placeOf } from '../state/drafts';
import { useKeys } from '../state/hooks';
import { go, hrefOf, useLink, type ChatView, type Route } from '../state/route';
import { Changes } from './Changes';
import { ChatMenu } from './ChatMenu';
import { ChatUsage } from './ChatUsage';
import { Conversation } from './Conversation';
import { Inspector } from './Inspector';
import { later } from './later';
import { Timeline } from './Timeline';
import { WaitingBanner } from './WaitingBanner';

const ChatSettings = later(() => import('./ChatSettings').then((view) => view.ChatSettings));

/** A chat: its messages, its tasks, and the composer. */
export function ChatPage({ route, onMenu }: { route: Route & { chat: string }; onMenu: () => void }) {
  const site = useSite();
  const { chats, messages, tasks, agents, displays, synced, problems } = useSnapshot();
  const { namespace } = site;
  const chat = chats.find((known) => known.metadata.name === route.chat);
  const ordered = useMemo(() => inOrder(messages, displays), [messages, displays]);
  const tree = useMemo(() => buildTree(tasks, agents, displays), [tasks, agents, displays]);
  const input = useRef<HTMLTextAreaElement>(null);
  const [answering, setAnswering] = useState<string>();
  const [draft, setDraft] = useState<Draft>();
  const [sent, setSent] = useState<string>();

  const inspect = useCallback((agent?: string) => go(hrefOf({ ...route, agent, entry: undefined })), [route.namespace, route.chat, route.view]);
  const answer = useCallback((message?: Message) => {
    setAnswering(message?.metadata.name);
    input.current?.focus();
  }, []);
  useKeys({
    '/': () => input.current?.focus(),
    c: () => go(hrefOf({ namespace, chat: route.chat, agent: route.agent })),
    t: () => go(hrefOf({ ...route, view: 'timeline' })),
    u: () => go(hrefOf({ ...route, view: 'usage' })),
    d: chat?.spec.workspace ? () => go(hrefOf({ ...route, view: 'changes' })) : undefined,
    i: () => inspect(route.agent ? undefined : tree.roots.at(-1)?.name),
    Escape: route.agent ? () => inspect(undefined) : undefined,
  });

  const say = async (spec: Parameters<typeof write>[3]) => {
    try {
      const message = await write(namespace, route.chat, site.person.user, spec);
      site.store.put('agentmessages', message);
      if (spec.content) setSent(message.metadata.name);
      return true;
    } catch (error) {
      site.toast((error as Error).message, 'error');
      return false;
    }
  };
  const asked = ordered.find((message) => message.metadata.name === answering);
  const question = asked && questionIn(asked, tree);
  const reply = question?.open ? { who: question.who, text: question.text } : undefined;
  const send = async (content: string, attachments: Attachment[]) => {
    const sent = await say({ content, ...(attachments.length > 0 ? { attachments } : {}), ...(reply ? { inReplyTo: answering } : {}) });
    if (sent) {
      setAnswering(undefined);
      setDraft(undefined);
    }
    return sent;
  };
  const sayRef = useRef(say);
  sayRef.current = say;
  const redo = useMemo<Redo>(() => ({ retry: (message) => void sayRef.current(repeat(message)), edit: (message) => setDraft(draftOf(message)), proceed: () => void sayRef.current({ content: proceeding }) }), []);

  if (!chat) {
    if (!synced.has('agentchats') && !problems.get('agentchats')?.final) return <Loading what="the chat" lines={6} />;
    return <Gone name={route.chat} onMenu={onMenu} />;
  }
  const working = chat.status?.phase === 'Running' || chat.status?.phase === 'Waiting';
  const actions = { inspect, answer: () => answerOldest(ordered, tree, answer), inspected: route.agent, cancel: site.person.may.createMessages ? (task: string) => void say({ cancel: { task } }) : undefined };
  return (
    <div className={`chat-page${route.agent ? ' inspecting' : ''}`}>
      <main className="chat-main" id="main">
        <ChatHead chat={chat} ordered={ordered} tree={tree} route={route} onMenu={onMenu} onStop={working && site.person.may.createMessages ? () => void say({ cancel: {} }) : undefined} />
        <NotReady chat={chat} view={route.view} />
        <WaitStateBanner chat={chat} />
        {route.view === 'chat' && <Conversation chat={chat} ordered={ordered} tree={tree} actions={actions} onAnswer={answer} redo={site.person.may.createMessages && !working ? redo : undefined} sent={sent} />}
        {route.view === 'timeline' && <Timeline tree={tree} chat={chat} ordered={ordered} inspect={inspect} />}
        {route.view === 'usage' && <ChatUsage chat={chat} tree={tree} />}
        {route.view === 'settings' && <ChatSettings key={chat.metadata.uid} chat={chat} />}
        {route.view === 'changes' && <Changes of={`chat.${route.chat}`} />}
        <div className="chat-foot">
          <Allowances chat={chat} />
          <WaitingBanner chat={chat} ordered={ordered} tree={tree} route={route} onAnswer={answer} />
          <Composer
            place={placeOf(site.namespace, route.chat)}
            onSend={send}
            onStop={working && site.person.may.createMessages ? () => void say({ cancel: {} }) : undefined}
            reply={reply}
            onCancelReply={() => setAnswering(undefined)}
            disabled={site.person.may.createMessages ? undefined : 'You may read this chat, but not write in it.'}
            placeholder="Write a message"
            input={input}
            draft={draft}
            onDropDraft={() => setDraft(undefined)}
          />
        </div>
      </main>
      {route.agent && <Inspector key={`${route.agent}/${route.entry}`} name={route.agent} entry={route.entry} chat={route.chat} tree={tree} onClose={() => inspect(undefined)} onInspect={inspect} onAnswer={actions.answer} />}
    </div>
  );
}

/** Moves the focus to the oldest open question, or to the input. */
function answerOldest(ordered: Message[], tree: ReturnType<typeof buildTree>, answer: (message?: Message) => void): void {
  answer(ordered.find((message) => questionIn(message, tree)?.open));
}

const views: { view: ChatView; label: string; icon: IconName }[] = [
  { view: 'chat', label: 'Chat', icon: 'chat' },
  { view: 'timeline', label: 'Timeline', icon: 'timeline' },
  { view: 'usage', label: 'Usage', icon: 'chart' },
  { view: 'changes', label: 'Changes', icon: 'diff' },
  { view: 'settings', label: 'Settings', icon: 'sliders' },
];

function ChatHead({ chat, ordered, tree, route, onMenu, onStop }: { chat: Chat; ordered: Message[]; tree: Tree; route: Route; onMenu: () => void; onStop?: () => void }) {
  const { usage, phase } = chat.status ?? {};
  return (
    <header className="chat-head">
      <MenuButton onMenu={onMenu} />
      <h1 title={chat.metadata.name}>{viewOf(chat).title}</h1>
      {phase === 'Running' && <Badge kind="running" label="Working" />}
      {phase === 'Waiting' && <Badge kind="waiting" />}
      <span className="chat-usage">
        {Boolean(usage?.totalTokens) && (
          <span title={`${usage!.promptTokens ?? 0} in, ${usage!.completionTokens ?? 0} out`}>{tokens(usage!.totalTokens)} tokens</span>
        )}
        {Boolean(usage?.modelCalls) && usage!.costMicros !== undefined && <span>cost {money(usage!.costMicros, usage!.currency)}</span>}
      </span>
      <div className="tabs" role="group" aria-label="View">
        {views.filter(({ view }) => view !== 'changes' || chat.spec.workspace).map(({ view, label, icon }) => (
          <Tab key={view} href={hrefOf({ ...route, view })} current={route.view === view} icon={icon} label={label} />
        ))}
      </div>
      {onStop && (
        <button type="button" className="button small stop-all" aria-label="Stop all" onClick={onStop}>
          <Icon name="stop" size={12} /> <span className="wide-only">Stop all</span>
        </button>
      )}
      <ChatMenu chat={chat} ordered={ordered} tree={tree} />
    </header>
  );
}

function Tab({ href, current, icon, label }: { href: string; current: boolean; icon: IconName; label: string }) {
  return (
    <a className="tab" aria-current={current ? 'page' : undefined} aria-label={label} {...useLink(href)}>
      <Icon name={icon} size={14} /> <span className="wide-only">{label}</span>
    </a>
  );
}

/** Explains why a chat cannot answer, and what to do. */
function NotReady({ chat, view }: { chat: Chat; view: ChatView }) {
  const still = chat.waitState;
  if (!chat.status?.conditions) {
    const young = Date.now() - Date.parse(chat.metadata.creationTimestamp) < 10_000;
    return young ? null : <p className="banner">No operator has processed this chat yet. Is nestor-operator running?</p>;
  }
  if (still?.kind !== 'Blocked' || (still.reason === 'ModelError' && view === 'chat')) return null; // the last message says it
  return (
    <div className="banner failed" role="status">
      <Icon name="alert" size={14} />
      <ErrorText error={still.reason === 'ModelError' ? explainModel(still.message) : { title: still.message || still.reason }} />
    </div>
  );
}

/** Explains that a chat is paused, or what its work waits for, and what to do about it. */
function WaitStateBanner({ chat }: { chat: Chat }) {
  const still = chat.waitState;
  if (!still || still.kind === 'Blocked') return null;
  const paused = still.kind === 'Paused';
  return (
    <p className="banner" role="status">
      <Icon name={paused ? 'hand' : 'clock'} size={14} />
      <span>
        <strong>{still.head}.</strong> {still.message} {paused ? !still.message.includes('to continue') && 'Send a message to continue.' : 'Nothing has failed. Work continues automatically.'}
      </span>
    </p>
  );
}

function Gone({ name, onMenu }: { name: string; onMenu: () => void }) {
  const { namespace } = useSite();
  const home = useLink(hrefOf({ namespace }));
  return (
    <main className="chat-main" id="main">
      <BareHead onMenu={onMenu} />
      <Empty page icon="chat" title="Chat not found" actions={<a className="button primary" {...home}>New chat</a>}>
        <p>
          <strong>{name}</strong> does not exist in {namespace}, or it was deleted.
        </p>
      </Empty>
    </main>
  );
}
