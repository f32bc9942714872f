// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { Empty } from './Empty';

afterEach(cleanup);

it('is the title of a page that shows nothing else', () => {
  render(<Empty page icon="chat" title="Chat not found" />);
  expect(screen.getByRole('heading', { level: 1, name: 'Chat not found' })).toBeTruthy();
});

it('is a part of a page that has a title', () => {
  render(<Empty icon="chat" title="No messages yet" />);
  expect(screen.getByRole('heading', { level: 2, name: 'No messages yet' })).toBeTruthy();
});
