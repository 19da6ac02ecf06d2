// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// @OURS@
// Tells git-checkpoint what Amp does; whatever goes wrong here, Amp goes on.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

// @CALL@
export default function (amp) {
  let thread;
  const files = (event) => {
    try {
      const found = amp.helpers?.filesModifiedByToolCall?.(event) ?? [];
      return found.map((file) => (String(file).startsWith("file:") ? fileURLToPath(String(file)) : String(file)));
    } catch {
      return [];
    }
  };
  const tell = async (hook, event, context) => {
    thread = event.thread?.id ?? thread;
    const { toolUseID, tool, input, message, status } = event;
    const answer = await call({
      plugin: "amp",
      hook,
      directory: process.cwd(),
      thread,
      files: tool ? files(event) : undefined,
      input: { toolUseID, tool, input, message, status, thread: thread ? { id: thread } : undefined },
    });
    if (answer.warn) await context?.ui?.notify?.(answer.warn)?.catch?.(() => {});
    return answer;
  };
  amp.on("session.start", async (event, context) => {
    await tell("session.start", event, context);
  });
  amp.on("agent.start", async (event, context) => {
    const answer = await tell("agent.start", event, context);
    if (answer.deny) return { message: { content: answer.deny, display: true } };
  });
  amp.on("tool.call", async (event, context) => {
    const answer = await tell("tool.call", event, context);
    return answer.deny ? { action: "reject-and-continue", message: answer.deny } : { action: "allow" };
  });
  amp.on("tool.result", async (event, context) => {
    await tell("tool.result", event, context);
  });
  amp.on("agent.end", async (event, context) => {
    await tell("agent.end", event, context);
  });
}
