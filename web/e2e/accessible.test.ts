// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { findings } from './axe';
import { visit } from './browser';
import { answered, begin, decide, inspect } from './talk';
import { browser, open, stack } from './world';

open();

describe.each([
  { theme: 'light', width: 1360 },
  { theme: 'dark', width: 1360 },
  { theme: 'light', width: 390 },
] as const)('in $theme at $width pixels', ({ theme, width }) => {
  let page: Page;
  const looks = { colorScheme: theme, viewport: { width, height: 844 }, reducedMotion: 'reduce' } as const;

  beforeAll(async () => {
    page = await visit(browser, await stack.open('alice', 'alice'), looks);
  });

  it('every state is accessible', async () => {
    const found: Record<string, string[]> = {};
    const check = async (state: string) => {
      const all = await findings(page);
      if (all.length > 0) found[state] = all;
    };
    const menu = async () => width < 860 && (await page.getByRole('button', { name: 'Show chats' }).click());
    await page.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    await check('home');
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByRole('dialog', { name: 'New chat' }).getByLabel('Workspace').selectOption('A git repository');
    await page.getByText('YAML', { exact: true }).click();
    await check('options of a new chat');
    await page.keyboard.press('Escape');
    await menu();
    await begin(page, 'Write a note about the release.');
    await page.getByRole('region', { name: 'Approval of notes__add' }).waitFor({ timeout: 120_000 });
    await check('a request');
    await inspect(page, 'Scribe');
    await page.getByRole('log', { name: 'Transcript' }).getByText('Assignment').waitFor();
    await page.locator('.inspector .tool-head').first().click();
    await check('the inspector');
    await page.getByRole('button', { name: 'Close inspector' }).click();
    await decide(page.getByRole('region', { name: 'Approval of notes__add' }), 'Deny');
    await answered(page, 'was not allowed');
    await check('an answer');
    await page.keyboard.press('Control+k');
    await page.getByRole('option').first().waitFor();
    await check('the palette');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'More' }).click();
    await check('the menu of a chat');
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await check('a new title');
    await page.keyboard.press('Escape');
    for (const view of ['Timeline', 'Usage']) {
      await page.getByRole('group', { name: 'View' }).getByRole('link', { name: view }).click();
      await page.locator(`.${view.toLowerCase()}`).first().waitFor();
      await check(view);
      if (view === 'Timeline') {
        await page.getByText('Show the segments').click();
        await check('the segments');
        await page.getByRole('region', { name: 'Segments' }).getByRole('button', { name: /^Waits for your approval/ }).first().click();
        await page.getByRole('dialog').locator('.tool-head').first().waitFor();
        await check('a segment');
        await page.getByRole('button', { name: 'Close', exact: true }).click();
      }
    }
    await stack.create('alice', 'AgentTask', 'alice', `waits-${theme}-${width}`, { type: 'Agent', role: 'scribe', instruction: 'Write a note about the release.', user: 'alice' });
    await stack.create('alice', 'AgentTask', 'alice', `asks-${theme}-${width}`, { type: 'Agent', role: 'researcher', instruction: 'Ask for the year.', user: 'alice' });
    await menu();
    await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: /^Runs/ }).click();
    await page.locator('.inbox-run .approval').first().waitFor({ timeout: 120_000 });
    await page.locator('.inbox-run .question textarea').first().waitFor({ timeout: 120_000 });
    await check('runs');
    await page.getByRole('link', { name: `waits-${theme}-${width}`, exact: true }).click();
    await page.locator('.run .approval').waitFor();
    await check('a run');
    for (const place of ['Roles', 'Models', 'Tools', 'Triggers', 'Usage']) {
      await menu();
      await page.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: place }).click();
      await page.locator('.panel, .card').first().waitFor();
      await check(place);
    }
    expect(found).toEqual({});
  });
});

it('the pages of those who cannot come in are accessible', async () => {
  const { url } = await stack.tokens();
  const outside = await visit(browser, url);
  await outside.getByRole('heading', { name: 'Sign in to Nestor' }).waitFor();
  expect(await findings(outside)).toEqual([]);
  const nobody = await visit(browser, await stack.open('nobody', 'alice'));
  await nobody.getByRole('alert').waitFor();
  expect(await findings(nobody)).toEqual([]);
});
