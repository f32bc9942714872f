// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
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

it.each([
  ['work', 'alice cancelled Coder (Mend the build.)'],
  ['call', 'alice cancelled notes__add'],
  ['gone', 'alice cancelled gone'],
  [undefined, 'alice cancelled all work'],
])('a cancel of %s names what it stops', (task, text) => {
  const message = aMessage('m1', { role: 'User', user: 'alice', cancel: { task } });
  const tree = aTree([aTask('work', { spec: { instruction: 'Mend the build.\nThen test it.' } }), aTask('call', { spec: { type: 'Tool', role: undefined, tool: 'notes__add' } })]);
  const site = { roles: () => ({ name: 'coder', displayName: 'Coder' }) } as unknown as Site;
  render(
    <SiteContext value={site}>
      <MessageView message={message} tree={tree} onAnswer={() => undefined} onInspect={() => undefined} />
    </SiteContext>,
  );
  screen.getByText(text);
});
