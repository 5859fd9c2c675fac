import type { NewEntry } from "../contract/entries.ts";
import type { Flags } from "../flags/options.ts";
import type { ModelChoice } from "../session/agent-session.ts";
import type { SessionStore } from "../session/store/store.ts";

/** What says with what the session goes on, where it does not say so already. */
export function choiceEntries(
  store: Pick<SessionStore, "settings">,
  flags: Pick<Flags, "name">,
  { model, thinkingLevel }: ModelChoice,
): NewEntry[] {
  const saved = store.settings();
  const entries: NewEntry[] = [];
  if (saved.model?.provider !== model.provider || saved.model.modelId !== model.id)
    entries.push({ type: "model_change", provider: model.provider, modelId: model.id });
  if (saved.thinkingLevel !== thinkingLevel) entries.push({ type: "thinking_level_change", thinkingLevel });
  if (flags.name !== undefined && flags.name !== saved.name)
    entries.push({ type: "session_info", name: flags.name });
  return entries;
}
