// @OURS@
// Tells git-checkpoint what opencode does; whatever goes wrong here, opencode goes on.
import { spawn } from "node:child_process";

const told = new Set(["session.created", "session.idle", "session.error", "session.compacted", "session.deleted"]);

// @CALL@
export default async ({ directory, client }) => {
  const parents = new Map();
  const tell = async (hook, session, input, output) => {
    const parent = parents.get(session);
    const answer = await call({ plugin: "opencode", hook, directory, parent, input, output });
    // What is denied is told to the model only: the screen does not show it.
    const [message, variant] = answer.deny ? [answer.deny, "error"] : [answer.warn, "warning"];
    if (message) await client?.tui?.showToast?.({ body: { message, variant } })?.catch?.(() => {});
    return answer;
  };
  return {
    event: async ({ event }) => {
      if (!told.has(event.type)) return;
      const { info, sessionID } = event.properties ?? {};
      const session = sessionID ?? info?.id;
      if (!session) return;
      if (info?.parentID) parents.set(session, info.parentID);
      await tell(event.type, session, { properties: { sessionID: session, info } });
    },
    "chat.message": async (input, output) => {
      const parts = (output.parts ?? []).map(({ type, text, synthetic }) => ({ type, text, synthetic }));
      const model = input.model ?? output.message?.model;
      const answer = await tell("chat.message", input.sessionID, { ...input, model }, { parts });
      if (answer.deny) throw new Error(answer.deny);
    },
    "tool.execute.before": async (input, output) => {
      const answer = await tell("tool.execute.before", input.sessionID, input, { args: output.args });
      if (answer.deny) throw new Error(answer.deny);
    },
    "tool.execute.after": async (input, output) => {
      const answer = await tell("tool.execute.after", input.sessionID, input);
      if (answer.deny) output.output = `${output.output ?? ""}\n${answer.deny}`;
    },
  };
};
