// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { useEffect, useId, useMemo, useState } from 'react';
import { Refusal, roles, searchTranscripts } from '../api/client';
import { entriesOf, find, leastSearch, placesOf, type Place } from '../model/palette';
import { inOrder, runsOf } from '../model/runs';
import { Dialog } from '../parts/Dialog';
import { Icon, type IconName } from '../parts/Icon';
import { useSite, useSnapshot } from '../state/context';
import { useLoad, useSettled } from '../state/hooks';
import { go } from '../state/route';

const wanted = 'nestor-palette';

/** Opens the palette. */
export const openPalette = () => window.dispatchEvent(new Event(wanted));

const apple = /Mac|iPhone|iPad/.test(navigator.platform);

/** The keys that open the palette, for people. On a Mac, Ctrl K deletes to the end of the line. */
export const paletteKeys = apple ? '⌘ K' : 'Ctrl K';

/** The palette: it goes to a page, a chat, a run or a role by a part of its name, and to an entry of a transcript by its words. */
export function Palette() {
  const [open, setOpen] = useState(false);
  const [searchable, setSearchable] = useState(true);
  useEffect(() => {
    const show = () => setOpen(true);
    const pressed = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || event.shiftKey || event.altKey || event.metaKey !== apple || event.ctrlKey === apple) return;
      event.preventDefault();
      if (!document.querySelector('dialog[open]')) show();
    };
    window.addEventListener(wanted, show);
    window.addEventListener('keydown', pressed);
    return () => {
      window.removeEventListener(wanted, show);
      window.removeEventListener('keydown', pressed);
    };
  }, []);
  return open && <Finder searchable={searchable} onUnsearchable={() => setSearchable(false)} onClose={() => setOpen(false)} />;
}

const icons: Record<Place['kind'], IconName> = { page: 'panel', chat: 'chat', run: 'inbox', role: 'users', entry: 'search' };
const kinds: Record<Place['kind'], string> = { page: 'Page', chat: 'Chat', run: 'Run', role: 'Role', entry: 'Text' };

function Finder({ searchable, onUnsearchable, onClose }: { searchable: boolean; onUnsearchable: () => void; onClose: () => void }) {
  const { namespace, person } = useSite();
  const { chats, inbox } = useSnapshot();
  const [search, setSearch] = useState('');
  const [chosen, setChosen] = useState(0);
  const [loaded] = useLoad(() => roles(namespace).catch(() => []), [namespace]);
  const list = useId();
  const places = useMemo(
    () => placesOf({ namespace, chats: inOrder(chats), runs: runsOf(inbox.chats, inbox.tasks), roles: loaded.state === 'done' ? loaded.value : [], may: person.may }),
    [namespace, chats, inbox, loaded, person.may],
  );
  const words = useSettled(search.trim());
  const searched = searchable && person.may.readTranscripts && words.length >= leastSearch;
  const refused = (error: Error) => {
    // Without full-text search in the cluster, the palette finds names only.
    if (error instanceof Refusal && error.code === 405) onUnsearchable();
    return [];
  };
  const [texts] = useLoad(() => (searched ? searchTranscripts(namespace, words).catch(refused) : Promise.resolve([])), [namespace, words, searched]);
  const entries = useMemo(() => (texts.state === 'done' && words === search.trim() ? entriesOf(texts.value, chats) : []), [texts, words, search, chats]);
  const found = useMemo(() => [...find(places, search), ...entries], [places, search, entries]);
  const current = Math.min(chosen, found.length - 1);
  const id = (index: number) => `${list}-${index}`;
  const visit = (place: Place | undefined) => {
    if (!place) return;
    onClose();
    go(place.href);
  };
  const pressed = (event: React.KeyboardEvent) => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter' && !event.nativeEvent.isComposing) visit(found[current]);
    else if (by !== 0 && found.length > 0) setChosen((current + by + found.length) % found.length);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    document.getElementById(id(current))?.scrollIntoView({ block: 'nearest' }); // returns a promise in new browsers
  }, [current]);
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div className="palette">
        <label className="search">
          <Icon name="search" size={14} />
          <input
            autoFocus
            role="combobox"
            aria-label="Page, chat, run, role or text"
            aria-expanded={found.length > 0}
            aria-controls={list}
            aria-activedescendant={current >= 0 ? id(current) : undefined}
            aria-autocomplete="list"
            placeholder="Page, chat, run, role or text"
            value={search}
            onChange={(event) => {
              setSearch(event.target.value);
              setChosen(0);
            }}
            onKeyDown={pressed}
          />
        </label>
        <ul id={list} role="listbox" aria-label="Places">
          {found.map((place, index) => (
            <li key={place.key} id={id(index)} role="option" aria-selected={index === current} onPointerMove={() => setChosen(index)} onClick={() => visit(place)}>
              <Icon name={icons[place.kind]} size={14} />
              <span className="palette-title">
                {place.excerpt ? place.excerpt.map(({ text, match }, part) => (match ? <mark key={part}>{text}</mark> : text)) : place.title}
                {place.detail && place.detail !== place.title && <small> {place.detail}</small>}
              </span>
              <span className="palette-kind">{kinds[place.kind]}</span>
            </li>
          ))}
        </ul>
        {found.length === 0 && (
          <p className="muted" role="status">
            {searched && (texts.state === 'loading' || words !== search.trim()) ? 'Searching…' : 'Nothing has this name.'}
          </p>
        )}
      </div>
    </Dialog>
  );
}
