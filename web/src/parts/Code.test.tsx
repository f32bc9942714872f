// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Code } from './Code';

afterEach(cleanup);

describe('code', () => {
  it('is coloured if its language is known, and says the same as before', async () => {
    const { container } = render(<Code text={'func main() { s := "<b>x</b>" }'} language="go title=main.go" />);
    await vi.waitFor(() => expect(container.querySelector('.hljs-keyword')?.textContent).toBe('func'), 60_000);
    expect(container.querySelector('code')?.textContent).toBe('func main() { s := "<b>x</b>" }');
    expect(container.querySelector('b')).toBeNull();
  });

  it('is plain in a language that nobody knows, or if it is long', async () => {
    const { container } = render(<Code text="x" language="klingon" />);
    const long = 'var x = 1\n'.repeat(10_000);
    const other = render(<Code text={long} language="go" />).container;
    render(<Code text="var y = 2" language="go" label="Known" />);
    await vi.waitFor(() => expect(document.querySelector('[aria-label=Known] span')).not.toBeNull(), 60_000);
    expect(container.querySelector('code span')).toBeNull();
    expect(other.querySelector('code span')).toBeNull();
    expect(other.querySelector('code')?.textContent).toBe(long);
  });

  it('is copied with invisible characters as escapes', async () => {
    const writeText = vi.fn().mockResolvedValue(undefined);
    vi.stubGlobal('navigator', { clipboard: { writeText } });
    render(<Code text={'rm \u202e notes\nls'} />);
    fireEvent.click(screen.getByRole('button', { name: 'Copy code' }));
    await screen.findByRole('button', { name: 'Copied' });
    expect(writeText).toHaveBeenCalledWith('rm \\u202e notes\nls');
    vi.unstubAllGlobals();
  });

  it('says so if the browser does not allow to copy', async () => {
    vi.stubGlobal('navigator', {});
    render(<Code text="x" />);
    fireEvent.click(screen.getByRole('button', { name: 'Copy code' }));
    await screen.findByRole('button', { name: 'The browser does not allow it' });
    vi.unstubAllGlobals();
  });
});
