// A client of AG-UI from before interrupts: a question and an approval are messages, and so are the replies.
import assert from 'node:assert/strict';
import { HttpAgent } from 'ag-ui-client-0';

const { NESTOR_URL, NESTOR_TOKEN, NESTOR_NAMESPACE } = process.env;
const headers = { Authorization: `Bearer ${NESTOR_TOKEN}` };
const agent = new HttpAgent({ url: `${NESTOR_URL}/ag-ui/${NESTOR_NAMESPACE}/releaser`, headers });
const say = async (id, content) => {
  agent.addMessage({ id, role: 'user', content });
  await agent.runAgent({});
  return agent.messages.filter((message) => message.role === 'assistant' && message.content).at(-1).content;
};
assert.equal(await say('1', 'Release the notes'), 'Which version?');
assert.match(await say('2', '1.2'), /box__write/);
assert.match(await say('3', 'approve'), /Released the notes: wrote notes-1\.2\./);
console.log('ok');
