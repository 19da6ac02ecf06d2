// @i-know-the-amp-plugin-api-is-wip-and-very-experimental-right-now
// @OURS@
// Reports to git-checkpoint what Amp does. An error here never stops Amp.
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
  const report = async (hook, event, context) => {
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
    // After a tool, the model cannot be given the reason of a denial.
    const shown = answer.warn ?? (hook === "tool.result" ? answer.deny : undefined);
    if (shown) await context?.ui?.notify?.(shown)?.catch?.(() => {});
    return answer;
  };
  amp.on("session.start", async (event, context) => {
    await report("session.start", event, context);
  });
  amp.on("agent.start", async (event, context) => {
    const answer = await report("agent.start", event, context);
    if (answer.deny) return { message: { content: answer.deny, display: true } };
  });
  amp.on("tool.call", async (event, context) => {
    const answer = await report("tool.call", event, context);
    return answer.deny ? { action: "reject-and-continue", message: answer.deny } : { action: "allow" };
  });
  amp.on("tool.result", async (event, context) => {
    await report("tool.result", event, context);
  });
  amp.on("agent.end", async (event, context) => {
    await report("agent.end", event, context);
  });
}
