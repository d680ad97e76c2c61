// The AI SDK through the provider that is named: what it makes of each script. One line of JSON for each of the cases,
// which are the names of the models that are asked.

import process from "node:process";
import { parseArgs } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import * as ai from "ai";
import { z } from "zod";

const KEY = { apiKey: "none" };
const PROVIDERS = {
  gateway: () => ai.createGateway(KEY),
  chat: () => createOpenAI(KEY).chat,
  responses: () => createOpenAI(KEY).responses,
  anthropic: () => createAnthropic(KEY),
};
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
const silent = { onError() {} };

function tool(name) {
  const inputSchema = z.object({ city: z.string() });
  return ai.tool({ inputSchema, execute: ({ city }) => `${name} of ${city}` });
}

const tools = { weather: tool("weather"), time: tool("time") };
const steps = { tools, stopWhen: ai.stepCountIs(3) };
const score = ai.Output.object({ schema: z.object({ score: z.number() }) });
const result = ai.Output.object({ schema: z.object({ result: z.number() }) });

const image = [
  {
    role: "user",
    content: [
      { type: "text", text: "What is this?" },
      { type: "image", image: Buffer.from(PNG, "base64"), mediaType: "image/png" },
    ],
  },
];

// Each step's calls with their results, and the text at the end.
async function stepped(given) {
  const found = (await given.steps).map((step) =>
    step.toolResults.map(({ toolName, input, output }) => [toolName, input.city, output]),
  );
  return { steps: found, text: await given.text, finishReason: await given.finishReason };
}

function told({ inputTokens, outputTokens, totalTokens, inputTokenDetails, outputTokenDetails }) {
  const { cacheReadTokens } = inputTokenDetails;
  return { inputTokens, outputTokens, totalTokens, cacheReadTokens, reasoningTokens: outputTokenDetails.reasoningTokens };
}

const CASES = {
  async text(ask) {
    const { text, usage, finishReason, toolCalls } = await ai.generateText(ask);
    return { text, usage: told(usage), finishReason, toolCalls };
  },
  async streamed(ask) {
    const found = ai.streamText(ask);
    const pieces = [];
    for await (const piece of found.textStream) pieces.push(piece);
    return { pieces, usage: told(await found.usage), finishReason: await found.finishReason };
  },
  async tools(ask) {
    return stepped(await ai.generateText({ ...ask, ...steps }));
  },
  async "streamed tools"(ask) {
    return stepped(ai.streamText({ ...ask, ...steps }));
  },
  async object(ask) {
    return (await ai.generateText({ ...ask, output: score })).output;
  },
  async "streamed object"(ask) {
    const found = ai.streamText({ ...ask, output: score });
    return found.output;
  },
  async generateObject(ask) {
    return (await ai.generateObject({ ...ask, schema: z.object({ score: z.number() }) })).object;
  },
  async result(ask) {
    return (await ai.generateText({ ...ask, output: result })).output;
  },
  async forced(ask) {
    const { toolCalls } = await ai.generateText({ ...ask, tools, toolChoice: { type: "tool", toolName: "time" } });
    return toolCalls.map(({ toolName, input }) => [toolName, input]);
  },
  async image({ prompt, ...ask }) {
    return (await ai.generateText({ ...ask, messages: image })).text;
  },
  async retried(ask) {
    return (await ai.generateText({ ...ask, maxRetries: 1 })).text;
  },
  async "retried stream"(ask) {
    return ai.streamText({ ...ask, ...silent, maxRetries: 1 }).text;
  },
  async overloaded(ask) {
    return (await ai.generateText({ ...ask, maxRetries: 1 })).text;
  },
  async denied(ask) {
    return (await ai.generateText({ ...ask, maxRetries: 1 })).text;
  },
  async broken(ask) {
    const found = ai.streamText({ ...ask, ...silent, maxRetries: 0 });
    let text = "";
    const errors = [];
    for await (const part of found.fullStream) {
      if (part.type === "text-delta") text += part.text;
      if (part.type === "error") errors.push(part.error.message ?? part.error);
    }
    return { text, errors: errors.map((error) => JSON.stringify(error)) };
  },
  async refused(ask) {
    return (await ai.generateText(ask)).finishReason;
  },
  async "refused stream"(ask) {
    return ai.streamText(ask).finishReason;
  },
};

// What only the gateway has.
const OF_GATEWAY = {
  async tagged({ prompt }, gateway) {
    const providerOptions = { gateway: { tags: ["other", "by tag"] } };
    return (await ai.generateText({ model: gateway("openai/unknown"), prompt, providerOptions })).text;
  },
  async "schema name"({ prompt }, gateway) {
    const output = ai.Output.object({ name: "Score", schema: z.object({ score: z.number() }) });
    return (await ai.generateText({ model: gateway("openai/unknown"), prompt, output })).output;
  },
  async "another provider"({ prompt }, gateway) {
    return (await ai.generateText({ model: gateway("azure/text"), prompt })).text;
  },
  async "another model after a failure"({ prompt }, gateway) {
    const given = { prompt, maxRetries: 0 };
    const failed = await ai.generateText({ ...given, model: gateway("first") }).catch((error) => error.message);
    return [failed, (await ai.generateText({ ...given, model: gateway("second") })).text];
  },
  async decided(_, gateway) {
    const model = gateway.decisionModel("typesafe-ai/jev");
    const questions = {
      polite: { type: "boolean", instructions: "Is it polite?" },
      tone: { type: "choice", instructions: "Which tone?", criteria: { warm: null, cold: null } },
      clarity: { type: "score", instructions: "How clear?", criteria: ["not", "very"] },
    };
    const state = { output: "Hello!" };
    const all = await ai.experimental_decide({ model, state, questions });
    const one = await ai.experimental_decide({ model, state, questions: { judgment: questions.polite } });
    return { ...all.answers, ...one.answers, tokens: all.usage.totalTokens };
  },
  async embedded(_, gateway) {
    const { embeddings, usage } = await ai.embedMany({
      model: gateway.embeddingModel("openai/text-embedding-3-small"),
      values: ["red apple", "red apples fall", "quarterly report"],
    });
    const near = ai.cosineSimilarity(embeddings[0], embeddings[1]);
    return { near: near > ai.cosineSimilarity(embeddings[0], embeddings[2]), tokens: usage.tokens };
  },
  async models(_, gateway) {
    return (await gateway.getAvailableModels()).models.map((model) => model.id).filter((id) => id.includes("/"));
  },
};

const { values, positionals } = parseArgs({ options: { only: { type: "string" } }, allowPositionals: true });
for (const name of positionals) {
  const provider = PROVIDERS[name]();
  for (const [label, run] of Object.entries({ ...CASES, ...(name === "gateway" ? OF_GATEWAY : {}) })) {
    if (values.only && values.only !== label) continue;
    let line;
    try {
      line = { value: await run({ model: provider(label), prompt: `Case ${label}` }, provider) };
    } catch (error) {
      const { name: type, statusCode, message, reason } = error;
      line = { error: { type, statusCode, message, reason } };
    }
    console.log(JSON.stringify({ provider: name, case: label, ...line }));
  }
}
process.exit();
