// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useRef, useState, type RefObject } from 'react';
import type { Attachment } from '../api/types';
import { attach } from '../model/attachments';
import type { Draft } from '../model/redo';
import { useDraft } from '../state/drafts';
import { Attachments } from './Attachments';
import { Icon } from './Icon';

/** The maximum length of a message in the API. */
const longest = 65536;

/** The input for messages. Enter sends; Shift+Enter starts a new line. Files can be chosen, pasted and dropped. */
export function Composer({
  place,
  onSend,
  onStop,
  reply,
  onCancelReply,
  disabled,
  placeholder,
  input,
  draft,
  onDropDraft,
}: {
  /** What was typed is kept for this place; see placeOf. */
  place: string;
  onSend: (text: string, attachments: Attachment[]) => Promise<boolean>;
  onStop?: () => void;
  reply?: { who: string; text: string };
  onCancelReply?: () => void;
  disabled?: string;
  placeholder: string;
  input: RefObject<HTMLTextAreaElement | null>;
  /** A message to change and send again. It replaces what was written. */
  draft?: Draft;
  onDropDraft?: () => void;
}) {
  const [text, setText] = useDraft(place);
  const [sending, setSending] = useState(false);
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const [problems, setProblems] = useState<string[]>([]);
  const [over, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const area = input.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, 240)}px`;
  }, [text, input]);
  useEffect(() => {
    if (!draft) return;
    setText(draft.text);
    setAttachments(draft.attachments);
    setProblems([]);
    input.current?.focus();
  }, [draft, input]);
  const send = async () => {
    const words = text.trim();
    if (!words || sending) return;
    setSending(true);
    if (await onSend(words, attachments)) {
      setText('');
      setAttachments([]);
      setProblems([]);
    }
    setSending(false);
    input.current?.focus();
  };
  const add = async (files: readonly File[]) => {
    if (files.length === 0 || disabled) return;
    const added = await attach(attachments, files);
    setAttachments(added.attachments);
    setProblems(added.problems);
    input.current?.focus();
  };
  return (
    <form
      ref={form}
      className={`composer${over ? ' over' : ''}`}
      onDragOver={(event) => {
        if (disabled || !event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        setOver(false);
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        void add([...event.dataTransfer.files]);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {reply && (
        <div className="reply">
          <Icon name="reply" size={14} />
          <span className="reply-text">
            Answering <strong>{reply.who}</strong>: {reply.text}
          </span>
          <button type="button" className="button ghost icon-only small" aria-label="Cancel the answer" onClick={onCancelReply}>
            <Icon name="close" size={14} />
          </button>
        </div>
      )}
      {draft && (
        <div className="reply editing">
          <Icon name="edit" size={14} />
          <span className="reply-text">It is sent as a new message. The first one stays.</span>
          <button
            type="button"
            className="button ghost icon-only small"
            aria-label="Cancel the change"
            onClick={() => {
              setText('');
              setAttachments([]);
              onDropDraft?.();
            }}
          >
            <Icon name="close" size={14} />
          </button>
        </div>
      )}
      <Attachments list={attachments} onRemove={(name) => setAttachments(attachments.filter((one) => one.name !== name))} />
      {problems.length > 0 && (
        <ul className="attachment-problems" role="alert">
          {problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      <div className="composer-row">
        <button type="button" className="button ghost icon-only round" aria-label="Attach files" title="Attach images or text" disabled={Boolean(disabled)} onClick={() => picker.current?.click()}>
          <Icon name="plus" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files to attach"
          accept="image/png,image/jpeg,image/gif,image/webp,text/*,.md,.json,.yaml,.yml,.go,.ts,.py,.log"
          onChange={(event) => {
            void add([...(event.target.files ?? [])]);
            event.target.value = '';
          }}
        />
        <textarea
          ref={input}
          rows={1}
          value={text}
          maxLength={longest}
          placeholder={disabled ?? placeholder}
          aria-label={reply ? `Answer to ${reply.who}` : 'Message'}
          disabled={Boolean(disabled)}
          onChange={(event) => setText(event.target.value)}
          onPaste={(event) => {
            const files = [...event.clipboardData.files];
            if (files.length === 0) return;
            event.preventDefault();
            void add(files);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Escape' && !event.nativeEvent.isComposing) event.currentTarget.blur(); // then the keys of the page work
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            void send();
          }}
        />
        {onStop && !text.trim() ? (
          <button type="button" className="button icon-only round" aria-label="Stop all work of this chat" title="Stop all work" onClick={onStop}>
            <Icon name="stop" />
          </button>
        ) : (
          <button type="submit" className="button primary icon-only round" aria-label="Send" disabled={!text.trim() || sending || Boolean(disabled)}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}
