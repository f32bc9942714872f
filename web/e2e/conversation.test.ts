// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { look } from './look';
import { answered, badge, begin, inspect, say, task } from './talk';
import { alice, open, stack } from './world';

open({ permissions: ['clipboard-read', 'clipboard-write'], reducedMotion: 'reduce' });

const clipboard = () => alice.evaluate(() => navigator.clipboard.readText());

describe('an answer', () => {
  it('has coloured code, tables that keep their words, tasks, and buttons to copy', async () => {
    await begin(alice, 'Show me code');
    await answered(alice, 'Done as far as it goes.');
    const answer = alice.getByRole('article', { name: 'Assistant', exact: true }).last();
    await answer.locator('.hljs-keyword', { hasText: 'func' }).waitFor();
    await answer.locator('.hljs-comment', { hasText: '# one for each zone' }).waitFor();
    // The words of a table are whole: a cell is as wide as its longest word.
    const broken = await answer.locator('td code').evaluateAll((cells) => cells.filter((cell) => cell.getClientRects().length > 1).length);
    expect(broken).toBe(0);
    expect(await answer.locator('li.todo input').evaluateAll((boxes) => boxes.map((box) => (box as HTMLInputElement).checked))).toEqual([true, false]);
    await answer.locator('.code-frame').first().hover();
    await answer.getByRole('button', { name: 'Copy code' }).first().click();
    await answer.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await clipboard()).toContain('// Serve answers with a greeting.\nfunc Serve(');
    await answer.getByRole('button', { name: 'Copy the answer' }).click();
    await alice.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith('The handler and its test'));
    await look(alice, 'conversation-answer');
  });

  it('is in sight when its question was sent from further up', async () => {
    await alice.setViewportSize({ width: 1360, height: 500 });
    const scrolledUp = async () => {
      await alice.locator('.conversation').evaluate((box) => box.scrollTo({ top: 0 }));
      return alice.getByRole('button', { name: 'Latest' }).isVisible();
    };
    await expect.poll(scrolledUp, { timeout: 120_000 }).toBe(true); // the page follows its end until it has the new size
    await say(alice, 'What is 17 * 23?');
    await alice.locator('.bubble', { hasText: '17 * 23' }).waitFor();
    // The answer comes soon, so that the end counts, not the message itself.
    await alice.waitForFunction(() => {
      const box = document.querySelector('.conversation')!;
      return box.scrollHeight - box.scrollTop - box.clientHeight < 80;
    });
    await answered(alice, '391');
    await alice.getByRole('button', { name: 'Latest' }).waitFor({ state: 'detached' });
    await alice.setViewportSize({ width: 1360, height: 860 });
  });

  it('that fails says why in words, and the message is sent again or changed', async () => {
    await begin(alice, 'Use the wrong key');
    await alice.getByText('The model provider does not accept the API key. Check the Secret that the ModelProvider names.').waitFor({ timeout: 120_000 });
    const details = alice.locator('.turn-failed').getByText('Incorrect API key provided');
    expect(await details.isVisible()).toBe(false);
    await look(alice, 'conversation-failed');
    await alice.locator('.turn-failed summary').click();
    await details.waitFor();
    await alice.locator('.turn-failed').getByRole('button', { name: 'Retry' }).click();
    await answered(alice, 'The key works now.');
    expect(await alice.locator('.bubble', { hasText: 'Use the wrong key' }).count()).toBe(2);

    await alice.locator('.message.user').last().getByRole('button', { name: 'Edit' }).click();
    await expect.poll(() => alice.locator('.composer textarea').inputValue(), { timeout: 120_000 }).toBe('Use the wrong key');
    await alice.getByText('It is sent as a new message.').waitFor();
    await say(alice, 'Use the right key');
    await alice.locator('.bubble', { hasText: 'Use the right key' }).waitFor();
    expect(await alice.locator('.bubble', { hasText: 'Use the wrong key' }).count()).toBe(2);
    expect(await alice.locator('.composer .editing').count()).toBe(0);
  });
});

describe('a reply that is stopped', () => {
  it('stays as far as it had arrived, for everybody and after a reload', async () => {
    await stack.fault('model', 'held');
    await begin(alice, 'Tell a long story');
    await alice.getByRole('article', { name: 'The assistant is writing' }).getByText('Once upon a time').waitFor();
    await alice.getByRole('button', { name: 'Stop all work of this chat' }).click();
    const kept = alice.getByRole('article', { name: 'Assistant', exact: true }).filter({ hasText: 'Once upon a time' });
    await kept.getByText('Stopped. This is what had arrived.').waitFor({ timeout: 120_000 });
    await stack.fault('model', 'up');
    await alice.getByRole('article', { name: 'The assistant is writing' }).waitFor({ state: 'detached' });
    expect(await alice.locator('.message.assistant').count()).toBe(1);
    await look(alice, 'conversation-stopped');
    await alice.reload();
    await kept.getByText('Stopped. This is what had arrived.').waitFor();
    expect(await alice.locator('.message.assistant').count()).toBe(1);
    expect(await kept.innerText()).not.toContain('the last page of the last book');
  });
});

describe('a running agent', () => {
  it('shows what it writes in its block, beside the others', async () => {
    await begin(alice, 'Think in parallel');
    await alice.locator('.live', { hasText: 'The tides follow' }).waitFor({ timeout: 120_000 });
    await alice.locator('.live', { hasText: 'The stars turn' }).waitFor();
    // The page subscribes again when an agent ends, and gets the beginning of the other reply once more.
    await badge(alice.locator('section.task', { hasText: 'Ponder the tides' }), 'Done');
    const stars = alice.locator('.live', { hasText: 'The stars turn' });
    await stars.getByText('In winter the hunter').waitFor();
    expect((await stars.innerText()).split('The stars turn')).toHaveLength(2);
    await answered(alice, 'Both have thought about it.');
    await alice.locator('.live').first().waitFor({ state: 'detached' });
  });

  it('can be looked at while it writes', async () => {
    await begin(alice, 'Think in parallel');
    await alice.locator('.live', { hasText: 'The tides follow' }).waitFor({ timeout: 120_000 });
    await look(alice, 'conversation-live'); // on a slow machine the agents end meanwhile
  });

  it('shows the progress of its tools', async () => {
    await begin(alice, 'Index the notes');
    await alice.getByRole('progressbar', { name: 'Progress of notes__index' }).waitFor({ timeout: 120_000 });
    await alice.locator('.tool-progress', { hasText: /\d+\/10 reading notes/ }).waitFor();
    await look(alice, 'conversation-progress');
    await answered(alice, 'The notes have an index.');
    await alice.getByRole('progressbar').first().waitFor({ state: 'detached' });
  });
});

describe('changes of files', () => {
  it('are diffs before they are approved, and afterwards', async () => {
    await alice.locator('.chat-item', { hasText: 'project' }).click();
    await say(alice, 'Change the greeting');
    const patch = alice.getByRole('region', { name: 'Approval of patch' });
    await patch.waitFor({ timeout: 120_000 });
    await patch.locator('.diff-line.removed', { hasText: 'echo "Hello, $1"' }).waitFor();
    await patch.locator('.diff-line.added', { hasText: 'echo "Good morning, $1"' }).waitFor();
    expect(await patch.locator('.diff-line.added mark').last().innerText()).toBe('Good morning');
    await look(alice, 'conversation-patch');
    await patch.getByRole('button', { name: 'Approve' }).click();
    const write = alice.getByRole('region', { name: 'Approval of write' });
    await write.locator('.diff-line.added', { hasText: 'It is <b>polite</b> now.' }).waitFor({ timeout: 120_000 });
    await write.getByText('New file: at').waitFor();
    await write.getByRole('button', { name: 'Approve' }).click();
    await answered(alice, 'The greeting has changed.');
    await inspect(alice, 'Builder');
    await alice.locator('.inspector .tool-head', { hasText: 'patch' }).click();
    await alice.locator('.inspector .diff-line.removed', { hasText: 'Hello' }).waitFor();
    await look(alice, 'conversation-inspector');
    await alice.getByRole('button', { name: 'Close inspector' }).click();
  });

  it('are collected in the tab Changes', async () => {
    await alice.getByRole('group', { name: 'View' }).getByRole('link', { name: 'Changes' }).click();
    const changes = alice.getByRole('region', { name: 'Changes', exact: true });
    await changes.getByRole('heading', { name: '2 files changed' }).waitFor();
    await changes.getByText('Read from the running workspace').waitFor();
    const greet = changes.locator('.changed-file', { hasText: 'greet.sh' });
    await greet.locator('.diff-line.removed', { hasText: 'echo "Hello, $1"' }).waitFor();
    await greet.locator('.diff-line.added', { hasText: 'echo "Good morning, $1"' }).waitFor();
    await changes.locator('.changed-file.added', { hasText: 'docs/greeting.md' }).getByText('It is <b>polite</b> now.').waitFor();
    await look(alice, 'conversation-changes');
    const [saved] = await Promise.all([alice.waitForEvent('download'), changes.getByRole('link', { name: 'Download the patch' }).click()]);
    expect(saved.suggestedFilename()).toBe('chat.project.patch');
    expect(readFileSync(await saved.path(), 'utf8')).toContain('+echo "Good morning, $1"');
    await alice.reload();
    await changes.getByRole('heading', { name: '2 files changed' }).waitFor();
    await alice.getByRole('group', { name: 'View' }).getByRole('link', { name: 'Chat' }).click();
  });

  it('that an agent only claims are marked as claims', async () => {
    await task(alice, 'Builder').locator('.task-toggle').click();
    await alice.getByText('The agent claims that 5 of 5 tests passed. No tool result shows this.').waitFor();
    expect(await alice.locator('.tests.passed').count()).toBe(0);
  });
});

describe('an allowance', () => {
  it('decides later calls that match, and no others, until it is revoked', async () => {
    await begin(alice, 'Write three notes');
    const first = alice.getByRole('region', { name: 'Approval of notes__add' }).filter({ hasText: 'harbour/one' });
    await first.waitFor({ timeout: 120_000 });
    await first.getByText('Allow this tool for this chat').click();
    await first.getByRole('checkbox', { name: 'title' }).check();
    expect(await first.getByLabel('Pattern of title').inputValue()).toBe('harbour/*');
    await look(alice, 'conversation-allow');
    await first.getByRole('button', { name: 'Approve and allow these calls' }).click();
    // The second note matches and is written without asking; the third one does not.
    const third = alice.getByRole('region', { name: 'Approval of notes__add' }).filter({ hasText: 'secret/three' });
    await third.waitFor({ timeout: 120_000 });
    expect(await alice.getByRole('region', { name: 'Approval of notes__add' }).filter({ hasText: 'harbour/two' }).count()).toBe(0);
    await first.getByText('Approved by alice, and allowed for this chat').waitFor();
    await alice.getByText('1 allowance in this chat').click();
    await alice.getByRole('list', { name: 'Allowances' }).getByText('alice allowed calls of notes__add with title harbour/*').waitFor();
    await look(alice, 'conversation-allowances');
    await alice.getByRole('button', { name: 'Revoke calls of notes__add with title harbour/*' }).click();
    await alice.getByText('alice revoked the allowance').waitFor();
    await alice.locator('.allowances').waitFor({ state: 'detached', timeout: 120_000 });
    await third.getByText('Edit the arguments').click();
    const edited = third.getByLabel('Arguments', { exact: true });
    await edited.fill((await edited.inputValue()).replace('secret/three', 'public/three'));
    await third.getByRole('region', { name: "Difference to the model's arguments" }).waitFor();
    await look(alice, 'conversation-edit', edited);
    await third.getByRole('button', { name: 'Approve with these arguments' }).click();
    await answered(alice, 'The three notes are written.');
    await inspect(alice, 'Scribe');
    await alice.locator('.inspector .tool-head', { hasText: 'harbour/two' }).click();
    await alice.locator('.inspector').getByText('Allowed for this chat by alice').waitFor();
    await alice.locator('.inspector .tool-head', { hasText: 'public/three' }).click();
    await alice.locator('.inspector').getByRole('heading', { name: 'Changed input' }).waitFor();
    await alice.getByRole('button', { name: 'Close inspector' }).click();
  });
});
