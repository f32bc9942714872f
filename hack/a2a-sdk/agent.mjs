// A remote agent on the A2A SDK for JavaScript, for tests. It asks for the city and then tells its weather; a message that begins with
// "work" is worked on until it is cancelled. Every event that matters to a test is a line on standard error.
import { randomUUID } from "node:crypto";

import { AGENT_CARD_PATH, Role, TaskState } from "@a2a-js/sdk";
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from "@a2a-js/sdk/server";
import { UserBuilder, agentCardHandler, jsonRpcHandler, restHandler } from "@a2a-js/sdk/server/express";
import express from "express";

const rest = process.argv.includes("--rest");
const streaming = !process.argv.includes("--no-streaming");
const card = {
  name: "Weather",
  description: "Knows the weather.",
  version: "1",
  supportedInterfaces: [{ url: "http://agent.internal.invalid/a2a", protocolBinding: rest ? "HTTP+JSON" : "JSONRPC", protocolVersion: "1.0", tenant: "" }],
  capabilities: { streaming, pushNotifications: false, extensions: [] },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "weather", name: "Weather", description: "Tells the weather.", tags: ["weather"], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
};

const part = (value) => ({ content: { $case: "text", value }, metadata: undefined, filename: "", mediaType: "" });
const agentMessage = (context, value) => ({
  messageId: randomUUID(), contextId: context.contextId, taskId: context.taskId, role: Role.ROLE_AGENT, parts: [part(value)], metadata: undefined, extensions: [], referenceTaskIds: [],
});

class Agent {
  contexts = new Map();

  async execute(context, bus) {
    const text = context.userMessage.parts.map((p) => p.content?.value ?? "").join("");
    process.stderr.write(`message: ${context.userMessage.messageId} ${context.task ? "answer" : "task"}\n`);
    this.contexts.set(context.taskId, context);
    const status = (state, message) => ({ state, message, timestamp: new Date().toISOString() });
    const update = (state, message) => bus.publish(AgentEvent.statusUpdate({ taskId: context.taskId, contextId: context.contextId, status: status(state, message), metadata: undefined }));
    const task = context.task ?? { id: context.taskId, contextId: context.contextId, artifacts: [], history: [context.userMessage], metadata: undefined };
    bus.publish(AgentEvent.task({ ...task, status: status(TaskState.TASK_STATE_WORKING, undefined) }));
    if (!context.task && text.startsWith("work")) {
      return; // until it is cancelled
    }
    if (!context.task) {
      update(TaskState.TASK_STATE_INPUT_REQUIRED, agentMessage(context, "Which city?"));
      bus.finished();
      return;
    }
    for (const [i, words] of ["It is sunny", ` in ${text}.`].entries()) {
      const artifact = { artifactId: "weather", name: "", description: "", parts: [part(words)], metadata: undefined, extensions: [] };
      bus.publish(AgentEvent.artifactUpdate({ taskId: context.taskId, contextId: context.contextId, artifact, append: i > 0, lastChunk: i > 0, metadata: undefined }));
    }
    update(TaskState.TASK_STATE_COMPLETED, undefined);
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    process.stderr.write(`cancelled: ${taskId}\n`);
    const context = this.contexts.get(taskId);
    bus.publish(AgentEvent.statusUpdate({
      taskId, contextId: context.contextId, status: { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: new Date().toISOString() }, metadata: undefined,
    }));
    bus.finished();
  }
}

const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Agent());
const app = express();
app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/a2a", (rest ? restHandler : jsonRpcHandler)({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
app.listen(0);
