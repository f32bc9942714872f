// The same work with any client of the MCP door: a question, an approval, a failure, an abort and a retry.
import assert from 'node:assert/strict';

const { NESTOR_STEPS } = process.env;
const step = async (name) => assert.ok((await fetch(`${NESTOR_STEPS}/${name}`)).ok);

// form answers a form as a person would: a question about the version, or a decision.
let version = '1.2';
export const form = (params) => {
  const { decision } = params.requestedSchema.properties;
  return { action: 'accept', content: decision ? { decision: 'approve' } : { answer: version } };
};

// exercise runs all steps. call calls a tool and returns its result.
export async function exercise(call) {
  const run = (instruction, signal) => call('run_agent', { role: 'releaser', instruction }, signal);
  const text = (result) => result.content.map((part) => part.text ?? '').join('');

  // A question and an approval.
  let result = await run('Release the notes');
  assert.match(text(result), /Released the notes: wrote notes-1\.2\./);

  // A failure.
  result = await run('Give up');
  assert.ok(result.isError);
  assert.match(text(result), /It cannot be done/);

  // An abort while the tool runs.
  version = '1.3';
  await step('hold');
  const controller = new AbortController();
  const aborted = assert.rejects(async () => run('Release the notes', controller.signal));
  await step('entered');
  controller.abort();
  await aborted;
  await step('release');

  // A run that cannot start yet, and its state again and again.
  result = await call('run_agent', { role: 'waits', instruction: 'Say hello' });
  assert.match(text(result), /cannot start yet/);
  const [, task] = /task (\S+) cannot start yet/.exec(text(result));
  for (let i = 0; i < 2; i++) assert.match(text(await call('get_task', { task })), /ProviderNotFound/);
}
