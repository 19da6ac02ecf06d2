// @OURS@
// Reports to git-checkpoint what opencode does. An error here never stops opencode.
import { spawn } from "node:child_process";

const reported = new Set(["session.created", "session.idle", "session.error", "session.compacted", "session.deleted"]);

// How long a message stays on the screen, in milliseconds: it has several lines.
const SHOWN = 20000;

// @CALL@
export default async ({ directory, client }) => {
  const parents = new Map();
  const report = async (hook, session, input, output) => {
    const parent = parents.get(session);
    const answer = await call({ plugin: "opencode", hook, directory, parent, input, output });
    // Of a denial, opencode shows the reason only to the model.
    const [message, variant] = answer.deny ? [answer.deny, "error"] : [answer.warn, "warning"];
    if (message) await client?.tui?.showToast?.({ body: { message, variant, duration: SHOWN } })?.catch?.(() => {});
    return answer;
  };
  return {
    event: async ({ event }) => {
      if (!reported.has(event.type)) return;
      const { info, sessionID } = event.properties ?? {};
      const session = sessionID ?? info?.id;
      if (!session) return;
      if (info?.parentID) parents.set(session, info.parentID);
      await report(event.type, session, { properties: { sessionID: session, info } });
    },
    "chat.message": async (input, output) => {
      const parts = (output.parts ?? []).map(({ type, text, synthetic }) => ({ type, text, synthetic }));
      const model = input.model ?? output.message?.model;
      const answer = await report("chat.message", input.sessionID, { ...input, model }, { parts });
      if (answer.deny) throw new Error(answer.deny);
    },
    "tool.execute.before": async (input, output) => {
      const answer = await report("tool.execute.before", input.sessionID, input, { args: output.args });
      if (answer.deny) throw new Error(answer.deny);
    },
    "tool.execute.after": async (input, output) => {
      const answer = await report("tool.execute.after", input.sessionID, input);
      if (answer.deny) output.output = `${output.output ?? ""}\n${answer.deny}`;
    },
  };
};
