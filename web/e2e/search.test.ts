// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { look } from './look';
import { begin } from './talk';
import { alice, open } from './world';

open();

const timeout = 120_000;

const search = async (words: string) => {
  await alice.keyboard.press('Escape'); // leave the input
  await alice.keyboard.press('Control+k');
  await alice.getByRole('combobox', { name: 'Page, chat, run, role or text' }).fill(words);
};

describe('full-text search', () => {
  it('leads to what a person wrote, in the transcript of the chat', async () => {
    await begin(alice, 'Summarise what was released this year.');
    await alice.locator('.question, .waiting').first().waitFor({ timeout });
    await alice.getByRole('link', { name: 'New chat' }).first().click();
    await search('what WAS releas');
    const option = alice.getByRole('option').filter({ has: alice.locator('mark') }).filter({ hasText: 'Summarise what was released this year.' });
    await option.first().waitFor();
    expect(await option.first().locator('mark').allInnerTexts()).toEqual(['what', 'was', 'released']);
    await look(alice, 'search-results');
    await option.first().click();
    await alice.waitForURL(/agent=%40&entry=\d+/);
    const found = alice.getByRole('complementary', { name: /^Inspector of/ }).locator('.transcript-row.found');
    await found.filter({ hasText: 'Summarise what was released this year.' }).first().waitFor();
    await look(alice, 'search-found');
  });

  it('leads to what an agent asked, with the keyboard alone', async () => {
    await search('which year');
    await alice.getByRole('option').filter({ has: alice.locator('mark', { hasText: 'Which' }) }).first().waitFor();
    await alice.keyboard.press('ArrowUp'); // the last one, which is a text
    await alice.keyboard.press('Enter');
    await alice.waitForURL(/agent=[^&]+&entry=\d+/);
    await alice.locator('.transcript-row.found').filter({ hasText: 'Which year' }).first().waitFor();
  });

  it('finds nothing for other words', async () => {
    await search('xylophone" OR NEAR(');
    await alice.getByText('Nothing has this name.').waitFor();
    await look(alice, 'search-nothing');
    await alice.keyboard.press('Escape');
  });
});
