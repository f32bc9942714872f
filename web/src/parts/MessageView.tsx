// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { memo, useState } from 'react';
import { annotationStopped, annotationTruncated, type Message } from '../api/types';
import { explainTurn } from '../model/errors';
import { clock, firstWords } from '../model/format';
import type { Redo } from '../model/redo';
import { isHidden, questionIn, requestIn, type Tree } from '../model/tree';
import { Approval } from './Approval';
import { Attachments } from './Attachments';
import { CopyButton } from './CopyButton';
import { ErrorText } from './ErrorText';
import { Icon } from './Icon';
import { Markdown } from './Markdown';
import { Reasoning } from './Reasoning';
import { RoleIcon, useRoleName } from './RoleIcon';

/** One message of the main chat. */
export const MessageView = memo(function MessageView({
  message,
  tree,
  reasoning,
  onAnswer,
  onInspect,
  redo,
  repeats,
  current,
}: {
  message: Message;
  tree: Tree;
  /** The model's reasoning before the message, which is not a part of it. */
  reasoning?: string;
  onAnswer: (message: Message) => void;
  onInspect: (name: string) => void;
  /** Repeats the last message of the person, if that is possible here. */
  redo?: Redo;
  repeats?: Message;
  /** The chat is still in the state that the message reports. */
  current?: boolean;
}) {
  const { spec, status, metadata } = message;
  if (isHidden(message, tree)) return null;
  if (spec.approval) return <Decision message={message} />;
  if (spec.cancel) return <Cancelled message={message} tree={tree} />;
  if (spec.revoke) return <Line message={message} text={`${spec.user ?? 'Someone'} revoked the allowance ${spec.revoke.allowance}`} />;
  const request = requestIn(message, tree);
  if (request) return <Approval chat={spec.chat!} request={request} />;
  const question = questionIn(message, tree);
  if (question) return <Question message={message} question={question} onAnswer={onAnswer} onInspect={onInspect} />;
  const failure = spec.role === 'System' ? explainTurn(spec.content ?? '') : undefined;
  if (failure) {
    return (
      <div className={`note turn-failed${current ? ' failed' : ''}`} role="note">
        <Icon name={current ? 'alert' : 'clock'} size={14} />
        <ErrorText before={current ? 'The model could not answer' : `The model could not answer at ${clock(metadata.creationTimestamp)}`} error={current ? failure : { ...failure, todo: undefined }} />
        {redo && repeats && <RedoButtons redo={redo} message={repeats} />}
      </div>
    );
  }
  if (spec.role === 'System') return <Line message={message} text={spec.content ?? ''} />;
  if (spec.role === 'Assistant') {
    return (
      <article className="message assistant" aria-label="Assistant">
        {reasoning && <Reasoning text={reasoning} />}
        <Markdown text={spec.content ?? ''} />
        {metadata.annotations?.[annotationStopped] && <Stopped onProceed={redo?.proceed} />}
        {metadata.annotations?.[annotationTruncated] && <CutOff onProceed={redo?.proceed} />}
        <span className="message-foot">
          <time dateTime={metadata.creationTimestamp}>{clock(metadata.creationTimestamp)}</time>
          <CopyButton text={spec.content ?? ''} what="the answer" />
        </span>
      </article>
    );
  }
  return (
    <article className="message user" aria-label={spec.user ?? 'You'}>
      <div className="bubble">
        <Said text={spec.content ?? ''} />
        <Attachments list={spec.attachments ?? []} />
      </div>
      <span className="message-foot">
        {status?.phase === 'Rejected' ? (
          <span className="rejected">Rejected: {reasonOf(message)}</span>
        ) : (
          status?.phase !== 'Handled' && <span className="pending">{status?.reason === 'ChatNotReady' ? 'Waiting until the chat is ready' : 'Sent'}</span>
        )}
        {spec.user && <span>{spec.user}</span>}
        <time dateTime={metadata.creationTimestamp}>{clock(metadata.creationTimestamp)}</time>
        <CopyButton text={spec.content ?? ''} what="the message" />
        {redo && <RedoButtons redo={redo} message={message} />}
      </span>
    </article>
  );
});

/** A text with more lines or characters is folded. */
const longest = { lines: 24, characters: 2400 };

/** What a person wrote, unchanged. A long text is folded, because the answer is of more interest. */
function Said({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  const long = text.length > longest.characters || text.split('\n').length > longest.lines;
  if (!long) return text;
  return (
    <>
      <div className={open ? undefined : 'folded'}>{text}</div>
      <button type="button" className="button small unfold" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Show less' : 'Show all'}
      </button>
    </>
  );
}

/** The mark of a reply that a person stopped. */
export const Stopped = ({ onProceed }: { onProceed?: () => void }) => (
  <p className="stopped">
    <Icon name="stop" size={12} /> Stopped. This is what had arrived. <Proceed onProceed={onProceed} />
  </p>
);

const CutOff = ({ onProceed }: { onProceed?: () => void }) => (
  <p className="stopped">
    <Icon name="alert" size={12} /> The reply reached the limit of output tokens and is cut off. <Proceed onProceed={onProceed} />
  </p>
);

const Proceed = ({ onProceed }: { onProceed?: () => void }) =>
  onProceed && (
    <button type="button" className="button small" onClick={onProceed}>
      Continue
    </button>
  );

/** Sends a message again, as it was or after a change. Either is a new message: no earlier message is rewritten. */
function RedoButtons({ redo, message }: { redo: Redo; message: Message }) {
  return (
    <span className="redo">
      <button type="button" className="button ghost small" title="Change this message and send it as a new one" onClick={() => redo.edit(message)}>
        <Icon name="edit" size={14} /> Edit
      </button>
      <button type="button" className="button ghost small" title="Send this message again, as a new one" onClick={() => redo.retry(message)}>
        <Icon name="restart" size={14} /> Retry
      </button>
    </span>
  );
}

const reasonOf = (message: Message) => message.status?.conditions?.find((c) => c.type === 'Succeeded')?.message ?? message.status?.reason ?? '';

function Question({ message, question, onAnswer, onInspect }: { message: Message; question: NonNullable<ReturnType<typeof questionIn>>; onAnswer: (message: Message) => void; onInspect: (name: string) => void }) {
  return (
    <section className={`question${question.open ? ' open' : ''}`} aria-label={`Question of ${question.who}`} id={`request-${message.metadata.name}`} tabIndex={-1}>
      <header>
        <RoleIcon role={question.node.task.spec.role} />
        <span>
          <strong>{question.who}</strong> asks
        </span>
        <button type="button" className="button ghost small" onClick={() => onInspect(question.task)}>
          <Icon name="eye" size={14} /> Inspect
        </button>
      </header>
      <Markdown text={question.text} />
      {question.open ? (
        <footer>
          <button type="button" className="button primary small" onClick={() => onAnswer(message)}>
            <Icon name="reply" size={14} /> Answer
          </button>
        </footer>
      ) : question.answer ? (
        <div className="answered given">
          <p>
            <Icon name="check" size={12} /> {question.user ?? 'The orchestrator'} answered
          </p>
          <Markdown text={question.answer} />
        </div>
      ) : (
        <p className="answered">
          <Icon name="check" size={12} /> No longer waiting
        </p>
      )}
    </section>
  );
}

function Decision({ message }: { message: Message }) {
  const { approval, user } = message.spec;
  const verb = approval!.decision === 'Approve' ? 'approved' : 'denied';
  return <Line message={message} text={`${user ?? 'Someone'} ${verb} a call of ${approval!.task}${approval!.comment ? `: “${approval!.comment}”` : ''}`} />;
}

/** A line for an action or a System message. */
/** A cancel names the agent and its work as its block does; the name of the task is for kubectl. */
function Cancelled({ message, tree }: { message: Message; tree: Tree }) {
  const roleName = useRoleName();
  const { user, cancel } = message.spec;
  const of = cancel?.task ? tree.byName.get(cancel.task)?.task.spec : undefined;
  const what = !cancel?.task ? 'all work' : of?.role ? `${roleName(of.role)}${of.instruction ? ` (${firstWords(of.instruction, 60)})` : ''}` : (of?.tool ?? cancel.task);
  return <Line message={message} text={`${user ?? 'Someone'} cancelled ${what}`} />;
}

function Line({ message, text }: { message: Message; text: string }) {
  const rejected = message.status?.phase === 'Rejected';
  return (
    <p className={`line${rejected ? ' rejected' : ''}`}>
      <span>{text}</span>
      {rejected && <span>Rejected: {reasonOf(message)}</span>}
      <time dateTime={message.metadata.creationTimestamp}>{clock(message.metadata.creationTimestamp)}</time>
    </p>
  );
}
