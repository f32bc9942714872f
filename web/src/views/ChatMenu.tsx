// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { deleteChat, renameChat, wholeTranscript } from '../api/client';
import { transcriptOf } from '../api/history';
import type { Chat, Message } from '../api/types';
import { jsonOf, markdownOf } from '../model/export';
import { longestTitle } from '../model/newchat';
import { viewOf } from '../model/runs';
import type { Tree } from '../model/tree';
import { copyText } from '../parts/CopyLink';
import { Confirm, Dialog } from '../parts/Dialog';
import { Icon, type IconName } from '../parts/Icon';
import { useSite, useSnapshot } from '../state/context';
import { go, hrefOf } from '../state/route';

/** What can be done with a chat as a whole. */
export function ChatMenu({ chat, ordered, tree }: { chat: Chat; ordered: Message[]; tree: Tree }) {
  const site = useSite();
  const { tasks, agents } = useSnapshot();
  const [asking, setAsking] = useState<'rename' | 'delete'>();
  const { name, namespace } = chat.metadata;
  const { may } = site.person;
  const reportError = (error: unknown) => site.toast((error as Error).message, 'error');
  const remove = async () => {
    setAsking(undefined);
    try {
      await deleteChat(namespace, name);
      go(hrefOf({ namespace }));
    } catch (error) {
      reportError(error);
    }
  };
  const exportJSON = async () => {
    try {
      const transcript = may.readTranscripts ? await wholeTranscript(namespace, transcriptOf('chat', name)) : undefined;
      save(`${name}.json`, 'application/json', jsonOf(chat, ordered, tasks, agents, transcript));
    } catch (error) {
      reportError(error);
    }
  };
  const link = async () => {
    const href = new URL(hrefOf({ namespace, chat: name }), location.href).href;
    if (await copyText(href)) site.toast('The link is copied. It works for people who may see this chat.');
    else site.toast(`This browser does not let the page copy. The link is ${href}`, 'error');
  };
  return (
    <>
      <Menu label="More">
        {may.renameChats && <MenuItem icon="edit" onClick={() => setAsking('rename')}>Rename</MenuItem>}
        {may.createChats && <MenuItem icon="copy" onClick={() => go(`${hrefOf({ namespace })}?from=${encodeURIComponent(name)}`)}>Duplicate</MenuItem>}
        <MenuItem icon="link" onClick={() => void link()}>Copy the link</MenuItem>
        <MenuItem icon="export" onClick={() => save(`${name}.md`, 'text/markdown', markdownOf(chat, ordered, tree))}>Export as Markdown</MenuItem>
        <MenuItem icon="export" onClick={() => void exportJSON()}>Export as JSON</MenuItem>
        {may.deleteChats && <MenuItem icon="trash" danger onClick={() => setAsking('delete')}>Delete this chat</MenuItem>}
      </Menu>
      {asking === 'rename' && <Rename chat={chat} onClose={() => setAsking(undefined)} />}
      {asking === 'delete' && (
        <Confirm title="Delete this chat?" action="Delete" onConfirm={() => void remove()} onClose={() => setAsking(undefined)}>
          <p>
            <strong>{viewOf(chat).title}</strong> is deleted with all its messages, tasks and agents. Running work stops. The ledger keeps the history.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Gives a file to the browser's downloads. */
function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

function Rename({ chat, onClose }: { chat: Chat; onClose: () => void }) {
  const site = useSite();
  const [title, setTitle] = useState(() => (viewOf(chat).title === chat.metadata.name ? '' : viewOf(chat).title));
  const [sending, setSending] = useState(false);
  const field = useId();
  const send = async () => {
    setSending(true);
    try {
      await renameChat(chat.metadata.namespace, chat.metadata.name, title);
      onClose();
    } catch (error) {
      site.toast((error as Error).message, 'error');
      setSending(false);
    }
  };
  return (
    <Dialog title="Rename this chat" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <div className="fields one">
          <label htmlFor={field}>
            <span>Title</span>
          </label>
          <input id={field} className="input" value={title} maxLength={longestTitle} placeholder={chat.metadata.name} autoFocus onChange={(event) => setTitle(event.target.value)} />
          <p className="muted hint">
            Lists show the title. The name <code>{chat.metadata.name}</code> stays. Without a title of yours, lists show the one that the model proposed, or the name.
          </p>
        </div>
        <footer className="dialog-foot">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={sending}>
            Rename
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** A button that opens a list of actions. Escape, a click elsewhere and a choice close it; the arrow keys move in it. */
function Menu({ label, children }: { label: string; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useId();
  useEffect(() => {
    if (!open) return;
    frame.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const outside = (event: Event) => {
      if (!frame.current?.contains(event.target as globalThis.Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, [open]);
  const pressed = (event: React.KeyboardEvent) => {
    if (!open) return;
    const items = [...(frame.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === 'Escape' || event.key === 'Tab') {
      setOpen(false);
      if (event.key === 'Escape') button.current?.focus();
    } else if (to !== undefined) {
      items.at(to % items.length)?.focus();
    } else {
      return;
    }
    if (event.key !== 'Tab') event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="more-menu" ref={frame} onKeyDown={pressed}>
      <button ref={button} type="button" className="button ghost icon-only" aria-label={label} title={label} aria-haspopup="menu" aria-expanded={open} aria-controls={list} onClick={() => setOpen(!open)}>
        <Icon name="dots" />
      </button>
      <div id={list} role="menu" aria-label={label} className="more-list" hidden={!open} onClick={() => setOpen(false)}>
        {children}
      </div>
    </div>
  );
}

function MenuItem({ icon, danger = false, onClick, children }: { icon: IconName; danger?: boolean; onClick: () => void; children: string }) {
  return (
    <button type="button" role="menuitem" tabIndex={-1} className={`more-item${danger ? ' danger-text' : ''}`} onClick={onClick}>
      <Icon name={icon} size={14} /> {children}
    </button>
  );
}
