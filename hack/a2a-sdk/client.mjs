// A client on the A2A SDK for JavaScript, for tests. It starts a release, answers the question, approves the call and prints the result.
// Usage: node client.mjs URL BINDING, with the token in NESTOR_TOKEN.
import { randomUUID } from "node:crypto";

import { Role, TaskState } from "@a2a-js/sdk";
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from "@a2a-js/sdk/client";

const [url, binding] = process.argv.slice(2);
const fetchImpl = (input, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${process.env.NESTOR_TOKEN}`);
  return fetch(input, { ...init, headers });
};
const factory = new ClientFactory({
  transports: [binding === "JSONRPC" ? new JsonRpcTransportFactory({ fetchImpl }) : new RestTransportFactory({ fetchImpl })],
  preferredTransports: [binding],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});
const client = await factory.createFromUrl(url);
console.log(`card: ${(await client.getAgentCard()).name}`);

// request returns a message; data is what it replies to, which a decision needs.
const request = (value, task, data) => ({
  tenant: "",
  configuration: undefined,
  metadata: undefined,
  message: {
    messageId: randomUUID(), contextId: task?.contextId ?? "", taskId: task?.id ?? "", role: Role.ROLE_USER, metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [
      { content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" },
      ...(data ? [{ content: { $case: "data", value: data }, metadata: undefined, filename: "", mediaType: "" }] : []),
    ],
  },
});
let task;
let text = "";
let state;
let asked;
// say sends a message, and follows the events of its stream.
async function say(value) {
  for await (const { payload } of client.sendMessageStream(request(value, task, asked))) {
    if (payload.$case === "task") {
      task = payload.value;
      state = task.status.state;
    } else if (payload.$case === "statusUpdate") {
      state = payload.value.status.state;
      const parts = payload.value.status.message?.parts ?? [];
      const words = parts.map((p) => (p.content.$case === "text" ? p.content.value : "")).join("");
      const data = parts.find((p) => p.content.$case === "data")?.content.value;
      asked = data?.kind === "approval" ? { ask: data.ask, digest: data.digest } : undefined;
      if (words) console.log(`asked: ${words}`);
    } else if (payload.$case === "artifactUpdate") {
      const words = payload.value.artifact.parts.map((p) => p.content.value).join("");
      text = payload.value.append ? text + words : words;
    }
  }
}

for (const value of ["Release the notes", "1.2", "approve"]) {
  await say(value);
}
if (state !== TaskState.TASK_STATE_COMPLETED) throw new Error(`the task ended as ${TaskState[state]}`);
const read = await client.getTask({ tenant: "", id: task.id, historyLength: undefined });
const whole = read.artifacts.flatMap((a) => a.parts.map((p) => p.content.value)).join("");
if (whole !== text) throw new Error(`streamed ${text}, the task has ${whole}`);
console.log(`result: ${text}`);
