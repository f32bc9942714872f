// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { Fragment, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { transcriptOf } from '../api/history';
import type { Chat, Message } from '../api/types';
import { reasoningOf, unpostedText } from '../model/transcript';
import { sticks } from '../model/stick';
import { repeatable, type Redo } from '../model/redo';
import { finished, type Tree } from '../model/tree';
import { explainServer, explainTurn } from '../model/errors';
import { Empty, Loading } from '../parts/Empty';
import { ErrorText } from '../parts/ErrorText';
import { Icon } from '../parts/Icon';
import { Markdown } from '../parts/Markdown';
import { MessageView, Stopped } from '../parts/MessageView';
import { Reasoning } from '../parts/Reasoning';
import { TaskGroup, type TaskActions } from '../parts/TaskBlock';
import { useSite, useSnapshot } from '../state/context';
import { useNow } from '../state/hooks';

/** How many messages are shown at first. */
const page = 100;

/** The messages of the main chat, each with the tasks that it caused. */
export function Conversation({ chat, ordered, tree, actions, onAnswer, redo, sent }: { chat: Chat; ordered: Message[]; tree: Tree; actions: TaskActions; onAnswer: (message: Message) => void; redo?: Redo; sent?: string }) {
  const { synced, problems, transcripts } = useSnapshot();
  const transcript = transcripts.get(transcriptOf('chat', chat.metadata.name));
  const reasoning = useMemo(() => reasoningOf(transcript), [transcript]);
  const [shown, setShown] = useState(page);
  const visible = ordered.slice(-shown);
  const stray = tree.below.get('') ?? [];
  const { scroller, end, away, toEnd } = useStickToEnd(sent);
  const { person } = useSite();
  const last = redo && ordered.findLast(({ spec }) => spec.user === person.user && repeatable(spec));
  const failures = ordered.filter(isFailure);
  // The report of a failure has the buttons of the message that failed.
  const failed = last && ordered.at(-1) === failures.at(-1);
  const current = chat.waitState?.reason === 'ModelError' ? failures.at(-1) : undefined;
  const ends = ordered.at(-1)?.spec.role === 'Assistant' ? ordered.at(-1) : undefined;
  const refused = problems.get('agentmessages');
  if (refused?.final) return <Empty icon="key" title="You may not read this chat" alert><ErrorText error={explainServer(refused.message)} /></Empty>;
  if (!synced.has('agentmessages') || !synced.has('displays')) return <div className="conversation"><Loading what="messages" lines={6} /></div>;
  return (
    <div className="conversation-frame">
      <div className="conversation" ref={scroller} tabIndex={0} role="log" aria-label="Conversation" aria-live="polite">
        <div className="conversation-inner">
          {ordered.length > visible.length && (
            <button type="button" className="button small earlier" onClick={() => setShown(shown + page)}>
              Show earlier messages
            </button>
          )}
          {ordered.length === 0 && (
            <Empty icon="chat" title="No messages yet">
              Describe the work. The orchestrator answers or delegates to agents, whose steps you can follow here.
            </Empty>
          )}
          {visible.map((message) => (
            <Fragment key={message.metadata.uid}>
              <MessageView message={message} tree={tree} reasoning={message.spec.role === 'Assistant' ? reasoning.get((message.spec.content ?? '').trim()) : undefined} onAnswer={onAnswer} onInspect={actions.inspect} redo={message === (failed ? ordered.at(-1) : last) || message === ends ? redo : undefined} repeats={last} current={message === current} />
              {tree.below.has(message.metadata.name) && <TaskGroup nodes={tree.below.get(message.metadata.name)!} actions={actions} />}
            </Fragment>
          ))}
          {stray.length > 0 && <TaskGroup nodes={stray} actions={actions} />}
          <Streaming chat={chat} ordered={ordered} idle={tree.roots.every(finished)} />
          <div ref={end} className="end" />
        </div>
      </div>
      {away && (
        <button type="button" className="button small to-end" onClick={toEnd}>
          <Icon name="down" size={14} /> Latest
        </button>
      )}
    </div>
  );
}

const isFailure = ({ spec }: Message) => spec.role === 'System' && explainTurn(spec.content ?? '') !== undefined;

/** The orchestrator's reply while it streams in. */
function Streaming({ chat, ordered, idle }: { chat: Chat; ordered: Message[]; idle: boolean }) {
  const { transcripts } = useSnapshot();
  const transcript = transcripts.get(transcriptOf('chat', chat.metadata.name));
  const streaming = transcript?.streaming;
  const now = useNow(transcript?.lastReply !== undefined);
  const text = unpostedText(transcript, ordered.slice(-50).map((message) => message.spec.content ?? ''), now);
  if (text) {
    return (
      <article className={`message assistant${streaming ? ' streaming' : ''}`} aria-label={streaming ? 'The assistant is writing' : 'The reply'} aria-live="off">
        {streaming?.reasoning && <Reasoning text={streaming.reasoning} />}
        <Markdown text={text} />
        {!streaming && transcript?.lastReply?.stopped && <Stopped />}
      </article>
    );
  }
  if (!streaming && (chat.status?.phase !== 'Running' || !idle)) return null;
  return (
    <>
      <p className="thinking" role="status">
        <span className="pulse" aria-hidden="true" />
        {streaming?.toolCalls.length ? 'The orchestrator is delegating' : 'The orchestrator is thinking'}
      </p>
      {streaming?.reasoning && <Reasoning text={streaming.reasoning} live />}
    </>
  );
}

/** Keeps the newest message visible, unless the person has scrolled away from it. A message that the person sends is always shown. */
function useStickToEnd(sent: string | undefined) {
  const scroller = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const top = useRef(0);
  const [away, setAway] = useState(false);
  useEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const moved = () => {
      stuck.current = sticks(box, { stuck: stuck.current, top: top.current });
      top.current = box.scrollTop;
      setAway(!stuck.current);
    };
    const grown = new ResizeObserver(() => {
      if (stuck.current) box.scrollTop = box.scrollHeight;
      moved();
    });
    box.addEventListener('scroll', moved, { passive: true });
    grown.observe(box);
    if (box.firstElementChild) grown.observe(box.firstElementChild);
    return () => {
      box.removeEventListener('scroll', moved);
      grown.disconnect();
    };
  });
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box) {
      box.scrollTop = box.scrollHeight;
      top.current = box.scrollTop;
    }
    stuck.current = true; // the message may not be rendered yet
  }, [sent]);
  const toEnd = () => {
    const box = scroller.current;
    box?.scrollTo({ top: box.scrollHeight, behavior: 'smooth' });
  };
  return { scroller, end, away, toEnd };
}
