// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useRef, useState, type RefObject } from 'react';
import { Icon } from './Icon';

/** The maximum length of a message in the API. */
const longest = 65536;

/** The input for messages. Enter sends; Shift+Enter starts a new line. */
export function Composer({
  onSend,
  onStop,
  reply,
  onCancelReply,
  disabled,
  placeholder,
  input,
}: {
  onSend: (text: string) => Promise<boolean>;
  onStop?: () => void;
  reply?: { who: string; text: string };
  onCancelReply?: () => void;
  disabled?: string;
  placeholder: string;
  input: RefObject<HTMLTextAreaElement | null>;
}) {
  const [text, setText] = useState('');
  const [sending, setSending] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    const area = input.current;
    if (!area) return;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, 240)}px`;
  }, [text, input]);
  const send = async () => {
    const words = text.trim();
    if (!words || sending) return;
    setSending(true);
    if (await onSend(words)) setText('');
    setSending(false);
    input.current?.focus();
  };
  return (
    <form
      ref={form}
      className="composer"
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
      <div className="composer-row">
        <textarea
          ref={input}
          rows={1}
          value={text}
          maxLength={longest}
          placeholder={disabled ?? placeholder}
          aria-label={reply ? `Answer to ${reply.who}` : 'Message'}
          disabled={Boolean(disabled)}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
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
