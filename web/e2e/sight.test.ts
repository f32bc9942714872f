// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { findings } from './axe';
import { answered, begin, say } from './talk';
import { alice, open, stack } from './world';

open({ reducedMotion: 'reduce' }, /status of (403|404)/);

const timeout = 120_000;
const address = (path: string) => new URL(path, alice.url()).href;

describe('what waits', () => {
  it('is pointed at only while it is out of sight', { timeout }, async () => {
    await begin(alice, 'Write a note about the release.');
    const request = alice.getByRole('region', { name: 'Approval of notes__add' });
    const banner = alice.locator('.waiting-banner');
    await request.getByRole('button', { name: 'Approve', exact: true }).waitFor({ timeout });
    await banner.waitFor({ state: 'detached' });
    await alice.setViewportSize({ width: 1360, height: 420 });
    await alice.locator('.conversation').evaluate((box) => box.scrollTo({ top: 0 }));
    await banner.getByText('Scribe requests approval to run notes__add').waitFor();
    await banner.getByRole('button', { name: 'Review' }).click();
    await banner.waitFor({ state: 'detached' });
    await alice.setViewportSize({ width: 1360, height: 860 });
    await alice.getByRole('link', { name: 'Timeline' }).click();
    await banner.getByRole('button', { name: 'Review' }).click();
    await request.waitFor();
  });

  it('names the agent in the inbox as the chat does', { timeout }, async () => {
    await alice.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: /^Runs/ }).click();
    await alice.locator('.inbox-run', { hasText: 'write-a-note' }).getByText('Scribe requests approval to run notes__add').waitFor({ timeout });
    await alice.goBack();
  });

  it('is one line once it is decided, and shows the call on request', { timeout }, async () => {
    const request = alice.getByRole('region', { name: 'Approval of notes__add' });
    await request.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    await alice.locator('body').press('w');
    await request.press('a');
    await request.getByText('Approved by alice').waitFor({ timeout });
    await request.locator('.arguments').waitFor({ state: 'detached' });
    expect(await request.evaluate((card) => card.scrollWidth - card.clientWidth)).toBe(0);
    await request.locator('.fold').click();
    expect(await request.locator('.arguments').innerText()).toContain('budgets hold for a whole tree');
    await request.getByRole('button', { name: 'Hide the call' }).click();
    await request.locator('.arguments').waitFor({ state: 'detached' });
  });

  it('stays in the timeline as a wait, which opens the call', { timeout }, async () => {
    await answered(alice, /./, timeout);
    await alice.getByRole('link', { name: 'Timeline' }).click();
    const wait = alice.locator('.timeline .part.of-user').last();
    await wait.waitFor({ timeout });
    await wait.click();
    const dialog = alice.getByRole('dialog', { name: 'Scribe: Waits for your approval: notes__add' });
    await dialog.getByText('budgets hold for a whole tree').first().waitFor();
    await dialog.getByText('Approved').first().waitFor();
    await alice.keyboard.press('Escape');
    await alice.getByText('Show the segments').click();
    await alice.getByRole('region', { name: 'Segments' }).getByRole('button', { name: 'Tool call: notes__add' }).first().waitFor();
    await alice.getByRole('link', { name: 'Chat', exact: true }).click();
  });
});

describe('a long message', () => {
  it('is folded, and complete when it is unfolded', { timeout }, async () => {
    const lines = Array.from({ length: 60 }, (_, i) => `Line ${i + 1} of a log.`).join('\n');
    await begin(alice, 'What is 17 * 23?');
    await answered(alice, '391', timeout);
    await say(alice, lines);
    const bubble = alice.locator('.bubble', { hasText: 'Line 60 of a log.' });
    const height = () => bubble.evaluate((box) => box.getBoundingClientRect().height);
    await bubble.getByRole('button', { name: 'Show all' }).waitFor();
    expect(await height()).toBeLessThan(400);
    await bubble.getByRole('button', { name: 'Show all' }).click();
    expect(await height()).toBeGreaterThan(900);
  });
});

describe('a run that cannot start', () => {
  it('says why in the inbox and on its page, and a phone can cancel it', { timeout }, async () => {
    await stack.create('alice', 'AgentTask', 'alice', 'stuck', { type: 'Agent', role: 'unheard-of', instruction: 'Do it.', user: 'alice' });
    await alice.goto(address('/alice/runs?state=failed'));
    const item = alice.locator('.inbox-run', { hasText: 'stuck' });
    await item.getByText('Create the AgentRole "unheard-of"').waitFor({ timeout });
    await item.locator('.badge', { hasText: 'Cannot start' }).waitFor();
    await alice.setViewportSize({ width: 390, height: 844 });
    await alice.getByRole('link', { name: 'stuck', exact: true }).click();
    await alice.getByText('Cannot start.').waitFor();
    await alice.locator('.run-head .badge', { hasText: 'Cannot start' }).waitFor();
    expect(await findings(alice)).toEqual([]);
    expect(await alice.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await alice.getByRole('button', { name: 'Cancel this run' }).click();
    await alice.locator('.run-head .badge', { hasText: 'Cancelled' }).waitFor({ timeout });
    await alice.setViewportSize({ width: 1360, height: 860 });
  });
});

describe('a low window', () => {
  it('has room for the chats beside the other places', async () => {
    await alice.setViewportSize({ width: 680, height: 430 }); // 1360 × 860 at 200 %
    await alice.goto(address('/alice'));
    await alice.getByRole('button', { name: 'Show chats' }).click();
    const list = await alice.locator('.chat-list').evaluate((box) => box.clientHeight);
    expect(list).toBeGreaterThan(100);
    await alice.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name: 'Usage' }).click();
    await alice.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
    await alice.setViewportSize({ width: 1360, height: 860 });
  });
});

describe('an address that leads nowhere', () => {
  it('says so', async () => {
    await alice.goto(address('/alice/whatever'));
    await alice.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
    await alice.getByRole('link', { name: 'To the start page' }).click();
    await alice.getByRole('heading', { name: 'What should your agents do?' }).waitFor();
    await alice.goto(address('/alice/chats/nope'));
    await alice.getByText('nope does not exist in alice, or it was deleted.').waitFor();
  });
});
