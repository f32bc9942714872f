// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { annotationTruncated } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { aMessage, aTask, aTree } from '../testing';
import { MessageView } from './MessageView';

afterEach(cleanup);

const show = (content: string) => {
  const message = aMessage('m1', { role: 'User', user: 'alice', content });
  return render(<MessageView message={message} tree={aTree([])} onAnswer={() => undefined} onInspect={() => undefined} />).container;
};

describe('a message of a person', () => {
  it('is shown whole if it is short', () => {
    show('Do it.');
    expect(screen.queryByRole('button', { name: 'Show all' })).toBeNull();
  });

  it.each([
    ['many lines', 'line\n'.repeat(30)],
    ['one long line', 'x'.repeat(3000)],
  ])('is folded if it has %s, and nothing of it is lost', (_, text) => {
    const container = show(text);
    expect(container.querySelector('.folded')?.textContent).toBe(text);
    fireEvent.click(screen.getByRole('button', { name: 'Show all' }));
    expect(container.querySelector('.folded')).toBeNull();
    expect(container.querySelector('.bubble')?.textContent).toContain(text);
  });
});

const nothing = () => undefined;
const site = { roles: () => ({ name: 'coder', displayName: 'Coder' }) } as unknown as Site;

it('a question keeps its answer', () => {
  const question = { task: 't', who: 'Researcher', text: 'Which year?', answer: '**2026**', user: 'alice' };
  render(
    <SiteContext value={site}>
      <MessageView message={aMessage('m1', { role: 'Assistant', content: 'x' })} tree={aTree([aTask('t')], [], { m1: { place: 0, question } })} onAnswer={nothing} onInspect={nothing} />
    </SiteContext>,
  );
  screen.getByText('alice answered');
  expect(screen.getByText('2026').tagName).toBe('STRONG');
  expect(screen.queryByRole('button', { name: 'Answer' })).toBeNull();
});

it('a reply that was cut off says so, and can continue', () => {
  const message = aMessage('m1', { role: 'Assistant', content: 'It has' });
  message.metadata.annotations = { [annotationTruncated]: 'true' };
  const proceed = vi.fn();
  render(<MessageView message={message} tree={aTree([])} onAnswer={nothing} onInspect={nothing} redo={{ retry: nothing, edit: nothing, proceed }} />);
  screen.getByText(/is cut off/);
  fireEvent.click(screen.getByRole('button', { name: 'Continue' }));
  expect(proceed).toHaveBeenCalledOnce();
});

it.each([
  [true, 'The model could not answer:', 1],
  [false, /^The model could not answer at/, 0],
])('a failure is an error while the chat is in that state: %s', (current, words, red) => {
  const message = aMessage('m1', { role: 'System', content: 'The model could not answer: bad key\nSend a message to try again.' });
  render(<MessageView message={message} tree={aTree([])} onAnswer={nothing} onInspect={nothing} current={current} />);
  screen.getByText(words);
  expect(document.querySelectorAll('.failed')).toHaveLength(red);
});

it.each([
  ['work', 'alice cancelled Coder (Mend the build.)'],
  ['call', 'alice cancelled notes__add'],
  ['gone', 'alice cancelled gone'],
  [undefined, 'alice cancelled all work'],
])('a cancel of %s names what it stops', (task, text) => {
  const message = aMessage('m1', { role: 'User', user: 'alice', cancel: { task } });
  const tree = aTree([aTask('work', { spec: { instruction: 'Mend the build.\nThen test it.' } }), aTask('call', { spec: { type: 'Tool', role: undefined, tool: 'notes__add' } })]);
  render(
    <SiteContext value={site}>
      <MessageView message={message} tree={tree} onAnswer={() => undefined} onInspect={() => undefined} />
    </SiteContext>,
  );
  screen.getByText(text);
});
